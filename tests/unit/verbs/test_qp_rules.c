/* SPDX-License-Identifier: BSD-2-Clause */
/* test_qp_rules.c - each pair of states of each type with each bit of attr_mask, and each attribute at the ends of its range. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/verbs/qp/vb_qp_rules.h"
#include "tests/unit/verbs/qp_pages.h"

static const struct vb_qp_limits limits = {
	.ports = 1, .pkeys = 1, .gids = 3, .mtu = IBV_MTU_4096, .rd_initiated = 16, .rd_answered = 8
};
static const enum ibv_qp_type types[PAGE_COLUMNS] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
static char why[200];

/* Every attribute as this device takes it. */
static struct ibv_qp_attr good(enum ibv_qp_state from, enum ibv_qp_state to)
{
	return (struct ibv_qp_attr){
		.qp_state = to,
		.cur_qp_state = from,
		.path_mtu = IBV_MTU_1024,
		.path_mig_state = IBV_MIG_MIGRATED,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = { .raw = { 0xfe, 0x80 } } } },
		.port_num = 1,
	};
}

static void try_pair(enum qp_column type, enum ibv_qp_state from, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = good(from, to);
	int needs = 0, allows;

	qp_page(type, from, to, &needs, &allows);
	for (int bit = -1; bit < PAGE_BITS; bit++) {
		int mask = (needs | IBV_QP_STATE) ^ (bit < 0 ? 0 : 1 << bit);
		int wanted = qp_pages_take(type, from, to, mask) ? 0 : EINVAL;

		cr_assert_eq(vb_qp_check(types[type], from, &attr, mask, &limits, why, sizeof(why)), wanted,
			     "type %u, %s to %s, mask 0x%x: %s", type, vb_qp_state_name(from), vb_qp_state_name(to),
			     (unsigned int)mask, why);
		cr_assert_eq(!*why, !wanted, "a sentence if, and only if, it is refused: %s", why);
	}
}

Test(qp_rules, every_pair_with_every_bit)
{
	for (unsigned int type = 0; type < PAGE_COLUMNS; type++)
		for (unsigned int from = 0; from < PAGE_STATES; from++)
			for (unsigned int to = 0; to < PAGE_STATES; to++)
				try_pair(type, from, to);
}

/* Masks of two attributes more or fewer than needed are refused, too: not only the first bit is looked at. */
Test(qp_rules, names_all_that_is_missing)
{
	struct ibv_qp_attr attr = good(IBV_QPS_INIT, IBV_QPS_RTR);

	cr_assert_eq(vb_qp_check(IBV_QPT_RC, IBV_QPS_INIT, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
				 &limits, why, sizeof(why)),
		     EINVAL);
	cr_assert_str_eq(
		why, "INIT to RTR of an RC queue pair needs IBV_QP_PATH_MTU, IBV_QP_MIN_RNR_TIMER, IBV_QP_MAX_DEST_RD_ATOMIC in "
		     "attr_mask");
}

static void refused(enum ibv_qp_state from, const struct ibv_qp_attr *attr, int mask, const char *wanted)
{
	cr_assert_eq(vb_qp_check(IBV_QPT_RC, from, attr, mask, &limits, why, sizeof(why)), EINVAL);
	cr_assert_str_eq(why, wanted);
}

Test(qp_rules, says_what_is_wrong)
{
	struct ibv_qp_attr attr = good(IBV_QPS_INIT, IBV_QPS_RTS);

	refused(IBV_QPS_INIT, &attr, IBV_QP_STATE,
		"INIT to RTS of an RC queue pair is no transition: from INIT it may go to RESET, INIT, "
		"RTR, ERR");
	attr = good(IBV_QPS_RTS, IBV_QPS_RTS);
	refused(IBV_QPS_RTS, &attr, IBV_QP_PORT | 1 << 24,
		"RTS to RTS of an RC queue pair does not allow IBV_QP_PORT, 0x1000000 in "
		"attr_mask");
	attr.qp_state = IBV_QPS_UNKNOWN;
	refused(IBV_QPS_RTS, &attr, IBV_QP_STATE, "qp_state 7 is no state");
	attr.cur_qp_state = IBV_QPS_SQD;
	refused(IBV_QPS_RTS, &attr, IBV_QP_CUR_STATE, "cur_qp_state is SQD, and the queue pair is in RTS");
	attr.path_mig_state = IBV_MIG_ARMED;
	refused(IBV_QPS_RTS, &attr, IBV_QP_PATH_MIG_STATE,
		"path_mig_state 2: the device has no alternate paths, so it is always IBV_MIG_MIGRATED");
	refused(IBV_QPS_RTS, &attr, IBV_QP_ALT_PATH,
		"IBV_QP_ALT_PATH: the device has no alternate paths (IBV_DEVICE_AUTO_PATH_MIG)");
	cr_assert_eq(vb_qp_check(IBV_QPT_RAW_PACKET, IBV_QPS_RESET, &attr, 0, &limits, why, sizeof(why)), EOPNOTSUPP);
	cr_assert_str_eq(why, "queue pairs of type 8 have no table of transitions");
	cr_assert_eq(vb_qp_check(IBV_QPT_RC, IBV_QPS_UNKNOWN, &attr, 0, &limits, why, sizeof(why)), EOPNOTSUPP);
	cr_assert_str_eq(vb_qp_state_name(IBV_QPS_UNKNOWN), "an unknown state");
}

