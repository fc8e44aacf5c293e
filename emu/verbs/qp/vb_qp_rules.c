/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_rules.c - the table of transitions of queue pairs, and the ranges of their attributes. */
#include "emu/verbs/qp/vb_qp_rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { RC, UC, UD, XS, XR, TYPES };
enum { STATES = IBV_QPS_ERR + 1 };

static const char *const type_names[TYPES] = { "an RC", "a UC", "a UD", "an XRC_SEND", "an XRC_RECV" };
static const char *const state_names[STATES] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

static const struct bit {
	int bit;
	const char *name;
} bits[] = {
	{ IBV_QP_STATE, "IBV_QP_STATE" },
	{ IBV_QP_CUR_STATE, "IBV_QP_CUR_STATE" },
	{ IBV_QP_EN_SQD_ASYNC_NOTIFY, "IBV_QP_EN_SQD_ASYNC_NOTIFY" },
	{ IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS" },
	{ IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX" },
	{ IBV_QP_PORT, "IBV_QP_PORT" },
	{ IBV_QP_QKEY, "IBV_QP_QKEY" },
	{ IBV_QP_AV, "IBV_QP_AV" },
	{ IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU" },
	{ IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT" },
	{ IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT" },
	{ IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY" },
	{ IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN" },
	{ IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC" },
	{ IBV_QP_ALT_PATH, "IBV_QP_ALT_PATH" },
	{ IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER" },
	{ IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC" },
	{ IBV_QP_PATH_MIG_STATE, "IBV_QP_PATH_MIG_STATE" },
	{ IBV_QP_CAP, "IBV_QP_CAP" },
	{ IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN" },
	{ IBV_QP_RATE_LIMIT, "IBV_QP_RATE_LIMIT" },
};
enum { BITS = sizeof(bits) / sizeof(*bits) };

/* Sets of attributes that several transitions share. */
enum {
	PARTITION = IBV_QP_PKEY_INDEX | IBV_QP_PORT,
	PEER = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	RETRIES = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY,
	PATHS = IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_ACCESS_FLAGS,
	READS = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC,
	RUN_RC = IBV_QP_CUR_STATE | PATHS | IBV_QP_MIN_RNR_TIMER, /* of an RC that runs, or begins to */
	RUN_UC = IBV_QP_CUR_STATE | PATHS,
	ANSWERS = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, /* of one that answers requests */
	ASKS = IBV_QP_MAX_QP_RD_ATOMIC | RETRIES,                   /* of one that makes them */
	RUN_UD = IBV_QP_CUR_STATE | IBV_QP_QKEY,
};

/* Each state may go to RESET, and each but RESET to ERR (V49), without any attribute: rows of these need no entries but `legal`. */
static const struct transition {
	bool legal;
	bool unknown[TYPES]; /* the type has no such transition */
	int needs[TYPES], allows[TYPES];
} transitions[STATES][STATES] = {
	[IBV_QPS_RESET] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_INIT] = { /* V44 */
			.legal = true,
			.needs = { PARTITION | IBV_QP_ACCESS_FLAGS, PARTITION | IBV_QP_ACCESS_FLAGS, PARTITION | IBV_QP_QKEY,
				   PARTITION | IBV_QP_ACCESS_FLAGS, PARTITION | IBV_QP_ACCESS_FLAGS },
		},
	},
	[IBV_QPS_INIT] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_INIT] = {
			.legal = true,
			.allows = { PARTITION | IBV_QP_ACCESS_FLAGS, PARTITION | IBV_QP_ACCESS_FLAGS, PARTITION | IBV_QP_QKEY,
				    PARTITION | IBV_QP_ACCESS_FLAGS, PARTITION | IBV_QP_ACCESS_FLAGS },
		},
		[IBV_QPS_RTR] = {
			.legal = true,
			.needs = { PEER | ANSWERS, PEER, 0, PEER, PEER | ANSWERS }, /* V45 */
			.allows = {
				IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
				IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
				IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
				IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
				IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
			},
		},
		[IBV_QPS_ERR] = { .legal = true },
	},
	[IBV_QPS_RTR] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_RTS] = {
			.legal = true,
			.needs = { ASKS | IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, ASKS | IBV_QP_SQ_PSN,
				   IBV_QP_TIMEOUT | IBV_QP_SQ_PSN }, /* V46 */
			.allows = { RUN_RC, RUN_UC, RUN_UD, RUN_UC, RUN_RC },
		},
		[IBV_QPS_ERR] = { .legal = true },
	},
	[IBV_QPS_RTS] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_RTS] = { .legal = true, .allows = { RUN_RC, RUN_UC, RUN_UD, RUN_UC, RUN_RC } }, /* V50 */
		[IBV_QPS_SQD] = {
			.legal = true,
			.allows = { IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY,
				    IBV_QP_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY },
		},
		[IBV_QPS_ERR] = { .legal = true },
	},
	[IBV_QPS_SQD] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_RTS] = { .legal = true, .allows = { RUN_RC, RUN_UC, RUN_UD, RUN_UC, RUN_RC } },
		[IBV_QPS_SQD] = {
			.legal = true,
			.allows = {
				PARTITION | IBV_QP_AV | RETRIES | READS | PATHS | IBV_QP_MIN_RNR_TIMER,
				IBV_QP_PKEY_INDEX | IBV_QP_AV | PATHS,
				IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
				PARTITION | IBV_QP_AV | ASKS | PATHS,
				PARTITION | IBV_QP_AV | IBV_QP_TIMEOUT | ANSWERS | PATHS,
			},
		},
		[IBV_QPS_ERR] = { .legal = true },
	},
	[IBV_QPS_SQE] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_RTS] = {
			.legal = true,
			.unknown = { [RC] = true, [XS] = true, [XR] = true }, /* they never come into SQE */
			.allows = { 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS, RUN_UD },
		},
		[IBV_QPS_ERR] = { .legal = true },
	},
	[IBV_QPS_ERR] = {
		[IBV_QPS_RESET] = { .legal = true },
		[IBV_QPS_ERR] = { .legal = true },
	},
};

