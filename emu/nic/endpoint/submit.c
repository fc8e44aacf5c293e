/* SPDX-License-Identifier: BSD-2-Clause */
/* submit.c - posting: a call's arguments become ops in the submit queue; the role's holder takes them from there. */
#include "emu/nic/device/submit.h"

#include <errno.h>
#include <string.h>

#include "emu/nic/base/tsan.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/ops/watch.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/requester.h"

void submit_init(struct submit *submit)
{
	submit->changes_end = &submit->changes;
}

void submit_push_rx(struct submit *submit, struct rx *rx)
{
	if (submit->rx_first)
		submit->rx_last->next = rx;
	else
		submit->rx_first = rx;
	submit->rx_last = rx;
}

/* Copies a post's buffers, mostly one. How long they are together. */
static inline uint64_t iov_keep(struct iovec *to, const struct iovec *from, size_t count)
{
	uint64_t length = 0;

	if (likely(count == 1)) {
		*to = *from;
		return to->iov_len;
	}
	for (size_t i = 0; i < count; i++) {
		to[i] = from[i];
		length += from[i].iov_len;
	}
	return length;
}

/* Cuts the next `length` bytes out of the post's local buffers. */
static uint8_t iov_slice(struct place *from, uint64_t length, struct iovec *out)
{
	uint8_t count = (uint8_t)place_runs(from, length, out, LIMIT_IOV);

	place_advance(from, length);
	return count;
}

/* Fills in the fields that only an atomic has. */
static __attribute__((noinline)) void op_fill_atomic(struct op *op, struct ep *ep, const struct post_atomic *atomic)
{
	if (atomic->to)
		op->to = *atomic->to;
	op->what = atomic->what;
	op->named_count = named_add(op->named, op->named_count, atomic->compare_desc, atomic->compare_count);
	op->named_count = named_add(op->named, op->named_count, atomic->result_desc, atomic->result_count);
	if (op->named_count)
		ep->nic->submit.names = true;
}

static inline void op_fill(struct op *op, struct ep *ep, const struct post *post, const struct remote *remote, uint64_t length)
{
	op->ep = ep;
	op->pool = ep->stx->ops;
	op->session = NULL;
	op->leader = op;
	op->group_left = 1;
	op->kind = post->kind;
	op->flags = post->flags;
	op->what = (struct atomic_what){ 0 };
	op->compare_count = op->result_count = op->named_count = op->rnrs = 0;
	op->passed = false;
	op->dest = post->dest;
	op->auth = ep->attr.auth;
	op->first_seq = op->last_seq = 0;
	op->length = op->total = length;
	op->moved = 0;
	op->cq_data = post->cq_data;
	op->tag = post->tag;
	op->remote = remote ? *remote : (struct remote){ 0 };
	op->why.cause = post->refused;
	op->counted = NULL;
	op->done.c = (struct completion){
		.context = post->context,
		.flags = post->cq_flags,
		.length = post->kind == OP_READ ? length : 0,
		.source = AV_NONE,
	};
	if (post->desc) {
		op->named_count = named_set(op->named, post->desc, post->iov_count);
		ep->nic->submit.names = true;
	}
	if (unlikely(post->atomic != NULL))
		op_fill_atomic(op, ep, post->atomic);
	if (ep->attr.auths)
		op->auth = av_shown(ep->attr.av, op->dest);
}

/* Copies the buffers to op->inject, from `at` on, and makes them one there. */
static bool inject_iov(struct op *op, uint64_t *at, struct iovec *iov, uint8_t *count)
{
	uint64_t from = *at;

	for (int i = 0; i < *count; i++) {
		if (!guard_copy(op->inject + *at, iov[i].iov_base, iov[i].iov_len))
			return false;
		*at += iov[i].iov_len;
	}
	iov[0] = (struct iovec){ .iov_base = op->inject + from, .iov_len = *at - from };
	*count = 1;
	return true;
}

static bool op_inject(struct op *op)
{
	uint64_t at = 0;

	return inject_iov(op, &at, op->iov, &op->iov_count) &&
	       (!op->compare_count || inject_iov(op, &at, op->compare, &op->compare_count));
}

static void op_list_give(struct op_list *list)
{
	struct op *op;

	while ((op = op_list_pop(list)))
		pool_give(op->pool, op);
}

