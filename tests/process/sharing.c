/* SPDX-License-Identifier: BSD-2-Clause */
/* sharing.c - what endpoints share, seen from another process: shared receive contexts, scalable endpoints, address vectors
 * by name; triggered operations and wait objects that another process sets off. */
#include <criterion/criterion.h>

#include "tests/rules/harness/message.h"

#include <rdma/fi_trigger.h>
#include <stdio.h>
#include <unistd.h>

enum { ENDS = 3, EACH = 4, BITS = 2, CONTEXTS = 1 << BITS, KEY = 99, ROUNDS = 100 };
#define CAPS (FI_MSG | FI_RMA | FI_TAGGED | FI_NAMED_RX_CTX | FI_TRIGGER | FI_SHARED_AV | FI_RMA_EVENT)

struct names {
	uint8_t name[ENDS][PEER_ADDR_MAX];
};

static void open_pair(struct pair *p, bool counters)
{
	struct peer_want want = { .caps = CAPS, .counters = counters };

	memset(p, 0, sizeof(*p));
	target_start(&p->target);
	pair_open(p, &want, 0);
}

static void close_pair(struct pair *p)
{
	pair_close(p);
	target_stop(&p->target);
}

static struct fid_cq *open_cq(struct peer *peer, enum fi_wait_obj wait, struct fid_wait *set)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait, .wait_set = set };
	struct fid_cq *cq;

	CHECK_RC(0, fi_cq_open(peer->domain, &attr, &cq, NULL));
	return cq;
}

static void name_of(fid_t fid, uint8_t name[PEER_ADDR_MAX])
{
	size_t length = PEER_ADDR_MAX;

	memset(name, 0, PEER_ADDR_MAX);
	CHECK_RC(0, fi_getname(fid, name, &length));
}

