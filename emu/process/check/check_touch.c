/* SPDX-License-Identifier: BSD-2-Clause */
/* check_touch.c - races with the program's CPU: what it does to bytes that an operation, or a peer's access, has for a while.
 *
 * A load of the last bytes of a write may be a poll for its end, or a race. A poll that has seen the old bytes comes again. So
 * such a load is kept in mind (struct race_look), and is a race if its thread has been told something since, but has not looked
 * again from the same place when the process exits. Where an access to the page may have gone unseen, it is a poll. */
#include <inttypes.h>
#include <unistd.h>

#include "emu/nic/base/op_kind.h"
#include "emu/nic/role/driver.h"
#include "emu/process/check/check.h"
#include "emu/process/check/check_race.h"
#include "emu/process/log/log.h"
#include "emu/process/races/page_watch.h"

enum { SESSIONS = 64, POLLED = 8, SMALL = 32, KEPT = 8, INSTRUCTION = 15, TRAP_LENGTH = 1 << 18, TRAP_RESTS = 16 };

#define TRAP_NS UINT64_C(2000000) /* a trap stays so long, until it is sprung */

static atomic_uint_fast64_t known[SESSIONS];  /* by session: the program knows of accesses up to this one */
static atomic_uint_fast64_t buffers, skipped; /* that were to be watched; and were one too many */

static atomic_uint_fast64_t *known_of(const void *session)
{
	return &known[race_mix((uintptr_t)session) % SESSIONS];
}

void touch_known(const void *session, uint64_t serial)
{
	atomic_store(known_of(session), serial);
}

/* --- what is watched --- */

/* Watches that may be begun: so many a second, and so many at once, as each divides a mapping, and the list of mappings is read
 * anew when it changes. The second is for a program that the checks alone slow down by more than they may. */
enum { WATCHES_PER_S = 4000, WATCHES_IN_DEBT = 500, WATCHES_AT_ONCE = 500 };

static bool may_watch(void)
{
	static atomic_uint_fast64_t next_ns; /* when the last watch was begun, if all were begun evenly */
	const uint64_t each_ns = 1000000000 / (race_is_in_debt() ? WATCHES_IN_DEBT : WATCHES_PER_S);
	const uint64_t ahead_ns = WATCHES_AT_ONCE * each_ns;
	uint64_t now_ns = race_clock_ns(), next = atomic_load(&next_ns);
	uint64_t from_ns = next + ahead_ns > now_ns ? next : now_ns - ahead_ns;

	if (from_ns + each_ns > now_ns)
		return false;
	atomic_compare_exchange_strong(&next_ns, &next, from_ns + each_ns); /* lost to another thread: one more, for once */
	return true;
}

/* What shares its pages with others, as a variable does: those would have them lifted soon. A receive may stay for long. */
static bool is_small(const struct check_owned *owned, const struct iovec *iov, size_t count)
{
	return count == 1 && iov->iov_len <= SMALL && !(owned->post && owned->post->receive);
}

void check_owned_begin(struct check_owned *owned, const struct iovec *iov, size_t count, bool stores_alone)
{
	struct page_watch *watch = NULL;
	const char *why;

	atomic_fetch_add(&buffers, 1);
	if (!may_watch()) {
		atomic_fetch_add(&skipped, 1);
		return;
	}
	if (is_small(owned, iov, count) && !stores_alone && race_has_plenty())
		watch = page_watch_begin(iov, count, PAGE_WATCH_BYTES, owned);
	owned->by_bytes = watch;
	if (!watch)
		watch = page_watch_begin(iov, count, stores_alone ? PAGE_WATCH_STORES : PAGE_WATCH_ALL, owned);
	atomic_store(&owned->watch, watch);
	why = watch ? NULL : page_watch_ended_why();
	if (why)
		log_warn(PROCESS_ITSELF,
			 "accesses of the CPU to memory of operations are not looked at from here on, races among operations "
			 "are: %s",
			 why);
}

void check_owned_end(struct check_owned *owned)
{
	page_watch_end(atomic_exchange(&owned->watch, NULL));
}

