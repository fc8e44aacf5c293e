/* SPDX-License-Identifier: BSD-2-Clause */
/* test_driver.c - all orders of poster, poller, waiter, signal handler and NIC thread over the driver role (D1 to D6):
 * one holder at a time, nothing left behind while all sleep, a thread that must have the role gets it. Each test runs
 * the driver as it is, and again with one piece left out, which must be found. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "driver_shim.h"

static struct {
	struct driver driver;
	uint32_t queue[EXPLORE_THREADS]; /* a thread's posted ops, as an index past what was taken */
	uint32_t taken[EXPLORE_THREADS];
	uint32_t rest; /* slices of work that no descriptor announces */
	bool working;
	bool woken; /* the NIC thread's eventfd */
	bool in_handler;
	bool waits, got_in;   /* D6 */
	int slices_meanwhile; /* begun while somebody waits */
	const void *inside[EXPLORE_THREADS + 1];
	struct outcome outcome;
} t;

static int posters;    /* the pushers: the first threads of the model, the signal handler */
static int rest_an_op; /* slices that each op needs beyond its first */

/* Takes one op, or does one slice of what is left of an earlier one. */
static bool work(void *arg)
{
	bool did = false;

	(void)arg;
	if (t.working)
		explore_fail("two holders");
	t.working = true;
	t.slices_meanwhile += t.driver.waiting > 0;
	if (t.rest) {
		t.rest--;
		did = true;
	}
	for (int i = 0; i < posters && !did; i++) {
		if (explore_load("take", &t.queue[i], 4) == t.taken[i])
			continue;
		t.taken[i]++;
		t.rest += (uint32_t)rest_an_op;
		did = true;
	}
	if (t.rest)
		driver_owe(&t.driver);
	explore_step("worked");
	t.working = false;
	return did;
}

static bool pending(void *arg)
{
	(void)arg;
	if (mutant == NO_SECOND_LOOK)
		return false;
	for (int i = 0; i < posters; i++)
		if (explore_load("look", &t.queue[i], 4) != t.taken[i])
			return true;
	return false;
}

static void wake(void *arg)
{
	(void)arg;
	explore_step("wake");
	if (mutant == NO_WAKE)
		return;
	explore_fence(); /* a system call */
	t.woken = true;
}

static bool is_woken(void *arg)
{
	(void)arg;
	return t.woken;
}

static void push(int slot)
{
	explore_store("push", &t.queue[slot], 4, t.queue[slot] + 1);
	if (mutant != NO_ORDER)
		explore_fence();
}

static void poster(void)
{
	push(explore_self());
	driver_run(&t.driver);
}

/* A signal handler that posts and closes. */
static void handler(void)
{
	const struct driver *mark = inside;

	t.in_handler = true;
	if (mutant == NO_MARK)
		inside = NULL;
	push(posters - 1);
	driver_run(&t.driver);
	if (driver_enter(&t.driver))
		driver_leave(&t.driver);
	inside = mark;
	t.in_handler = false;
}

static void poller(void)
{
	driver_run(&t.driver);
	driver_run(&t.driver);
	driver_run(&t.driver);
}

static void waiter(void)
{
	t.waits = true;
	if (!driver_enter(&t.driver))
		explore_fail("refused");
	t.got_in = true;
	if (t.working)
		explore_fail("two holders");
	driver_leave(&t.driver);
}

/* Enters, and leaves work. */
static void owing_waiter(void)
{
	driver_enter(&t.driver);
	t.rest++;
	driver_owe(&t.driver);
	driver_leave(&t.driver);
}

static void nic_thread(void)
{
	for (;;) {
		driver_disarm(&t.driver);
		t.woken = false;
		driver_serve(&t.driver);
		driver_arm(&t.driver);
		explore_wait("sleep", is_woken, NULL);
	}
}

static void reset(void)
{
	struct driver_ops ops = { .work = work, .pending = pending, .wake = wake };

	memset(&t, 0, offsetof(typeof(t), outcome));
	driver_init(&t.driver, &ops);
	inside = NULL;
}

