/* SPDX-License-Identifier: BSD-2-Clause */
/* check_race.c - races: accesses to the same bytes of which one changes them, open at one time.
 *
 * While a peer's access is open, its initiator cannot know that it was executed (emu/nic/ops/races.h). So what another one does to
 * its bytes meanwhile is ordered by nothing, however the programs meant to order it. The answers are held back for a while, drawn
 * from the seed, as they may take it on any network; own operations wait likewise before they leave.
 *
 * Thread: holder of the driver role, where nothing else is said. `accesses` and all that hangs on it belong to it. */
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "emu/nic/base/op_kind.h"
#include "emu/nic/ops/races.h"
#include "emu/process/check/check.h"
#include "emu/process/check/check_budget.h"
#include "emu/process/log/log.h"
#include "emu/process/races/page_watch.h"

enum { PEER = 64, HOLDS = 8, SESSIONS = 64, POLLED = 8 };

#define HOLD_LEAST_NS UINT64_C(50000) /* holds are drawn by the order of their length: up to 2^HOLDS times so long */

struct race_what {
	const void *session;
	uint64_t key;
	uint32_t element; /* of an atomic, in bytes; else 0 */
	uint8_t op;
	bool changes;
	bool told; /* to its target: others may know of it */
	char peer[PEER];
};

struct race_span {
	struct interval range;
	struct race_open *open;
};

struct race_open {
	struct check_owned owned; /* first */
	struct race_what what;
	uint64_t serial;
	bool in_order; /* of its session */
	bool pinned;
	uintptr_t end; /* of its last byte */
	size_t spans;
	struct race_span span[LIMIT_IOV];
	/* An earlier one of its session has stored something there, and nothing orders the two: is it the same? */
	struct race_what before;
	struct iovec both; /* no length: there is none */
	uint64_t stored;
};

static struct interval_tree accesses;
static bool on, strict;
static uint64_t seed, draws;
static struct check_budget budget = { .left_ns = BUDGET_FIRST_NS };

/* --- how long --- */

static uint64_t race_mix(uint64_t bits)
{
	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return bits ^ bits >> 31;
}

/* A number for a pair of accesses: findings of one are told once. Not 0. */
static uint64_t pair_place(const void *session, const void *other, uint64_t key, uint64_t kinds)
{
	return race_mix(race_mix((uintptr_t)session ^ (uintptr_t)other) + race_mix(key + kinds)) | 1;
}

static uint64_t draw(void)
{
	return race_mix(draws += UINT64_C(0x9e3779b97f4a7c15));
}

/* Estimates of a trapped call and of a fault, which are too many to be measured each. */
enum { TRAP_NS = 4000, FAULT_NS = 8000 };

static atomic_uint_fast64_t cost_ns; /* of what was measured */
static atomic_bool in_debt;

