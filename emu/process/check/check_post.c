/* SPDX-License-Identifier: BSD-2-Clause */
/* check_post.c - operations under way: what their buffers held when they were posted, and what they hold at the end.
 *
 * A source is looked at when its post is made, by the thread that posts, and once the operation has ended, but by the program's
 * next look at queues and counters alone: only that look can tell the program of the end, so until then each change is wrong,
 * however early the end came. A receive is looked at when its message comes, with the driver role.
 *
 * `lock` is a leaf: nobody waits for the role with it. A signal handler that posts while its thread is inside (check_inside) is
 * not watched.
 * `settling` is held by looks alone: none returns to the program while another still compares. */
#include "emu/process/check/check.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "emu/process/check/check_race.h"

static struct mutex lock = MUTEX_INITIALIZER; /* guards the lists and trees below */
static struct mutex settling = MUTEX_INITIALIZER;
static struct check_post *posts GUARDED_BY(lock);
static struct check_post *_Atomic ended; /* those to be looked at */
static atomic_uint ended_count;
static struct interval_tree written GUARDED_BY(lock), contexts GUARDED_BY(lock); /* buffers that the device writes to */
static struct interval_tree sources GUARDED_BY(lock);                            /* that it reads */
static unsigned int forks;
/* It settles; and its signal handler has looked meanwhile. The first is read in the handler of a fault. */
static _Thread_local volatile bool looking __attribute__((tls_model("initial-exec"))), disturbed;

static const void *first_byte(const struct check_post *post)
{
	return post->count ? post->iov[0].iov_base : NULL;
}

bool check_buffers_overlap(const struct iovec *a, size_t a_count, const struct iovec *b, size_t b_count)
{
	for (size_t i = 0; i < a_count; i++)
		for (size_t j = 0; j < b_count; j++)
			if ((uintptr_t)a[i].iov_base < (uintptr_t)b[j].iov_base + b[j].iov_len &&
			    (uintptr_t)b[j].iov_base < (uintptr_t)a[i].iov_base + a[i].iov_len)
				return true;
	return false;
}

_Static_assert(sizeof(struct check_post) <= CHECK_ALLOC_MOST, "");

struct check_post *check_post_new(const void *owner, const char *call, bool receive)
{
	uint64_t cost_ns = check_cost_begin();
	struct check_post *post = check_inside ? NULL : check_alloc(sizeof(*post));

	if (!post)
		return NULL;
	post->cost_ns = cost_ns;
	call_stack_take(&post->posted);
	post->fills.post = post->reads.post = post;
	post->owner = owner;
	post->call = call;
	post->receive = receive;
	return post;
}

void check_post_context(struct check_post *post, const void *context, size_t size)
{
	uint64_t first = (uintptr_t)context;

	post->has_context = true;
	post->context = (struct check_span){ .range = { .first = first, .last = first + size - 1 }, .post = post };
}

void check_post_buffers(struct check_post *post, const struct iovec *iov, size_t count)
{
	for (size_t i = 0; i < count && post->count < CHECK_BUFFERS; i++) {
		if (!iov[i].iov_len)
			continue;
		post->iov[post->count++] = iov[i];
		post->length += iov[i].iov_len;
	}
}

void check_post_reads(struct check_post *post, uint64_t key, uint64_t addr)
{
	post->remote = race_mix(race_mix(race_mix(post->dest + 1) + key) + addr) | 1;
}

void check_post_stays(struct check_post *post)
{
	post->digested = check_digest(post->iov, post->count, &post->digest);
}

void check_post_vector(const struct check_post *post, const struct iovec *iov, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			if (iov[i].iov_base == iov[j].iov_base || !iov[i].iov_len || !iov[j].iov_len ||
			    !check_buffers_overlap(&iov[i], 1, &iov[j], 1))
				continue;
			check_tell(&(struct check_finding){ .cause = CHECK_VECTOR, .call = post->call, .here = true },
				   "%s: two buffers of one vector overlap, %zu B at %p and %zu B at %p", post->call, iov[j].iov_len,
				   iov[j].iov_base, iov[i].iov_len, iov[i].iov_base);
			return;
		}
}