void touch_begin(struct race_open *open)
{
	struct iovec runs[LIMIT_IOV];

	for (size_t i = 0; i < open->spans; i++) {
		const struct interval *range = &open->span[i].range;

		runs[i] = (struct iovec){ (void *)(uintptr_t)range->first, range->last - range->first + 1 };
	}
	check_owned_begin(&open->owned, runs, open->spans, !open->what.changes);
}

/* --- what is touched --- */

static void tell_touched_post(const struct check_post *post, const struct page_access *access)
{
	check_tell(&(struct check_finding){ .cause = access->is_store ? CHECK_RACE_STORE : CHECK_RACE_LOAD,
					    .call = post->call,
					    .posted = &post->posted,
					    .at = access->stack },
		   "%s: its buffer is %s at %#" PRIxPTR " by the program before it has completed (seed=%" PRIu64 ")", post->call,
		   access->is_store ? "written to" : "read", access->at, races.seed);
}

static void tell_touched_place(const struct race_open *open, const struct page_access *access)
{
	check_tell(&(struct check_finding){ .cause = access->is_store ? CHECK_RACE_STORE : CHECK_RACE_LOAD, .at = access->stack },
		   "memory under key %#" PRIx64 " is %s at %#" PRIxPTR " by the program while a %s by %s accesses it, of whose "
		   "end nothing has told yet (seed=%" PRIu64 ")",
		   open->what.key, access->is_store ? "written to" : "read", access->at, race_word(&open->what), open->what.peer,
		   races.seed);
}

static void tell_polled(const struct race_open *open, uintptr_t at, const struct call_stack *stack)
{
	check_tell(&(struct check_finding){ .cause = races.strict ? CHECK_POLLED_STRICT : CHECK_POLLED, .at = stack },
		   "memory under key %#" PRIx64 " is read at %#" PRIxPTR
		   ", the end of a remote write by %s, of which nothing has told "
		   "yet: the program polls for it (seed=%" PRIu64 ")",
		   open->what.key, at, open->what.peer, races.seed);
}

static bool look_becomes(struct race_look *look, int from, int to)
{
	return atomic_compare_exchange_strong(&look->is, &from, to);
}

/* Keeps the first load in mind, if it comes before the bytes. */
static bool look_begins(struct race_open *open, const struct page_access *access)
{
	struct race_look *look = &open->look;

	if (!atomic_load(&open->late) || !look_becomes(look, LOOK_NONE, LOOK_FILLED))
		return false;
	look->thread = gettid();
	look->told = race_told(look->thread);
	look->at = access->at;
	look->code = access->code;
	look->lifted = access->lifted;
	look->stack = *access->stack;
	atomic_store(&look->is, LOOK_BEGUN);
	return atomic_load(&open->late) || !look_becomes(look, LOOK_BEGUN, LOOK_PASSED);
}

/* A load after the one that is kept in mind. */
static bool look_goes_on(struct race_open *open, const struct page_access *access)
{
	struct race_look *look = &open->look;
	unsigned int stored_at = atomic_load(&look->stored_at);
	bool told;

	if (look->thread != gettid() || look->at != access->at || atomic_load(&look->is) != LOOK_SURE)
		return true;
	told = stored_at && race_told(look->thread) != stored_at;
	if (!look_becomes(look, LOOK_SURE, LOOK_PASSED))
		return false;
	if (!told || access->code - look->code <= INSTRUCTION)
		tell_polled(open, access->at, access->stack);
	else if (open->owned.by_bytes || look->lifted == access->lifted)
		tell_touched_place(open, &(struct page_access){ .at = look->at, .stack = &look->stack });
	return false;
}

/* It looks for the last bytes of a write: then it knows of all that was executed before, if its session keeps the order. */
static bool maybe_polled(struct race_open *open, const struct page_access *access)
{
	int is = atomic_load(&open->look.is);

	if (is == LOOK_BEGUN || is == LOOK_SURE)
		return look_goes_on(open, access);
	if (atomic_load(&open->over) || is == LOOK_PASSED)
		return true;
	if (open->in_order && atomic_load(known_of(open->what.session)) < open->serial)
		touch_known(open->what.session, open->serial);
	if (look_begins(open, access))
		return true;
	tell_polled(open, access->at, access->stack);
	return false;
}

