/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_post.c - operations under way: what their buffers held when they were posted, and what they hold at the end.
 *
 * A source is looked at when its post is made, by the thread that posts, and once the operation has ended, but by the program's
 * next look at queues and counters alone: only that look can tell the program of the end, so until then each change is wrong,
 * however early the end came. A receive is looked at when its message comes, with the driver role.
 *
 * `lock` is a leaf: nobody waits for the role with it. A signal handler that posts while its thread is inside (check_inside) is
 * not watched.
 * `settling` is held by looks alone: none returns to the program while another still compares. */
#include "emu/fi/check/fi_check_impl.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include <rdma/fi_errno.h>

#include "emu/fi/check/fi_check.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/provider/fi_kernel.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/fi/provider/fi_watched.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/ops/op.h"

enum { BUFFERS = 2 * LIMIT_IOV }; /* an atomic's operands and comparands */

/* A range in one of the trees. */
struct check_span {
	struct interval range;
	struct check_post *post;
};

struct check_post {
	struct check_post *next, **at;
	struct check_post *next_ended; /* in `ended` */
	const void *owner;
	const char *call;
	struct call_stack posted;
	unsigned int forks; /* where it was posted: after a fork it is in no list */
	bool receive;
	atomic_bool over;     /* it has ended */
	atomic_bool digested; /* `digest` is of the bytes that are to stay */
	uint8_t count, spans;
	bool has_context;
	uint64_t digest, length;
	uint64_t tag, ignore; /* of a receive that fetches a claimed message */
	struct iovec iov[BUFFERS];
	struct check_span span[LIMIT_IOV]; /* receives: in `receives` */
	struct check_span context;         /* in `contexts` */
};

static struct mutex lock = MUTEX_INITIALIZER; /* guards the lists and trees below */
static struct mutex settling = MUTEX_INITIALIZER;
static struct check_post *posts;
static struct check_post *_Atomic ended; /* those to be looked at */
static atomic_uint ended_count;
static struct interval_tree receives, contexts;
static unsigned int forks;
static _Thread_local volatile bool looking, disturbed; /* it settles; and its signal handler has looked meanwhile */

static void posts_lock(void) ACQUIRE(lock)
{
	check_lock(&lock);
}

static void posts_unlock(void) RELEASE(lock)
{
	check_unlock(&lock);
}

static const char *post_call(const struct post *post)
{
	switch (post->kind) {
	case OP_SEND:
		return post->flags & POST_TAGGED ? "fi_tsend" : "fi_send";
	case OP_WRITE:
		return "fi_write";
	case OP_READ:
		return "fi_read";
	default:
		return "fi_atomic";
	}
}

static void keep_buffers(struct check_post *post, const struct iovec *iov, size_t count)
{
	for (size_t i = 0; i < count && post->count < BUFFERS; i++) {
		if (!iov[i].iov_len)
			continue;
		post->iov[post->count++] = iov[i];
		post->length += iov[i].iov_len;
	}
}

static const void *first_byte(const struct check_post *post)
{
	return post->count ? post->iov[0].iov_base : NULL;
}

/* --- overlaps: what another post has in use --- */

/* A copy of the other post, for the sentence: it may end once the lock is free. */
struct clash {
	bool found;
	const char *call;
	struct call_stack posted;
	uint64_t first;
};

static int clash_see(struct interval *range, void *arg)
{
	const struct check_post *other = ((struct check_span *)range)->post;

	*(struct clash *)arg = (struct clash){ .found = true, .call = other->call, .posted = other->posted, .first = range->first };
	return 1;
}

/* With the lock: buffers of posted receives that this post uses, too. Bytes that two posts write are not compared any more. */
static int undigest(struct interval *range, void *arg)
{
	(void)arg;
	((struct check_span *)range)->post->digested = false;
	return 0;
}

static void find_used(const struct check_post *post, struct clash *clash) REQUIRES(lock)
{
	for (int i = 0; i < post->count; i++) {
		uint64_t first = (uintptr_t)post->iov[i].iov_base, last = first + post->iov[i].iov_len - 1;

		if (!clash->found)
			interval_tree_find(&receives, first, last, clash_see, clash);
		if (post->receive)
			interval_tree_find(&receives, first, last, undigest, NULL);
	}
}