/* --- overlaps: what another post has in use --- */

/* A copy of the other post, for the sentence: it may end once the lock is free. */
struct clash {
	bool found, fills, other_fills; /* fills: the post, and the other one, do so; else they read */
	const char *call;
	struct call_stack posted;
	uint64_t first;
	struct iovec both;
};

static void clash_note(struct clash *clash, const struct check_span *span)
{
	*clash = (struct clash){
		.found = true, .call = span->post->call, .posted = span->post->posted, .first = span->range.first
	};
}

static int clash_see(struct interval *range, void *arg)
{
	clash_note(arg, (struct check_span *)range);
	return 1;
}

/* What a buffer of a post meets. Bytes that another post writes are not compared: a fenced source has those of a read before it. */
struct meeting {
	struct check_post *post;
	const struct interval *range; /* of the buffer */
	bool fills;                   /* the post does, or it reads */
	struct clash *used;           /* a receive's buffer, */
	struct clash *again;          /* or one that begins at the same place */
	struct clash *unordered;      /* races: that of another operation, of which one fills it */
};

static void unordered_note(const struct meeting *meeting, const struct check_span *span, bool other_fills)
{
	uint64_t first = meeting->range->first > span->range.first ? meeting->range->first : span->range.first;
	uint64_t last = meeting->range->last < span->range.last ? meeting->range->last : span->range.last;

	if (!check_races() || meeting->unordered->found)
		return;
	clash_note(meeting->unordered, span);
	meeting->unordered->fills = meeting->fills;
	meeting->unordered->other_fills = other_fills;
	meeting->unordered->both = (struct iovec){ (void *)(uintptr_t)first, last - first + 1 };
}

static bool is_posted_alike(const struct check_post *a, const struct check_post *b)
{
	return a->posted.count == b->posted.count &&
	       !memcmp(a->posted.frame, b->posted.frame, a->posted.count * sizeof(a->posted.frame[0]));
}

/* Reads of the same bytes into the same place, again and again, as measurements have them: what they bring is not wanted. What an
 * atomic has fetched is. */
static bool is_unwanted(const struct check_span *other, const struct meeting *meeting)
{
	const struct check_post *post = meeting->post;
	bool again = other->newer != other || is_posted_alike(other->post, post);

	return other->range.first == meeting->range->first && post->remote && other->post->remote == post->remote && again;
}

static bool is_behind(const struct check_post *other, const struct meeting *meeting, bool other_fills)
{
	const struct check_post *post = meeting->post;

	if (post->owner != other->owner || post->dest != other->dest)
		return false;
	return post->fenced || (meeting->fills && (other_fills ? post->in_order : post->behind_writes));
}

static int meet_filled(struct interval *range, void *arg)
{
	struct check_span *span = (struct check_span *)range;
	const struct meeting *meeting = arg;
	struct check_post *post = meeting->post, *other = span->post;
	bool same_place = range->first == meeting->range->first;
	struct clash *clash = check_front.receives_share && same_place ? meeting->again : meeting->used;

	if (post->receive || !meeting->fills)
		post->digested = false;
	if (post->receive)
		check_place_leave_alone(span);
	if (meeting->fills && other->receive) /* the only one at its place that may be */
		other->digested = false;
	if (other->receive && !clash->found)
		clash_note(clash, span);
	if (other->receive || post->receive || is_behind(other, meeting, true))
		return 0;
	if (!meeting->fills || !is_unwanted(span, meeting))
		unordered_note(meeting, span, true);
	return 0;
}

static int meet_read(struct interval *range, void *arg)
{
	const struct check_span *span = (struct check_span *)range;
	const struct meeting *meeting = arg;
	bool behind = is_behind(span->post, meeting, false);

	if (behind || check_races())
		span->post->digested = false;
	if (!behind && !span->post->over)
		unordered_note(meeting, span, false);
	return 0;
}