const char *vb_qp_state_name(enum ibv_qp_state state)
{
	return (unsigned int)state < STATES ? state_names[state] : "an unknown state";
}

enum ibv_qp_state vb_qp_next(enum ibv_qp_state state, const struct ibv_qp_attr *attr, int mask)
{
	return mask & IBV_QP_STATE ? attr->qp_state : state;
}

/* --- sentences --- */

struct text {
	char *at;
	size_t size, used;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *text, const char *format, ...)
{
	va_list args;
	int length;

	if (text->used >= text->size)
		return;
	va_start(args, format);
	length = vsnprintf(text->at + text->used, text->size - text->used, format, args);
	va_end(args);
	text->used += length < 0 ? 0 : (size_t)length;
}

static void say_bits(struct text *text, int mask)
{
	const char *comma = "";

	for (size_t i = 0; i < BITS; i++)
		if (mask & bits[i].bit) {
			say(text, "%s%s", comma, bits[i].name);
			comma = ", ";
			mask &= ~bits[i].bit;
		}
	if (mask)
		say(text, "%s0x%x", comma, (unsigned int)mask);
}

/* "INIT to RTR of an RC queue pair" */
static void say_transition(struct text *text, unsigned int type, enum ibv_qp_state from, enum ibv_qp_state to)
{
	say(text, "%s to %s of %s queue pair", vb_qp_state_name(from), vb_qp_state_name(to), type_names[type]);
}

static void say_ways(struct text *text, unsigned int type, enum ibv_qp_state from)
{
	const char *comma = "";

	say(text, ": from %s it may go to ", vb_qp_state_name(from));
	for (unsigned int to = 0; to < STATES; to++)
		if (transitions[from][to].legal && !transitions[from][to].unknown[type]) {
			say(text, "%s%s", comma, state_names[to]);
			comma = ", ";
		}
}

/* --- the table --- */

static int check_transition(unsigned int type, enum ibv_qp_state from, enum ibv_qp_state to, int mask, struct text *text)
{
	const struct transition *way;
	int missing, extra;

	if ((unsigned int)to >= STATES) {
		say(text, "qp_state %d is no state", (int)to);
		return EINVAL;
	}
	way = &transitions[from][to];
	if (!way->legal || way->unknown[type]) { /* V47 */
		say_transition(text, type, from, to);
		say(text, " is no transition");
		say_ways(text, type, from);
		return EINVAL;
	}
	missing = way->needs[type] & ~mask;
	extra = mask & ~(way->needs[type] | way->allows[type] | IBV_QP_STATE);
	if (missing || extra) { /* V48 */
		say_transition(text, type, from, to);
		say(text, missing ? " needs " : " does not allow ");
		say_bits(text, missing ? missing : extra);
		say(text, " in attr_mask");
		return EINVAL;
	}
	return 0;
}

/* --- values --- */

struct range {
	int bit;
	const char *name;
	unsigned int value, least, most;
};

static int check_ranges(const struct range *ranges, size_t count, int mask, struct text *text)
{
	for (size_t i = 0; i < count; i++) {
		const struct range *range = &ranges[i];

		if (!(mask & range->bit) || (range->value >= range->least && range->value <= range->most))
			continue;
		say(text, "%s %u is not within %u to %u", range->name, range->value, range->least, range->most); /* V52 */
		return EINVAL;
	}
	return 0;
}

