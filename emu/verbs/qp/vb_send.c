/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_send.c - ibv_post_send(): work requests are checked, and become posts of the device. */
#include <endian.h>
#include <errno.h>

#include "emu/nic/atomics/atomic.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/mr_window.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/qp/vb_ah.h"
#include "emu/verbs/qp/vb_bind.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/qp/vb_qp_rules.h"
#include "emu/verbs/regions/vb_key.h"
#include "emu/verbs/regions/vb_pd.h"
#include "emu/verbs/start/vb_front_end.h"
#include "emu/verbs/start/vb_refuse.h"

#define CALL "ibv_post_send"

/* What each opcode is; vb_qp_kind.h has which of them a queue pair carries out. */
static const struct request {
	enum op_kind kind;
	uint8_t completes; /* enum ibv_wc_opcode */
	uint32_t flags;    /* enum post_flag */
	uint32_t access;   /* right of the local regions (enum mr_access) */
} requests[] = {
	[IBV_WR_RDMA_WRITE] = { OP_WRITE, IBV_WC_RDMA_WRITE, 0, MR_WRITE },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { OP_WRITE, IBV_WC_RDMA_WRITE, POST_CQ_DATA, MR_WRITE },
	[IBV_WR_SEND] = { OP_SEND, IBV_WC_SEND, 0, MR_SEND },
	[IBV_WR_SEND_WITH_IMM] = { OP_SEND, IBV_WC_SEND, POST_CQ_DATA, MR_SEND },
	[IBV_WR_SEND_WITH_INV] = { OP_SEND, IBV_WC_SEND, POST_INVALIDATE, MR_SEND },
	[IBV_WR_LOCAL_INV] = { OP_SEND, IBV_WC_LOCAL_INV, POST_LOCAL_INV | POST_FENCE, 0 },
	[IBV_WR_BIND_MW] = { OP_SEND, IBV_WC_BIND_MW, POST_BIND | POST_FENCE | POST_INJECT, 0 }, /* V174 */
	[IBV_WR_RDMA_READ] = { OP_READ, IBV_WC_RDMA_READ, 0, MR_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { OP_ATOMIC, IBV_WC_COMP_SWAP, 0, MR_READ },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { OP_ATOMIC, IBV_WC_FETCH_ADD, 0, MR_READ },
};
enum { REQUESTS = sizeof(requests) / sizeof(*requests), WORD = sizeof(uint64_t) };

/* A post of the device, and all that it points to. */
struct send {
	struct post post;
	struct remote remote;
	struct iovec iov[VB_MAX_SGE];
	void *desc[VB_MAX_SGE];
	struct post_atomic atomic;
	struct datagram_to to;
	uint64_t operand, comparand;
	struct iovec operands, comparands;
	struct mr_bind bind;
	uint64_t length;
	bool local; /* it is refused here */
};

/* It is carried out no further, and fails in its turn: hardware looks at local keys when it executes a request. */
static void refuse_local(struct send *send, enum refusal_cause cause)
{
	send->local = true; /* V93 */
	send->post.refused = cause;
	send->post.iov_count = 0;
	send->post.desc = NULL;
	send->post.atomic = NULL;
	send->post.remote_count = 0;
}

/* The local buffers. False: one is none that its lkey allows. */
static bool gather_sources(const struct vb_qp *qp, const struct ibv_send_wr *wr, uint32_t access, struct send *send)
{
	for (int i = 0; i < wr->num_sge; i++) { /* V71, V99 */
		const struct ibv_sge *sge = &wr->sg_list[i];
		struct vb_buffer buffer = { .at = (void *)(uintptr_t)sge->addr };
		char text[VB_KEY_WORDS];
		enum vb_key_flaw flaw = VB_KEY_OK;

		if (!(wr->send_flags & IBV_SEND_INLINE) && sge->length) /* V69, V221 */
			flaw = vb_key_find(qp->pd, sge->lkey, sge->addr, sge->length, access, &buffer);
		if (unlikely(flaw != VB_KEY_OK)) {
			vb_refuse(EFAULT, CALL, "request 0x%llx fails (IBV_WC_LOC_PROT_ERR): %s", (unsigned long long)wr->wr_id,
				  vb_key_words(flaw, sge->lkey, sge->addr, sge->length, text));
			if (access != MR_READ)
				return false;
			buffer = (struct vb_buffer){ .at = VB_FORBIDDEN }; /* looked at when the answer comes */
		}
		send->iov[i] = (struct iovec){ buffer.at, sge->length };
		send->desc[i] = (void *)(uintptr_t)buffer.desc;
		send->length += sge->length;
	}
	return true;
}

/* V107, V108. The result goes where the list says; operands stand in the request. */
static void make_atomic(const struct ibv_send_wr *wr, struct send *send)
{
	bool swaps = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

	send->operand = swaps ? wr->wr.atomic.swap : wr->wr.atomic.compare_add;
	send->comparand = wr->wr.atomic.compare_add;
	send->operands = (struct iovec){ &send->operand, WORD };
	send->comparands = (struct iovec){ &send->comparand, WORD };
	send->atomic = (struct post_atomic){
		.what = { .kind = swaps ? ATOMIC_COMPARE : ATOMIC_FETCH,
			  .op = swaps ? ATOMIC_CSWAP : ATOMIC_SUM,
			  .type = ATOMIC_UINT64 },
		.compare = &send->comparands,
		.compare_count = swaps,
		.result = send->iov,
		.result_count = (size_t)wr->num_sge,
		.result_desc = send->desc,
	};
	send->post.iov = &send->operands;
	send->post.iov_count = 1;
	send->post.desc = NULL;
	send->post.atomic = &send->atomic;
	send->post.flags |= POST_INJECT;
}

/* V73, V75: which of them complete. */
static uint32_t flags_of(const struct vb_qp *qp, const struct ibv_send_wr *wr, const struct request *request)
{
	return request->flags | (qp->signals_all || wr->send_flags & IBV_SEND_SIGNALED ? POST_COMPLETE : 0) |
	       (wr->send_flags & IBV_SEND_FENCE ? POST_FENCE : 0) |
	       (wr->send_flags & IBV_SEND_SOLICITED && (request->kind == OP_SEND || request->flags & POST_CQ_DATA) ? POST_SOLICITED
														   : 0) |
	       (wr->send_flags & IBV_SEND_INLINE ? POST_INJECT : 0);
}

/* V149. False: the address handle is of another PD. */
static bool address(const struct vb_qp *qp, const struct ibv_send_wr *wr, struct send *send)
{
	const struct vb_pd *pd;
	const struct datagram_to *to = vb_ah_to(wr->wr.ud.ah, &pd);

	if (pd->root != qp->pd->root) {
		vb_refuse(EPERM, CALL, "request 0x%llx fails (IBV_WC_LOC_QP_OP_ERR): its address handle is of another PD.",
			  (unsigned long long)wr->wr_id);
		return false;
	}
	send->to = *to;
	send->to.qpn = wr->wr.ud.remote_qpn & VB_QPN_MAX;
	send->to.qkey = wr->wr.ud.remote_qkey >> 31 ? atomic_load(&qp->qkey) : wr->wr.ud.remote_qkey; /* V146 */
	send->atomic = (struct post_atomic){ .to = &send->to };
	send->post.atomic = &send->atomic;
	return true;
}

/* Nothing is gathered. */
static void make_bind(const struct ibv_send_wr *wr, struct send *send)
{
	vb_bind_make(wr, &send->bind);
	send->iov[0] = (struct iovec){ &send->bind, sizeof(send->bind) };
	send->post.iov_count = 1;
	send->post.desc = NULL;
}

static void make(const struct vb_qp *qp, const struct ibv_send_wr *wr, const struct request *request, struct send *send)
{
	struct post *post = &send->post;

	*post = (struct post){ .kind = request->kind,
			       .flags = flags_of(qp, wr, request),
			       .iov = send->iov,
			       .iov_count = (size_t)wr->num_sge,
			       .desc = wr->send_flags & IBV_SEND_INLINE || !wr->num_sge ? NULL : send->desc,
			       .when = qp->watched,
			       .remote = &send->remote,
			       .remote_count = request->kind != OP_SEND };
	if (qp->kind->rules & EP_RULE_NAMES_SRX)
		post->dest = wr->qp_type.xrc.remote_srqn;
	send->length = 0;
	send->local = false;
	if (request->flags & POST_CQ_DATA)
		post->cq_data = be32toh(wr->imm_data);
	else if (request->flags & (POST_INVALIDATE | POST_LOCAL_INV))
		post->cq_data = wr->invalidate_rkey;
	if (request->flags & POST_BIND) {
		make_bind(wr, send);
		return;
	}
	if (request->kind == OP_ATOMIC)
		send->remote = (struct remote){ .addr = wr->wr.atomic.remote_addr, .length = WORD, .key = wr->wr.atomic.rkey };
	else
		send->remote = (struct remote){ .addr = wr->wr.rdma.remote_addr, .key = wr->wr.rdma.rkey };
	if (request->access == MR_READ && atomic_load_explicit(&qp->reads_none, memory_order_relaxed)) { /* V220 */
		vb_refuse(
			EINVAL, CALL,
			"request 0x%llx fails (IBV_WC_LOC_QP_OP_ERR): max_rd_atomic is 0, so that the queue pair sends no READ and "
			"no atomic. Set it by ibv_modify_qp with IBV_QP_MAX_QP_RD_ATOMIC.",
			(unsigned long long)wr->wr_id);
		refuse_local(send, REFUSAL_NO_READS);
		return;
	}
	if (!gather_sources(qp, wr, request->access, send)) {
		refuse_local(send, REFUSAL_SOURCE_FAULT);
		return;
	}
	if (send->length > qp->kind->max_msg || (request->kind == OP_ATOMIC && send->length != WORD)) {
		vb_refuse(EMSGSIZE, CALL, "request 0x%llx fails (IBV_WC_LOC_LEN_ERR): its list has %llu bytes%s",
			  (unsigned long long)wr->wr_id, (unsigned long long)send->length,
			  request->kind == OP_ATOMIC ? ", and an atomic's result has 8."
			  : qp->kind->datagrams      ? ", more than a datagram may have (active_mtu of the port)."
						     : ", more than a message may have (max_msg_sz).");
		refuse_local(send, REFUSAL_TRUNCATED);
		return;
	}
	if (request->kind == OP_ATOMIC)
		make_atomic(wr, send);
	else if (qp->kind->datagrams && !address(qp, wr, send))
		refuse_local(send, REFUSAL_ADDRESS);
	else
		send->remote.length = send->length;
}

/* A fault plan may have it fail. The status, or 0: one that fails by itself is counted, and keeps its own. */
__attribute__((cold, noinline)) static uint8_t plan_request(const struct vb_qp *qp, const struct ibv_send_wr *wr, struct send *send)
{
	enum op_kind kind = requests[wr->opcode].kind;
	uint8_t status = 0;

	if (send->local)
		(void)fault_request(kind, qp->number);
	else if (!(requests[wr->opcode].flags & POST_LOCAL))
		status = vb_fault_request_met(CALL, kind, qp->number, wr->wr_id);
	if (status) {
		send->post.refused = REFUSAL_NO_SESSION;
		send->post.flags |= POST_PLANNED;
	}
	return status;
}

/* What the program could not mean. `binds`: the windows that its call binds. */
static int check_send(const struct vb_qp *qp, const struct ibv_send_wr *wr, enum ibv_mw_type binds)
{
	uint64_t bytes = 0;

	if ((unsigned int)wr->opcode >= REQUESTS || !(qp->kind->opcodes >> wr->opcode & 1)) /* V68 */
		return vb_refuse(EINVAL, CALL, "opcode %d is none that %s queue pairs carry out.", (int)wr->opcode, qp->kind->name);
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_send_sge) /* V65 */
		return vb_refuse(EINVAL, CALL, "num_sge is %d, and the queue pair was made with max_send_sge %u.", wr->num_sge,
				 qp->cap.max_send_sge);
	if (qp->kind->datagrams && !wr->wr.ud.ah)
		return vb_refuse(EINVAL, CALL, "wr.ud.ah is NULL: a UD queue pair sends to an address handle (ibv_create_ah).");
	if (wr->opcode == IBV_WR_BIND_MW)
		return vb_bind_check(wr, binds);
	if (wr->opcode == IBV_WR_LOCAL_INV && wr->num_sge)
		return vb_refuse(EINVAL, CALL, "num_sge is %d beside IBV_WR_LOCAL_INV, which moves nothing.", wr->num_sge);
	if (!(wr->send_flags & (IBV_SEND_INLINE | IBV_SEND_IP_CSUM)))
		return 0;
	if (wr->send_flags & IBV_SEND_IP_CSUM)
		return vb_refuse(EINVAL, CALL,
				 "IBV_SEND_IP_CSUM: the device computes no checksums (device_cap_flags of ibv_query_device()).");
	if (requests[wr->opcode].access == MR_READ)
		return vb_refuse(EINVAL, CALL, "IBV_SEND_INLINE beside opcode %d, which sends no data.", (int)wr->opcode);
	for (int i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	if (bytes > qp->cap.max_inline_data) /* V70 */
		return vb_refuse(EINVAL, CALL, "%llu bytes inline, and the queue pair was made with max_inline_data %u.",
				 (unsigned long long)bytes, qp->cap.max_inline_data);
	return 0;
}

static int check_state(const struct vb_qp *qp)
{
	enum ibv_qp_state state = vb_qp_state(qp);

	if (likely(state == IBV_QPS_RTS || state == IBV_QPS_ERR || state == IBV_QPS_SQD ||
		   state == IBV_QPS_SQE)) /* V55, V56, V147 */
		return 0;
	return vb_refuse(EINVAL, CALL, "the queue pair is in %s. It sends from RTS on (ibv_modify_qp).", vb_qp_state_name(state));
}

/* With the lock. */
static int post_request(struct vb_qp *qp, const struct ibv_send_wr *wr, enum ibv_mw_type binds)
{
	int err = check_send(qp, wr, binds);
	struct vb_wr *record;
	struct send send;

	if (err)
		return err;
	record = vb_queue_take(&qp->sq);
	if (!record)
		return vb_refuse(ENOMEM, CALL,
				 "%u requests are out (max_send_wr). One that is not signaled stays out until a later one's "
				 "completion is polled.",
				 qp->cap.max_send_wr);
	make(qp, wr, &requests[wr->opcode], &send);
	record->planned = vb_fault_shown() ? plan_request(qp, wr, &send) : 0;
	record->wr_id = wr->wr_id;
	record->opcode = requests[wr->opcode].completes;
	record->length = requests[wr->opcode].access == MR_READ ? (uint32_t)send.length : 0;
	record->local = send.local || requests[wr->opcode].flags & POST_LOCAL;
	send.post.context = record;
	err = -ep_post(qp->ep, &send.post);
	if (!err)
		return 0;
	vb_queue_untake(&qp->sq, record);
	return vb_refuse_post(qp->context, err, CALL);
}

/* A whole list is checked before any of it is posted. *first: what is refused, if any is. */
static int check_whole(struct vb_qp *qp, struct ibv_send_wr **first)
{
	uint32_t room = qp->cap.max_send_wr - vb_queue_out(&qp->sq);

	for (struct ibv_send_wr *wr = *first; wr; wr = wr->next) {
		int err = check_send(qp, wr, IBV_MW_TYPE_2);

		if (!err && !room--)
			err = vb_refuse(ENOMEM, CALL, "the list has more requests than there is room for (max_send_wr %u).",
					qp->cap.max_send_wr);
		if (err) {
			*first = wr;
			return err;
		}
	}
	return 0;
}

/* *bad is for failures alone: programs look at it after success, too. */
static int refused_first(int err, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	*bad = wr;
	return err;
}

int vb_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad, bool whole)
{
	struct vb_qp *qp = vb_qp_of(ibv);
	int err;

	if (unlikely(!vb_context_usable(qp->context)))
		return refused_first(vb_inherited(CALL), wr, bad);
	err = vb_fault("ibv_post_send", ibv->context, qp->number);
	if (unlikely(err))
		return refused_first(err, wr, bad);
	futex_lock(&qp->send_lock);
	err = check_state(qp);
	if (!err && whole)
		err = check_whole(qp, &wr);
	while (!err && wr) { /* V66 */
		err = post_request(qp, wr, IBV_MW_TYPE_2);
		if (!err)
			wr = wr->next;
	}
	futex_unlock(&qp->send_lock);
	return likely(!err) ? 0 : refused_first(err, wr, bad);
}

int vb_post_send_op(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	return vb_post_send(qp, wr, bad, false);
}

int vb_post_bind(struct ibv_qp *ibv, const struct ibv_send_wr *wr)
{
	struct vb_qp *qp = vb_qp_of(ibv);
	int err;

	if (!vb_context_usable(qp->context))
		return vb_inherited("ibv_bind_mw");
	err = vb_fault("ibv_bind_mw", ibv->context, qp->number);
	if (err)
		return err;
	futex_lock(&qp->send_lock);
	err = check_state(qp);
	if (!err)
		err = post_request(qp, wr, IBV_MW_TYPE_1);
	futex_unlock(&qp->send_lock);
	return err;
}