static struct fi_cq_tagged_entry next_of(struct fid_cq *cq)
{
	struct deadline guard = deadline_start();
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	while ((got = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN)
		deadline_check(&guard, "a completion");
	CHECK_RC(1, got);
	return entry;
}

static void send_byte(struct pair *p, fi_addr_t to, uint8_t byte)
{
	struct op op;

	memset(p->local.iov[0].iov_base, byte, 8);
	CHECK_RC(0, peer_send(&p->peer, to, p->local.iov[0].iov_base, 8, p->desc, &op));
	peer_wait(&p->peer, &op);
}

/* --- a shared receive context --- */

static struct fid_ep *shared, *ends[ENDS];
static struct fid_cq *queues[CONTEXTS];
static uint8_t in[ENDS * EACH][8];

static void step_share(const void *arg, void *reply)
{
	struct fi_info *info = fi_dupinfo(target_peer.info);
	struct names *names = reply;

	(void)arg;
	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	CHECK_RC(0, fi_srx_context(target_peer.domain, NULL, &shared, NULL));
	for (int i = 0; i < ENDS * EACH; i++)
		CHECK_RC(0, fi_recv(shared, in[i], 8, NULL, FI_ADDR_UNSPEC, in[i]));
	for (int i = 0; i < ENDS; i++) {
		queues[i] = open_cq(&target_peer, FI_WAIT_NONE, NULL);
		CHECK_RC(0, fi_endpoint(target_peer.domain, info, &ends[i], NULL));
		CHECK_RC(0, fi_ep_bind(ends[i], &target_peer.av->fid, 0));
		CHECK_RC(0, fi_ep_bind(ends[i], &queues[i]->fid, FI_TRANSMIT | FI_RECV));
		CHECK_RC(0, fi_ep_bind(ends[i], &shared->fid, 0));
		CHECK_RC(0, fi_enable(ends[i]));
		name_of(&ends[i]->fid, names->name[i]);
	}
	fi_freeinfo(info);
}

/* The receives went to the messages in the order in which both came, whichever endpoint it was. */
static void step_shared(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	for (int i = 0; i < ENDS * EACH; i++) {
		struct fi_cq_tagged_entry entry = next_of(queues[i % ENDS]);

		CHECK(entry.op_context == in[i] && entry.len == 8 && in[i][0] == i, "message %d is in the wrong place", i);
	}
	for (int i = 0; i < ENDS; i++) {
		CHECK_RC(0, fi_close(&ends[i]->fid));
		CHECK_RC(0, fi_close(&queues[i]->fid));
	}
	CHECK_RC(0, fi_close(&shared->fid));
}

Test(process, shared_receives_of_another_process)
{
	fi_addr_t to[ENDS];
	struct names names;
	struct pair p;

	open_pair(&p, false);
	target_do(&p.target, step_share, NULL, 0, &names, sizeof(names));
	for (int i = 0; i < ENDS; i++)
		to[i] = peer_insert(&p.peer, names.name[i]);
	for (int i = 0; i < ENDS * EACH; i++)
		send_byte(&p, to[i % ENDS], (uint8_t)i);
	target_do(&p.target, step_shared, NULL, 0, NULL, 0);
	close_pair(&p);
}

/* --- a scalable endpoint --- */

static struct fid_ep *scalable, *contexts[CONTEXTS];

static void step_scale(const void *arg, void *reply)
{
	struct fi_info *info = fi_dupinfo(target_peer.info);

	(void)arg;
	info->ep_attr->rx_ctx_cnt = CONTEXTS;
	CHECK_RC(0, fi_scalable_ep(target_peer.domain, info, &scalable, NULL));
	CHECK_RC(0, fi_scalable_ep_bind(scalable, &target_peer.av->fid, 0));
	for (int i = 0; i < CONTEXTS; i++) {
		queues[i] = open_cq(&target_peer, FI_WAIT_NONE, NULL);
		CHECK_RC(0, fi_rx_context(scalable, i, NULL, &contexts[i], NULL));
		CHECK_RC(0, fi_ep_bind(contexts[i], &queues[i]->fid, FI_RECV));
		CHECK_RC(0, fi_enable(contexts[i]));
		CHECK_RC(0, fi_recv(contexts[i], in[i], 8, NULL, FI_ADDR_UNSPEC, in[i]));
	}
	CHECK_RC(0, fi_enable(scalable));
	name_of(&scalable->fid, reply);
	fi_freeinfo(info);
}

static void step_scaled(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	for (int i = 0; i < CONTEXTS; i++) {
		CHECK(next_of(queues[i]).op_context == in[i] && in[i][0] == i, "context %d has %d", i, in[i][0]);
		CHECK_RC(0, fi_close(&contexts[i]->fid));
		CHECK_RC(0, fi_close(&queues[i]->fid));
	}
	CHECK_RC(0, fi_close(&scalable->fid));
}

/* fi_rx_addr() names a context of the other process's endpoint. */
Test(process, receive_contexts_of_another_process)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .rx_ctx_bits = BITS };
	uint8_t name[PEER_ADDR_MAX];
	struct fid_av *av;
	struct fid_ep *ep;
	fi_addr_t to;
	struct pair p;

	open_pair(&p, false);
	target_do(&p.target, step_scale, NULL, 0, name, sizeof(name));
	CHECK_RC(0, fi_av_open(p.peer.domain, &attr, &av, NULL));
	CHECK_RC(1, fi_av_insert(av, name, 1, &to, 0, NULL));
	CHECK_RC(0, fi_endpoint(p.peer.domain, p.peer.info, &ep, NULL));
	CHECK_RC(0, fi_ep_bind(ep, &av->fid, 0));
	CHECK_RC(0, fi_ep_bind(ep, &p.peer.cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_RC(0, fi_enable(ep));
	for (uint64_t i = CONTEXTS; i-- > 0;)
		CHECK_RC(0, fi_inject(ep, &i, 8, fi_rx_addr(to, (int)i, BITS)));
	target_do(&p.target, step_scaled, NULL, 0, NULL, 0);
	CHECK_RC(0, fi_close(&ep->fid));
	CHECK_RC(0, fi_close(&av->fid));
	close_pair(&p);
}

/* --- an address vector by name --- */

struct shared_name {
	char name[32];
	fi_addr_t index;
};

/* Sends by an index that the other process has got. */
static void step_send_by_index(const void *arg, void *reply)
{
	const struct shared_name *given = arg;
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .name = given->name, .flags = FI_READ };
	struct fid_cq *cq = open_cq(&target_peer, FI_WAIT_NONE, NULL);
	struct fid_av *av;
	struct fid_ep *ep;

	(void)reply;
	CHECK_RC(0, fi_av_open(target_peer.domain, &attr, &av, NULL));
	CHECK_RC(0, fi_endpoint(target_peer.domain, target_peer.info, &ep, NULL));
	CHECK_RC(0, fi_ep_bind(ep, &av->fid, 0));
	CHECK_RC(0, fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_RC(0, fi_enable(ep));
	CHECK_RC(0, fi_send(ep, "by name", 8, NULL, given->index, NULL));
	(void)next_of(cq);
	CHECK_RC(0, fi_close(&ep->fid));
	CHECK_RC(0, fi_close(&av->fid));
	CHECK_RC(0, fi_close(&cq->fid));
}

Test(process, an_address_vector_of_two_processes)
{
	struct shared_name given;
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .name = given.name };
	uint8_t name[PEER_ADDR_MAX];
	char text[8] = "";
	struct fid_av *av;
	struct pair p;
	struct op op;

	memset(&given, 0, sizeof(given));
	snprintf(given.name, sizeof(given.name), "sharing-%d", (int)getpid());
	open_pair(&p, false);
	CHECK_RC(0, fi_av_open(p.peer.domain, &attr, &av, NULL));
	peer_name(&p.peer, name);
	for (int i = 0; i < 3; i++) /* the last counts */
		CHECK_RC(1, fi_av_insert(av, name, 1, &given.index, 0, NULL));
	CHECK_RC(0, peer_recv(&p.peer, text, sizeof(text), NULL, &op));
	target_do(&p.target, step_send_by_index, &given, sizeof(given), NULL, 0);
	peer_wait(&p.peer, &op);
	CHECK(!op.err && !strcmp(text, "by name"), "err %d, \"%s\"", op.err, text);
	CHECK_RC(0, fi_close(&av->fid));
	close_pair(&p);
}

