/* SPDX-License-Identifier: BSD-2-Clause */
/* test_shm.c - the page that two neighbours share (WIRE-39), and what is not taken for one. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/shm/shm.h"

static struct shm made, taken;
static struct shm_ring made_ring, taken_ring;
static uint8_t *rooms;

static void open_rooms(void)
{
	rooms = shm_quota(2);
	cr_assert_not_null(rooms);
}

static void close_rooms(void)
{
	shm_quota_end(rooms, 2);
}

TestSuite(shm, .init = open_rooms, .fini = close_rooms);

static void share(void)
{
	const struct iovec hello = { (char[]){ "hello" }, 5 };
	int fd = shm_make(&made, &made_ring, rooms);

	cr_assert(fd >= 0);
	shm_ring_tell(&made_ring, &hello, 1); /* with the segment */
	taken_ring.sent = 5;                  /* before it came */
	cr_assert_not(shm_shared(&made), "the peer has it only now");
	cr_assert_eq(shm_take(&taken, &taken_ring, rooms + SHM_BYTES, fd), 0);
	cr_assert_eq(fcntl(fd, F_GETFD), -1, "closed");
	cr_assert(shm_shared(&made) && shm_shared(&taken));
}

static void drop(void)
{
	shm_drop(&made, &made_ring);
	shm_drop(&taken, &taken_ring);
	cr_assert_null(made.own);
}

/* Can the kernel read there? */
static bool is_memory(const void *at)
{
	int pipes[2];
	bool is;

	cr_assert_eq(pipe(pipes), 0);
	is = write(pipes[1], at, 1) == 1;
	close(pipes[0]);
	close(pipes[1]);
	return is;
}

/* Where there was a shared segment another can be, and nothing else. */
Test(shm, rooms_stay)
{
	for (int i = 0; i < 2; i++) {
		cr_assert_not(is_memory(rooms) || is_memory(rooms + SHM_BYTES));
		share();
		cr_assert(is_memory(rooms) && is_memory(rooms + SHM_BYTES));
		drop();
	}
	cr_assert_not(is_memory(rooms) || is_memory(rooms + SHM_BYTES));
}

static void expect_note(struct shm *shm, uint32_t channel, uint64_t number)
{
	uint64_t seen[SHM_CHANNELS] = { 0 };

	cr_assert(shm_read(shm, channel, seen));
	cr_assert_eq(seen[channel], number);
	cr_assert_not(shm_read(shm, channel, seen), "told once");
}

Test(shm, notes_for_who_looks)
{
	share();
	cr_assert_not(shm_store_ack(&made, 0, 1) || shm_store_ack(&taken, 0, 1));
	shm_ring_open(&taken_ring, true);
	cr_assert(shm_store_ack(&made, 0, 2));
	cr_assert_not(shm_store_ack(&taken, 0, 2), "each looks for himself");
	expect_note(&taken, 0, 2);
	cr_assert(shm_store_ack(&made, 0, 3) && shm_store_ack(&made, 0, 4));
	shm_ring_open(&taken_ring, false);
	expect_note(&taken, 0, 4);
	cr_assert_not(shm_store_ack(&made, 0, 5));
	drop();
}

/* WIRE-136: no poll looks at what was executed, and each side and channel has a word of its own. */
Test(shm, notes_of_what_was_executed)
{
	uint64_t seen[SHM_CHANNELS] = { 0 };

	cr_assert_null(shm_executed(&made, made.own, 0), "there is no segment");
	share();
	for (uint32_t channel = 0; channel < SHM_CHANNELS; channel++) {
		atomic_store(shm_executed(&made, made.own, channel), 300 + channel);
		atomic_store(shm_executed(&taken, taken.own, channel), 400 + channel);
	}
	for (uint32_t channel = 0; channel < SHM_CHANNELS; channel++) {
		cr_assert_eq(atomic_load(shm_executed(&taken, taken.peer, channel)), 300 + channel);
		cr_assert_eq(atomic_load(shm_executed(&made, made.peer, channel)), 400 + channel);
		cr_assert_not(shm_read(&taken, channel, seen), "channel %u", channel);
	}
	cr_assert_null(shm_executed(&made, made.own, SHM_CHANNELS));
	drop();
}