/* One op for each remote range; the last one leads, carries CQ data and reports. Takes the submit lock. */
static int build_parts(struct ep *ep, const struct post *post, struct op_list *list)
{
	static const struct post_atomic no_atomic;
	const struct post_atomic *atomic = post->atomic ? post->atomic : &no_atomic;
	struct place from, compare, result;
	uint64_t total = 0;

	place_set(&from, post->iov, post->iov_count);
	place_set(&compare, atomic->compare, atomic->compare_count);
	place_set(&result, atomic->result, atomic->result_count);
	for (size_t i = 0; i < post->remote_count; i++) {
		struct op *op = pool_take(ep->stx->ops);

		if (!op) {
			op_list_give(list);
			return -EAGAIN;
		}
		op_fill(op, ep, post, &post->remote[i], post->remote[i].length);
		total += op->length;
		if (i + 1 < post->remote_count)
			op->flags &= ~(uint32_t)(POST_COMPLETE | POST_CQ_DATA);
		op->iov_count = iov_slice(&from, op->length, op->iov);
		op->compare_count = iov_slice(&compare, op->length, op->compare);
		op->result_count = iov_slice(&result, op->length, op->result);
		op_list_push(list, op);
		if ((op->flags & POST_INJECT) && !op_inject(op)) {
			op_list_give(list);
			return -EFAULT;
		}
	}
	list->last->group_left = (uint32_t)post->remote_count;
	list->last->total = total;
	list->last->done.c.length = post->kind == OP_READ ? total : 0;
	for (struct op *op = list->first; op; op = op->next)
		op->leader = list->last;
	return 0;
}

/* The post as a list of ops. Takes the submit lock. */
static int post_build(struct ep *ep, const struct post *post, struct op_list *list)
{
	struct op *op;

	if (post->remote_count > 1 || (post->atomic && post->atomic->what.kind != ATOMIC_PLAIN))
		return build_parts(ep, post, list);
	op = pool_take(ep->stx->ops);
	if (!op)
		return -EAGAIN;
	op->iov_count = (uint8_t)post->iov_count;
	op_fill(op, ep, post, post->kind == OP_SEND ? NULL : post->remote, iov_keep(op->iov, post->iov, post->iov_count));
	op_list_push(list, op);
	if ((op->flags & POST_INJECT) && !op_inject(op)) {
		op_list_give(list);
		return -EFAULT;
	}
	return 0;
}

/* With the lock: the ops of a post that waits. They are in the list or given back. */
static int defer_ops(struct ep *ep, const struct post *post, struct op_list *list)
{
	struct deferred deferred = { .when = *post->when, .ep = ep, .ops = *list };
	int err = deferred_add(ep->nic, &deferred);

	if (err) {
		op_list_give(list);
		return err;
	}
	if (post->when->done) {
		cntr_get(post->when->done);
		list->last->counted = post->when->done;
	}
	return 0;
}

/* With the lock. The role's holder keeps the ops for the slice that it is about to run, unless others wait. */
static void submit_ops(struct nic *nic, struct op_list *list, bool role)
{
	struct submit *submit = &nic->submit;
	unsigned count = 0;
	struct op *op;

	if (role && !submit_pending(submit)) {
		nic->own = *list;
		return;
	}
	while ((op = op_list_pop(list))) {
		op_list_push(&submit->ops, op);
		count++;
	}
	/* D1: the add is the fence between push and try. */
	atomic_fetch_add(&submit->waiting, count);
}

/* `watch`: of a watched post, else NULL. */
static inline int post_at_once(struct ep *ep, const struct post *post, void *watch)
{
	struct submit *submit = &ep->nic->submit;
	struct op_list list = { NULL, NULL };
	bool role = driver_begin(&ep->nic->driver);
	int ret;

	futex_lock(&submit->lock);
	ret = post_build(ep, post, &list);
	if (watch && !ret) {
		list.last->flags |= POST_WATCHED;
		list.last->watch = watch;
	}
	if (!ret)
		submit_ops(ep->nic, &list, role);
	futex_unlock(&submit->lock);
	/* Full: let the device make room before the program tries again. */
	if (role)
		driver_end(&ep->nic->driver);
	else
		driver_run(&ep->nic->driver);
	return ret;
}

static int post_watched(struct ep *ep, const struct post *post)
{
	const struct watch_ops *ops = ep->nic->config.watch;
	const struct front_reports *reports = ep->nic->config.reports;
	void *watch = ops ? ops->post(ep->attr.owner, post) : NULL;
	int ret;

	if (reports)
		reports->posted(ep->attr.owner, post);
	ret = post_at_once(ep, post, watch);
	if (ret && watch)
		ops->drop(watch);
	if (ops)
		ops->posted(ep->attr.owner, ret);
	return ret;
}

/* A post that waits for a counter, or is watched. */
__attribute__((noinline, cold)) static int post_deferred(struct ep *ep, const struct post *post)
{
	struct op_list list = { NULL, NULL };
	int ret;

	if (!post->when->cntr)
		return post_watched(ep, post);
	futex_lock(&ep->nic->submit.lock);
	ret = post_build(ep, post, &list);
	if (!ret)
		ret = defer_ops(ep, post, &list);
	futex_unlock(&ep->nic->submit.lock);
	if (!ret)
		deferred_reached(ep->nic, post->when->cntr);
	driver_run(&ep->nic->driver);
	return ret;
}

