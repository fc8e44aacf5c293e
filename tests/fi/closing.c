/* SPDX-License-Identifier: BSD-2-Clause */
/* closing.c - what closing does to what is under way, counted; and objects closed before those that use them. fi_endpoint(3)
 * lets what is outstanding be dropped silently: here each operation completes all the same, once, with FI_ECANCELED unless it
 * was done. */
#include "tests/fi/world.h"
#include "tests/rules/harness/newest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>

enum { KEY = 5, LONG = 1 << 20, EACH = 40, KINDS = 7, TRIGGERED = 5, RECEIVED = 6, POSTED = EACH * KINDS, ROUNDS = 200 };
#define CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER)

/* One endpoint with everything under way towards another, which receives none of it. */
struct flight {
	struct world from, to;
	fi_addr_t peer;
	struct fid_mr *mr;
	struct fid_cntr *never;
	uint8_t *near, *got, *far;
	struct fi_triggered_context context[POSTED];
	int seen[POSTED], done, cancelled;
};

static void post(struct flight *f, int nth)
{
	struct fid_ep *ep = f->from.ep;
	struct iovec iov = { f->near, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = f->peer, .context = &f->context[nth] };
	void *context = &f->context[nth];

	switch (nth % KINDS) {
	case 0:
		RC(0, fi_send(ep, f->near, LONG, NULL, f->peer, context));
		break;
	case 1:
		RC(0, fi_tsend(ep, f->near, LONG, NULL, f->peer, 1, context));
		break;
	case 2:
		RC(0, fi_write(ep, f->near, LONG, NULL, f->peer, 0, KEY, context));
		break;
	case 3:
		RC(0, fi_read(ep, f->got, LONG, NULL, f->peer, 0, KEY, context));
		break;
	case 4:
		RC(0, fi_fetch_atomic(ep, f->near, 1, NULL, f->got, NULL, f->peer, 8, KEY, FI_UINT64, FI_SUM, context));
		break;
	case RECEIVED:
		RC(0, fi_recv(ep, f->got, 8, NULL, FI_ADDR_UNSPEC, context));
		break;
	default:
		f->context[nth].event_type = FI_TRIGGER_THRESHOLD;
		f->context[nth].trigger.threshold = (struct fi_trigger_threshold){ f->never, 1 };
		RC(0, fi_sendmsg(ep, &msg, FI_TRIGGER));
	}
}

static void flight_open(struct flight *f)
{
	const struct want want = { .caps = CAPS };
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	memset(f, 0, sizeof(*f));
	f->near = calloc(3, LONG);
	f->got = f->near + LONG;
	f->far = f->got + LONG;
	world_open(&f->from, &want);
	world_open(&f->to, &want);
	RC(0, fi_getname(&f->to.ep->fid, &name, &length));
	RC(1, fi_av_insert(f->from.av, &name, 1, &f->peer, 0, NULL));
	RC(0, fi_mr_reg(f->to.domain, f->far, LONG, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &f->mr, NULL));
	RC(0, fi_cntr_open(f->from.domain, &(struct fi_cntr_attr){ 0 }, &f->never, NULL));
}

static void flight_close(struct flight *f)
{
	RC(0, fi_close(&f->mr->fid));
	RC(0, fi_close(&f->never->fid));
	world_close(&f->from);
	world_close(&f->to);
	free(f->near);
}

static void take(struct flight *f)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	while ((got = fi_cq_read(f->from.cq, &entry, 1)) != -FI_EAGAIN) {
		void *context = entry.op_context;

		if (got == -FI_EAVAIL) {
			RC(1, fi_cq_readerr(f->from.cq, &error, 0));
			cr_assert_eq(error.err, FI_ECANCELED, "err %d", error.err);
			context = error.op_context;
			f->cancelled++;
		} else {
			RC(1, got);
			f->done++;
		}
		cr_assert((char *)context >= (char *)f->context && (char *)context < (char *)(f->context + POSTED));
		f->seen[(struct fi_triggered_context *)context - f->context]++;
	}
}

