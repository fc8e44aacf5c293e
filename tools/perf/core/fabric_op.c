/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric_op.c - posting ops over a fabric, and reading their completions. */
#include <errno.h>
#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>

#include "tools/perf/core/fabric.h"
#include "tools/perf/core/perf_clock.h"

enum { CQ_BATCH = 64 };

/* An op's context: one of its own if the provider wants that, or else what tells sends from receives. NULL: all are in use. */
static inline void *context_for(struct fabric *f, void *plain)
{
	if (__builtin_expect(!f->contexts, 1))
		return plain;
	return f->free_count ? f->free_contexts[f->free_count - 1] : NULL;
}

/* The context that context_for() has just said is in use, or was not needed. */
static inline void context_used(struct fabric *f, bool receive)
{
	if (__builtin_expect(f->contexts != NULL, 0)) {
		struct fabric_context *context = f->free_contexts[--f->free_count];

		context->receive = receive;
		context->posted = true;
	}
}

static inline int sent(struct fabric *f, ssize_t rc)
{
	if (!rc) {
		f->pending++;
		context_used(f, false);
	}
	return (int)rc;
}

static inline int expected(struct fabric *f, ssize_t rc)
{
	if (!rc) {
		f->receives++;
		context_used(f, true);
	}
	return (int)rc;
}

int fabric_write(struct fabric *f, size_t from, size_t to, size_t size)
{
	/* The peer's inbox has many keys, or one. */
	uint64_t key = __builtin_expect(f->keys != 0, 0) ? fabric_draw_key(f) : f->peer_key;
	void *context = context_for(f, &f->pending);

	if (!context)
		return -FI_EAGAIN;
	return sent(f, fi_write(f->ep, f->memory + f->span + from, size, f->desc, f->peer, f->peer_base + to, key, context));
}

int fabric_read(struct fabric *f, size_t from, size_t to, size_t size)
{
	void *context = context_for(f, &f->pending);

	if (!context)
		return -FI_EAGAIN;
	return sent(f, fi_read(f->ep, f->memory + to, size, f->desc, f->peer, f->peer_base + f->span + from, f->peer_key, context));
}

int fabric_fetch_add(struct fabric *f, size_t from, size_t to, size_t size)
{
	void *context = context_for(f, &f->pending);

	if (!context)
		return -FI_EAGAIN;
	return sent(f, fi_fetch_atomic(f->ep, f->memory + 2 * f->span, size / sizeof(uint64_t), f->desc, f->memory + to, f->desc,
				       f->peer, f->peer_base + f->span + from, f->peer_key, FI_UINT64, FI_SUM, context));
}

int fabric_fetch_add_offered(struct fabric *f, size_t size)
{
	size_t count = 0;
	int rc = fi_fetch_atomicvalid(f->ep, FI_UINT64, FI_SUM, &count);

	return rc ? rc : count < size / sizeof(uint64_t) ? -FI_EMSGSIZE : 0;
}

int fabric_write_told(struct fabric *f, size_t from, size_t to, size_t size)
{
	void *context = context_for(f, &f->pending);

	if (!context)
		return -FI_EAGAIN;
	return sent(f, fi_writedata(f->ep, f->memory + f->span + from, size, f->desc, 1, f->peer, f->peer_base + to, f->peer_key,
				    context));
}

int fabric_tsend(struct fabric *f, size_t from, size_t size, uint64_t tag)
{
	void *context = context_for(f, &f->pending);

	if (!context)
		return -FI_EAGAIN;
	return sent(f, fi_tsend(f->ep, f->memory + f->span + from, size, f->desc, f->peer, tag, context));
}

int fabric_trecv(struct fabric *f, size_t to, size_t size, uint64_t tag)
{
	void *context = context_for(f, f);

	if (!context)
		return -FI_EAGAIN;
	return expected(f, fi_trecv(f->ep, f->memory + to, size, f->desc, FI_ADDR_UNSPEC, tag, 0, context));
}

int fabric_send(struct fabric *f, size_t from, size_t size)
{
	void *context = context_for(f, &f->pending);

	if (!context)
		return -FI_EAGAIN;
	return sent(f, fi_send(f->ep, f->memory + f->span + from, size, f->desc, f->peer, context));
}

int fabric_recv(struct fabric *f, size_t to, size_t size)
{
	void *context = context_for(f, f);

	if (!context)
		return -FI_EAGAIN;
	return expected(f, fi_recv(f->ep, f->memory + to, size, f->desc, FI_ADDR_UNSPEC, context));
}

static void context_free(struct fabric *f, struct fabric_context *context)
{
	context->posted = false;
	f->free_contexts[f->free_count++] = context;
}

