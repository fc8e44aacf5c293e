/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - the initiator's own buffers: access bits S22, S23, S24, S25, S26, S32; FI_MR_LOCAL and descriptors S72,
 * S73, S74, S75, S76, S77. */
#include "tests/rules/harness/message.h"

#include <stdlib.h>

enum local_op { OP_SEND, OP_RECV, OP_READ, OP_WRITE, OP_TSEND, OP_TRECV, OPS };
static const uint64_t op_right[OPS] = { FI_SEND, FI_RECV, FI_READ, FI_WRITE, FI_SEND, FI_RECV };
static const char *const op_name[OPS] = { "send", "receive", "read", "write", "tagged send", "tagged receive" };

enum { LEN = 128 };

/* The tagged ones come last: not every endpoint has them. */
static enum local_op ops_of(const struct pair *p)
{
	return p->peer.info->caps & FI_TAGGED ? OPS : OP_TSEND;
}

/* A refusal of a local buffer: at the post, then with -FI_EINVAL, or by error completion. */
static bool refused(ssize_t rc, const struct op *op)
{
	if (rc) {
		CHECK(rc == -FI_EINVAL || !peer_is_emu(), "refused with %zd (%s), expected -FI_EINVAL", rc, fi_strerror((int)-rc));
		CHECK(rc < 0, "a post returned %zd", rc);
		return true;
	}
	return op->err != 0;
}

static bool try_send(struct pair *p, void *buf, void *desc)
{
	struct op op;
	ssize_t rc;

	pattern_fill(buf, LEN, ++p->seed);
	rc = peer_send(&p->peer, p->to, buf, LEN, desc, &op);
	if (!rc)
		peer_wait(&p->peer, &op);
	if (refused(rc, &op))
		return false;
	target_post_recv(p);
	target_expect_message(p, LEN, p->seed);
	return true;
}

static bool try_recv(struct pair *p, uint8_t *buf, void *desc)
{
	uint8_t want[LEN];
	struct op op;
	ssize_t rc;

	memset(buf, 0x5A, LEN);
	rc = peer_recv(&p->peer, buf, LEN, desc, &op);
	if (!rc) {
		target_send_message(p, LEN, ++p->seed);
		peer_wait(&p->peer, &op);
	}
	memset(want, 0x5A, LEN);
	if (!refused(rc, &op))
		pattern_fill(want, LEN, p->seed);
	CHECK(!memcmp(want, buf, LEN), "a receive left other bytes than it should");
	return !refused(rc, &op);
}

static bool try_rma(struct pair *p, enum rma_dir dir, struct remote *r, uint8_t *buf, void *desc)
{
	struct region local = p->local;
	void *old_desc = p->desc;
	struct outcome out;
	struct op op = { 0 };
	bool good;

	p->local.iov[0].iov_base = buf;
	p->desc = desc;
	memset(buf, 0x5A, LEN);
	if (dir == RMA_WRITE)
		pattern_fill(buf, LEN, ++p->seed);
	out = pair_try(p, dir, r->base[0], r->key, LEN);
	p->local = local;
	p->desc = old_desc;
	op.err = out.err;
	good = !refused(out.rc, &op);
	if (good && dir == RMA_WRITE)
		memcpy(r->image + REGION_GUARD, buf, LEN);
	if (good && dir == RMA_READ)
		CHECK(!memcmp(buf, r->image + REGION_GUARD, LEN), "a read brought other bytes than the region holds");
	if (!good && dir == RMA_READ)
		CHECK(buf[0] == 0x5A && !memcmp(buf, buf + 1, LEN - 1), "a refused read changed the initiator's buffer");
	remote_verify(p, r);
	return good;
}

/* One operation with LEN bytes at buf: true where it succeeded, with the right bytes; false where it was refused,
 * without a trace. */
