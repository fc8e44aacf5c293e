/* SPDX-License-Identifier: BSD-2-Clause */
/* check_hold.c - how long accesses of peers, own posts, and threads of the program wait in races mode.
 *
 * An access of a peer and one of the CPU that nothing orders seldom meet as long as both are quick. So a thread that is about to
 * touch memory to which peers may write, for the first time since it was told something, pauses until an access of a peer is open,
 * which is held back meanwhile. */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "emu/process/check/check.h"
#include "emu/process/check/check_budget.h"
#include "emu/process/check/check_race.h"
#include "emu/nic/role/driver.h"
#include "emu/process/races/page_watch.h"

enum { HOLDS = 9, LONG_HOLDS = 6, LEAVES = 5, STAYS = 6, PAUSES = 2, THREADS = 256 };

#define HOLD_LEAST_NS UINT64_C(50000)    /* holds are drawn by the order of their length: up to 2^HOLDS times so long */
#define PAUSE_LEAST_NS UINT64_C(8000000) /* pauses likewise, up to 2^PAUSES times so long */
#define HOLD_PAUSED_NS UINT64_C(2000000) /* in which a thread that has paused goes on */
#define BEHIND_MOST_NS 30000000          /* of others that end first */
#define PLENTY_NS 100000000              /* of the budget: holds are long */
#define PAUSE_SPARE_NS 50000000          /* of the budget: the rest is for what is held back */

struct race_settings races;

static atomic_uint_fast64_t draws;
static struct check_budget budget = { .left_ns = BUDGET_FIRST_NS }; /* by the holder of the driver role */

uint64_t race_mix(uint64_t bits)
{
	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return bits ^ bits >> 31;
}

uint64_t race_draw(void)
{
	const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);

	return race_mix(races.seed + atomic_fetch_add(&draws, step) + step);
}

/* --- the budget --- */

/* Estimates of a trapped call, and of a fault with the step behind it, which are too many to be measured each. */
enum { TRAP_NS = 4000, FAULT_NS = 16000 };

static atomic_uint_fast64_t cost_ns; /* of what was measured */

uint64_t race_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t check_cost_begin(void)
{
	return races.on ? race_clock_ns() : 0;
}

void check_cost_end(uint64_t begun_ns)
{
	if (begun_ns)
		atomic_fetch_add_explicit(&cost_ns, race_clock_ns() - begun_ns, memory_order_relaxed);
}

static uint64_t work_ns(void)
{
	struct page_watch_counts counts;

	page_watch_count(&counts);
	return atomic_load(&cost_ns) + counts.traps * TRAP_NS + (counts.accesses + counts.neighbours) * FAULT_NS;
}

/* So much later its end is seen, on average: a program that does not poll leaves that to a look every ms (emu/net/thread). */
#define HOLD_LATE_NS UINT64_C(500000)

static atomic_int_fast64_t spare_ns = BUDGET_FIRST_NS; /* of the budget, when it was last looked at, less the pauses since */

static atomic_size_t others; /* processes that may wait for this one */

/* `behind_ns`: and so much before that. */
static uint64_t hold_take(const void *session, uint64_t now_ns, unsigned int order, uint64_t behind_ns)
{
	uint64_t least = HOLD_LEAST_NS << order, hold_ns = behind_ns + least + race_draw() % least;
	bool may = budget_take(&budget, session, now_ns, now_ns + hold_ns + HOLD_LATE_NS, work_ns());

	atomic_store(&spare_ns, budget.left_ns);
	atomic_store(&others, budget.sessions);
	return may ? hold_ns : 0;
}

bool race_has_plenty(void)
{
	return atomic_load(&spare_ns) > PLENTY_NS;
}

/* A program that waits for one of two operations meets the other one only if that takes much longer. */
static uint64_t behind_all(uint64_t now_ns)
{
	uint64_t behind_ns = budget.until_ns > now_ns ? budget.until_ns - now_ns : 0;

	return behind_ns < BEHIND_MOST_NS && race_draw() % 2 ? behind_ns : 0;
}

