/* SPDX-License-Identifier: BSD-2-Clause */
/* third.c - the steps of a second initiator. */
#include "tests/rules/harness/third.h"

#include <stdio.h>

struct open_arg {
	struct peer_want want;
	uint8_t name[PEER_ADDR_MAX];
};

struct act_arg {
	bool send;
	uint64_t addr, key;
	size_t len;
};

struct acted {
	int err, prov_errno;
	char text[PEER_TEXT_MAX];
};

static fi_addr_t to; /* the pair's target, in the third process */

static void step_name(const void *arg, void *reply)
{
	(void)arg;
	peer_name(&target_peer, reply);
}

static void step_open(const void *arg, void *reply)
{
	const struct open_arg *open = arg;

	(void)reply;
	peer_open(&target_peer, &open->want);
	to = peer_insert(&target_peer, open->name);
}

static void step_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	peer_close(&target_peer);
}

static void step_act(const void *arg, void *reply)
{
	static uint8_t bytes[THIRD_BYTES_MAX];
	const struct act_arg *act = arg;
	struct iovec iov = { bytes, act->len };
	struct fi_rma_iov at = { .addr = act->addr, .len = act->len, .key = act->key };
	struct fi_msg_rma msg = { .msg_iov = &iov, .iov_count = 1, .addr = to, .rma_iov = &at, .rma_iov_count = 1 };
	struct acted *acted = reply;
	struct op op;

	memset(bytes, 0xB7, sizeof(bytes));
	if (act->send)
		CHECK_RC(0, peer_send(&target_peer, to, bytes, act->len, NULL, &op));
	else
		CHECK_RC(0, peer_rma(&target_peer, RMA_WRITE, &msg, FI_DELIVERY_COMPLETE, &op));
	peer_wait(&target_peer, &op);
	acted->err = op.err;
	acted->prov_errno = op.prov_errno;
	if (op.err)
		memcpy(acted->text, target_peer.text, sizeof(acted->text));
}

void third_open(struct target *third, struct pair *p, const struct peer_want *want)
{
	struct open_arg open = { .want = *want };

	target_do(&p->target, step_name, NULL, 0, open.name, sizeof(open.name));
	target_do(third, step_open, &open, sizeof(open), NULL, 0);
}

void third_close(struct target *third)
{
	target_do(third, step_close, NULL, 0, NULL, 0);
}

static struct outcome act(struct target *third, const struct act_arg *arg)
{
	static struct acted acted;

	target_do(third, step_act, arg, sizeof(*arg), &acted, sizeof(acted));
	return (struct outcome){ .err = acted.err, .prov_errno = acted.prov_errno, .text = acted.text };
}

struct outcome third_write(struct target *third, uint64_t addr, uint64_t key, size_t len)
{
	struct act_arg arg = { .addr = addr, .key = key, .len = len };

	return act(third, &arg);
}

struct outcome third_send(struct target *third, size_t len)
{
	struct act_arg arg = { .send = true, .len = len };

	return act(third, &arg);
}