static bool try_local(struct pair *p, enum local_op op, struct remote *r, uint8_t *buf, void *desc)
{
	bool good;

	switch (op) {
	case OP_SEND:
		return try_send(p, buf, desc);
	case OP_RECV:
		return try_recv(p, buf, desc);
	case OP_TSEND:
	case OP_TRECV:
		messages_tagged(p, true);
		good = op == OP_TSEND ? try_send(p, buf, desc) : try_recv(p, buf, desc);
		messages_tagged(p, false);
		return good;
	case OP_READ:
		return try_rma(p, RMA_READ, r, buf, desc);
	default:
		return try_rma(p, RMA_WRITE, r, buf, desc);
	}
}

static bool local_needed(struct pair *p)
{
	return peer_has(&p->peer, FI_MR_LOCAL);
}

/* S22 to S26, S32: a descriptor serves what its region's local bits allow. Under FI_MR_LOCAL they are taken exactly;
 * where it is not set, the descriptor is not looked at (S74) or only valid ones are passed (S75), and every operation
 * is good: emu asks for no right that NULL would not have. */
PAIR_TEST(rules, S22_S23_S24_S25_S26_S32_local_rights)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	unsigned int bits;
	enum local_op op;

	for (bits = 0; bits < 16; bits++) {
		struct region_want want = { .len = { LEN } };
		struct region mine;

		for (op = OP_SEND; op < OP_TSEND; op++)
			want.access |= bits & (1u << op) ? op_right[op] : 0;
		region_open(&mine, &p->peer, &want, 3);
		for (op = OP_SEND; op < ops_of(p); op++) {
			bool has = want.access & op_right[op];
			bool good = try_local(p, op, r, mine.iov[0].iov_base, fi_mr_desc(mine.mr));

			if (has || !local_needed(p))
				CHECK(good || (!has && peer_api() >= FI_VERSION(1, 22) && !peer_is_emu()),
				      "a %s with rights 0x%llx was refused: %s", op_name[op], (unsigned long long)want.access,
				      p->peer.text);
			else
				CHECK(!good, "a %s with rights 0x%llx succeeded", op_name[op], (unsigned long long)want.access);
		}
		region_close(&mine);
	}
	live(p);
}

/* S72: FI_MR_LOCAL set: an operation without a valid descriptor of the right region never succeeds. */
PAIR_TEST(rules, S72_local_needs_a_valid_descriptor)
{
	struct region_want want = { .len = { LEN, LEN }, .segs = 1, .access = ALL_LOCAL };
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	struct region mine, other, closed;
	void *closed_desc;
	enum local_op op;
	uint8_t *buf;

	if (!local_needed(p))
		NOT_IN_THIS_MODE("FI_MR_LOCAL is not asked for (S73)");
	region_open(&mine, &p->peer, &want, 1);
	region_open(&other, &p->peer, &want, 2);
	region_open(&closed, &p->peer, &want, 3);
	closed_desc = fi_mr_desc(closed.mr);
	CHECK_RC(0, fi_close(&closed.mr->fid));
	closed.mr = NULL;
	buf = mine.iov[0].iov_base;
	for (op = OP_SEND; op < ops_of(p); op++) {
		CHECK(!try_local(p, op, r, buf, NULL), "a %s without a descriptor succeeded", op_name[op]);
		CHECK(!try_local(p, op, r, buf, (void *)(uintptr_t)0x1234), "a %s with a wild descriptor succeeded", op_name[op]);
		CHECK(!try_local(p, op, r, buf, buf), "a %s with a buffer for a descriptor succeeded", op_name[op]);
		CHECK(!try_local(p, op, r, buf, fi_mr_desc(other.mr)), "a %s with another region's descriptor succeeded",
		      op_name[op]);
		CHECK(!try_local(p, op, r, buf + 1, fi_mr_desc(mine.mr)), "a %s one byte past its region succeeded", op_name[op]);
		CHECK(!try_local(p, op, r, buf - 1, fi_mr_desc(mine.mr)), "a %s one byte before its region succeeded", op_name[op]);
		CHECK(!try_local(p, op, r, closed.iov[0].iov_base, closed_desc), "a %s with a closed region's descriptor succeeded",
		      op_name[op]);
		CHECK(try_local(p, op, r, buf, fi_mr_desc(mine.mr)), "a good %s was refused: %s", op_name[op], p->peer.text);
	}
	live(p);
	region_close(&mine);
	region_close(&other);
	region_close(&closed);
}