static int check_numbers(const struct ibv_qp_attr *attr, int mask, const struct vb_qp_limits *limits, struct text *text)
{
	const struct range ranges[] = {
		{ IBV_QP_PORT, "port_num", attr->port_num, 1, limits->ports },
		{ IBV_QP_PKEY_INDEX, "pkey_index", attr->pkey_index, 0, limits->pkeys - 1 },
		{ IBV_QP_PATH_MTU, "path_mtu (enum ibv_mtu)", attr->path_mtu, IBV_MTU_256, limits->mtu },
		{ IBV_QP_DEST_QPN, "dest_qp_num", attr->dest_qp_num, 0, VB_QPN_MAX },
		{ IBV_QP_TIMEOUT, "timeout", attr->timeout, 0, VB_TIMEOUT_MAX },
		{ IBV_QP_RETRY_CNT, "retry_cnt", attr->retry_cnt, 0, VB_RETRY_MAX },
		{ IBV_QP_RNR_RETRY, "rnr_retry", attr->rnr_retry, 0, VB_RETRY_MAX },
		{ IBV_QP_MIN_RNR_TIMER, "min_rnr_timer", attr->min_rnr_timer, 0, VB_RNR_TIMER_MAX },
		{ IBV_QP_MAX_QP_RD_ATOMIC, "max_rd_atomic", attr->max_rd_atomic, 0, limits->rd_initiated },
		{ IBV_QP_MAX_DEST_RD_ATOMIC, "max_dest_rd_atomic", attr->max_dest_rd_atomic, 0, limits->rd_answered },
		{ IBV_QP_AV, "ah_attr.port_num", attr->ah_attr.port_num, 1, limits->ports },
		{ IBV_QP_AV, "ah_attr.grh.sgid_index", attr->ah_attr.grh.sgid_index, 0, limits->gids - 1 },
	};

	return check_ranges(ranges, sizeof(ranges) / sizeof(*ranges), mask, text);
}

/* The port is Ethernet's, where a peer has no LID: its address is the GID in the GRH (IBV_QPF_GRH_REQUIRED). */
static int check_path(const struct ibv_ah_attr *path, struct text *text)
{
	static const union ibv_gid none;

	if (!path->is_global) { /* V53 */
		say(text, "ah_attr.is_global is 0: a port of link layer Ethernet needs a GRH with the peer's GID");
		return EINVAL;
	}
	if (path->grh.dgid.raw[0] == 0xff || !memcmp(&path->grh.dgid, &none, sizeof(none))) {
		say(text, "ah_attr.grh.dgid is %s, and no peer's GID", path->grh.dgid.raw[0] ? "a multicast group" : "zero");
		return EINVAL;
	}
	return 0;
}

static int check_rest(enum ibv_qp_state state, const struct ibv_qp_attr *attr, int mask, struct text *text)
{
	if (mask & IBV_QP_CUR_STATE && attr->cur_qp_state != state) {
		say(text, "cur_qp_state is %s, and the queue pair is in %s", vb_qp_state_name(attr->cur_qp_state),
		    vb_qp_state_name(state));
		return EINVAL;
	}
	if (mask & IBV_QP_ALT_PATH) {
		say(text, "IBV_QP_ALT_PATH: the device has no alternate paths (IBV_DEVICE_AUTO_PATH_MIG)");
		return EINVAL;
	}
	if (mask & IBV_QP_PATH_MIG_STATE && attr->path_mig_state != IBV_MIG_MIGRATED) {
		say(text, "path_mig_state %d: the device has no alternate paths, so it is always IBV_MIG_MIGRATED",
		    (int)attr->path_mig_state);
		return EINVAL;
	}
	return mask & IBV_QP_AV ? check_path(&attr->ah_attr, text) : 0;
}

static unsigned int column(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return RC;
	case IBV_QPT_UC:
		return UC;
	case IBV_QPT_UD:
		return UD;
	case IBV_QPT_XRC_SEND:
		return XS;
	case IBV_QPT_XRC_RECV:
		return XR;
	default:
		return TYPES;
	}
}

int vb_qp_check(enum ibv_qp_type type, enum ibv_qp_state state, const struct ibv_qp_attr *attr, int mask,
		const struct vb_qp_limits *limits, char *why, size_t size)
{
	struct text text = { why, size, 0 };
	unsigned int at = column(type);
	int err;

	say(&text, "%s", "");
	if (at == XS) /* the kernel passes over what the other half of an XRC connection has */
		mask &= ~ANSWERS;
	if (at == XR)
		mask &= ~(ASKS & ~IBV_QP_TIMEOUT);
	if (at == TYPES || (unsigned int)state >= STATES) {
		say(&text, "queue pairs of type %d have no table of transitions", (int)type);
		return EOPNOTSUPP;
	}
	err = check_transition(at, state, vb_qp_next(state, attr, mask), mask, &text);
	if (!err)
		err = check_numbers(attr, mask, limits, &text);
	return err ? err : check_rest(state, attr, mask, &text);
}