static const char *judge(void)
{
	for (int i = 0; i < posters; i++)
		if (t.queue[i] != t.taken[i])
			return "an op was left behind";
	if (t.rest && t.driver.armed)
		return "owed work was left behind";
	return NULL;
}

/* No thread polls; there are only the posters' and waiters' own calls. All threads must have ended. */
static const char *judge_ended(void)
{
	if (t.in_handler)
		return "a signal handler waits for its own thread";
	if (t.waits && !t.got_in)
		return "a waiter never got in";
	if (t.slices_meanwhile > 2) /* a slice each that had passed the look at the count */
		return "a waiter was overtaken again and again";
	return judge();
}

static void switched(int from, int to)
{
	t.inside[from + 1] = inside;
	inside = t.inside[to + 1];
}

static void check(const struct model *model, enum mutant missing)
{
	posters = 0;
	while (posters < model->threads && model->start[posters] == poster)
		posters++;
	posters += model->signal != NULL;
	mutant = WHOLE;
	explore(model, &t.outcome);
	fprintf(stderr, "%ld orders\n", t.outcome.runs);
	cr_assert_null(t.outcome.violation, "%s: %s", t.outcome.violation, t.outcome.trace);
	mutant = missing;
	explore(model, &t.outcome);
	cr_assert(missing == WHOLE || t.outcome.violation, "the checker is blind to what was left out");
}

Test(driver, posters_leave_nothing_behind)
{
	struct model model = { .threads = 3,
			       .start = { poster, poster, poster },
			       .preemptions = 2,
			       .reset = reset,
			       .judge = judge,
			       .switched = switched };

	check(&model, NO_SECOND_LOOK);
}

Test(driver, order_is_needed_between_post_and_try)
{
	struct model model = {
		.threads = 2, .start = { poster, poster }, .preemptions = 4, .reset = reset, .judge = judge, .switched = switched
	};

	check(&model, NO_ORDER);
}

Test(driver, one_holder)
{
	struct model model = { .threads = 3,
			       .start = { poster, waiter, poller },
			       .preemptions = 2,
			       .reset = reset,
			       .judge = judge,
			       .switched = switched };

	check(&model, NO_LOCK);
}

Test(driver, post_beside_a_waiter_is_run)
{
	struct model model = { .threads = 3,
			       .start = { poster, poster, waiter },
			       .preemptions = 2,
			       .reset = reset,
			       .judge = judge_ended,
			       .switched = switched };

	check(&model, NO_SECOND_LOOK);
	check(&model, NO_ORDER);
}

Test(driver, waiter_gets_in_after_a_slice)
{
	struct model model = { .threads = 3,
			       .start = { poller, waiter, poller },
			       .preemptions = 2,
			       .reset = reset,
			       .judge = judge_ended,
			       .switched = switched };

	check(&model, NO_STAND_BACK);
}

Test(driver, signal_handler_never_waits)
{
	struct model model = { .threads = 2,
			       .start = { poster, waiter },
			       .signal = handler,
			       .preemptions = 2,
			       .reset = reset,
			       .judge = judge_ended,
			       .switched = switched };

	check(&model, NO_MARK);
	model.start[0] = waiter;
	model.start[1] = poller;
	check(&model, NO_MARK);
}

Test(driver, sleeping_nic_thread_serves_what_is_owed)
{
	struct model model = { .threads = 3,
			       .start = { poster, poster, nic_thread },
			       .preemptions = 2,
			       .reset = reset,
			       .judge = judge,
			       .switched = switched };

	rest_an_op = 2;
	check(&model, NO_WAKE);
	rest_an_op = 1;
	check(&model, NO_ORDER);
}

Test(driver, what_a_waiter_owes_is_served)
{
	struct model model = { .threads = 3,
			       .start = { owing_waiter, nic_thread, poller },
			       .preemptions = 2,
			       .reset = reset,
			       .judge = judge,
			       .switched = switched };

	check(&model, WHOLE);
}
