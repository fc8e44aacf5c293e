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
