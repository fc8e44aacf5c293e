/* SPDX-License-Identifier: BSD-2-Clause */
/* test_cq.c - completion queue: order, overflow, overrun, errors, wakes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/queues/cq.h"
#include "tests/unit/nic/cq_nodes.h"

/* Functions of libc that cq.c calls. While `probed` is set, the queue is asked at each call: unless its lock is free, that never
 * ends. */
void *__real_malloc(size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void __wrap_free(void *memory);
static struct cq *probed;
static int probes;

static void probe(void)
{
	probes += probed != NULL;
	if (probed)
		cq_take(probed, NULL, 0);
}

void *__wrap_malloc(size_t size)
{
	probe();
	return __real_malloc(size);
}

void __wrap_free(void *memory)
{
	probe();
	__real_free(memory);
}

Test(cq, sizes)
{
	struct cq *none = NULL;

	cr_assert_eq(cq_open(&none, LIMIT_CQ_SIZE_MAX + 1, NULL, NULL), -EINVAL);
	cr_assert_null(none);
	open_of(LIMIT_CQ_SIZE_MAX);
	cr_assert_eq(cq_close(cq), 0);
	open_of(0);
	for (int i = 0; i < LIMIT_CQ_SIZE; i++) {
		cr_assert(cq_has_room(cq));
		cq_push_now(cq, &(struct completion){ .data = 1 });
	}
	cr_assert_not(cq_has_room(cq));
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, busy_while_bound)
{
	open_of(4);
	cq_get(cq);
	cq_get(cq);
	cq_put(cq);
	cr_assert_eq(cq_close(cq), -EBUSY);
	cq_put(cq);
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, in_order_round_the_ring)
{
	open_of(5);
	take(-EAGAIN, 8, 0);
	for (uint64_t i = 0; i < 60; i += 3) {
		push(i);
		push(i + 1);
		push(i + 2);
		cr_assert_eq(nodes[i + 2].released, 1, "released by the writer, once");
		cr_assert(cq_ready(cq));
		take(1, 1, i);
		take(2, 8, i + 1);
		cr_assert_not(cq_ready(cq));
		take(-EAGAIN, 8, 0);
	}
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, entries_are_whole)
{
	struct completion in = { &in, 1, 2, &cq, 3, 4, 5 }, out = { 0 };

	open_of(2);
	cq_push_now(cq, &in);
	cr_assert_eq(cq_take(cq, &out, 1), 1);
	cr_assert_eq(memcmp(&in, &out, sizeof(in)), 0);
	cr_assert_eq(cq_close(cq), 0);
}

/* Nothing is lost: what finds the ring full waits in its node and moves in, in order, as room is made. */
Test(cq, overflow_keeps_the_order)
{
	open_of(4);
	for (uint64_t i = 0; i < 11; i++)
		push(i);
	for (int i = 0; i < 11; i++)
		cr_assert_eq(nodes[i].released, i < 4 ? 1 : 0, "node %d", i);
	cr_assert_not(cq_has_room(cq));
	take(3, 3, 0);
	for (int i = 0; i < 11; i++)
		cr_assert_eq(nodes[i].released, i < 7 ? 1 : 0, "node %d", i);
	cr_assert_not(cq_has_room(cq), "refilled");
	push(11);
	cr_assert_eq(nodes[11].released, 0);
	take(4, 64, 3);
	take(4, 64, 7);
	cr_assert(cq_has_room(cq));
	push(12);
	cr_assert_eq(nodes[12].released, 1);
	take(2, 64, 11);
	take(-EAGAIN, 64, 0);
	for (int i = 0; i < 13; i++)
		cr_assert_eq(nodes[i].released, 1, "node %d", i);
	cr_assert_eq(cq_close(cq), 0);
}

/* So many are kept, errors among them, and any further one is lost, until room is made. */
Test(cq, overruns)
{
	struct cq_view view;

	open_of(2);
	cr_assert_not(cq_overruns(cq));
	cq_overrun_at(cq, 4);
	cr_assert(cq_overruns(cq));
	for (uint64_t i = 0; i < 3; i++)
		push(i);
	push_error(100);
	cr_assert_eq(cq_lost(cq), 0);
	push(3);
	push_error(101);
	cr_assert_eq(cq_lost(cq), 2);
	cr_assert_eq(nodes[3].released, 1, "as if it had been copied");
	cq_look(cq, &view);
	cr_assert(view.unread == 3 && view.errors == 1);
	take(2, 8, 0);
	push(4);
	take(1, 1, 2);
	take_error(100);
	take(1, 8, 4);
	take(-EAGAIN, 8, 0);
	cr_assert_eq(cq_lost(cq), 2);
	cr_assert_eq(cq_close(cq), 0);
}

/* It may keep fewer than it was opened for. */
Test(cq, overruns_below_its_size)
{
	open_of(8);
	cq_overrun_at(cq, 3);
	for (uint64_t i = 0; i < 5; i++)
		push(i);
	cr_assert_eq(cq_lost(cq), 2);
	take(3, 8, 0);
	push(5);
	take(1, 8, 5);
	cr_assert_eq(cq_close(cq), 0);
}

/* Of the first entry lost, be it a completion or an error, and never again. */
Test(cq, tells_once_that_it_overruns)
{
	int told = 0;

	open_of(2);
	cq_overrun_at(cq, 2);
	cq_tell_overrun(cq, count_wake, &told);
	push(0);
	push_error(100);
	cr_assert_eq(told, 0);
	push_error(101);
	cr_assert_eq(told, 1);
	push(1);
	push(2);
	cr_assert_eq(told, 1);
	take(1, 8, 0);
	take_error(100);
	take(1, 8, 1);
	push(3);
	push(4);
	push(5);
	cr_assert_eq(told, 1);
	cr_assert_eq(cq_close(cq), 0);

	open_of(2);
	cq_overrun_at(cq, 2);
	cq_tell_overrun(cq, count_wake, &told);
	for (uint64_t i = 0; i < 3; i++)
		push(i);
	cr_assert_eq(told, 2, "a completion");
	cr_assert_eq(cq_close(cq), 0);
}

/* What is unread stays, what comes is lost and counted, and nobody is told. */
Test(cq, breaks)
{
	int told = 0;

	open_of(2);
	cq_overrun_at(cq, 2);
	cq_tell_overrun(cq, count_wake, &told);
	push(0);
	cq_break(cq);
	cr_assert_eq(cq_lost(cq), 0);
	push(1);
	cr_assert_eq(cq_lost(cq), 1);
	cr_assert_eq(told, 0);
	take(1, 8, 0);
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, close_releases_what_waits)
{
	open_of(2);
	for (uint64_t i = 0; i < 5; i++)
		push(i);
	push_error(1);
	cr_assert_eq(cq_close(cq), 0);
	for (int i = 0; i < 5; i++)
		cr_assert_eq(nodes[i].released, 1);
}

Test(cq, errors_come_in_order)
{
	open_of(3);
	push(0);
	push(1);
	push_error(100);
	push(2);
	push_error(101);
	push_error(102);
	push(3);
	push(4);
	take(1, 1, 0);
	take(1, 8, 1);
	take(-NIC_EAVAIL, 8, 0);
	take(-NIC_EAVAIL, 8, 0);
	take_error(100);
	take(1, 8, 2);
	take(-NIC_EAVAIL, 8, 0);
	take_error(101);
	take(-NIC_EAVAIL, 0, 0);
	take_error(102);
	take(2, 8, 3);
	take(-EAGAIN, 8, 0);
	cr_assert_eq(cq_take_error(cq, &(struct cq_error){ 0 }), -EAGAIN);
	cr_assert_eq(cq_close(cq), 0);
}

/* An error behind completions that still wait in the overflow list stays behind them. */
Test(cq, errors_wait_for_overflow)
{
	open_of(2);
	for (uint64_t i = 0; i < 5; i++)
		push(i);
	push_error(100);
	push(5);
	take(2, 8, 0);
	take(2, 8, 2);
	take(1, 8, 4);
	take(-NIC_EAVAIL, 8, 0);
	take_error(100);
	take(1, 8, 5);
	cr_assert_eq(cq_close(cq), 0);
}

/* A program that calls fi_cq_readerr without being told to gets the error all the same. */
Test(cq, error_taken_early)
{
	open_of(4);
	push(0);
	push_error(100);
	push(1);
	take_error(100);
	take(2, 8, 0);
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, count_zero_looks)
{
	open_of(4);
	take(-EAGAIN, 0, 0);
	push(0);
	take(0, 0, 0);
	push_error(100);
	take(1, 8, 0);
	take(-NIC_EAVAIL, 0, 0);
	cr_assert(cq_ready(cq));
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, choked_by_unread_errors)
{
	open_of(4);
	for (int i = 0; i <= LIMIT_CQ_ERRORS; i++) {
		cr_assert_not(cq_choked(cq));
		push_error((uint64_t)i);
	}
	cr_assert(cq_choked(cq));
	push_error(LIMIT_CQ_ERRORS + 1);
	take_error(0);
	cr_assert(cq_choked(cq), "what was under way came on top");
	take_error(1);
	cr_assert_not(cq_choked(cq));
	cr_assert_eq(cq_close(cq), 0);
}

/* Bytes of address space in use. */
static rlim_t address_space(void)
{
	unsigned long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	cr_assert_not_null(statm);
	cr_assert_eq(fscanf(statm, "%lu", &pages), 1);
	fclose(statm);
	return pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Without memory for an error the spare takes it, and tells how many more found no place. */
Test(cq, errors_without_memory)
{
	enum { ERRORS = 50000 }; /* 20 MB and more */
	struct rlimit limit = { address_space() + (4 << 20), RLIM_INFINITY };
	struct cq_error error = { .err = 0 };
	char wanted[80];

#if defined(__SANITIZE_ADDRESS__)
	cr_skip_test("asan ends the process where there is no memory");
#endif
	open_of(4);
	cr_assert_eq(setrlimit(RLIMIT_AS, &limit), 0);
	for (int round = 0; round < 2; round++) {
		int kept = 0;

		for (uint64_t i = 0; i < ERRORS; i++)
			push_error(i);
		while (cq_take_error(cq, &error) == 1)
			cr_assert_eq(error.c.data, (uint64_t)kept++);
		cr_assert_lt(kept, ERRORS);
		cr_assert_eq(error.err, EACCES);
		snprintf(wanted, sizeof(wanted), "out of memory: %d more errors could not be kept", ERRORS - kept);
		cr_assert_str_eq(error.text, wanted, "round %d", round);
	}
	push_error(7);
	take_error(7);
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, wakes_while_armed)
{
	int wakes = 0;

	cr_assert_eq(cq_open(&cq, 1, count_wake, &wakes), 0);
	push(0);
	cr_assert_eq(wakes, 0);
	cq_arm(cq);
	cq_arm(cq);
	push(1);
	push_error(100);
	cr_assert_eq(wakes, 2, "an entry in overflow and an error wake, too");
	cq_disarm(cq);
	take(1, 1, 0);
	take(1, 1, 1);
	cq_push_now(cq, &(struct completion){ .data = 2 });
	cr_assert_eq(wakes, 3, "still armed once");
	cq_disarm(cq);
	push(3);
	cr_assert_eq(wakes, 3);
	cr_assert_eq(cq_close(cq), 0);
}

/* Once, but for completions that come while other readers are armed, which take the signal for themselves. */
Test(cq, notifies_once)
{
	int wakes = 0;

	cr_assert_eq(cq_open(&cq, 8, count_wake, &wakes), 0);
	cq_notify(cq);
	push(0);
	push(1);
	cr_assert_eq(wakes, 1);
	cq_notify(cq);
	cq_notify(cq);
	cq_arm(cq);
	push(2);
	cq_disarm(cq);
	cr_assert_eq(wakes, 2);
	push_error(100);
	push(3);
	cr_assert_eq(wakes, 3);
	cr_assert_eq(cq_close(cq), 0);
}

/* A thread that drives and then reads is not woken for what it reads itself. Others are woken for what it leaves. */
Test(cq, tells_of_what_a_look_has_left)
{
	int wakes = 0;

	cr_assert_eq(cq_open(&cq, 8, count_wake, &wakes), 0);
	cr_assert_not(cq_reader_enter(cq), "nobody wants to be told");
	cq_notify(cq);
	cr_assert(cq_reader_enter(cq));
	push(0);
	take(1, 1, 0);
	cq_reader_exit(cq);
	cr_assert_eq(wakes, 0);
	cr_assert(cq_reader_enter(cq), "the notice has not been used up");
	push(1);
	push(2);
	take(1, 1, 1);
	cr_assert_eq(wakes, 0);
	cq_reader_exit(cq);
	cr_assert_eq(wakes, 1);
	push(3);
	cr_assert_eq(wakes, 1, "once");
	cr_assert_eq(cq_close(cq), 0);
}

/* Only by an error, or an entry with the flag; a notice for any entry comes before one for some. */
Test(cq, notifies_of_flags)
{
	enum { FLAG = 4 };
	int wakes = 0;

	cr_assert_eq(cq_open(&cq, 2, count_wake, &wakes), 0);
	cr_assert_not(cq_is_notified(cq));
	cq_notify_flagged(cq, FLAG);
	push(0);
	cr_assert_eq(wakes, 0);
	cr_assert(cq_is_notified(cq));
	push_flagged(1, FLAG | 1);
	cr_assert_eq(wakes, 1);
	push_flagged(2, FLAG);
	cr_assert_eq(wakes, 1, "once");
	cq_notify_flagged(cq, FLAG);
	push(3);
	cr_assert_eq(wakes, 1, "in overflow, without the flag");
	push_flagged(4, FLAG);
	cr_assert_eq(wakes, 2, "in overflow, with it");
	cq_notify_flagged(cq, FLAG);
	push_error(100);
	cr_assert_eq(wakes, 3);
	cq_notify_flagged(cq, FLAG);
	cq_notify(cq);
	push(5);
	cr_assert_eq(wakes, 4);
	cq_notify(cq);
	cq_notify_flagged(cq, FLAG);
	push(6);
	cr_assert_eq(wakes, 5);
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, signals_are_remembered)
{
	int wakes = 0;

	cr_assert_eq(cq_open(&cq, 4, count_wake, &wakes), 0);
	cr_assert_not(cq_signalled(cq));
	cq_signal(cq);
	cq_signal(cq);
	cr_assert_eq(wakes, 2);
	cr_assert_not(cq_ready(cq));
	cr_assert(cq_signalled(cq));
	cr_assert(cq_signalled(cq));
	cr_assert_not(cq_signalled(cq));
	cr_assert_eq(cq_close(cq), 0);
}

Test(cq, allocates_and_frees_without_the_lock)
{
	open_of(4);
	probed = cq;
	push_error(1);
	cr_assert_eq(probes, 1, "malloc");
	take_error(1);
	cr_assert_eq(probes, 2, "free");
	probed = NULL;
	cr_assert_eq(cq_close(cq), 0);
}