/* Closed before, while and after what can be done is done. */
Test(fi_closing, each_operation_completes_once)
{
	static struct flight f;
	uint8_t *copy = malloc(LONG);

	for (int polled = 0; polled < 3; polled++) {
		flight_open(&f);
		for (int i = 0; i < POSTED; i++)
			post(&f, i);
		for (int i = 0; i < 20 * polled; i++)
			take(&f);
		RC(0, fi_close(&f.from.ep->fid));
		f.from.ep = NULL;
		memcpy(copy, f.got, LONG);
		take(&f);
		for (int i = 0; i < POSTED; i++)
			cr_assert_eq(f.seen[i], 1, "operation %d of kind %d completed %d times", i, i % KINDS, f.seen[i]);
		cr_expect_eq(f.done + f.cancelled, POSTED);
		cr_expect_geq(f.cancelled, 4 * EACH, "what nobody receives or sends, and nothing triggers: %d", f.cancelled);
		cr_expect_eq(fi_cntr_read(f.from.cntr), (uint64_t)f.done);
		cr_expect_eq(fi_cntr_readerr(f.from.cntr), (uint64_t)f.cancelled);
		cr_expect(!memcmp(copy, f.got, LONG), "nothing is touched afterwards");
		flight_close(&f);
	}
	free(copy);
}

/* The other side is closed: the sender sees the same, and its endpoint goes on. */
Test(fi_closing, the_peer_closes)
{
	static struct flight f;
	struct fi_cq_tagged_entry entry;
	time_t end = time(NULL) + 30;

	flight_open(&f);
	for (int i = 0; i < POSTED; i++)
		if (i % KINDS < TRIGGERED)
			post(&f, i);
	RC(0, fi_close(&f.to.ep->fid));
	f.to.ep = NULL;
	while (f.done + f.cancelled < TRIGGERED * EACH && time(NULL) < end) {
		struct fi_cq_err_entry error = { 0 };
		void *context;
		ssize_t got = fi_cq_read(f.from.cq, &entry, 1);

		if (got == -FI_EAGAIN)
			continue;
		context = entry.op_context;
		if (got == -FI_EAVAIL) {
			RC(1, fi_cq_readerr(f.from.cq, &error, 0));
			context = error.op_context;
		}
		f.done += got == 1;
		f.cancelled += got != 1;
		f.seen[(struct fi_triggered_context *)context - f.context]++;
	}
	for (int i = 0; i < POSTED; i++)
		cr_assert_eq(f.seen[i], i % KINDS < TRIGGERED, "operation %d completed %d times", i, f.seen[i]);
	RC(0, fi_recv(f.from.ep, f.got, 8, NULL, FI_ADDR_UNSPEC, f.got));
	RC(0, fi_inject(f.from.ep, f.near, 8, f.from.self));
	RC(1, world_next(&f.from, &entry));
	cr_expect_eq(entry.op_context, f.got);
	flight_close(&f);
}

/* fi_endpoint(3) of 2.2: the program has its buffers back when fi_close() returns, whatever was under way with them. */
enum { BEFORE = 0x11, AFTER = 0x22 };

/* A message to an endpoint that is gone ends when all that had come from it is read. */
static void until_known_gone(struct world *w, fi_addr_t peer)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	static char probe;

	RC(0, fi_send(w->ep, &probe, 1, NULL, peer, &probe));
	while (error.op_context != &probe)
		if (world_next(w, &entry) == -FI_EAVAIL)
			RC(1, fi_cq_readerr(w->cq, &error, 0));
}

