/* SPDX-License-Identifier: BSD-2-Clause */
/* modify.c - ibv_modify_qp() of RC queue pairs: each pair of states with each bit of attr_mask; each attribute at its bounds. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tests/unit/verbs/qp_pages.h"
#include "tests/verbs/qp_pair.h"

enum { A, B };

static struct qp_pair pair;

static void begin(void)
{
	qp_pair_open(&pair);
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_modify, .init = begin, .fini = end, .timeout = 120);

/* --- to a state, and what the queue pair is in it --- */

/* A's, from wherever it is. An RC never comes into SQE. */
static void bring_to(enum ibv_qp_state state)
{
	static const enum ibv_qp_state way[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD };

	if (state == IBV_QPS_ERR) {
		bring_to(IBV_QPS_RTS);
		qp_to(&pair, A, IBV_QPS_ERR);
		return;
	}
	for (enum ibv_qp_state i = IBV_QPS_RESET; i <= state; i++)
		qp_to(&pair, A, way[i]);
}

static struct ibv_qp_attr attr_now(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	cr_assert_eq(ibv_query_qp(pair.qp[A], &attr, IBV_QP_STATE, &init), 0);
	cr_assert_eq(attr.qp_state, pair.qp[A]->state);
	return attr;
}

/* Each attribute as the device takes it, and other than the queue pair has it from bring_to(). */
static struct ibv_qp_attr others(enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr, rts;

	qp_attr_for(&pair, A, IBV_QPS_RTR, &attr);
	qp_attr_for(&pair, A, IBV_QPS_RTS, &rts);
	attr.qp_state = to;
	attr.cur_qp_state = from;
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	attr.port_num = 1;
	attr.path_mtu = IBV_MTU_2048;
	attr.rq_psn++;
	attr.sq_psn = rts.sq_psn + 1;
	attr.max_rd_atomic = rts.max_rd_atomic + 1;
	attr.max_dest_rd_atomic++;
	attr.min_rnr_timer++;
	attr.timeout = rts.timeout + 1;
	attr.retry_cnt = rts.retry_cnt - 1;
	attr.rnr_retry = rts.rnr_retry - 1;
	attr.ah_attr.sl = 3;
	attr.en_sqd_async_notify = 1;
	return attr;
}

