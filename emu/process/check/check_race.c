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
#include <unistd.h>

#include "emu/nic/base/op_kind.h"
#include "emu/nic/ops/races.h"
#include "emu/process/check/check.h"
#include "emu/process/check/check_race.h"
#include "emu/process/log/log.h"

static struct interval_tree accesses;

/* A number for a pair of accesses: findings of one are told once. Not 0. */
static uint64_t pair_place(const void *session, const void *other, uint64_t key, uint64_t kinds)
{
	return race_mix(race_mix((uintptr_t)session ^ (uintptr_t)other) + race_mix(key + kinds)) | 1;
}

/* --- what conflicts --- */

const char *race_word(const struct race_what *what)
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
			   race_word(first), race_word(later), later->peer, both->iov_len, both->iov_base, key, races.seed);
	else
		check_tell(&finding,
			   "a %s by %s and a %s by %s access the same %zu B at %p, key %#" PRIx64
			   ", before the first was answered: nothing orders them (seed=%" PRIu64 ")",
			   race_word(first), first->peer, race_word(later), later->peer, both->iov_len, both->iov_base, later->key,
			   races.seed);
}

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
		met->call, race_word(what), what->peer, what->key, met->both.iov_len, met->both.iov_base, races.seed);
}

void check_post_copied(const char *call, const struct iovec *iov, size_t count)
{
	struct check_met met;

	if (!races.on || check_inside || !check_posts_met(iov, count, false, 0, &met))
		return;
	check_tell(&(struct check_finding){ .cause = CHECK_RACE_LOAD, .call = call, .posted = &met.posted, .here = true },
		   "%s: copies %zu B at %p, which %s fills, and that has not completed (seed=%" PRIu64 ")", call, met.both.iov_len,
		   met.both.iov_base, met.call, races.seed);
}

_Static_assert(sizeof(struct race_open) <= CHECK_ALLOC_MOST, "");

static struct race_open *race_open_new(const struct arrival *arrival, bool open)
{
	struct race_open *new = check_alloc(sizeof(*new));

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

/* An atomic that is late has other processes wait for locks, and meet less: it is so if a thread has paused that may look at it,
 * and seldom else if its initiator waits for what it returns. */
static bool access_may_be_late(const struct race_access *access)
{
	bool is_rare = access->op == OP_ATOMIC && !race_is_paused() && race_draw() % (access->returns ? 8 : 2);

	return access->waits && !access->tells && access->whole && !is_rare;
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
	bool may_be_late = access_may_be_late(access);
	struct check_met met;

	if (!access->tells || access->waits || access->told)
		opened.hold_ns = race_hold(access->session, access->element && access->returns, access->now_ns);
	snprintf(what.peer, sizeof(what.peer), "%s", access->peer);
	arrival_look(&arrival);
	if (!arrival.told && access->op != OP_SEND &&
	    check_posts_met(access->run, access->count, access->changes, access->now_ns, &met))
		tell_local(&what, &met);
	if (opened.hold_ns || arrival.both.iov_len)
		opened.open = open = race_open_new(&arrival, opened.hold_ns);
	if (open && open->spans && !open->pinned && (access->op == OP_WRITE || may_be_late))
		touch_begin(open);
	opened.apart = open && open->owned.watch && access->op == OP_WRITE;
	if (open && may_be_late)
		opened.late_ns = race_split_hold(&opened.hold_ns);
	if (opened.late_ns || (opened.apart && access->waits && access->tells))
		atomic_store(&open->late, true);
	if (open && open->owned.watch)
		race_wake_paused();
	/* Nobody sees whether the program polls for it. */
	if (access->changes && (access->op == OP_SEND ? access->saw : access->waw) && !opened.apart)
		touch_known(access->session, serial);
	if (access->tells) {
		race_news();
		opened.stay_ns = race_stay(access->session, access->now_ns);
	}
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

	touch_not_late(opened);
	if (memory < 0)
		return false;
	stored = pwrite(memory, from, length, (off_t)(uintptr_t)to) == (ssize_t)length;
	close(memory);
	check_cost_end(begun_ns);
	return stored;
}

static void race_due(void *opened)
{
	touch_not_late(opened);
}

static void race_executed(void *opened)
{
	uint64_t begun_ns = check_cost_begin(), now;
	struct race_open *open = opened;

	touch_executed(open);
	if (open->both.iov_len && check_digest(&open->both, 1, &now) && now != open->stored)
		tell_two(&open->before, &open->what, &open->both);
	open->both.iov_len = 0;
	if (open->spans && !open->pinned && !open->owned.watch && open->what.op != OP_WRITE && open->what.op != OP_SEND) {
		touch_begin(open);
		race_wake_paused();
	}
	check_cost_end(begun_ns);
}

static void race_closed(void *opened)
{
	uint64_t begun_ns = check_cost_begin();
	struct race_open *open = opened;

	while (open->spans)
		interval_tree_remove(&accesses, &open->span[--open->spans].range);
	if (!touch_end(open))
		check_free(open);
	check_cost_end(begun_ns);
}

static uint64_t race_leaves(const void *session, void *watch, uint64_t now_ns)
{
	/* One that is held back may come to the peer behind an access of its program that it would meet. */
	uint64_t hold_ns = race_draw() % 2 ? race_hold_post(session, now_ns) : 0;

	if (watch)
		check_post_leaves(watch, now_ns + hold_ns);
	return hold_ns;
}

static uint64_t race_completes(const void *session, uint8_t op, uint64_t now_ns)
{
	return race_draw() % (op == OP_ATOMIC ? 4 : 2) == 0 ? race_hold_completion(session, now_ns) : 0;
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
	race_forget_session(session);
}

static const struct race_ops race_ops = {
	.arrived = race_arrived,
	.store = race_store,
	.due = race_due,
	.executed = race_executed,
	.closed = race_closed,
	.leaves = race_leaves,
	.completes = race_completes,
	.unfenced = race_unfenced,
	.ended = race_ended,
};

const struct race_ops *check_races(void)
{
	return races.on ? &race_ops : NULL;
}

void check_races_start(uint64_t from, bool polling_too)
{
	const char *why;

	if (races.on)
		return;
	races = (struct race_settings){ .on = true, .strict = polling_too, .seed = from };
	why = touch_start();
	if (why)
		log_warn(PROCESS_ITSELF,
			 "accesses of the CPU to memory of operations are not looked at here, races among operations are: %s", why);
}

void check_races_exit(void)
{
	if (races.on)
		touch_exit();
}

void check_races_forked(void)
{
	if (races.on)
		touch_forked();
	accesses = (struct interval_tree){ 0 };
	race_holds_forked();
}