uint64_t race_hold(const void *session, bool brief, uint64_t now_ns)
{
	unsigned int drawn = (unsigned int)race_draw();

	if (!race_has_plenty() || brief)
		return hold_take(session, now_ns, drawn % HOLDS, 0);
	return hold_take(session, now_ns, LONG_HOLDS + drawn % (HOLDS - LONG_HOLDS), behind_all(now_ns));
}

uint64_t race_hold_completion(const void *session, uint64_t now_ns)
{
	return hold_take(session, now_ns, race_draw() % HOLDS, 0);
}

uint64_t race_stay(const void *session, uint64_t now_ns)
{
	return race_has_plenty() ? hold_take(session, now_ns, STAYS, 0) : 0;
}

uint64_t race_hold_post(const void *session, uint64_t now_ns)
{
	return hold_take(session, now_ns, race_draw() % LEAVES, 0);
}

bool race_is_in_debt(void)
{
	return atomic_load(&spare_ns) < 0;
}

void race_forget_session(const void *session)
{
	budget_forget(&budget, session);
}

/* --- pauses --- */

static atomic_uint paused;        /* threads */
static atomic_uint opens;         /* a futex: counts accesses that are open */
static atomic_uint news;          /* counts what will tell the program something */
static atomic_uint told[THREADS]; /* by thread: how often it was */

void race_news(void)
{
	atomic_fetch_add(&news, 1);
}

static atomic_uint *told_of(int thread)
{
	return &told[(unsigned int)thread % THREADS];
}

unsigned int race_told(int thread)
{
	return atomic_load(told_of(thread)) + 1;
}

bool race_is_paused(void)
{
	return atomic_load(&paused);
}

uint64_t race_split_hold(uint64_t *hold_ns)
{
	uint64_t late_ns = *hold_ns / 4 * 3;

	*hold_ns -= late_ns;
	return race_is_paused() && late_ns < HOLD_PAUSED_NS ? HOLD_PAUSED_NS : late_ns;
}

void race_wake_paused(void)
{
	atomic_fetch_add(&opens, 1);
	if (atomic_load(&paused))
		syscall(SYS_futex, &opens, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool race_may_pause(void)
{
	return atomic_load(&spare_ns) > PAUSE_SPARE_NS;
}

void race_pause(void)
{
	uint64_t least_ns = PAUSE_LEAST_NS << race_draw() % PAUSES, most_ns = least_ns + race_draw() % least_ns;
	uint64_t begun_ns = race_clock_ns(), now_ns = begun_ns, took_ns;
	unsigned int before = atomic_load(&opens);

	atomic_fetch_add(&paused, 1);
	while (now_ns - begun_ns < most_ns && atomic_load(&opens) == before) {
		uint64_t left_ns = most_ns - (now_ns - begun_ns);
		struct timespec left = { .tv_nsec = (long)left_ns };

		syscall(SYS_futex, &opens, FUTEX_WAIT_PRIVATE, before, &left, NULL, 0);
		now_ns = race_clock_ns();
	}
	atomic_fetch_sub(&paused, 1);
	took_ns = now_ns - begun_ns;
	atomic_fetch_add_explicit(&cost_ns, took_ns, memory_order_relaxed);
	atomic_fetch_sub(&spare_ns, (int64_t)took_ns);
}

static void thread_told(void)
{
	atomic_fetch_add(told_of(gettid()), 1);
	if (!touch_arm() && race_has_plenty() && race_draw() % (1 + atomic_load(&others)) == 0)
		race_pause();
}

void check_told(void)
{
	static _Thread_local unsigned int known;
	unsigned int now = atomic_load(&news);

	if (!races.on || known == now || check_inside)
		return;
	known = now;
	thread_told();
}

/* The device's own sockets are none of the program's. */
void race_heard(void)
{
	if (!check_inside && !driver_held())
		thread_told();
}

void race_holds_forked(void)
{
	budget = (struct check_budget){ .left_ns = BUDGET_FIRST_NS };
	atomic_store(&spare_ns, BUDGET_FIRST_NS);
	atomic_store(&paused, 0);
}