/* That of the stream changes with each. */
Test(shm, notes_of_channels)
{
	uint64_t all[SHM_CHANNELS + 1] = { [SHM_CHANNELS] = 1 };

	share();
	shm_ring_open(&taken_ring, true);
	shm_ring_open(&made_ring, true);
	for (uint32_t channel = 1; channel < SHM_CHANNELS; channel++) {
		cr_assert(shm_store_ack(&made, channel, 100 + channel) && shm_store_ack(&taken, channel, 200 + channel));
		expect_note(&taken, 0, channel);
		expect_note(&made, 0, channel);
	}
	for (uint32_t channel = 1; channel < SHM_CHANNELS; channel++) {
		expect_note(&taken, channel, 100 + channel);
		expect_note(&made, channel, 200 + channel);
	}
	cr_assert(shm_read(&taken, 5, all) && all[5] == 105);
	cr_assert_not(shm_read(&taken, 5, all), "told once");
	cr_assert_not(shm_store_ack(&made, SHM_CHANNELS, 1) || shm_read(&made, SHM_CHANNELS, all));
	shm_ring_open(&taken_ring, false);
	cr_assert_not(shm_store_ack(&made, 1, 1));
	drop();
}

/* WIRE-39, WIRE-135: the side that made it comes first. */
Test(shm, has_its_words_where_the_protocol_says)
{
	const uint64_t *words;

	share();
	words = made.room;
	shm_ring_open(&taken_ring, true);
	shm_ring_open(&made_ring, true);
	cr_assert(shm_store_ack(&made, 0, 11) && shm_store_ack(&taken, 0, 22));
	cr_assert(words[0] == 11 && words[256 / 8] == 22);
	cr_assert(shm_store_ack(&made, 1, 33) && shm_store_ack(&taken, SHM_CHANNELS - 1, 44));
	cr_assert(words[0] == 12 && words[1024 / 8 + 1] == 33 && words[256 / 8] == 23 && words[2048 / 8 - 1] == 44);
	drop();
}

/* It has no device. */
Test(shm, of_a_forks_child)
{
	int status;
	pid_t pid;

	share();
	pid = fork();
	if (pid == 0)
		_exit(msync(rooms, 2 * SHM_BYTES, MS_ASYNC) && errno == ENOMEM ? 0 : 1);
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_assert_eq(status, 0);
	cr_assert(made.own && shm_shared(&made));
	drop();
}

Test(shm, none)
{
	uint64_t seen = 1;

	cr_assert_not(shm_store_ack(&made, 0, 1) || shm_read(&made, 0, &seen) || shm_shared(&made));
	drop();
}

/* A file is a shared segment if it cannot become shorter, and if nobody can change that. */
static void refuses(int size, int seals)
{
	int fd = memfd_create("no segment", MFD_ALLOW_SEALING);

	cr_assert(fd >= 0 && !ftruncate(fd, size));
	cr_assert(!seals || !fcntl(fd, F_ADD_SEALS, seals));
	cr_assert_eq(shm_take(&taken, &taken_ring, rooms + SHM_BYTES, fd), -EINVAL, "size %d, seals %d", size, seals);
	cr_assert_null(taken.own);
	cr_assert_eq(fcntl(fd, F_GETFD), -1, "closed");
}

Test(shm, what_is_none)
{
	int pipes[2];

	refuses(SHM_BYTES, 0);
	refuses(SHM_BYTES, F_SEAL_SHRINK | F_SEAL_GROW);
	refuses(SHM_BYTES, F_SEAL_SHRINK | F_SEAL_SEAL);
	refuses(SHM_BYTES, F_SEAL_GROW | F_SEAL_SEAL);
	refuses(SHM_BYTES - 1, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	refuses(SHM_BYTES + 4096, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	refuses(0, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	refuses(SHM_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_WRITE);
	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(shm_take(&taken, &taken_ring, rooms + SHM_BYTES, pipes[0]), -EINVAL);
	close(pipes[1]);
}

Test(shm, none_without_a_descriptor)
{
	struct rlimit usual, none;
	int rc;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = usual;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	rc = shm_make(&made, &made_ring, rooms);
	setrlimit(RLIMIT_NOFILE, &usual); /* for what tells of the test */
	cr_assert_eq(rc, -EMFILE);
	cr_assert_null(made.own);
}