/* S198: nor does a region that was good a moment ago serve a new operation once it is closed, at either side. */
PAIR_TEST(rules, S198_a_closed_region_serves_no_new_operation)
{
	struct region_want want = { .len = { LEN }, .segs = 1, .access = ALL_LOCAL };
	bool looks = local_needed(p) || peer_api() >= FI_VERSION(1, 22); /* S74 */
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE), *other = remote_reg(p, LEN, ALL_REMOTE);
	struct region mine;
	enum local_op op;
	uint8_t *buf;
	void *desc;

	region_open(&mine, &p->peer, &want, 1);
	buf = mine.iov[0].iov_base;
	desc = fi_mr_desc(mine.mr);
	for (op = OP_SEND; op < ops_of(p); op++)
		CHECK(try_local(p, op, r, buf, desc), "a good %s was refused: %s", op_name[op], p->peer.text);
	CHECK_RC(0, fi_close(&mine.mr->fid));
	mine.mr = NULL;
	for (op = OP_SEND; looks && op < ops_of(p); op++)
		CHECK(!try_local(p, op, r, buf, desc), "a %s with a closed region's descriptor succeeded", op_name[op]);
	CHECK_RC(0, remote_close(p, r));
	deny(p, RMA_WRITE, r->base[0], r->key, LEN, "S178");
	deny(p, RMA_READ, r->base[0], r->key, LEN, "S178");
	ok_write(p, other, 0, LEN);
	live(p);
	region_close(&mine);
}

/* S72: what is injected is copied at the call, and needs no descriptor. */
PAIR_TEST(rules, S72_injected_buffers_need_no_descriptor)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	struct deadline guard = deadline_start();
	uint8_t stack[32];
	ssize_t rc;

	pattern_fill(stack, sizeof(stack), 72);
	do
		rc = fi_inject_write(p->peer.ep, stack, sizeof(stack), p->to, r->base[0], r->key);
	while (peer_again(&p->peer, rc, &guard));
	CHECK_RC(0, rc);
	memcpy(r->image + REGION_GUARD, stack, sizeof(stack));
	target_post_recv(p);
	CHECK_RC(0, fi_inject(p->peer.ep, stack, sizeof(stack), p->to));
	target_expect_message(p, sizeof(stack), 72);
	if (ops_of(p) > OP_TSEND) {
		messages_tagged(p, true);
		target_post_recv(p);
		CHECK_RC(0, fi_tinject(p->peer.ep, stack, sizeof(stack), p->to, PEER_TAG));
		target_expect_message(p, sizeof(stack), 72);
		messages_tagged(p, false);
	}
	ok_write(p, r, 64, 8); /* ordered behind the injected write, and compares the whole region */
}

/* S73, S76: FI_MR_LOCAL unset: stack and heap buffers that are not registered serve every operation. */
PAIR_TEST(rules, S73_S76_unregistered_local_buffers_work)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	uint8_t stack[LEN], *heap = malloc(LEN);
	enum local_op op;

	CHECK(heap, "no memory");
	for (op = OP_SEND; op < ops_of(p) && !local_needed(p); op++) {
		CHECK(try_local(p, op, r, stack, NULL), "a %s with a stack buffer was refused: %s", op_name[op], p->peer.text);
		CHECK(try_local(p, op, r, heap, NULL), "a %s with a heap buffer was refused: %s", op_name[op], p->peer.text);
	}
	free(heap);
}