/* --- what another process sets off --- */

/* When the target has received three messages, it sends one, whatever its program does. */
static void step_trigger(const void *arg, void *reply)
{
	static struct fi_triggered_context2 context;
	static char text[8] = "go";
	struct iovec iov = { text, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = target_tester, .context = &context };

	(void)arg;
	(void)reply;
	context.event_type = FI_TRIGGER_THRESHOLD;
	context.trigger.threshold = (struct fi_trigger_threshold){ .cntr = target_peer.rx_cntr, .threshold = 3 };
	CHECK_RC(0, fi_sendmsg(target_peer.ep, &msg, FI_TRIGGER | FI_INJECT));
	for (int i = 0; i < 3; i++)
		CHECK_RC(0, fi_recv(target_peer.ep, in[i], 8, NULL, FI_ADDR_UNSPEC, &context));
}

static void step_triggered(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	for (int i = 0; i < 4; i++)
		(void)next_of(target_peer.cq);
}

Test(process, triggered_by_another_process)
{
	char text[8] = "";
	struct pair p;
	struct op op;

	open_pair(&p, true);
	target_do(&p.target, step_trigger, NULL, 0, NULL, 0);
	messages_tagged(&p, false);
	CHECK_RC(0, peer_recv(&p.peer, text, sizeof(text), NULL, &op));
	for (int i = 0; i < 3; i++) {
		for (int look = 0; look < 1000; look++)
			peer_progress(&p.peer);
		CHECK(!op.done, "triggered after %d messages", i);
		send_byte(&p, p.to, (uint8_t)i);
	}
	peer_wait(&p.peer, &op);
	CHECK(!op.err && !strcmp(text, "go"), "err %d, \"%s\"", op.err, text);
	target_do(&p.target, step_triggered, NULL, 0, NULL, 0);
	close_pair(&p);
}

