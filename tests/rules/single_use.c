/* SPDX-License-Identifier: BSD-2-Clause */
/* single_use.c - regions for one operation (FI_MR_SINGLE_USE): S130, S131. */
#include "tests/rules/harness/harness.h"

#include <string.h>

static void need_flag(void)
{
	if (peer_api() < FI_VERSION(2, 0))
		NOT_APPLICABLE("FI_MR_SINGLE_USE came with API 2.0");
}

static struct remote *reg_single(struct pair *p)
{
	struct region_want want = { .len = { PAGE }, .access = ALL_REMOTE, .flags = REGION_SINGLE_USE };

	return remote_reg_as(p, &want);
}

/* S130: after one operation the key opens nothing, whichever operations they are; other regions are not concerned. */
PAIR_TEST(rules, S130_a_single_use_key_serves_one_operation)
{
	enum rma_dir first, next;
	struct remote *r;

	need_flag();
	for (first = RMA_WRITE; first <= RMA_READ; first++) {
		for (next = RMA_WRITE; next <= RMA_READ; next++) {
			r = reg_single(p);
			if (first == RMA_WRITE)
				ok_write(p, r, 8, 64);
			else
				ok_read(p, r, 8, 64);
			deny(p, next, r->base[0] + 8, r->key, 64, "S130");
			deny(p, next, r->base[0] + 8, r->key, 64, "S130");
			deny(p, next, r->base[0] + PAGE, r->key, 64, "S130");
			CHECK_RC(0, remote_close(p, r));
			deny(p, next, r->base[0] + 8, r->key, 64, "S178");
			remote_forget(p, r);
		}
	}
	r = reg_single(p);
	ok_write(p, r, 0, PAGE);
	deny(p, RMA_WRITE, r->base[0], r->key, 0, "S130");
	r = reg_single(p);
	ok_write(p, r, PAGE, 0); /* an operation of no bytes is one */
	deny(p, RMA_READ, r->base[0], r->key, 1, "S130");
}

/* S130 choice: a refused operation does not use the key up. */
PAIR_TEST(rules, S130_a_refused_operation_uses_nothing_up)
{
	struct region_want write_only = { .len = { 64 }, .access = FI_REMOTE_WRITE, .flags = REGION_SINGLE_USE };
	struct remote *r, *w;

	need_flag();
	r = reg_single(p);
	w = remote_reg_as(p, &write_only);
	deny(p, RMA_WRITE, r->base[0] + PAGE - 8, r->key, 64, "S65");
	deny(p, RMA_READ, r->base[0] - 8, r->key, 8, "S65");
	deny(p, RMA_READ, w->base[0], w->key, 8, "S27");
	ok_write(p, r, 0, 64);
	ok_write(p, w, 0, 64);
	deny(p, RMA_WRITE, r->base[0], r->key, 64, "S130");
	deny(p, RMA_WRITE, w->base[0], w->key, 64, "S130");
}

/* S130 choice: an operation on several remote ranges is several requests; the first one uses the key up. */
PAIR_TEST(rules, S130_each_remote_range_is_a_use)
{
	struct iovec iov = { p->local.iov[0].iov_base, 64 };
	struct fi_rma_iov rma[2];
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &p->desc, .iov_count = 1, .addr = p->to, .rma_iov = rma, .rma_iov_count = 2
	};
	struct remote *r;
	struct op op;

	need_flag();
	if (p->peer.info->tx_attr->rma_iov_limit < 2)
		return;
	r = reg_single(p);
	rma[0] = (struct fi_rma_iov){ .addr = r->base[0], .len = 32, .key = r->key };
	rma[1] = (struct fi_rma_iov){ .addr = r->base[0] + 128, .len = 32, .key = r->key };
	CHECK_RC(0, peer_rma(&p->peer, RMA_WRITE, &msg, p->level, &op));
	peer_wait(&p->peer, &op);
	CHECK(op.err, "two ranges of a single-use region were written by one operation");
	CHECK(!peer_is_emu() || cites(p->peer.text, "S130"), "the refusal does not cite S130: %s", p->peer.text);
	memcpy(r->image + REGION_GUARD, iov.iov_base, 32);
	remote_verify(p, r);
	deny(p, RMA_WRITE, r->base[0], r->key, 32, "S130");
}