/* Bytes that are not as they were have been stored by the program, or by a peer whose write comes just now. */
static bool is_store(const struct race_open *open, const struct page_access *access)
{
	if (!access->is_store || access->is_sure || atomic_load(&open->late))
		return access->is_store;
	return atomic_load(&open->there) && page_watch_renewals() == access->renewals;
}

/* In the handler of a fault. */
static bool accessed(void *arg, const struct page_access *access)
{
	const struct check_owned *owned = arg;
	struct race_open *open = arg;
	struct page_access seen = *access;

	if (owned->post) {
		if (check_post_is_open(owned->post))
			tell_touched_post(owned->post, access);
		return false;
	}
	seen.is_store = is_store(open, access);
	if (!seen.is_store && open->what.changes && open->end - seen.at <= POLLED)
		return maybe_polled(open, &seen);
	if (atomic_load(&open->over))
		return true;
	/* What came behind a read says nothing of it: it would have waited, if an order was asked for. */
	if (!open->what.changes || atomic_load(known_of(open->what.session)) < open->serial)
		tell_touched_place(open, &seen);
	return false;
}

/* The bytes may have come between the fault and the load: then it was none of the old ones. */
static void access_made(void *arg, bool is_free)
{
	struct race_open *open = arg;
	struct race_look *look = &open->look;

	if (!is_free && look_becomes(look, LOOK_BEGUN, LOOK_SURE))
		return;
	if (look_becomes(look, LOOK_BEGUN, LOOK_PASSED) || look_becomes(look, LOOK_OVER, LOOK_PASSED))
		tell_polled(open, look->at, &look->stack);
}

/* --- traps --- */

static struct page_watch *_Atomic trap;
static atomic_uint_fast64_t armed_ns;
static atomic_bool sprung;
static bool watching; /* constant after the start */

/* Regions whose pages are in use too often: no trap is set there for a while, since each would cost its steps. */
static struct worn {
	_Atomic uintptr_t at;
	atomic_int rests;
} worn[WATCH_RANGES];

static void touch_paused(void)
{
	atomic_store(&sprung, true);
	race_pause();
}

static bool trap_stands(uint64_t now_ns)
{
	const struct page_watch *watch = atomic_load(&trap);

	return now_ns - atomic_load(&armed_ns) < TRAP_NS && !atomic_load(&sprung) && (!watch || page_watch_stands(watch));
}

static void trap_end(void)
{
	struct page_watch *watch = atomic_exchange(&trap, NULL);
	uintptr_t starts[WATCH_RANGES];
	size_t count = watch ? page_watch_worn(watch, starts) : 0;

	for (size_t i = 0; i < count; i++) {
		struct worn *one = &worn[race_mix(starts[i]) % WATCH_RANGES];

		atomic_store(&one->at, starts[i]);
		atomic_store(&one->rests, TRAP_RESTS);
	}
	page_watch_end(watch);
	atomic_store(&sprung, false);
}

/* One rest less, if it has some. */
static bool worn_rests(const struct iovec *region)
{
	uintptr_t at = (uintptr_t)region->iov_base;
	struct worn *one = &worn[race_mix(at) % WATCH_RANGES];

	if (atomic_load(&one->at) != at || atomic_load(&one->rests) <= 0)
		return false;
	atomic_fetch_sub(&one->rests, 1);
	return true;
}

static struct page_watch *trap_begin(const struct iovec *regions, size_t count, bool *whole)
{
	struct iovec iov[WATCH_RANGES];
	size_t left = 0;

	for (size_t i = 0; i < count; i++)
		if (!worn_rests(&regions[i]))
			iov[left++] = regions[i];
	*whole = left == count;
	return left ? page_watch_begin(iov, left, PAGE_WATCH_PAUSES, NULL) : NULL;
}