static void meet_others(struct meeting *meeting) REQUIRES(lock)
{
	struct check_post *post = meeting->post;

	meeting->fills = false;
	for (int i = 0; i < post->sources; i++) {
		meeting->range = &post->source[i].range;
		interval_tree_find(&written, meeting->range->first, meeting->range->last, meet_filled, meeting);
	}
	meeting->fills = true;
	for (int i = 0; i < post->spans; i++) {
		meeting->range = &post->span[i].range;
		interval_tree_find(&written, meeting->range->first, meeting->range->last, meet_filled, meeting);
		if (!post->receive)
			interval_tree_find(&sources, meeting->range->first, meeting->range->last, meet_read, meeting);
	}
}

static struct check_span buffer_span(struct check_post *post, const struct iovec *buffer)
{
	uint64_t first = (uintptr_t)buffer->iov_base;

	return (struct check_span){ .range = { .first = first, .last = first + buffer->iov_len - 1 }, .post = post };
}

/* What the device writes to, and what it reads. */
static void set_spans(struct check_post *post, const struct iovec *results, size_t count)
{
	if (post->receive) {
		results = post->iov;
		count = post->count;
	}
	for (size_t i = 0; i < count && post->spans < LIMIT_IOV; i++)
		if (results[i].iov_len)
			post->span[post->spans++] = buffer_span(post, &results[i]);
	for (int i = 0; i < post->count; i++)
		if (!check_buffers_overlap(&post->iov[i], 1, results, count))
			post->source[post->sources++] = buffer_span(post, &post->iov[i]);
}

static void add_to_lists(struct check_post *post) REQUIRES(lock)
{
	post->forks = forks;
	post->next = posts;
	post->at = &posts;
	if (posts)
		posts->at = &post->next;
	posts = post;
	for (int i = 0; i < post->spans; i++)
		check_place_add(&written, &post->span[i]);
	for (int i = 0; i < post->sources; i++)
		interval_tree_add(&sources, &post->source[i].range);
	if (post->has_context)
		interval_tree_add(&contexts, &post->context.range);
}

static void tell_context(const struct check_post *post, const struct clash *other)
{
	struct check_finding finding = { .cause = CHECK_CONTEXT, .call = post->call, .posted = &other->posted, .here = true };
	uint64_t first = post->context.range.first;

	if (other->first == first)
		check_tell(&finding, "%s: the context %#" PRIx64 " is that of %s, which has not completed", post->call, first,
			   other->call);
	else
		check_tell(&finding,
			   "%s: the context %#" PRIx64 ", %" PRIu64 " B, overlaps that of %s at %#" PRIx64
			   ", which has not completed",
			   post->call, first, post->context.range.last - first + 1, other->call, other->first);
}

static void tell_used(const struct check_post *post, const struct clash *used, enum check_cause cause)
{
	check_tell(&(struct check_finding){ .cause = cause, .call = post->call, .posted = &used->posted, .here = true },
		   "%s: the buffer, %" PRIu64 " B at %p, is that of %s, which has not completed", post->call, post->length,
		   first_byte(post), used->call);
}

static void own_spans(struct check_owned *owned, const struct check_span *spans, size_t count, bool stores_alone)
{
	struct iovec runs[CHECK_BUFFERS];

	for (size_t i = 0; i < count; i++)
		runs[i] = (struct iovec){ (void *)(uintptr_t)spans[i].range.first, spans[i].range.last - spans[i].range.first + 1 };
	if (count)
		check_owned_begin(owned, runs, count, stores_alone);
}

static void tell_unordered(const struct check_post *post, const struct clash *other)
{
	check_tell(&(struct check_finding){ .cause = CHECK_RACE_OPERATIONS,
					    .call = post->call,
					    .posted = &other->posted,
					    .here = true },
		   "%s: %zu B at %p of its buffer are %s while %s %s them, which has not completed: nothing orders them",
		   post->call, other->both.iov_len, other->both.iov_base, other->fills ? "filled" : "read", other->call,
		   other->other_fills ? "fills" : "reads");
}