static void add_to_lists(struct check_post *post) REQUIRES(lock)
{
	post->forks = forks;
	post->next = posts;
	post->at = &posts;
	if (posts)
		posts->at = &post->next;
	posts = post;
	for (int i = 0; post->receive && i < post->count && i < LIMIT_IOV; i++) {
		uint64_t first = (uintptr_t)post->iov[i].iov_base;

		post->span[i] = (struct check_span){ .range = { .first = first, .last = first + post->iov[i].iov_len - 1 },
						     .post = post };
		interval_tree_add(&receives, &post->span[i].range);
		post->spans++;
	}
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

/* Enters the post, and tells of others that it shares a buffer or context with. */
static void post_enter(struct check_post *post)
{
	struct clash used = { .found = false }, context = { .found = false };

	posts_lock();
	find_used(post, &used);
	if (used.found && post->receive)
		post->digested = false;
	if (post->has_context)
		interval_tree_find(&contexts, post->context.range.first, post->context.range.last, clash_see, &context);
	add_to_lists(post);
	posts_unlock();
	if (used.found)
		check_tell(&(struct check_finding){ .cause = CHECK_RECEIVE_USED,
						    .call = post->call,
						    .posted = &used.posted,
						    .here = true },
			   "%s: the buffer, %" PRIu64 " B at %p, is that of %s, which has not completed", post->call, post->length,
			   first_byte(post), used.call);
	if (context.found)
		tell_context(post, &context);
}

static void leave(struct check_post *post)
{
	if (post->forks == forks) {
		posts_lock();
		*post->at = post->next;
		if (post->next)
			post->next->at = post->at;
		for (int i = 0; i < post->spans; i++)
			interval_tree_remove(&receives, &post->span[i].range);
		if (post->has_context)
			interval_tree_remove(&contexts, &post->context.range);
		posts_unlock();
	}
	free(post);
}

/* --- what the device calls --- */

static size_t context_size(uint64_t mode)
{
	return mode & FI_CONTEXT2 ? sizeof(struct fi_context2) : sizeof(struct fi_context);
}

static struct check_post *post_new(const struct emu_ep *ep, const char *call, void *context)
{
	const struct check_object *object = ep ? check_object_of(&ep->primary->fid.fid) : NULL;
	struct check_post *post = check_inside ? NULL : calloc(1, sizeof(*post));

	if (!post)
		return NULL;
	call_stack_take(&post->posted);
	post->owner = ep ? ep->primary : NULL;
	post->call = call;
	post->has_context = context && object && object->contexts;
	if (post->has_context) {
		uint64_t first = (uintptr_t)context;

		post->context = (struct check_span){
			.range = { .first = first, .last = first + context_size(object->contexts) - 1 }, .post = post
		};
	}
	return post;
}

/* Results may go where the operands are. */
static bool buffers_overlap(const struct iovec *a, size_t a_count, const struct iovec *b, size_t b_count)
{
	for (size_t i = 0; i < a_count; i++)
		for (size_t j = 0; j < b_count; j++)
			if ((uintptr_t)a[i].iov_base < (uintptr_t)b[j].iov_base + b[j].iov_len &&
			    (uintptr_t)b[j].iov_base < (uintptr_t)a[i].iov_base + a[i].iov_len)
				return true;
	return false;
}

/* The device writes to them. Two that begin at the same place are meant: it is where bytes go that nobody wants. */
static void look_at_vector(const struct check_post *post, const struct iovec *iov, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t j = 0; j < i; j++) {
			if (iov[i].iov_base == iov[j].iov_base || !iov[i].iov_len || !iov[j].iov_len ||
			    !buffers_overlap(&iov[i], 1, &iov[j], 1))
				continue;
			check_tell(&(struct check_finding){ .cause = CHECK_VECTOR, .call = post->call, .here = true },
				   "%s: two buffers of one vector overlap, %zu B at %p and %zu B at %p", post->call, iov[j].iov_len,
				   iov[j].iov_base, iov[i].iov_len, iov[i].iov_base);
			return;
		}
}

/* Regions that are named by offsets may begin anywhere. */
static void look_at_alignment(const struct emu_ep *ep, const struct post *from)
{
	size_t align;

	if (!from->atomic || !ep || !(ep->domain->rules & FI_MR_VIRT_ADDR))
		return;
	align = atomic_alignment(from->atomic->what.type);
	for (size_t i = 0; i < from->remote_count; i++)
		if (from->remote[i].addr % align) {
			check_tell(&(struct check_finding){ .cause = CHECK_UNALIGNED, .call = "fi_atomic", .here = true },
				   "fi_atomic: the remote address %#" PRIx64 " is no multiple of %zu", from->remote[i].addr, align);
			return;
		}
}

static void *watch_post(void *owner, const struct post *from)
{
	const struct emu_ep *ep = owner;
	struct check_post *post;

	if (ep)
		check_serial_enter(check_serial_of(ep->domain, ep->tx_cq), post_call(from));
	look_at_alignment(ep, from);
	if (from->flags & POST_INJECT)
		return NULL;
	post = post_new(owner, post_call(from), from->context);
	if (!post)
		return NULL;
	keep_buffers(post, from->iov, from->iov_count);
	if (from->atomic)
		keep_buffers(post, from->atomic->compare, from->atomic->compare_count);
	post->digested = from->kind != OP_READ &&
			 !(from->atomic &&
			   buffers_overlap(post->iov, post->count, from->atomic->result, from->atomic->result_count)) &&
			 check_digest(post->iov, post->count, &post->digest);
	if (from->kind == OP_READ)
		look_at_vector(post, from->iov, from->iov_count);
	if (from->atomic)
		look_at_vector(post, from->atomic->result, from->atomic->result_count);
	post_enter(post);
	return post;
}