int ep_post(struct ep *ep, const struct post *post)
{
	int ret;

	if (driver_mine(&ep->nic->driver)) /* a signal handler inside the device (D5) */
		return -EAGAIN;
	if (ep->attr.tx_cq && cq_choked(ep->attr.tx_cq))
		return -EAGAIN;
	ret = atomic_load_explicit(&ep->cm.gate, memory_order_acquire);
	if (ret)
		return ret;
	tsan_post();
	return post->when ? post_deferred(ep, post) : post_at_once(ep, post, NULL);
}

static void rx_fill(struct rx *rx, struct srx *srx, const struct recv_post *post)
{
	rx->next = NULL;
	rx->srx = srx;
	rx->ep = srx->shared ? NULL : srx->ep;
	rx->pool = srx->rxs;
	rx->iov_count = (uint8_t)post->iov_count;
	rx->flags = post->flags;
	rx->capacity = iov_keep(rx->iov, post->iov, post->iov_count);
	rx->source = post->source;
	rx->auth = post->auth;
	rx->tag = post->tag;
	rx->ignore = post->ignore;
	rx->order = 0;
	rx->parent = NULL;
	rx->counted = NULL;
	rx->named_count = 0;
	if (post->desc) {
		rx->named_count = named_set(rx->named, post->desc, post->iov_count);
		srx->nic->submit.names = true;
	}
	if (post->flags & POST_MULTI)
		rx->multi = (struct multi){ .least = post->least };
	else if (unlikely(post->flags & POST_REACH))
		rx->reach = (struct reach){ post->reach, REFUSAL_RECEIVE_BUFFER, post->refused };
	rx->done.c = (struct completion){
		.context = post->context,
		.flags = post->cq_flags,
		.source = AV_NONE,
		/* A piece of a buffer for many messages names its own place (multi_recv.c). */
		.buf = post->iov_count && !srx->nic->config.multi_buf ? post->iov[0].iov_base : NULL,
	};
}

/* With the lock, as defer_ops(). */
static int defer_rx(struct srx *srx, const struct recv_post *post, struct rx *rx)
{
	struct deferred deferred = { .when = *post->when, .ep = rx->ep, .rx = rx };
	int err = deferred_add(srx->nic, &deferred);

	if (err) {
		pool_give(rx->pool, rx);
		return err;
	}
	if (post->when->done) {
		cntr_get(post->when->done);
		rx->counted = post->when->done;
	}
	return 0;
}

/* With the lock; as submit_ops(). */
static void submit_rx(struct nic *nic, struct rx *rx, bool role) REQUIRES(nic->submit.lock)
{
	struct submit *submit = &nic->submit;

	if (role && !submit_pending(submit)) {
		nic->own_rx = rx;
		return;
	}
	submit_push_rx(&nic->submit, rx);
	atomic_fetch_add(&submit->waiting, 1);
}

/* `watch`: of a watched receive, else NULL. */
static inline int recv_at_once(struct srx *srx, const struct recv_post *post, void *watch)
{
	struct nic *nic = srx->nic;
	bool role = driver_begin(&nic->driver);
	struct rx *rx;

	futex_lock(&nic->submit.lock);
	rx = pool_take(srx->rxs);
	if (rx) {
		rx_fill(rx, srx, post);
		if (watch) {
			rx->flags |= POST_WATCHED;
			rx->watch = watch;
		}
		submit_rx(nic, rx, role);
	}
	futex_unlock(&nic->submit.lock);
	if (role)
		driver_end(&nic->driver);
	else
		driver_run(&nic->driver);
	return rx ? 0 : -EAGAIN;
}

static int recv_watched(struct srx *srx, const struct recv_post *post)
{
	const struct watch_ops *ops = srx->nic->config.watch;
	void *owner = srx->shared ? NULL : srx->ep->attr.owner;
	const struct front_reports *reports = srx->nic->config.reports;
	void *watch = ops ? ops->receive(owner, post) : NULL;
	int ret;

	if (reports)
		reports->received(owner, post->context);
	ret = recv_at_once(srx, post, watch);
	if (ret && watch)
		ops->drop(watch);
	if (ops)
		ops->posted(owner, ret);
	return ret;
}

/* A receive that waits for a counter, or is watched. */
__attribute__((noinline, cold)) static int recv_deferred(struct srx *srx, const struct recv_post *post)
{
	struct rx *rx;
	int ret = -EAGAIN;

	if (!post->when->cntr)
		return recv_watched(srx, post);
	futex_lock(&srx->nic->submit.lock);
	rx = pool_take(srx->rxs);
	if (rx) {
		rx_fill(rx, srx, post);
		ret = defer_rx(srx, post, rx);
	}
	futex_unlock(&srx->nic->submit.lock);
	if (!ret)
		deferred_reached(srx->nic, post->when->cntr);
	driver_run(&srx->nic->driver);
	return ret;
}