void check_post_enter(struct check_post *post, const struct iovec *results, size_t count)
{
	struct clash used = { .found = false }, again = { .found = false }, context = { .found = false },
		     unordered = { .found = false };
	struct meeting meeting = { .post = post, .used = &used, .again = &again, .unordered = &unordered };

	set_spans(post, results, count);
	check_lock(&lock);
	meet_others(&meeting);
	if (post->has_context)
		interval_tree_find(&contexts, post->context.range.first, post->context.range.last, clash_see, &context);
	add_to_lists(post);
	check_unlock(&lock);
	if (used.found)
		tell_used(post, &used, CHECK_RECEIVE_USED);
	else if (again.found)
		tell_used(post, &again, CHECK_RECEIVE_SHARED);
	if (check_races() && !used.found && !again.found) {
		/* What it reads stays as it is; what it fills nobody looks at. */
		own_spans(&post->fills, post->span, post->spans, false);
		own_spans(&post->reads, post->source, post->sources, true);
	}
	if (unordered.found)
		tell_unordered(post, &unordered);
	if (context.found)
		tell_context(post, &context);
	check_cost_end(post->cost_ns);
}

/* --- races: what a peer's access meets --- */

struct met_by {
	struct check_met *met;
	const struct iovec *run;
	uint64_t now_ns;
};

static void met_note(const struct met_by *by, const struct check_span *span, bool source)
{
	uint64_t first = (uintptr_t)by->run->iov_base, last = first + by->run->iov_len - 1;
	const struct interval *range = &span->range;
	const struct check_post *post = span->post;

	first = first < range->first ? range->first : first;
	last = last > range->last ? range->last : last;
	*by->met = (struct check_met){
		.source = source, .call = post->call, .posted = post->posted, .both = { (void *)(uintptr_t)first, last - first + 1 }
	};
}

static int met_filled(struct interval *range, void *arg)
{
	const struct check_span *oldest = (struct check_span *)range, *span = oldest;

	if (oldest->post->receive)
		return 0;
	while (span->post->over) {
		span = span->newer;
		if (span == oldest)
			return 0;
	}
	met_note(arg, span, false);
	return 1;
}

static int met_source(struct interval *range, void *arg)
{
	const struct check_span *span = (struct check_span *)range;
	const struct check_post *post = span->post;
	const struct met_by *by = arg;

	if (post->over || post->leaves_ns <= by->now_ns)
		return 0;
	met_note(by, span, true);
	return 1;
}

bool check_posts_met(const struct iovec *run, size_t count, bool changes, uint64_t now_ns, struct check_met *met)
{
	struct met_by by = { .met = met, .now_ns = now_ns };
	int found = 0;

	check_lock(&lock);
	for (by.run = run; by.run < run + count && !found; by.run++) {
		uint64_t first = (uintptr_t)by.run->iov_base, last = first + by.run->iov_len - 1;

		if (!by.run->iov_len)
			continue;
		found = interval_tree_find(&written, first, last, met_filled, &by);
		if (!found && changes)
			found = interval_tree_find(&sources, first, last, met_source, &by);
	}
	check_unlock(&lock);
	return found;
}

static void leave_alone(struct check_post *post)
{
	check_owned_end(&post->fills);
	check_owned_end(&post->reads);
}

void check_post_leaves(struct check_post *post, uint64_t at_ns)
{
	uint_fast64_t unknown = 0;

	atomic_compare_exchange_strong(&post->leaves_ns, &unknown, at_ns); /* the first of the post's requests */
}

static void leave(struct check_post *post)
{
	leave_alone(post);
	if (post->forks == forks) {
		check_lock(&lock);
		*post->at = post->next;
		if (post->next)
			post->next->at = post->at;
		for (int i = 0; i < post->spans; i++)
			check_place_remove(&written, &post->span[i]);
		for (int i = 0; i < post->sources; i++)
			interval_tree_remove(&sources, &post->source[i].range);
		if (post->has_context)
			interval_tree_remove(&contexts, &post->context.range);
		check_unlock(&lock);
	}
	check_free(post);
}

void check_post_drop(void *post)
{
	leave(post);
}