static void *watch_receive(void *owner, const struct recv_post *from)
{
	const struct emu_ep *ep = owner;
	struct check_post *post;

	if (ep)
		check_serial_enter(check_serial_of(ep->domain, ep->rx_cq), from->flags & POST_TAGGED ? "fi_trecv" : "fi_recv");
	if (from->flags & POST_CLAIM && !(from->flags & POST_PEEK)) {
		post = post_new(owner, "fi_trecvmsg", NULL);
		if (post) {
			post->receive = true;
			post->tag = from->tag;
			post->ignore = from->ignore;
			post_enter(post);
		}
		return post;
	}
	if (from->flags & (POST_PEEK | POST_CLAIM | POST_DISCARD))
		return NULL;
	post = post_new(owner, from->flags & POST_TAGGED ? "fi_trecv" : "fi_recv", from->context);
	if (!post)
		return NULL;
	post->receive = true;
	keep_buffers(post, from->iov, from->iov_count);
	/* Messages come into the buffer of many one by one; by tagged RMA peers write without a message. */
	post->digested = !(from->flags & POST_MULTI) && !(ep && ep->caps & EMU_FI_TAGGED_RMA) &&
			 check_digest(post->iov, post->count, &post->digest);
	look_at_vector(post, from->iov, from->iov_count);
	post_enter(post);
	return post;
}

static void watch_drop(void *watch)
{
	leave(watch);
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

static void watch_place(void *watch)
{
	compare(watch);
}

static void watch_claimed(void *watch, uint64_t tag)
{
	const struct check_post *post = watch;

	if ((tag ^ post->tag) & ~post->ignore)
		check_tell(&(struct check_finding){ .cause = CHECK_CLAIM, .call = post->call, .posted = &post->posted },
			   "%s: by FI_CLAIM it asks for the tag %#" PRIx64 ", bits %#" PRIx64
			   " ignored, and the message that its context has claimed has the tag %#" PRIx64,
			   post->call, post->tag, post->ignore, tag);
}

static void watch_cancelled(void *watch)
{
	compare(watch);
}

static void settle(struct check_post *post)
{
	if (!post->receive)
		compare(post);
	leave(post);
}

static void watch_end(void *watch)
{
	struct check_post *post = watch;

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

	if (looking || check_inside) {
		disturbed = true;
		return;
	}
	looking = true;
	disturbed = false;
	mutex_lock(&settling);
	for (post = atomic_exchange(&ended, NULL); post; post = next) {
		next = post->next_ended;
		atomic_fetch_sub(&ended_count, 1);
		settle(post);
	}
	mutex_unlock(&settling);
	looking = false;
}

static void watch_posted(void *owner, int err)
{
	const struct emu_ep *ep = owner;
	const struct check_object *object;

	if (!ep)
		return;
	check_serial_leave(check_serial_of(ep->domain, ep->tx_cq));
	if (ep->rx_cq != ep->tx_cq)
		check_serial_leave(check_serial_of(ep->domain, ep->rx_cq));
	if (!check_progress_missing(ep, err == -FI_EAGAIN))
		return;
	object = check_object_of(&ep->primary->fid.fid);
	if (object && (object->manual || (ep->tx_cq && cq_ready(ep->tx_cq->cq))))
		check_tell(
			&(struct check_finding){ .cause = CHECK_NO_PROGRESS, .here = true },
			"a post was tried %d times in a row, got -FI_EAGAIN each time, and no queue or counter was read meanwhile",
			CHECK_RETRIES);
}

static void watch_accessed(void *owner)
{
	check_accessed(&((const struct emu_ep *)owner)->primary->fid);
}

const struct watch_ops check_watch = {
	.post = watch_post,
	.receive = watch_receive,
	.drop = watch_drop,
	.posted = watch_posted,
	.place = watch_place,
	.cancelled = watch_cancelled,
	.claimed = watch_claimed,
	.end = watch_end,
	.accessed = watch_accessed,
};

/* --- ends --- */

void check_posts_unsure(const struct interval *spans, size_t count)
{
	posts_lock();
	for (struct check_post *post = posts; post; post = post->next)
		for (size_t i = 0; i < count; i++) {
			struct iovec span = { (void *)(uintptr_t)spans[i].first, spans[i].last - spans[i].first + 1 };

			if (buffers_overlap(post->iov, post->count, &span, 1))
				post->digested = false;
		}
	posts_unlock();
}

bool check_posts_left(const void *owner, struct check_left *left)
{
	*left = (struct check_left){ .count = 0 };
	posts_lock();
	for (const struct check_post *post = posts; post; post = post->next) {
		if (post->receive || post->over || (owner && post->owner != owner))
			continue;
		left->count++;
		left->call = post->call;
		left->posted = post->posted;
	}
	posts_unlock();
	return left->count;
}

void check_posts_dropped(const struct check_left *left, bool exits)
{
	check_tell(&(struct check_finding){ .cause = CHECK_IN_FLIGHT, .call = left->call, .posted = &left->posted, .here = !exits },
		   left->count == 1 ? "%s, and %u operation has not completed, %s"
				    : "%s, and %u operations have not completed, %s among them",
		   exits ? "the process exits" : "fi_close of an endpoint", left->count, left->call);
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
	receives = contexts = (struct interval_tree){ 0 };
	forks++;
}