/* Where each attribute stands that an RC has. */
static const struct field {
	int bit;
	size_t at, size;
} fields[] = {
#define FIELD(bit, member)                                                                              \
	{                                                                                               \
		bit, offsetof(struct ibv_qp_attr, member), sizeof(((struct ibv_qp_attr *)NULL)->member) \
	}
	FIELD(IBV_QP_ACCESS_FLAGS, qp_access_flags),
	FIELD(IBV_QP_PKEY_INDEX, pkey_index),
	FIELD(IBV_QP_PORT, port_num),
	FIELD(IBV_QP_AV, ah_attr.grh.dgid),
	FIELD(IBV_QP_AV, ah_attr.grh.sgid_index),
	FIELD(IBV_QP_AV, ah_attr.grh.hop_limit),
	FIELD(IBV_QP_AV, ah_attr.sl),
	FIELD(IBV_QP_AV, ah_attr.is_global),
	FIELD(IBV_QP_AV, ah_attr.port_num),
	FIELD(IBV_QP_PATH_MTU, path_mtu),
	FIELD(IBV_QP_TIMEOUT, timeout),
	FIELD(IBV_QP_RETRY_CNT, retry_cnt),
	FIELD(IBV_QP_RNR_RETRY, rnr_retry),
	FIELD(IBV_QP_RQ_PSN, rq_psn),
	FIELD(IBV_QP_SQ_PSN, sq_psn),
	FIELD(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
	FIELD(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	FIELD(IBV_QP_MIN_RNR_TIMER, min_rnr_timer),
	FIELD(IBV_QP_DEST_QPN, dest_qp_num),
#undef FIELD
};

/* The state and the attributes are as they were. Structures have bytes between their fields, so they are not compared whole. */
static void is_still(const struct ibv_qp_attr *before)
{
	struct ibv_qp_attr is = attr_now();

	cr_assert_eq(is.qp_state, before->qp_state);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		cr_assert_eq(memcmp((char *)&is + fields[i].at, (const char *)before + fields[i].at, fields[i].size), 0,
			     "attribute 0x%x", (unsigned int)fields[i].bit);
}

/* --- each pair of states --- */

/* Those of the mask are as asked for, and the others as they were; in RESET none is any more. */
static void took(const struct ibv_qp_attr *before, const struct ibv_qp_attr *asked, int mask)
{
	struct ibv_qp_attr is = attr_now();

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		const struct ibv_qp_attr *wanted = mask & fields[i].bit ? asked : before;

		if (is.qp_state != IBV_QPS_RESET)
			cr_assert_eq(memcmp((char *)&is + fields[i].at, (const char *)wanted + fields[i].at, fields[i].size), 0,
				     "attribute 0x%x", (unsigned int)fields[i].bit);
	}
}

/* One call, from a state in which the queue pair is. Returns whether it still is there. */
static bool try_mask(enum ibv_qp_state from, enum ibv_qp_state to, int mask)
{
	struct ibv_qp_attr asked = others(from, to), before = attr_now();
	int wanted = qp_pages_take(PAGE_RC, from, to, mask) ? 0 : EINVAL;

	cr_assert_eq(ibv_modify_qp(pair.qp[A], &asked, mask), wanted, "%d to %d, mask 0x%x", (int)from, (int)to,
		     (unsigned int)mask);
	if (!wanted) {
		cr_assert_eq(pair.qp[A]->state, mask & IBV_QP_STATE ? to : from);
		took(&before, &asked, mask);
		return false;
	}
	is_still(&before);
	return true;
}

/* What it needs, each bit of that left out, and each other added. */
static void try_states(enum ibv_qp_state from, enum ibv_qp_state to)
{
	bool there = false;
	int needs = 0, allows;

	qp_page(PAGE_RC, from, to, &needs, &allows);
	for (int bit = -1; bit < PAGE_BITS; bit++) {
		if (!there)
			bring_to(from);
		there = try_mask(from, to, (needs | IBV_QP_STATE) ^ (bit < 0 ? 0 : 1 << bit));
	}
}

Test(verbs_modify, each_pair_of_states_with_each_attribute)
{
	qp_to(&pair, B, IBV_QPS_INIT); /* there is a peer, which does not answer yet */
	for (unsigned int from = 0; from < PAGE_STATES; from++)
		for (unsigned int to = 0; to < PAGE_STATES && from != IBV_QPS_SQE; to++)
			try_states(from, to);
}

Test(verbs_modify, to_no_state)
{
	static const int none[] = { -1, IBV_QPS_UNKNOWN, 1000 };

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		cr_assert(try_mask(IBV_QPS_RESET, (enum ibv_qp_state)none[i], IBV_QP_STATE));
}

/* --- each attribute at its bounds --- */

struct bound {
	enum ibv_qp_state from, to;
	size_t at, size;
	uint32_t least, most;
};

/* As the integer of its size that it is. */
static void set(struct ibv_qp_attr *attr, const struct bound *bound, uint32_t value)
{
	memcpy((char *)attr + bound->at, &value, bound->size); /* little-endian, as all that emu runs on */
}

static void try_value(const struct bound *bound, uint32_t value, int wanted)
{
	struct ibv_qp_attr attr, before, after;
	int mask;

	bring_to(bound->from);
	before = attr_now();
	mask = qp_attr_for(&pair, A, bound->to, &attr);
	set(&attr, bound, value);
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, mask), wanted, "%u at byte %zu", value, bound->at);
	after = attr_now();
	if (wanted)
		is_still(&before);
	else
		cr_assert_eq(memcmp((char *)&after + bound->at, (char *)&attr + bound->at, bound->size), 0);
}