static uint64_t race_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t check_cost_begin(void)
{
	return on ? race_clock_ns() : 0;
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

/* 0: this process has taken enough so far. */
static uint64_t hold_for(const void *session, uint64_t now_ns)
{
	uint64_t drawn = draw(), least = HOLD_LEAST_NS << drawn % HOLDS, hold_ns = least + (drawn >> 8) % least;
	bool may = budget_take(&budget, session, now_ns, now_ns + hold_ns + HOLD_LATE_NS, work_ns());

	atomic_store(&in_debt, budget.left_ns < 0);
	return may ? hold_ns : 0;
}

/* --- what conflicts --- */

static const char *what_word(const struct race_what *what)
{
	if (what->op == OP_ATOMIC)
		return what->changes ? "remote atomic" : "remote atomic read";
	if (what->op == OP_SEND)
		return "message";
	return what->op == OP_READ ? "remote read" : "remote write";
}

/* Of one session: is the later one executed after the earlier? A write that must wait for a read does so before it leaves. An
 * atomic waits for writes if it is ordered as a read or as a write. */
static bool is_ordered(const struct race_what *first, const struct race_access *later)
{
	if (first->session != later->session)
		return first->told;
	if (first->op == OP_SEND)
		return later->was || !later->changes || later->op == OP_SEND;
	if (later->op == OP_SEND)
		return later->saw || !first->changes;
	if (!first->changes)
		return false;
	if (first->element && later->element)
		return later->atomic;
	if (first->element || later->element) /* one that fetches is a read as well as a write */
		return later->mixed && ((later->changes && later->waw) || (later->returns && later->raw));
	return later->changes ? later->waw : later->raw;
}

static bool conflict(const struct race_what *first, const struct race_access *later)
{
	if (!first->changes && !later->changes)
		return false;
	if (first->element && first->element == later->element)
		return false;
	return !is_ordered(first, later);
}

static void tell_two(const struct race_what *first, const struct race_what *later, const struct iovec *both)
{
	uint64_t key = first->op == OP_SEND ? later->key : first->key; /* a message has none */
	struct check_finding finding = { .cause = CHECK_RACE_OPERATIONS,
					 .place = pair_place(first->session, later->session, first->key, first->op + later->op) };

	if (first->session == later->session)
		check_tell(&finding,
			   "a %s and a %s by %s access the same %zu B at %p, key %#" PRIx64
			   ", before the first was answered, and no order between them was asked for (seed=%" PRIu64 ")",
			   what_word(first), what_word(later), later->peer, both->iov_len, both->iov_base, key, seed);
	else
		check_tell(&finding,
			   "a %s by %s and a %s by %s access the same %zu B at %p, key %#" PRIx64
			   ", before the first was answered: nothing orders them (seed=%" PRIu64 ")",
			   what_word(first), first->peer, what_word(later), later->peer, both->iov_len, both->iov_base, later->key,
			   seed);
}

/* --- accesses of the CPU --- */

/* Watches that may be begun: so many a second, and so many at once, as each divides a mapping, and the list of mappings is read
 * anew when it changes. The second is for a program that the checks alone slow down by more than they may. */
enum { WATCHES_PER_S = 4000, WATCHES_IN_DEBT = 500, WATCHES_AT_ONCE = 500 };

static atomic_uint_fast64_t known[SESSIONS];  /* by session: the program knows of accesses up to this one */
static atomic_uint_fast64_t buffers, skipped; /* that were to be watched; and were one too many */

static atomic_uint_fast64_t *known_of(const void *session)
{
	return &known[race_mix((uintptr_t)session) % SESSIONS];
}

static bool may_watch(void)
{
	static atomic_uint_fast64_t next_ns; /* when the last watch was begun, if all were begun evenly */
	const uint64_t each_ns = 1000000000 / (atomic_load(&in_debt) ? WATCHES_IN_DEBT : WATCHES_PER_S);
	const uint64_t ahead_ns = WATCHES_AT_ONCE * each_ns;
	uint64_t now_ns = race_clock_ns(), next = atomic_load(&next_ns);
	uint64_t from_ns = next + ahead_ns > now_ns ? next : now_ns - ahead_ns;

	if (from_ns + each_ns > now_ns)
		return false;
	atomic_compare_exchange_strong(&next_ns, &next, from_ns + each_ns); /* lost to another thread: one more, for once */
	return true;
}

void check_owned_begin(struct check_owned *owned, const struct iovec *iov, size_t count, bool stores_alone)
{
	struct page_watch *watch;
	const char *why;

	atomic_fetch_add(&buffers, 1);
	if (!may_watch()) {
		atomic_fetch_add(&skipped, 1);
		return;
	}
	watch = page_watch_begin(iov, count, stores_alone ? PAGE_WATCH_STORES : PAGE_WATCH_ALL, owned);
	atomic_store(&owned->watch, watch);
	why = watch ? NULL : page_watch_ended_why();
	if (why)
		log_warn(PROCESS_ITSELF,
			 "accesses of the CPU to memory of operations are not looked at from here on, races among operations "
			 "are: %s",
			 why);
}

/* A tenth of the buffers, or more, went unwatched for reasons that the program can do something about. */
void check_races_exit(void)
{
	struct page_watch_counts counts;
	uint64_t all = atomic_load(&buffers), many, without;

	if (!on)
		return;
	page_watch_count(&counts);
	many = counts.refused_full + atomic_load(&skipped);
	without = counts.refused_memory + counts.refused_threads + counts.refused_handler + many;
	if (without * 10 < all || !without)
		return;
	log_warn(PROCESS_ITSELF,
		 "accesses of the CPU to %" PRIu64 " of %" PRIu64 " buffers were not looked at: %" PRIu64
		 " are on stacks, in huge pages, memory of devices or the like, %" PRIu64
		 " came while a thread did not trap its system calls, %" PRIu64
		 " while the program's handler of faults stood in front, and %" PRIu64 " were too many",
		 without, all, counts.refused_memory, counts.refused_threads, counts.refused_handler, many);
}

void check_owned_end(struct check_owned *owned)
{
	page_watch_end(atomic_exchange(&owned->watch, NULL));
}

static void own_runs(struct race_open *open)
{
	struct iovec runs[LIMIT_IOV];

	for (size_t i = 0; i < open->spans; i++) {
		const struct interval *range = &open->span[i].range;

		runs[i] = (struct iovec){ (void *)(uintptr_t)range->first, range->last - range->first + 1 };
	}
	check_owned_begin(&open->owned, runs, open->spans, !open->what.changes);
}

static void tell_access_to_post(const struct check_post *post, uintptr_t address, bool store, const struct call_stack *stack)
{
	check_tell(&(struct check_finding){ .cause = store ? CHECK_RACE_STORE : CHECK_RACE_LOAD,
					    .call = post->call,
					    .posted = &post->posted,
					    .at = stack },
		   "%s: its buffer is %s at %#" PRIxPTR " by the program before it has completed (seed=%" PRIu64 ")", post->call,
		   store ? "written to" : "read", address, seed);
}

static void tell_access_to_place(const struct race_open *open, uintptr_t address, bool store, const struct call_stack *stack)
{
	check_tell(&(struct check_finding){ .cause = store ? CHECK_RACE_STORE : CHECK_RACE_LOAD, .at = stack },
		   "memory under key %#" PRIx64 " is %s at %#" PRIxPTR " by the program while a %s by %s accesses it, of whose "
		   "end nothing has told yet (seed=%" PRIu64 ")",
		   open->what.key, store ? "written to" : "read", address, what_word(&open->what), open->what.peer, seed);
}

/* It looks for the last bytes of a write: then it knows of all that was executed before, if its session keeps the order. */
static void tell_polled(const struct race_open *open, uintptr_t address, const struct call_stack *stack)
{
	if (open->in_order && atomic_load(known_of(open->what.session)) < open->serial)
		atomic_store(known_of(open->what.session), open->serial);
	check_tell(&(struct check_finding){ .cause = strict ? CHECK_POLLED_STRICT : CHECK_POLLED, .at = stack },
		   "memory under key %#" PRIx64 " is read at %#" PRIxPTR
		   ", the end of a remote write by %s, of which nothing has told "
		   "yet: the program polls for it (seed=%" PRIu64 ")",
		   open->what.key, address, open->what.peer, seed);
}

/* In the handler of a fault. */
static void accessed(void *arg, uintptr_t address, bool store, const struct call_stack *stack)
{
	const struct check_owned *owned = arg;
	const struct race_open *open = arg;

	if (owned->post && check_post_is_open(owned->post))
		tell_access_to_post(owned->post, address, store, stack);
	else if (owned->post)
		return;
	else if (!store && open->what.changes && open->end - address <= POLLED)
		tell_polled(open, address, stack);
	else if (atomic_load(known_of(open->what.session)) < open->serial)
		tell_access_to_place(open, address, store, stack);
}

static bool inside_check(void)
{
	return check_inside;
}

static const struct page_watch_ops page_ops = { .accessed = accessed, .inside = inside_check };

/* --- accesses of peers --- */

static uint64_t serial; /* of those that were open */

/* An access that comes, and what is open there. */
struct arrival {
	const struct race_access *access;
	const struct race_what *what;
	const struct iovec *run;
	struct race_what before; /* see struct race_open */
	struct iovec both;
	bool told;
};

static struct iovec common_bytes(const struct iovec *run, const struct interval *range)
{
	uint64_t first = (uintptr_t)run->iov_base, last = first + run->iov_len - 1;

	first = first < range->first ? range->first : first;
	last = last > range->last ? range->last : last;
	return (struct iovec){ (void *)(uintptr_t)first, last - first + 1 };
}

/* Two writes of one session that store the same bytes: the order of the two shows nowhere. */
static bool bytes_decide(const struct race_what *first, const struct race_what *later)
{
	return first->session == later->session && first->changes && later->changes && first->op != OP_SEND && later->op != OP_SEND;
}

static int arrival_meets(struct interval *range, void *arg)
{
	const struct race_open *open = ((struct race_span *)range)->open;
	struct arrival *arrival = arg;
	struct iovec both = common_bytes(arrival->run, range);

	if (!conflict(&open->what, arrival->access))
		return 0;
	if (!bytes_decide(&open->what, arrival->what)) {
		tell_two(&open->what, arrival->what, &both);
		arrival->told = true;
		return 1;
	}
	arrival->before = open->what;
	arrival->both = both;
	return 0;
}

static void arrival_look(struct arrival *arrival)
{
	for (size_t i = 0; i < arrival->access->count && !arrival->told; i++) {
		uint64_t first = (uintptr_t)arrival->access->run[i].iov_base;

		arrival->run = &arrival->access->run[i];
		if (arrival->run->iov_len)
			interval_tree_find(&accesses, first, first + arrival->run->iov_len - 1, arrival_meets, arrival);
	}
}

static void tell_local(const struct race_what *what, const struct check_met *met)
{
	check_tell(
		&(struct check_finding){ .cause = CHECK_RACE_OPERATIONS,
					 .call = met->call,
					 .posted = &met->posted,
					 .place = pair_place(what->session, NULL, what->key, call_stack_place(&met->posted)) },
		met->source
			? "%s: a %s by %s, key %#" PRIx64
			  ", changes %zu B of its buffer at %p, of which nothing has left yet: nothing orders them (seed=%" PRIu64
			  ")"
			: "%s: a %s by %s, key %#" PRIx64
			  ", accesses %zu B of its buffer at %p, which a read of this process fills: nothing orders "
			  "them (seed=%" PRIu64 ")",
		met->call, what_word(what), what->peer, what->key, met->both.iov_len, met->both.iov_base, seed);
}

static struct race_open *race_open_new(const struct arrival *arrival, bool open)
{
	struct race_open *new = calloc(1, sizeof(*new));

	if (!new)
		return NULL;
	new->what = *arrival->what;
	new->serial = ++serial;
	new->in_order = arrival->access->waw;
	new->pinned = arrival->access->pinned;
	for (size_t i = 0; open && i < arrival->access->count; i++) {
		uint64_t first = (uintptr_t)arrival->access->run[i].iov_base;
		struct race_span *span = &new->span[new->spans];

		if (!arrival->access->run[i].iov_len)
			continue;
		*span = (struct race_span){ { .first = first, .last = first + arrival->access->run[i].iov_len - 1 }, new };
		interval_tree_add(&accesses, &span->range);
		new->spans++;
		new->end = span->range.last + 1;
	}
	if (!arrival->told && arrival->both.iov_len && check_digest(&arrival->both, 1, &new->stored)) {
		new->before = arrival->before;
		new->both = arrival->both;
	}
	return new;
}

static struct race_opened race_arrived(const struct race_access *access)
{
	struct race_what what = { .session = access->session,
				  .key = access->key,
				  .element = access->element,
				  .op = access->op,
				  .changes = access->changes,
				  .told = access->told };
	struct arrival arrival = { .access = access, .what = &what };
	uint64_t begun_ns = check_cost_begin();
	struct race_opened opened = { 0 };
	struct race_open *open = NULL;
	struct check_met met;

	if (!access->tells || access->waits || access->told)
		opened.hold_ns = hold_for(access->session, access->now_ns);
	snprintf(what.peer, sizeof(what.peer), "%s", access->peer);
	arrival_look(&arrival);
	if (!arrival.told && access->op != OP_SEND &&
	    check_posts_met(access->run, access->count, access->changes, access->now_ns, &met))
		tell_local(&what, &met);
	if (opened.hold_ns || arrival.both.iov_len)
		opened.open = open = race_open_new(&arrival, opened.hold_ns);
	if (open && open->spans && !open->pinned && access->op == OP_WRITE)
		own_runs(open);
	opened.apart = open && open->owned.watch;
	/* Nobody sees whether the program polls for it. */
	if (access->changes && (access->op == OP_SEND ? access->saw : access->waw) && !opened.apart)
		atomic_store(known_of(access->session), serial);
	check_cost_end(begun_ns);
	return opened;
}

/* By the kernel, which does not look at the protection of pages. Opened anew, as the program may close descriptors. */
static bool race_store(void *opened, void *to, const void *from, size_t length)
{
	uint64_t begun_ns = check_cost_begin();
	const struct race_open *apart = opened;
	int memory = apart->owned.watch ? open("/proc/self/mem", O_WRONLY | O_CLOEXEC) : -1;
	bool stored;

	if (memory < 0)
		return false;
	stored = pwrite(memory, from, length, (off_t)(uintptr_t)to) == (ssize_t)length;
	close(memory);
	check_cost_end(begun_ns);
	return stored;
}

static void race_executed(void *opened)
{
	uint64_t begun_ns = check_cost_begin(), now;
	struct race_open *open = opened;

	if (open->both.iov_len && check_digest(&open->both, 1, &now) && now != open->stored)
		tell_two(&open->before, &open->what, &open->both);
	open->both.iov_len = 0;
	if (open->spans && !open->pinned && open->what.op != OP_WRITE && open->what.op != OP_SEND)
		own_runs(open);
	check_cost_end(begun_ns);
}

static void race_closed(void *opened)
{
	uint64_t begun_ns = check_cost_begin();
	struct race_open *open = opened;

	check_owned_end(&open->owned);
	while (open->spans)
		interval_tree_remove(&accesses, &open->span[--open->spans].range);
	free(open);
	check_cost_end(begun_ns);
}

static uint64_t race_leaves(const void *session, void *watch, uint64_t now_ns)
{
	/* One that is held back may come to the peer behind an access of its program that it would meet. */
	uint64_t hold_ns = draw() % 2 ? hold_for(session, now_ns) : 0;

	if (watch)
		check_post_leaves(watch, now_ns + hold_ns);
	return hold_ns;
}

static void race_unfenced(void *read, void *later)
{
	const struct check_post *first = read, *second = later;

	check_tell(&(struct check_finding){ .cause = CHECK_RACE_OPERATIONS,
					    .call = second->call,
					    .posted = &first->posted,
					    .at = &second->posted },
		   "%s: changes bytes at the peer that %s accesses, which has not completed, and has no fence: hardware "
		   "need not execute that first",
		   second->call, first->call);
}

static void race_ended(const void *session)
{
	budget_forget(&budget, session);
}

static const struct race_ops race_ops = {
	.arrived = race_arrived,
	.store = race_store,
	.executed = race_executed,
	.closed = race_closed,
	.leaves = race_leaves,
	.unfenced = race_unfenced,
	.ended = race_ended,
};

const struct race_ops *check_races(void)
{
	return on ? &race_ops : NULL;
}

void check_races_start(uint64_t from, bool polling_too)
{
	const char *why;

	if (on)
		return;
	seed = draws = from;
	strict = polling_too;
	on = true;
	why = page_watch_start(&page_ops);
	if (why)
		log_warn(PROCESS_ITSELF,
			 "accesses of the CPU to memory of operations are not looked at here, races among operations are: %s", why);
}

void check_races_forked(void)
{
	if (on)
		page_watch_forked();
	accesses = (struct interval_tree){ 0 };
	budget = (struct check_budget){ .left_ns = BUDGET_FIRST_NS };
}