/* One op is over. A completion is of a receive, of an op that we posted, or tells of a peer's write. */
static void take_context(struct fabric *f, void *op_context)
{
	struct fabric_context *context = op_context;

	if (!f->contexts || context < f->contexts || context >= f->contexts + f->contexts_count) {
		f->received++; /* a write that we were told of */
		return;
	}
	if (context->receive) {
		f->receives--;
		f->received++;
	} else {
		f->pending--;
	}
	context_free(f, context);
}

static void receive_cancelled(struct fabric *f, void *op_context)
{
	f->receives--;
	if (f->contexts)
		context_free(f, op_context);
}

static int completion_failed(struct fabric *f)
{
	struct fi_cq_err_entry entry = { 0 };
	char text[96];
	ssize_t rc = fi_cq_readerr(f->cq, &entry, 0);

	if (rc != 1)
		return rc < 0 ? (int)rc : -FI_EOTHER;
	if (entry.err == FI_ECANCELED) {
		receive_cancelled(f, entry.op_context);
		return -FI_ECANCELED;
	}
	snprintf(f->why, sizeof(f->why), "completion failed: %s (%s)", fi_strerror(entry.err),
		 fi_cq_strerror(f->cq, entry.prov_errno, entry.err_data, text, sizeof(text)));
	return -entry.err;
}

/* Counts the result of reading the queue. */
static int take(struct fabric *f, const struct fi_cq_entry *entries, ssize_t n)
{
	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL)
		return completion_failed(f);
	for (ssize_t i = 0; i < n; i++) {
		if (entries[i].op_context == &f->pending) {
			f->pending--;
		} else if (f->contexts) {
			take_context(f, entries[i].op_context);
		} else {
			f->receives -= entries[i].op_context == f;
			f->received++;
		}
	}
	return (int)n;
}

int fabric_poll(struct fabric *f)
{
	struct fi_cq_entry entries[CQ_BATCH];

	return take(f, entries, fi_cq_read(f->cq, entries, CQ_BATCH));
}

int fabric_sread(struct fabric *f, int patience_ms)
{
	struct fi_cq_entry entries[CQ_BATCH];

	return take(f, entries, fi_cq_sread(f->cq, entries, CQ_BATCH, NULL, patience_ms));
}

int fabric_wait_fd(struct fabric *f, int patience_ms)
{
	struct fid *fid = &f->cq->fid;
	struct pollfd wait = { .events = POLLIN };
	int rc = fi_trywait(f->fabric, &fid, 1);

	if (rc == 0) {
		rc = fi_control(fid, FI_GETWAIT, &wait.fd);
		if (rc)
			return rc;
		if (poll(&wait, 1, patience_ms) < 0)
			return -errno;
	} else if (rc != -FI_EAGAIN) {
		return rc;
	}
	return fabric_poll(f);
}

int fabric_wait_count(struct fabric *f, uint64_t count, int patience_ms)
{
	return fi_cntr_wait(f->cntr, count, patience_ms);
}

/* Returns how much a counter has gained since it was looked at. */
static uint64_t gain(struct fid_cntr *cntr, uint64_t *before)
{
	uint64_t now = cntr ? fi_cntr_read(cntr) : 0, more = now - *before;

	*before = now;
	return more;
}

int fabric_count(struct fabric *f)
{
	uint64_t done = gain(f->tx_cntr, &f->told), come = gain(f->cntr, &f->told_heard);

	f->pending -= (unsigned)done;
	f->received += come;
	f->receives -= come < f->receives ? (unsigned)come : f->receives;
	return done + come ? (int)(done + come) : fabric_poll(f); /* where errors are */
}

int fabric_wait_counters(struct fabric *f, bool arrivals, int patience_ms)
{
	bool heard = arrivals && f->cntr;
	int n = fabric_count(f);

	if (n)
		return n;
	/* An error is in the queue. */
	(void)fi_cntr_wait(heard ? f->cntr : f->tx_cntr, (heard ? f->told_heard : f->told) + 1, patience_ms);
	return fabric_count(f);
}

int fabric_recv_cancel(struct fabric *f)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (f->receives) {
		void *context = f;
		int rc;

		for (unsigned i = 0; i < f->contexts_count; i++)
			if (f->contexts[i].receive && f->contexts[i].posted)
				context = &f->contexts[i];
		(void)fi_cancel(&f->ep->fid, context);
		rc = fabric_poll(f);
		if (rc < 0 && rc != -FI_ECANCELED)
			return rc;
		if (rc == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 0;
}

int fabric_drain(struct fabric *f, uint64_t patience_ns)
{
	struct patience patience = patience_for(patience_ns);

	while (f->pending) {
		int n = f->tx_cntr ? fabric_count(f) : fabric_poll(f);

		if (n < 0)
			return n;
		if (n == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 0;
}
