/* SPDX-License-Identifier: BSD-2-Clause */
/* bound.c - binding and enabling at the target. */
#include "tests/rules/harness/bound.h"

#include <netinet/in.h>

static struct fid_cntr *counters[2];
static struct fid_ep *second;

struct bind_arg {
	int slot;
	enum bind_to to;
	uint64_t flags;
};

static struct fid *bind_fid(enum bind_to to)
{
	switch (to) {
	case BIND_ENDPOINT:
		return &target_peer.ep->fid;
	case BIND_SECOND_ENDPOINT:
		return &second->fid;
	default:
		return &counters[to]->fid;
	}
}

static void step_bind(const void *arg, void *reply)
{
	const struct bind_arg *bind = arg;

	*(int *)reply = fi_mr_bind(target_region(bind->slot)->mr, bind_fid(bind->to), bind->flags);
}

int remote_bind(struct pair *p, const struct remote *r, enum bind_to to, uint64_t flags)
{
	struct bind_arg bind = { r->slot, to, flags };
	int rc;

	target_do(&p->target, step_bind, &bind, sizeof(bind), &rc, sizeof(rc));
	return rc;
}

static void step_enable(const void *arg, void *reply)
{
	*(int *)reply = fi_mr_enable(target_region(*(const int *)arg)->mr);
}

int remote_enable(struct pair *p, const struct remote *r)
{
	int rc;

	target_do(&p->target, step_enable, &r->slot, sizeof(r->slot), &rc, sizeof(rc));
	return rc;
}

bool region_events(struct pair *p)
{
	struct region_want want = { .len = { 64 }, .access = ALL_REMOTE, .flags = FI_RMA_EVENT, .by_hand = true };
	struct remote *r;
	int rc;

	if (peer_is_emu())
		return true;
	r = remote_reg_as(p, &want);
	counters_open(p);
	rc = remote_bind(p, r, BIND_COUNTER, FI_REMOTE_WRITE);
	remote_forget(p, r);
	counter_close(p, BIND_COUNTER);
	counter_close(p, BIND_SECOND_COUNTER);
	return rc != -FI_ENOSYS;
}

static void step_counters_open(const void *arg, void *reply)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = FI_WAIT_NONE };
	int i;

	(void)arg;
	(void)reply;
	for (i = 0; i < 2; i++)
		CHECK_RC(0, fi_cntr_open(target_peer.domain, &attr, &counters[i], NULL));
}

void counters_open(struct pair *p)
{
	target_do(&p->target, step_counters_open, NULL, 0, NULL, 0);
}

static void step_counter_close(const void *arg, void *reply)
{
	*(int *)reply = fi_close(&counters[*(const int *)arg]->fid);
}

int counter_close(struct pair *p, enum bind_to which)
{
	int index = which, rc;

	target_do(&p->target, step_counter_close, &index, sizeof(index), &rc, sizeof(rc));
	return rc;
}

struct count_arg {
	int which;
	uint64_t want;
};

static void step_counter_is(const void *arg, void *reply)
{
	const struct count_arg *count = arg;
	struct deadline guard = deadline_start();
	uint64_t got;

	(void)reply;
	while ((got = fi_cntr_read(counters[count->which])) < count->want) {
		peer_idle();
		deadline_check(&guard, "an event of a region");
	}
	CHECK(got == count->want, "the counter says %llu, expected %llu", (unsigned long long)got, (unsigned long long)count->want);
}

void counter_is(struct pair *p, enum bind_to which, uint64_t want)
{
	struct count_arg count = { which, want };

	target_do(&p->target, step_counter_is, &count, sizeof(count), NULL, 0);
}

static void step_second_open(const void *arg, void *reply)
{
	struct fi_info *info = fi_dupinfo(target_peer.info);
	uint64_t without = *(const uint64_t *)arg;
	size_t len = PEER_ADDR_MAX;

	CHECK(info, "fi_dupinfo failed");
	info->caps &= ~without;
	info->rx_attr->caps &= ~without;
	if (info->src_addr) /* a port of its own */
		((struct sockaddr_in *)info->src_addr)->sin_port = 0;
	CHECK_RC(0, fi_endpoint(target_peer.domain, info, &second, NULL));
	CHECK_RC(0, fi_ep_bind(second, &target_peer.av->fid, 0));
	CHECK_RC(0, fi_ep_bind(second, &target_peer.cq->fid, FI_TRANSMIT | FI_RECV));
	CHECK_RC(0, fi_enable(second));
	CHECK_RC(0, fi_getname(&second->fid, reply, &len));
	fi_freeinfo(info);
}

fi_addr_t second_open(struct pair *p, uint64_t without)
{
	uint8_t name[PEER_ADDR_MAX];

	target_do(&p->target, step_second_open, &without, sizeof(without), name, sizeof(name));
	return peer_insert(&p->peer, name);
}

static void step_second_close(const void *arg, void *reply)
{
	(void)arg;
	*(int *)reply = fi_close(&second->fid);
}

int second_close(struct pair *p)
{
	int rc;

	target_do(&p->target, step_second_close, NULL, 0, &rc, sizeof(rc));
	return rc;
}