static void receive_all(struct world *w, uint8_t *landing)
{
	for (int i = 0; i < EACH; i++) {
		RC(0, fi_recv(w->ep, landing, LONG, NULL, FI_ADDR_UNSPEC, NULL));
		RC(0, fi_trecv(w->ep, landing, LONG, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	}
}

Test(fi_closing, sources_are_not_read_afterwards)
{
	static struct flight f;
	uint8_t *landing = malloc(LONG);
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	fi_addr_t back;

	for (int polled = 0; polled < 5; polled++) {
		flight_open(&f);
		memset(landing, BEFORE, LONG);
		memset(f.far, BEFORE, LONG);
		memset(f.near, BEFORE, LONG);
		RC(0, fi_getname(&f.from.ep->fid, &name, &length));
		RC(1, fi_av_insert(f.to.av, &name, 1, &back, 0, NULL));
		receive_all(&f.to, landing);
		for (int i = 0; i < POSTED; i++)
			if (i % KINDS < 3)
				post(&f, i);
		for (int i = 0; i < 12 * polled; i++)
			take(&f);
		RC(0, fi_close(&f.from.ep->fid));
		f.from.ep = NULL;
		memset(f.near, AFTER, LONG);
		until_known_gone(&f.to, back);
		cr_assert_null(memchr(landing, AFTER, LONG));
		cr_assert_null(memchr(f.far, AFTER, LONG));
		flight_close(&f);
	}
	free(landing);
}

Test(fi_closing, receive_buffers_are_not_written_afterwards)
{
	static struct flight f;
	uint8_t *landing = malloc(2 * LONG);
	struct fi_cq_tagged_entry entry;

	for (int polled = 0; polled < 5; polled++) {
		flight_open(&f);
		memset(landing, 0, 2 * LONG);
		memset(f.near, BEFORE, LONG);
		receive_all(&f.to, landing);
		for (int i = 0; i < POSTED; i++)
			if (i % KINDS < 2)
				post(&f, i);
		for (int i = 0; i < 12 * polled; i++)
			fi_cq_read(f.to.cq, &entry, 1);
		RC(0, fi_close(&f.to.ep->fid));
		f.to.ep = NULL;
		memcpy(landing + LONG, landing, LONG);
		until_known_gone(&f.from, f.peer);
		cr_assert_arr_eq(landing, landing + LONG, LONG);
		flight_close(&f);
	}
	free(landing);
}

/* Everything that something else uses is -FI_EBUSY, goes on, and closes when that is gone. */
Test(fi_closing, in_the_wrong_order)
{
	struct fid_ep *srx, *sep, *context, *sharer, *alias = NULL;
	struct fid_poll *poll;
	struct fid_stx *stx;
	struct fid_av *av;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG });
	RC(0, fi_srx_context(w.domain, NULL, &srx, NULL));
	RC(0, fi_stx_context(w.domain, NULL, &stx, NULL));
	RC(0, fi_av_open(w.domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &av, NULL));
	RC(0, fi_scalable_ep(w.domain, w.info, &sep, NULL));
	RC(0, fi_scalable_ep_bind(sep, &av->fid, 0));
	RC(0, fi_tx_context(sep, 0, NULL, &context, NULL));
	w.info->ep_attr->tx_ctx_cnt = w.info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	RC(0, fi_endpoint(w.domain, w.info, &sharer, NULL));
	RC(0, fi_ep_bind(sharer, &srx->fid, 0));
	RC(0, fi_ep_bind(sharer, &stx->fid, 0));
	RC(0, fi_ep_alias(w.ep, &alias, FI_TRANSMIT));
	RC(0, fi_poll_open(w.domain, &(struct fi_poll_attr){ 0 }, &poll));
	RC(0, fi_poll_add(poll, &w.cq->fid, 0));
	for (int round = 0; round < 2; round++) {
		RC(-FI_EBUSY, fi_close(&w.ep->fid));
		RC(-FI_EBUSY, fi_close(&srx->fid));
		RC(-FI_EBUSY, fi_close(&stx->fid));
		RC(-FI_EBUSY, fi_close(&sep->fid));
		RC(-FI_EBUSY, fi_close(&av->fid));
		RC(-FI_EBUSY, fi_close(&w.cq->fid));
		RC(-FI_EBUSY, fi_close(&w.domain->fid));
		RC(-FI_EBUSY, fi_close(&w.fabric->fid));
	}
	RC(0, fi_close(&context->fid));
	RC(-FI_EBUSY, fi_close(&av->fid));
	RC(0, fi_close(&sep->fid));
	RC(0, fi_close(&av->fid));
	RC(0, fi_close(&sharer->fid));
	RC(0, fi_close(&srx->fid));
	RC(0, fi_close(&stx->fid));
	RC(0, fi_close(&alias->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(-FI_EBUSY, fi_close(&w.domain->fid));
	RC(-FI_EBUSY, fi_close(&poll->fid));
	RC(0, fi_poll_del(poll, &w.cq->fid, 0));
	RC(0, fi_close(&poll->fid));
	world_close(&w);
}

/* An object is bound twice, or after fi_enable, or to one that it does not fit: the first binding stays. */
Test(fi_closing, bound_once)
{
	struct fid_ep *ep;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_RMA });
	RC(0, fi_endpoint(w.domain, w.info, &ep, NULL));
	for (int bit = 0; bit < 64; bit++) {
		uint64_t flag = 1ull << bit;

		RC(-FI_EBADFLAGS, fi_ep_bind(ep, &w.av->fid, flag));
		RC(-FI_EBADFLAGS, fi_ep_bind(ep, &w.eq->fid, flag));
		if (!(flag & (FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)))
			RC(-FI_EBADFLAGS, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT | flag));
	}
	RC(0, fi_ep_bind(ep, &w.eq->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.eq->fid, 0));
	RC(0, fi_ep_bind(ep, &w.av->fid, 0));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.av->fid, 0));
	RC(0, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(ep, &w.cq->fid, FI_RECV));
	RC(0, fi_ep_bind(ep, &w.cntr->fid, FI_SEND));
	RC(-FI_EINVAL, fi_ep_bind(ep, &w.cntr->fid, FI_SEND));
	RC(0, fi_enable(ep));
	RC(-FI_EOPBADSTATE, fi_ep_bind(ep, &w.cntr->fid, FI_RECV));
	RC(-FI_EOPBADSTATE, fi_ep_bind(ep, &w.cq->fid, FI_RECV));
	RC(-FI_EOPBADSTATE, fi_enable(ep));
	RC(0, fi_close(&ep->fid));
	world_close(&w);
}