bool touch_arm(void)
{
	uint64_t now_ns = race_clock_ns(), before_ns = atomic_load(&armed_ns), cost_ns;
	struct page_watch *watch = NULL;
	struct iovec iov[WATCH_RANGES];
	bool whole = true;
	size_t count;

	if (!races.on || trap_stands(now_ns) || !atomic_compare_exchange_strong(&armed_ns, &before_ns, now_ns))
		return true;
	cost_ns = check_cost_begin();
	trap_end();
	count = race_may_pause() ? check_remote_some(iov, WATCH_RANGES, TRAP_LENGTH) : 0;
	if (!count || (watching && !page_watch_ready())) { /* the next call may find a region, or all threads ready */
		atomic_store(&armed_ns, 0);
		count = 0;
	}
	if (count)
		watch = trap_begin(iov, count, &whole);
	page_watch_end(atomic_exchange(&trap, watch));
	check_cost_end(cost_ns);
	return !count || !watching || (watch && whole);
}

static bool inside_check(void)
{
	return check_inside || driver_held();
}

static const struct page_watch_ops page_ops = {
	.accessed = accessed, .made = access_made, .paused = touch_paused, .heard = race_heard, .inside = inside_check
};

const char *touch_start(void)
{
	const char *why = page_watch_start(&page_ops);

	watching = !why;
	return why;
}

/* --- looks that outlive their accesses --- */

static struct race_open *_Atomic kept[KEPT]; /* the one that takes it out owns it */

void touch_not_late(struct race_open *open)
{
	if (!atomic_exchange(&open->late, false))
		return;
	look_becomes(&open->look, LOOK_BEGUN, LOOK_OVER);
	if (atomic_load(&open->look.is) == LOOK_SURE)
		atomic_store(&open->look.stored_at, race_told(open->look.thread));
}

void touch_executed(struct race_open *open)
{
	touch_not_late(open);
	if (open->what.changes)
		page_watch_renew();
	atomic_store(&open->there, true);
}

static bool look_stands(const struct race_open *open)
{
	const struct race_look *look = &open->look;

	return atomic_load(&look->is) == LOOK_SURE && (open->owned.by_bytes || page_watch_lifted_so_far(look->at) == look->lifted);
}

/* What shares the page would soon have it lifted. */
static void watch_alone(struct race_open *open)
{
	struct race_look *look = &open->look;
	struct iovec bytes = { (void *)look->at, open->end - look->at };
	struct page_watch *watch = open->owned.by_bytes ? NULL : page_watch_begin(&bytes, 1, PAGE_WATCH_BYTES, open);

	if (!watch)
		return;
	open->owned.by_bytes = look_stands(open);
	page_watch_end(atomic_exchange(&open->owned.watch, watch));
}

static void kept_let_go(struct race_open *open)
{
	check_owned_end(&open->owned);
	check_free(open);
}

/* Those that nothing can be said of any more. */
static void kept_sweep(void)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct race_open *open = atomic_exchange(&kept[i], NULL);

		if (open && look_stands(open))
			atomic_store(&kept[i], open);
		else if (open)
			kept_let_go(open);
	}
}

bool touch_end(struct race_open *open)
{
	kept_sweep();
	if (!look_stands(open) || !atomic_load(&open->look.stored_at)) {
		check_owned_end(&open->owned);
		return false;
	}
	atomic_store(&open->over, true);
	watch_alone(open);
	for (size_t i = 0; i < KEPT; i++) {
		struct race_open *none = NULL;

		if (atomic_compare_exchange_strong(&kept[i], &none, open))
			return true;
	}
	check_owned_end(&open->owned);
	return false;
}

static void kept_exit(void)
{
	for (size_t i = 0; i < KEPT; i++) {
		struct race_open *open = atomic_exchange(&kept[i], NULL);

		if (!open)
			continue;
		if (look_stands(open) && race_told(open->look.thread) != open->look.told)
			tell_touched_place(open, &(struct page_access){ .at = open->look.at, .stack = &open->look.stack });
		kept_let_go(open);
	}
}

void touch_forked(void)
{
	page_watch_forked();
	for (size_t i = 0; i < KEPT; i++)
		atomic_store(&kept[i], NULL);
	atomic_store(&trap, NULL);
}

/* A tenth of the buffers, or more, went unwatched for reasons that the program can do something about. */
void touch_exit(void)
{
	struct page_watch_counts counts;
	uint64_t all = atomic_load(&buffers), many, without;

	kept_exit();
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