int srx_recv(struct srx *srx, const struct recv_post *post)
{
	if (driver_mine(&srx->nic->driver))
		return -EAGAIN;
	tsan_post();
	return post->when ? recv_deferred(srx, post) : recv_at_once(srx, post, NULL);
}

int ep_recv(struct ep *ep, const struct recv_post *post)
{
	if (ep->attr.rx_cq && cq_choked(ep->attr.rx_cq))
		return -EAGAIN;
	return srx_recv(ep->srx, post);
}

/* Of an endpoint with `apart`. */
static __attribute__((noinline)) void start_apart(struct op *op)
{
	struct ep *ep = op->ep;

	if (ep->attr.datagrams && ep->pairing)
		dgram_pair_post(ep, op);
	else if (ep->attr.datagrams)
		dgram_post(ep, op);
	else if (ep->pairing)
		pairing_post(op);
	else if (ep->closing || !cm_session(ep))
		complete_refused(op, REFUSAL_CANCELLED, NULL);
	else
		requester_post(cm_session(ep), op);
}

static void op_start(struct op *op)
{
	enum refusal_cause cause;
	struct session *session;

	if (unlikely(op->ep->apart)) {
		start_apart(op);
		return;
	}
	session = ep_session(op->ep, op, &cause);
	if (!session)
		complete_refused(op, cause, NULL);
	else
		requester_post(session, op);
}

static void rx_start(struct rx *rx)
{
	struct ep *ep = rx->ep; /* NULL: of a shared context */
	struct message *message;

	if (ep && ep->closing) {
		complete_receive_failed(rx, REFUSAL_CANCELLED);
		return;
	}
	if (rx->flags & (POST_PEEK | POST_CLAIM)) {
		peek_start(rx);
		return;
	}
	message = rx->flags & POST_MULTI ? NULL : rx_match_post(&rx->srx->match, rx);
	if (message)
		message_matched(message, rx);
	else if (rx->flags & POST_MULTI)
		multi_start(rx);
	if (ep && cm_over(ep)) /* messages that arrived before are still received */
		cm_flush_receives(ep);
}

/* With the lock. */
static struct rx *cut_receives(struct submit *submit, unsigned *count) REQUIRES(submit->lock)
{
	struct rx *first = submit->rx_first;

	submit->rx_first = submit->rx_last = NULL;
	for (const struct rx *rx = first; rx; rx = rx->next)
		++*count;
	return first;
}

static void start_receives(struct rx *rx)
{
	struct rx *next;

	for (; rx; rx = next) {
		next = rx->next;
		rx_start(rx);
	}
}

bool submit_take_receives(struct nic *nic)
{
	struct submit *submit = &nic->submit;
	unsigned taken = 0;
	struct rx *rx;

	nic_role(nic);
	if (!submit_pending(submit))
		return false;
	futex_lock(&submit->lock);
	rx = cut_receives(submit, &taken);
	atomic_fetch_sub(&submit->waiting, taken);
	futex_unlock(&submit->lock);
	start_receives(rx);
	return taken;
}

static void start_ops(struct op_list *ops)
{
	struct op *op;

	while ((op = op_list_pop(ops)))
		op_start(op);
}

__attribute__((noinline)) static void take_posted(struct nic *nic)
{
	struct submit *submit = &nic->submit;
	struct op_list ops = { NULL, NULL };
	struct deferred *changes;
	struct rx *rx;
	unsigned taken = 0;

	futex_lock(&submit->lock);
	rx = cut_receives(submit, &taken);
	changes = submit->changes;
	submit->changes = NULL;
	submit->changes_end = &submit->changes;
	for (const struct deferred *change = changes; change; change = change->next)
		taken++;
	for (int i = 0; i < SLICE_OPS && submit->ops.first; i++, taken++)
		op_list_push(&ops, op_list_pop(&submit->ops));
	atomic_fetch_sub(&submit->waiting, taken);
	futex_unlock(&submit->lock);

	/* Receives first: a program that posts one and then sends expects the answer to find it. */
	start_receives(rx);
	start_ops(&ops);
	deferred_changes(changes);
}

bool submit_take(struct nic *nic)
{
	struct rx *rx = nic->own_rx;
	bool own = rx || nic->own.first, posted = submit_pending(&nic->submit);

	nic_role(nic);
	if (rx) {
		nic->own_rx = NULL;
		rx_start(rx);
	}
	start_ops(&nic->own);
	if (posted)
		take_posted(nic);
	return own || posted;
}