/* One round a number; a barrier each way would be slower than the race. */
struct beside {
	struct world w;
	struct fid_mr *base, *sub;
	int rc;
	atomic_int asked, answered;
};

enum { RACES = 1000 };
static char bytes[64];

static void *register_within(void *arg)
{
	struct iovec iov = { bytes, 8 };
	struct beside *b = arg;

	for (int round = 1; round <= RACES; round++) {
		struct newest_attr attr = {
			.mr_iov = &iov, .iov_count = 1, .access = FI_REMOTE_READ, .requested_key = (uint64_t)(RACES + round)
		};

		while (atomic_load(&b->asked) != round)
			;
		attr.base_mr = b->base;
		b->rc = newest_reg(b->w.domain, &attr, 0, &b->sub);
		atomic_store(&b->answered, round);
	}
	return NULL;
}

/* S126, where the program does both at once: the base is busy, or it is gone and has nothing within it. */
Test(fi_closing, a_base_beside_a_registration)
{
	struct beside b = { .rc = 0 };
	pthread_t thread;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	cr_skip_test("the second thread may name a region that is gone");
#endif
	if (!world_has(FI_VERSION(2, 0)))
		cr_skip_test("the running libfabric has no base_mr");
	world_open(&b.w, &(struct want){ .api = FI_VERSION(2, 0) });
	cr_assert_eq(pthread_create(&thread, NULL, register_within, &b), 0);
	for (int round = 1; round <= RACES; round++) {
		int rc;

		RC(0, fi_mr_reg(b.w.domain, bytes, sizeof(bytes), FI_REMOTE_READ, 0, (uint64_t)round, 0, &b.base, NULL));
		atomic_store(&b.asked, round);
		for (atomic_int delay = 0; delay < round % 300; delay++) /* so that each comes first at times */
			;
		rc = fi_close(&b.base->fid);
		while (atomic_load(&b.answered) != round)
			;
		cr_assert(rc == (b.rc ? 0 : -FI_EBUSY), "close %d, registration %d", rc, b.rc);
		if (!b.rc) {
			RC(0, fi_close(&b.sub->fid));
			RC(0, fi_close(&b.base->fid));
		}
	}
	pthread_join(thread, NULL);
	world_close(&b.w);
}

/* The endpoint at an address is replaced by another one, and the next operation is for that, however soon it comes. */
Test(fi_closing, another_endpoint_at_the_address_at_once)
{
	struct want want = { .caps = FI_MSG | FI_RMA };
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct world from, to;
	struct fid_mr *mr;
	uint64_t near, far = 0;
	fi_addr_t peer;

	world_open(&from, &want);
	world_open(&to, &want);
	RC(0, fi_getname(&to.ep->fid, &name, &length));
	RC(1, fi_av_insert(from.av, &name, 1, &peer, 0, NULL));
	RC(0, fi_mr_reg(to.domain, &far, sizeof(far), FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	memcpy(to.info->src_addr, &name, length);
	for (near = 1; near <= ROUNDS; near++) {
		struct fi_cq_tagged_entry entry;

		RC(0, fi_write(from.ep, &near, sizeof(near), NULL, peer, 0, KEY, NULL));
		cr_assert_eq(world_next(&from, &entry), 1, "round %d", (int)near);
		cr_assert_eq(far, near);
		RC(0, fi_close(&to.ep->fid));
		RC(0, fi_endpoint(to.domain, to.info, &to.ep, NULL));
		RC(0, fi_ep_bind(to.ep, &to.av->fid, 0));
		RC(0, fi_ep_bind(to.ep, &to.cq->fid, FI_TRANSMIT | FI_RECV));
		RC(0, fi_enable(to.ep));
	}
	RC(0, fi_close(&mr->fid));
	world_close(&from);
	world_close(&to);
}