/* S8: the flag means the same in all three calls. */
PAIR_TEST(rules, S8_S130_all_calls_take_the_flag)
{
	enum reg_call call;

	need_flag();
	for (call = REG_ATTR; call < REG_CALLS; call++) {
		struct region_want want = { .len = { 64 }, .access = ALL_REMOTE, .flags = REGION_SINGLE_USE, .call = call };
		struct remote *r = remote_reg_as(p, &want);

		ok_write(p, r, 0, 64);
		deny(p, RMA_WRITE, r->base[0], r->key, 64, "S130");
		remote_forget(p, r);
	}
}

/* ---- two initiators ---- */

struct race_arg {
	uint64_t addr, key;
	enum rma_dir dir;
};

static struct region racer_local;
static fi_addr_t racer_to;

static void step_racer_open(const void *arg, void *reply)
{
	struct region_want want = { .len = { PAGE }, .access = ALL_LOCAL };

	(void)reply;
	racer_to = peer_insert(&target_peer, arg);
	region_open(&racer_local, &target_peer, &want, 0);
}

static int race(struct peer *peer, fi_addr_t to, struct region *local, const struct race_arg *race)
{
	struct iovec iov = { local->iov[0].iov_base, 64 };
	struct fi_rma_iov rma = { .addr = race->addr, .len = 64, .key = race->key };
	void *desc = peer_has(peer, FI_MR_LOCAL) ? fi_mr_desc(local->mr) : NULL;
	struct fi_msg_rma msg = { .msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = to, .rma_iov = &rma, .rma_iov_count = 1 };
	struct op op;

	CHECK_RC(0, peer_rma(peer, race->dir, &msg, FI_DELIVERY_COMPLETE, &op));
	peer_wait(peer, &op);
	return op.err;
}

static void step_race(const void *arg, void *reply)
{
	memset(racer_local.iov[0].iov_base, 0xB2, 64);
	*(int *)reply = race(&target_peer, racer_to, &racer_local, arg);
}

static void step_racer_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	region_close(&racer_local);
}

static void step_name(const void *arg, void *reply)
{
	(void)arg;
	peer_name(&target_peer, reply);
}

/* One round: both post at once; exactly one of them succeeds, and its bytes are there. */
static void race_round(struct pair *p, struct target *racer, enum rma_dir dir)
{
	struct remote *r = reg_single(p);
	struct race_arg arg = { r->base[0], r->key, dir };
	int mine, theirs;

	memset(p->local.iov[0].iov_base, 0xA1, 64);
	target_begin(racer, step_race, &arg, sizeof(arg), sizeof(theirs));
	mine = race(&p->peer, p->to, &p->local, &arg);
	target_end(racer, &theirs, sizeof(theirs));
	CHECK(!mine != !theirs, "%s of two operations succeeded with a single-use key", mine ? "neither" : "both");
	if (dir == RMA_WRITE)
		memset(r->image + REGION_GUARD, mine ? 0xB2 : 0xA1, 64);
	remote_verify(p, r);
	remote_forget(p, r);
}

/* S131: of two operations by two processes exactly one succeeds. */
LONE_TEST(rules, S131_two_initiators_share_one_use)
{
	static const uint64_t modes[] = { 0, FI_MR_LOCAL | FI_MR_BASIC_BITS };
	uint8_t name[PEER_ADDR_MAX];
	struct target racer;
	struct pair p = { 0 };
	size_t i;
	int round;

	need_flag();
	target_start(&p.target);
	target_start(&racer);
	for (i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		struct peer_want want = { .mr_mode = modes[i] };

		pair_open(&p, &want, 0);
		target_open(&racer, &want, &p.peer);
		target_do(&p.target, step_name, NULL, 0, name, sizeof(name));
		target_do(&racer, step_racer_open, name, sizeof(name), NULL, 0);
		for (round = 0; round < 500; round++)
			race_round(&p, &racer, round % 4 == 3 ? RMA_READ : RMA_WRITE);
		target_do(&racer, step_racer_close, NULL, 0, NULL, 0);
		target_close(&racer);
		pair_close(&p);
	}
	target_stop(&racer);
	target_stop(&p.target);
}
