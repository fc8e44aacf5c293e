/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_front_end.c - the causes of refusals as a program of verbs can act on them, and the flags of its completions. */
#include "emu/verbs/start/vb_front_end.h"

#include "emu/nic/regions/front_end.h"

#define QP_ACCESS(flag) "Set " flag " in qp_access_flags (ibv_modify_qp, IBV_QP_ACCESS_FLAGS) of the target's QP."

const struct front_end vb_front_end = {
	.causes = {
		[REFUSAL_UNKNOWN_KEY] = { "no region of the target's PD has this rkey", "Use mr->rkey of a region in the PD of the "
			"target's QP, and not its lkey." },
		[REFUSAL_CLOSED] = { "the region was closed by ibv_dereg_mr", NULL },
		[REFUSAL_DISABLED] = { "the region is not enabled yet", NULL },
		[REFUSAL_OTHER_ENDPOINT] = { "the memory window is bound to another QP", "Bind it to the QP addressed." },
		[REFUSAL_ATOMIC] = { "the target has no such atomic operation, or its address is no multiple of 8", "Use 8 bytes "
			"at an address that is a multiple of 8." },
		[REFUSAL_NO_READS] = { "max_rd_atomic of the QP, or max_dest_rd_atomic of the target's, is 0: no READ and no "
			"atomic goes there", "Set both to the same number, by ibv_modify_qp with IBV_QP_MAX_QP_RD_ATOMIC and "
			"IBV_QP_MAX_DEST_RD_ATOMIC." },
		[REFUSAL_NO_REGION] = { "no region or bound memory window has the key that it was to invalidate; or a window of "
			"type 1 has, one that another QP has bound, or a region to which windows are bound", "Name a key once, and "
			"windows of type 2 at their QP." },
		[REFUSAL_PEER_GONE] = { "no QP answers at the peer's GID with that QP number", "Exchange qp_num and GID anew: the "
			"peer's QP was destroyed, its process has ended, or its GID is of another interface." },
		[REFUSAL_UNREACHABLE] = { "the peer's QP could not be reached within timeout and retry_cnt", NULL },
		[REFUSAL_CANCELLED] = { "flushed, as the QP is in the error state", NULL },
		[REFUSAL_ADDRESS] = { "the QP has no address vector of a peer, or the address handle is of another PD",
			"Set IBV_QP_AV with ibv_modify_qp, or create the address handle in the QP's PD." },
		[REFUSAL_SECRET] = { NULL, "Set FI_EMU_SECRET_FILE on both sides, to files of the same bytes, and see the log of "
			"both." },
		[REFUSAL_NOT_READY] = { "the peer had posted no receive each time that it was tried (rnr_retry)", "Post receives "
			"with ibv_post_recv or ibv_post_srq_recv before the peer sends, or set rnr_retry to 7, which means without "
			"end." },
		[REFUSAL_NO_RECEIVE] = { NULL, "Post receives with ibv_post_recv before the peer sends, and enough of them." },
		[REFUSAL_LOCAL_CLOSED] = { "a local region that an lkey of the request names was closed before it had completed",
			"Call ibv_dereg_mr when all that was posted with its lkey has completed." },
	},
	.give_read = "Add IBV_ACCESS_REMOTE_READ to the access given to ibv_reg_mr.",
	.give_write = "Add IBV_ACCESS_REMOTE_WRITE, for atomics IBV_ACCESS_REMOTE_ATOMIC, to the access given to ibv_reg_mr.",
	.bind_read = "Add IBV_ACCESS_REMOTE_READ to mw_access_flags of its bind.",
	.bind_write = "Add IBV_ACCESS_REMOTE_WRITE, for atomics IBV_ACCESS_REMOTE_ATOMIC, to mw_access_flags of its bind.",
	.window_closed_by = "by an invalidation, another bind, or ibv_dealloc_mw",
	.bind_rules = {
		[MR_RULE_NO_WINDOW] = ("no memory window of the QP's PD has this key: it is of another PD, or was "
			"deallocated. Allocate it with ibv_alloc_mw in the PD of the QP"),
		[MR_RULE_WINDOW_BOUND] = ("the window of type 2 is bound. Invalidate it first, by IBV_WR_LOCAL_INV at its QP, "
			"or IBV_WR_SEND_WITH_INV of its peer"),
		[MR_RULE_WINDOW_EMPTY] = "the length is 0, which ends the bind of a window of type 1 alone. Use IBV_WR_LOCAL_INV",
		[MR_RULE_NO_REGION] = ("bind_info.mr is no region of the QP's PD, was deregistered before the bind's turn came, "
			"or was invalidated"),
		[MR_RULE_NO_WINDOWS] = ("the region was registered without IBV_ACCESS_MW_BIND, or with IBV_ACCESS_ZERO_BASED. Use "
			"the first and not the second"),
		[MR_RULE_WINDOW_WRITES] = ("peers are to write through the window, and the region was registered without "
			"IBV_ACCESS_LOCAL_WRITE. Add it"),
		[MR_RULE_WINDOW_OUTSIDE] = ("the range is not inside the region. bind_info.addr is an address of the region, as "
			"its peers use it"),
	},
	.give_cap = {
		"Post receives at the target's QP in the state RTR or RTS.",
		QP_ACCESS("IBV_ACCESS_REMOTE_WRITE"), QP_ACCESS("IBV_ACCESS_REMOTE_READ"), QP_ACCESS("IBV_ACCESS_REMOTE_ATOMIC"),
	},
	.give_tagged = "Use no tags.",
	.closed_by = "by ibv_dereg_mr",
	.receive_cap = "a receive queue",
	.asked_key = "is no rkey that ibv_reg_mr has given: send mr->rkey",
	.settings = {
		[FRONT_SECRET] = "FI_EMU_SECRET_FILE", [FRONT_FAULT] = "FI_EMU_FAULT", [FRONT_DGRAM_LOSS] = "FI_EMU_DGRAM_LOSS",
		[FRONT_ADVERTISE] = "FI_EMU_ADVERTISE",
	},
	.cq_written = { VB_CQ_WRITTEN, VB_CQ_WRITTEN },
	.cq_data = VB_CQ_IMM,
	.cq_solicited = VB_CQ_SOLICITED,
	.cq_invalidated = VB_CQ_INVALIDATED,
	.cq_grh = VB_CQ_GRH,
};