/* A sentence that does not fit is cut, and terminated. */
Test(qp_rules, cuts_its_sentence)
{
	struct ibv_qp_attr attr = good(IBV_QPS_RESET, IBV_QPS_INIT);
	char text[300];

	memset(text, '-', sizeof(text));
	cr_assert_eq(vb_qp_check(IBV_QPT_RC, IBV_QPS_RESET, &attr, IBV_QP_STATE, &limits, text, 16), EINVAL);
	cr_assert_str_eq(text, "RESET to INIT o");
	for (size_t i = 16; i < sizeof(text); i++)
		cr_assert_eq(text[i], '-');
}

enum {
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
		 IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	TO_INIT = IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS
};

static void check(int wanted, enum ibv_qp_state from, const struct ibv_qp_attr *attr, int mask)
{
	int got = vb_qp_check(IBV_QPT_RC, from, attr, mask, &limits, why, sizeof(why));

	cr_assert_eq(got, wanted, "%d: %s", got, why);
}

#define ENDS(from, to, mask, field, least, most)          \
	do {                                              \
		struct ibv_qp_attr attr = good(from, to); \
		attr.field = least;                       \
		check(0, from, &attr, mask);              \
		attr.field = most;                        \
		check(0, from, &attr, mask);              \
		attr.field = most + 1;                    \
		check(EINVAL, from, &attr, mask);         \
		if (least) {                              \
			attr.field = (least)-1;           \
			check(EINVAL, from, &attr, mask); \
		}                                         \
	} while (0)

Test(qp_rules, ranges)
{
	ENDS(IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT, port_num, 1, 1);
	ENDS(IBV_QPS_RESET, IBV_QPS_INIT, TO_INIT, pkey_index, 0, 0);
	ENDS(IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR, path_mtu, IBV_MTU_256, IBV_MTU_4096);
	ENDS(IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR, dest_qp_num, 0, 0xffffff);
	ENDS(IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR, max_dest_rd_atomic, 0, 8);
	ENDS(IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR, min_rnr_timer, 0, 31);
	ENDS(IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR, ah_attr.port_num, 1, 1);
	ENDS(IBV_QPS_INIT, IBV_QPS_RTR, TO_RTR, ah_attr.grh.sgid_index, 0, 2);
	ENDS(IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS, timeout, 0, 31);
	ENDS(IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS, retry_cnt, 0, 7);
	ENDS(IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS, rnr_retry, 0, 7);
	ENDS(IBV_QPS_RTR, IBV_QPS_RTS, TO_RTS, max_rd_atomic, 0, 16);
}

/* Attributes that the mask does not name are not looked at. */
Test(qp_rules, looks_at_named_attributes_alone)
{
	struct ibv_qp_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	check(0, IBV_QPS_RTS, &attr, 0);
	attr.qp_state = IBV_QPS_ERR;
	check(0, IBV_QPS_RTS, &attr, IBV_QP_STATE);
}

/* The kernel takes PSNs of more than 24 bits, and drops what is above. */
Test(qp_rules, takes_any_psn)
{
	struct ibv_qp_attr attr = good(IBV_QPS_INIT, IBV_QPS_RTR);

	attr.rq_psn = UINT32_MAX;
	check(0, IBV_QPS_INIT, &attr, TO_RTR);
}

Test(qp_rules, paths)
{
	struct ibv_qp_attr attr = good(IBV_QPS_INIT, IBV_QPS_RTR);

	attr.ah_attr.is_global = 0;
	refused(IBV_QPS_INIT, &attr, TO_RTR,
		"ah_attr.is_global is 0: a port of link layer Ethernet needs a GRH with the peer's GID");
	attr = good(IBV_QPS_INIT, IBV_QPS_RTR);
	attr.ah_attr.grh.dgid = (union ibv_gid){ .raw = { 0xff, 0x0e } };
	refused(IBV_QPS_INIT, &attr, TO_RTR, "ah_attr.grh.dgid is a multicast group, and no peer's GID");
	attr.ah_attr.grh.dgid = (union ibv_gid){ .raw = { 0 } };
	refused(IBV_QPS_INIT, &attr, TO_RTR, "ah_attr.grh.dgid is zero, and no peer's GID");
}