/* A wait set and a counter of remote writes, each of which another process ends. */
static struct fid_wait *set;
static struct fid_cntr *written;
static struct fid_mr *region;

static void step_open_waits(const void *arg, void *reply)
{
	struct fi_wait_attr wait = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	(void)arg;
	CHECK_RC(0, fi_wait_open(target_peer.fabric, &wait, &set));
	CHECK_RC(0, fi_cntr_open(target_peer.domain, &attr, &written, NULL));
	queues[0] = open_cq(&target_peer, FI_WAIT_SET, set);
	CHECK_RC(0, fi_endpoint(target_peer.domain, target_peer.info, &ends[0], NULL));
	CHECK_RC(0, fi_ep_bind(ends[0], &target_peer.av->fid, 0));
	CHECK_RC(0, fi_ep_bind(ends[0], &queues[0]->fid, FI_TRANSMIT | FI_RECV));
	CHECK_RC(0, fi_ep_bind(ends[0], &written->fid, FI_REMOTE_WRITE));
	CHECK_RC(0, fi_enable(ends[0]));
	CHECK_RC(0, fi_mr_reg(target_peer.domain, in[1], 8, FI_REMOTE_WRITE, 0, KEY, 0, &region, NULL));
	name_of(&ends[0]->fid, reply);
}

static void step_wait(const void *arg, void *reply)
{
	struct deadline guard = deadline_start();
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	(void)arg;
	(void)reply;
	for (int round = 0; round < ROUNDS; round++) {
		CHECK_RC(0, fi_recv(ends[0], in[0], 8, NULL, FI_ADDR_UNSPEC, in[0]));
		while ((got = fi_cq_read(queues[0], &entry, 1)) == -FI_EAGAIN) {
			CHECK_RC(0, fi_wait(set, CHECK_GUARD_MS));
			deadline_check(&guard, "a message through fi_wait");
		}
		CHECK(got == 1 && entry.op_context == in[0] && in[0][0] == round, "%zd came, with %d", got, in[0][0]);
		CHECK_RC(0, fi_cntr_wait(written, (uint64_t)round + 1, CHECK_GUARD_MS));
		CHECK(in[1][0] >= round, "%d was written", in[1][0]); /* or the next already */
	}
	CHECK_RC(0, fi_close(&ends[0]->fid));
	CHECK_RC(0, fi_close(&region->fid));
	CHECK_RC(0, fi_close(&queues[0]->fid));
	CHECK_RC(0, fi_close(&written->fid));
	CHECK_RC(0, fi_close(&set->fid));
}

Test(process, wait_objects_that_another_process_wakes)
{
	uint8_t name[PEER_ADDR_MAX];
	fi_addr_t to;
	struct pair p;

	open_pair(&p, false);
	messages_tagged(&p, false);
	target_do(&p.target, step_open_waits, NULL, 0, name, sizeof(name));
	to = peer_insert(&p.peer, name);
	target_begin(&p.target, step_wait, NULL, 0, 0);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		struct fi_rma_iov remote = { 0, 8, KEY };
		struct iovec iov = { &round, 8 };
		struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .addr = to, .rma_iov = &remote, .rma_iov_count = 1 };
		struct op op;

		send_byte(&p, to, (uint8_t)round);
		CHECK_RC(0, peer_rma(&p.peer, RMA_WRITE, &msg, 0, &op));
		peer_wait(&p.peer, &op);
	}
	target_end(&p.target, NULL, 0);
	close_pair(&p);
}