/* One pair without FI_MR_LOCAL, opened with the given API version. */
static void without_local(uint32_t api, void (*body)(struct pair *p))
{
	struct peer_want want = { .api = api };
	struct pair p = { 0 };

	target_start(&p.target);
	pair_open(&p, &want, 0);
	check_label("[mr_mode 0, API %u.%u]", FI_MAJOR(api), FI_MINOR(api));
	body(&p);
	pair_close(&p);
	target_stop(&p.target);
}

static void wild_descriptors_are_ignored(struct pair *p)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	uint8_t stack[LEN];
	enum local_op op;

	for (op = OP_SEND; op < ops_of(p); op++) {
		CHECK(try_local(p, op, r, stack, (void *)(uintptr_t)0x1234), "a %s was refused: %s", op_name[op], p->peer.text);
		CHECK(try_local(p, op, r, stack, fi_mr_desc(p->local.mr)), "a %s was refused: %s", op_name[op], p->peer.text);
	}
}

/* S74: FI_MR_LOCAL unset and API before 1.22: a descriptor is not looked at. */
LONE_TEST(rules, S74_descriptors_are_ignored_before_1_22)
{
	without_local(FI_VERSION(1, 17), wild_descriptors_are_ignored);
}

static void wild_descriptors_are_refused(struct pair *p)
{
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	uint8_t *buf = p->local.iov[0].iov_base, stack[LEN];
	enum local_op op;

	for (op = OP_SEND; op < ops_of(p); op++) {
		CHECK(!try_local(p, op, r, stack, (void *)(uintptr_t)0x1234), "a %s with a wild descriptor succeeded", op_name[op]);
		CHECK(!try_local(p, op, r, stack, fi_mr_desc(p->local.mr)), "a %s with a wrong descriptor succeeded", op_name[op]);
		CHECK(try_local(p, op, r, stack, NULL), "a %s without descriptor was refused: %s", op_name[op], p->peer.text);
		CHECK(try_local(p, op, r, buf, fi_mr_desc(p->local.mr)), "a good %s was refused: %s", op_name[op], p->peer.text);
	}
}

/* S75: FI_MR_LOCAL unset and API 1.22 or newer: a descriptor is valid or NULL. */
LONE_TEST(rules, S75_descriptors_are_valid_or_null_from_1_22)
{
	if (peer_api() < FI_VERSION(1, 22))
		NOT_APPLICABLE("S75 is a rule of API 1.22; this is %u.%u", FI_MAJOR(peer_api()), FI_MINOR(peer_api()));
	without_local(FI_VERSION(1, 22), wild_descriptors_are_refused);
}

/* S77: valid descriptors may be passed where they are not needed, also for some buffers of a list only. */
PAIR_TEST(rules, S77_mixed_descriptors)
{
	struct region_want want = { .len = { 32, 32 }, .segs = 2, .access = FI_WRITE };
	struct remote *r = remote_reg(p, LEN, ALL_REMOTE);
	struct fi_rma_iov rma = { .addr = r->base[0] + 8, .len = 64, .key = r->key };
	struct region mine;
	void *descs[2];
	struct fi_msg_rma msg = { .desc = descs, .iov_count = 2, .addr = p->to, .rma_iov = &rma, .rma_iov_count = 1 };
	struct op op;

	if (p->peer.info->tx_attr->iov_limit < 2)
		NOT_IN_THIS_MODE("no lists of buffers");
	region_open(&mine, &p->peer, &want, 77);
	msg.msg_iov = mine.iov;
	descs[1] = fi_mr_desc(mine.mr);
	descs[0] = local_needed(p) ? descs[1] : NULL;
	CHECK_RC(0, peer_rma(&p->peer, RMA_WRITE, &msg, p->level, &op));
	peer_wait(&p->peer, &op);
	CHECK(!op.err, "a write from two buffers was refused: %s", p->peer.text);
	memcpy(r->image + REGION_GUARD + 8, mine.iov[0].iov_base, 32);
	memcpy(r->image + REGION_GUARD + 40, mine.iov[1].iov_base, 32);
	remote_verify(p, r);
	region_close(&mine);
}
