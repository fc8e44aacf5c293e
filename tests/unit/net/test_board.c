/* SPDX-License-Identifier: BSD-2-Clause */
/* test_board.c - the page that two neighbours share (WIRE-39), and what is not taken for one. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "emu/net/board.h"

static struct board made, taken;
static struct ring made_ring, taken_ring;
static uint8_t *rooms;

static void open_rooms(void)
{
	rooms = board_rooms(2);
	cr_assert_not_null(rooms);
}

static void close_rooms(void)
{
	board_rooms_end(rooms, 2);
}

TestSuite(board, .init = open_rooms, .fini = close_rooms);

static void share(void)
{
	int fd = board_make(&made, &made_ring, rooms);

	cr_assert(fd >= 0);
	cr_assert_not(board_shared(&made), "the peer has it only now");
	cr_assert_eq(board_take(&taken, &taken_ring, rooms + BOARD_BYTES, fd), 0);
	cr_assert_eq(fcntl(fd, F_GETFD), -1, "closed");
	cr_assert(board_shared(&made) && board_shared(&taken));
}

static void drop(void)
{
	board_drop(&made, &made_ring);
	board_drop(&taken, &taken_ring);
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

/* Where there was a board another can be, and nothing else. */
Test(board, rooms_stay)
{
	for (int i = 0; i < 2; i++) {
		cr_assert_not(is_memory(rooms) || is_memory(rooms + BOARD_BYTES));
		share();
		cr_assert(is_memory(rooms) && is_memory(rooms + BOARD_BYTES));
		drop();
	}
	cr_assert_not(is_memory(rooms) || is_memory(rooms + BOARD_BYTES));
}

static void expect_note(struct board *board, uint64_t number)
{
	uint64_t read;

	cr_assert(board_read(board, &read));
	cr_assert_eq(read, number);
	cr_assert_not(board_read(board, &read), "told once");
}

Test(board, notes_for_who_looks)
{
	share();
	cr_assert_not(board_note(&made, 1) || board_note(&taken, 1));
	board_look(&taken, true);
	cr_assert(board_note(&made, 2));
	cr_assert_not(board_note(&taken, 2), "each looks for himself");
	expect_note(&taken, 2);
	cr_assert(board_note(&made, 3) && board_note(&made, 4));
	board_look(&taken, false);
	expect_note(&taken, 4);
	cr_assert_not(board_note(&made, 5));
	drop();
}

Test(board, knocks)
{
	share();
	cr_assert(board_knocked(&made) && board_knocked(&taken), "there may be something from before");
	cr_assert_not(board_knocked(&made) || board_knocked(&taken));
	board_knock(&made);
	cr_assert_not(board_knocked(&made));
	cr_assert(board_knocked(&taken));
	cr_assert_not(board_knocked(&taken));
	drop();
}

/* It has no device. */
Test(board, of_a_forks_child)
{
	int status;
	pid_t pid;

	share();
	pid = fork();
	if (pid == 0)
		_exit(msync(rooms, 2 * BOARD_BYTES, MS_ASYNC) && errno == ENOMEM ? 0 : 1);
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid);
	cr_assert_eq(status, 0);
	cr_assert(made.own && board_shared(&made));
	drop();
}

Test(board, none)
{
	uint64_t number;

	cr_assert_not(board_note(&made, 1) || board_read(&made, &number) || board_shared(&made));
	board_look(&made, true);
	board_knock(&made);
	drop();
}

/* A file is a board if it cannot become shorter, and if nobody can change that. */
static void refuses(int size, int seals)
{
	int fd = memfd_create("no board", MFD_ALLOW_SEALING);

	cr_assert(fd >= 0 && !ftruncate(fd, size));
	cr_assert(!seals || !fcntl(fd, F_ADD_SEALS, seals));
	cr_assert_eq(board_take(&taken, &taken_ring, rooms + BOARD_BYTES, fd), -EINVAL, "size %d, seals %d", size, seals);
	cr_assert_null(taken.own);
	cr_assert_eq(fcntl(fd, F_GETFD), -1, "closed");
}

Test(board, what_is_none)
{
	int pipes[2];

	refuses(BOARD_BYTES, 0);
	refuses(BOARD_BYTES, F_SEAL_SHRINK | F_SEAL_GROW);
	refuses(BOARD_BYTES, F_SEAL_SHRINK | F_SEAL_SEAL);
	refuses(BOARD_BYTES, F_SEAL_GROW | F_SEAL_SEAL);
	refuses(BOARD_BYTES - 1, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	refuses(BOARD_BYTES + 4096, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	refuses(0, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	refuses(BOARD_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | F_SEAL_WRITE);
	cr_assert_eq(pipe(pipes), 0);
	cr_assert_eq(board_take(&taken, &taken_ring, rooms + BOARD_BYTES, pipes[0]), -EINVAL);
	close(pipes[1]);
}

Test(board, none_without_a_descriptor)
{
	struct rlimit usual, none;
	int rc;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = usual;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	rc = board_make(&made, &made_ring, rooms);
	setrlimit(RLIMIT_NOFILE, &usual);	/* for what tells of the test */
	cr_assert_eq(rc, -EMFILE);
	cr_assert_null(made.own);
}
