/* SPDX-License-Identifier: BSD-2-Clause */
/* test_shm_ring.c - bytes of a stream through shared memory, in turn with those by a socket (WIRE-77), and what a peer may write
 * there
 * that is none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <criterion/criterion.h>

#include "emu/net/shm/shm_ring.h"
#include "emu/nic/memory/guard.h"

enum { HEAD = 16, ALIGN = 64, OPEN = 1, LEAST_PART = 32 * 1024, PAGE = 4096 };

static struct shm_ring from, to;
static struct shm_ring_words words[2];
static uint8_t bytes[2][RING_BYTES];

static void share(void)
{
	cr_assert_eq(guard_install(), 0); /* not every container lets the kernel copy */
	shm_ring_begin(&from, &words[0], &words[1], bytes[0], bytes[1]);
	shm_ring_begin(&to, &words[1], &words[0], bytes[1], bytes[0]);
}

TestSuite(ring, .init = share);

static size_t put(const void *at, size_t length)
{
	return shm_ring_put(&from, &(struct iovec){ (void *)at, length }, 1);
}

static ssize_t take(void *at, size_t room)
{
	return shm_ring_take(&to, &(struct iovec){ at, room }, 1);
}

/* As the line does it; how far it came is the socket's affair. */
static void send_by_socket(size_t said, size_t sent)
{
	shm_ring_tell(&from, &(struct iovec){ NULL, said }, 1);
	from.sent += sent;
}

static void expect_itself(void)
{
	uint64_t left;

	cr_assert_eq(shm_ring_next(&to, &left), RING_ITSELF);
}

static void expect_socket(uint64_t most)
{
	uint64_t left = UINT64_MAX;

	cr_assert_eq(shm_ring_next(&to, &left), RING_SOCKET);
	cr_assert_eq(left, most);
}

static void expect_text(const char *text)
{
	char got[64] = "";

	expect_itself();
	cr_assert_eq(take(got, strlen(text)), (ssize_t)strlen(text));
	cr_assert_str_eq(got, text);
}

Test(ring, is_used_while_it_is_open)
{
	cr_assert_eq(put("closed", 6), 0);
	shm_ring_open(&to, true);
	cr_assert_eq(put("open", 4), 4);
	cr_assert(shm_ring_has(&to) && shm_ring_waits(&to));
	expect_text("open");
	cr_assert_not(shm_ring_has(&to) || shm_ring_waits(&to));
	cr_assert_eq(put("before", 6), 6);
	shm_ring_open(&to, false);
	cr_assert_eq(put("after", 5), 0);
	expect_text("before");
	expect_socket(0);
	shm_ring_open(&to, true);
	cr_assert_eq(put("again", 5), 5);
	expect_text("again");
}

Test(ring, of_nobody)
{
	static struct shm_ring none;
	struct iovec some = { (char[]){ "x" }, 1 };

	cr_assert_eq(shm_ring_put(&none, &some, 1), 0);
	shm_ring_tell(&none, &some, 1);
}

/* The bytes that were put when the reader closed it, and no more, whatever a peer writes then. */
Test(ring, that_is_closed_grows_no_more)
{
	shm_ring_open(&to, true);
	put("known", 5);
	shm_ring_open(&to, false);
	atomic_fetch_add(&words[0].put, ALIGN);
	shm_ring_open(&to, false);
	expect_text("known");
	cr_assert_not(shm_ring_has(&to));
}

Test(ring, takes_its_turn_with_the_socket)
{
	shm_ring_open(&to, true);
	put("one", 3);
	send_by_socket(10, 10);
	put("two", 3);
	send_by_socket(20, 20);
	expect_text("one");
	expect_socket(10);
	cr_assert(shm_ring_waits(&to));
	to.received += 4;
	expect_socket(6);
	to.received += 6;
	expect_text("two");
	expect_socket(20);
	to.received += 20;
	expect_socket(0);
	cr_assert_not(shm_ring_waits(&to));
}

/* All bytes that were announced for the socket go by it. */
Test(ring, waits_for_what_the_socket_did_not_take)
{
	shm_ring_open(&to, true);
	send_by_socket(10, 4);
	cr_assert_eq(put("early", 5), 0);
	send_by_socket(3, 3);
	cr_assert_eq(put("early", 5), 0);
	send_by_socket(3, 3);
	cr_assert_eq(put("late", 4), 4);
	to.received = 10;
	expect_text("late");
}

/* A socket that was in use before there was a ring. */
Test(ring, counts_from_the_first_byte)
{
	from = (struct shm_ring){ .sent = 100 };
	shm_ring_begin(&from, &words[0], &words[1], bytes[0], bytes[1]);
	to.received = 90;
	shm_ring_open(&to, true);
	put("x", 1);
	expect_socket(10);
	to.received = 100;
	expect_text("x");
}

Test(ring, lists_are_one_piece_or_many)
{
	struct iovec in[] = { { (char[]){ "ab" }, 2 }, { NULL, 0 }, { (char[]){ "cde" }, 3 } };
	char a, rest[8] = "";
	struct iovec out[] = { { &a, 1 }, { rest, 2 }, { rest + 2, 5 } };

	shm_ring_open(&to, true);
	cr_assert_eq(shm_ring_put(&from, in, 3), 5);
	cr_assert_eq(shm_ring_put(&from, in, 3), 5);
	expect_itself();
	cr_assert_eq(shm_ring_take(&to, out, 3), 8, "of what was put twice as much as there is room for");
	cr_assert_eq(a, 'a');
	cr_assert_str_eq(rest, "bcdeabc");
	expect_text("de");
}