static void tell_unreadable(const struct check_post *post)
{
	const void *hole = first_byte(post);

	for (int i = 0; i < post->count; i++)
		if (!check_is_mapped(post->iov[i].iov_base, post->iov[i].iov_len, &hole))
			break;
	check_tell(&(struct check_finding){ .cause = CHECK_UNMAPPED, .call = post->call, .posted = &post->posted },
		   "%s: the buffer, %" PRIu64 " B at %p, was unmapped before the operation completed: %p cannot be reached any "
		   "more",
		   post->call, post->length, first_byte(post), hole);
}

/* Are the bytes those of the post? Where a peer may write to them, the change may be the peer's. */
static void compare(struct check_post *post)
{
	uint64_t now;

	if (!atomic_exchange(&post->digested, false))
		return;
	if (!check_digest(post->iov, post->count, &now)) {
		tell_unreadable(post);
		return;
	}
	if (now == post->digest || (looking && disturbed) || check_is_remote(post->iov, post->count))
		return;
	check_tell(&(struct check_finding){ .cause = post->receive ? CHECK_RECEIVE_CHANGED : CHECK_SEND_CHANGED,
					    .call = post->call,
					    .posted = &post->posted },
		   post->receive ? "%s: the buffer, %" PRIu64 " B at %p, was written to between the post and the message's arrival"
				 : "%s: the buffer, %" PRIu64 " B at %p, was changed between the post and its completion",
		   post->call, post->length, first_byte(post));
}

void check_post_place(void *placed)
{
	uint64_t cost_ns = check_cost_begin();
	struct check_post *post = placed;

	leave_alone(post);
	compare(post);
	check_cost_end(cost_ns);
}

static void settle(struct check_post *post)
{
	if (!post->receive)
		compare(post);
	leave(post);
}

/* A signal handler that looks while its thread does may know of the end already. */
bool check_post_is_open(const struct check_post *post)
{
	return !(looking && post->over);
}

void check_post_end(void *ending)
{
	struct check_post *post = ending;

	atomic_store(&post->over, true);
	if (!check_inside && atomic_load(&ended_count) >= LIMIT_CHECK_ENDED) {
		settle(post);
		return;
	}
	atomic_fetch_add(&ended_count, 1);
	post->next_ended = atomic_load(&ended);
	while (!atomic_compare_exchange_weak(&ended, &post->next_ended, post))
		;
}

/* In a signal handler that interrupts the same, what is compared then may be told to the program by the handler. */
void check_posts_settle(void)
{
	struct check_post *post, *next;
	uint64_t cost_ns;

	if (looking || check_inside) {
		disturbed = true;
		return;
	}
	looking = true;
	disturbed = false;
	mutex_lock(&settling);
	post = atomic_exchange(&ended, NULL);
	cost_ns = post ? check_cost_begin() : 0;
	for (; post; post = next) {
		next = post->next_ended;
		atomic_fetch_sub(&ended_count, 1);
		settle(post);
	}
	check_cost_end(cost_ns);
	mutex_unlock(&settling);
	looking = false;
}

/* --- ends --- */

void check_posts_unsure(const struct interval *spans, size_t count)
{
	check_lock(&lock);
	for (struct check_post *post = posts; post; post = post->next)
		for (size_t i = 0; i < count; i++) {
			struct iovec span = { (void *)(uintptr_t)spans[i].first, spans[i].last - spans[i].first + 1 };

			if (check_buffers_overlap(post->iov, post->count, &span, 1))
				post->digested = false;
		}
	check_unlock(&lock);
}

bool check_posts_left(const void *owner, struct check_left *left)
{
	*left = (struct check_left){ .count = 0 };
	check_lock(&lock);
	for (const struct check_post *post = posts; post; post = post->next) {
		if (post->receive || post->over || (owner && post->owner != owner))
			continue;
		left->count++;
		left->call = post->call;
		left->posted = post->posted;
	}
	check_unlock(&lock);
	return left->count;
}

void check_posts_forked(void)
{
	mutex_forked(&lock);
	mutex_forked(&settling);
	looking = false;
	check_inside = 0;
	posts = NULL;
	ended = NULL;
	ended_count = 0;
	written = contexts = sources = (struct interval_tree){ 0 };
	forks++;
}