/* InfiniBand's sizes of the fields, and what the device tells of itself. */
Test(verbs_modify, each_attribute_at_its_bounds)
{
#define FIELD(member) offsetof(struct ibv_qp_attr, member), sizeof(((struct ibv_qp_attr *)NULL)->member)
	static const struct bound bounds[] = {
		{ IBV_QPS_RESET, IBV_QPS_INIT, FIELD(port_num), 1, 1 },
		{ IBV_QPS_RESET, IBV_QPS_INIT, FIELD(pkey_index), 0, 0 },
		{ IBV_QPS_INIT, IBV_QPS_RTR, FIELD(path_mtu), IBV_MTU_256, IBV_MTU_4096 },
		{ IBV_QPS_INIT, IBV_QPS_RTR, FIELD(dest_qp_num), 0, 0xffffff },
		{ IBV_QPS_INIT, IBV_QPS_RTR, FIELD(max_dest_rd_atomic), 0, 128 },
		{ IBV_QPS_INIT, IBV_QPS_RTR, FIELD(min_rnr_timer), 0, 31 },
		{ IBV_QPS_INIT, IBV_QPS_RTR, FIELD(ah_attr.port_num), 1, 1 },
		{ IBV_QPS_INIT, IBV_QPS_RTR, FIELD(ah_attr.is_global), 1, 255 },
		{ IBV_QPS_RTR, IBV_QPS_RTS, FIELD(timeout), 0, 31 },
		{ IBV_QPS_RTR, IBV_QPS_RTS, FIELD(retry_cnt), 0, 7 },
		{ IBV_QPS_RTR, IBV_QPS_RTS, FIELD(rnr_retry), 0, 7 },
		{ IBV_QPS_RTR, IBV_QPS_RTS, FIELD(max_rd_atomic), 0, 128 },
	};
#undef FIELD

	for (size_t i = 0; i < sizeof(bounds) / sizeof(*bounds); i++) {
		const struct bound *bound = &bounds[i];

		try_value(bound, bound->least, 0);
		try_value(bound, bound->most, 0);
		if (bound->size > 1 || bound->most < UINT8_MAX)
			try_value(bound, bound->most + 1, EINVAL);
		if (bound->least)
			try_value(bound, bound->least - 1, EINVAL);
	}
}

/* --- the address of the peer --- */

/* With a word on it in the log. */
static void refused_path(const struct ibv_ah_attr *path, const char *why)
{
	struct ibv_qp_attr attr, before = attr_now();
	int mask = qp_attr_for(&pair, A, IBV_QPS_RTR, &attr);

	said_begin();
	attr.ah_attr = *path;
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, mask), EINVAL, "%s", why);
	cr_assert(said_has(why), "%s", why);
	is_still(&before);
}

/* The last of IPv4, which is 127.0.0.1's. */
static uint8_t loopback_index(void)
{
	struct ibv_gid_entry entries[32];
	ssize_t count = ibv_query_gid_table(pair.verbs.context, entries, sizeof(entries) / sizeof(*entries), 0);

	while (count > 0 && entries[count - 1].gid.raw[12] != 127)
		count--;
	cr_assert_gt(count, 0);
	return (uint8_t)entries[count - 1].gid_index;
}

Test(verbs_modify, addresses_of_no_peer)
{
	struct ibv_port_attr port;
	struct ibv_ah_attr good, path;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_query_port(pair.verbs.context, 1, &port), 0);
	bring_to(IBV_QPS_INIT);
	qp_attr_for(&pair, A, IBV_QPS_RTR, &attr);
	good = path = attr.ah_attr;
	path.grh.sgid_index = (uint8_t)(port.gid_tbl_len - 1);
	refused_path(&path, "sgid_index 31");
	path.grh.sgid_index++;
	refused_path(&path, "sgid_index 32");
	path = good;
	memset(&path.grh.dgid, 0, sizeof(path.grh.dgid));
	refused_path(&path, "dgid");
	path.grh.dgid.raw[0] = 0xff;
	refused_path(&path, "dgid");
	path = good;
	path.grh.dgid = (union ibv_gid){ .raw = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 } };
	path.grh.sgid_index = loopback_index();
	refused_path(&path, "dgid");
	qp_to(&pair, A, IBV_QPS_RTR);
}

/* From RTS on attributes may change alone, without a change of the state. */
Test(verbs_modify, rights_while_it_runs)
{
	struct ibv_qp_attr attr = { .qp_access_flags = 0, .cur_qp_state = IBV_QPS_RTS, .min_rnr_timer = 3 };

	qp_pair_meet(&pair);
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_CUR_STATE), 0);
	cr_assert(attr_now().qp_access_flags == 0 && attr_now().min_rnr_timer == 3);
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, 0), 0, "attr_mask may be 0");
	attr.cur_qp_state = IBV_QPS_SQD;
	cr_assert_eq(ibv_modify_qp(pair.qp[A], &attr, IBV_QP_CUR_STATE), EINVAL);
	qp_post(&pair, B, IBV_WR_RDMA_READ, 0, 8, 1);
	qp_done(&pair, B, 1, IBV_WC_REM_ACCESS_ERR);
}