/* Round and round, at all places of the end. */
Test(ring, has_no_end)
{
	static uint8_t in[3000], out[3000];

	shm_ring_open(&to, true);
	for (size_t i = 0, length; i < 1000; i++) {
		length = 1 + i * 37 % sizeof(in);
		memset(in, (int)i, length);
		in[0] = (uint8_t)~i;
		cr_assert_eq(put(in, length), length);
		expect_itself();
		cr_assert_eq(take(out, sizeof(out)), (ssize_t)length);
		cr_assert_arr_eq(in, out, length);
	}
}

Test(ring, has_room_for_what_it_holds)
{
	static uint8_t much[RING_BYTES];

	shm_ring_open(&to, true);
	cr_assert_eq(put(much, RING_BYTES - HEAD), RING_BYTES - HEAD);
	cr_assert_eq(put("x", 1), 0);
	expect_itself();
	cr_assert_eq(take(much, RING_BYTES - HEAD - 1), RING_BYTES - HEAD - 1);
	cr_assert_eq(put("x", 1), 0, "it is free when all of it was read");
	expect_itself();
	cr_assert_eq(take(much, 2), 1);
	cr_assert_eq(put("x", 1), 1);
	expect_text("x");
}

/* A large part of what is larger, or nothing. */
Test(ring, takes_a_part)
{
	static uint8_t in[2 * RING_BYTES], out[RING_BYTES];
	struct iovec many[] = { { in, 1000 }, { in + 1000, RING_BYTES }, { in + 1000 + RING_BYTES, 10 } };
	const size_t most = RING_BYTES - HEAD, but = RING_BYTES - LEAST_PART - ALIGN - HEAD;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 31 >> 5);
	shm_ring_open(&to, true);
	cr_assert_eq(shm_ring_put(&from, many, 3), most);
	expect_itself();
	cr_assert_eq(take(out, sizeof(out)), (ssize_t)most);
	cr_assert_arr_eq(in, out, most);
	cr_assert_eq(put(in, but), but);
	cr_assert_eq(put(in, RING_BYTES), LEAST_PART + ALIGN - HEAD);
	expect_itself();
	cr_assert_eq(take(out, sizeof(out)), (ssize_t)most - HEAD);
	cr_assert_eq(put(in, but + 1), but + 1);
	cr_assert_eq(put(in, LEAST_PART), 0);
	cr_assert_eq(put(in, LEAST_PART - HEAD), LEAST_PART - HEAD, "the whole");
}

Test(ring, takes_no_memory_that_is_not_there)
{
	uint8_t *memory = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	cr_assert_neq(memory, MAP_FAILED);
	cr_assert_eq(mprotect(memory + PAGE, PAGE, PROT_NONE), 0);
	shm_ring_open(&to, true);
	cr_assert_eq(put(memory + PAGE - 1, 2), 0);
	cr_assert_not(shm_ring_has(&to));
	cr_assert_eq(put("abcd", 4), 4);
	expect_itself();
	cr_assert_eq(take(memory + PAGE, 4), -EFAULT);
	expect_itself();
	cr_assert_eq(shm_ring_take(&to, (struct iovec[]){ { memory, 1 }, { memory + PAGE, 3 } }, 2), 1);
	expect_text("bcd");
}

/* --- what a peer may write --- */

static void expect_flaw(void)
{
	uint64_t left;

	cr_assert_eq(shm_ring_next(&to, &left), RING_FLAW);
}

/* Twice, one behind the other; the first is put. */
static void forge(uint64_t by_socket, uint64_t length)
{
	uint64_t record[2] = { by_socket, length };

	memcpy(bytes[0], record, sizeof(record));
	memcpy(bytes[0] + ALIGN, record, sizeof(record));
	atomic_store(&words[0].put, ALIGN | OPEN);
}

Test(ring, is_not_longer_than_it_is)
{
	shm_ring_open(&to, true);
	forge(0, 1);
	expect_itself();
	cr_assert_eq(take(&(char){ 0 }, 1), 1);
	atomic_store(&words[0].put, (RING_BYTES + 2 * ALIGN) | OPEN);
	expect_flaw();
	atomic_store(&words[0].put, 0 | OPEN);
	expect_flaw();
	atomic_store(&words[0].put, (2 * ALIGN + 8) | OPEN);
	expect_flaw();
	atomic_store(&words[0].put, (2 * ALIGN) | OPEN);
	expect_itself();
}

Test(ring, records_lie_in_what_was_put)
{
	shm_ring_open(&to, true);
	forge(0, 0);
	expect_flaw();
	forge(0, ALIGN - HEAD + 1);
	expect_flaw();
	forge(0, UINT64_MAX);
	expect_flaw();
	forge(0, UINT64_MAX - ALIGN + 1);
	expect_flaw();
	forge(0, ALIGN - HEAD);
	expect_itself();
}

Test(ring, does_not_take_back_what_the_socket_brought)
{
	shm_ring_open(&to, true);
	to.received = 5;
	expect_flaw();
	atomic_store(&words[0].by_socket, 5);
	expect_socket(0);
	forge(4, 1);
	expect_flaw();
	forge(5, 1);
	expect_itself();
}

/* A reader that says to have read what was never put has no ring. */
Test(ring, room_is_what_the_writer_knows_of)
{
	shm_ring_open(&to, true);
	atomic_store(&words[1].taken, ALIGN);
	cr_assert_eq(put("x", 1), 0);
	atomic_store(&words[1].taken, (uint64_t)8 - RING_BYTES);
	cr_assert_eq(put(bytes, sizeof(bytes)), 0, "no room for a head");
	atomic_store(&words[1].taken, 0);
	atomic_store(&words[0].put, ALIGN | OPEN);
	cr_assert_eq(put("x", 1), 0, "somebody else wrote there");
	atomic_store(&words[0].put, OPEN);
	cr_assert_eq(put("x", 1), 1);
}
