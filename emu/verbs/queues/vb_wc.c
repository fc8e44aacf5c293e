/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_wc.c - completions of the device as work completions, causes of refusals as statuses, and statuses in words.
 *
 * A work completion has no room for a sentence. But nearly every program prints ibv_wc_status_str(): it has the sentence of the
 * error that the calling thread has polled last, apart for flushed requests, which follow the one that failed. */
#include "emu/verbs/queues/vb_wc.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "emu/verbs/start/vb_front_end.h"

/* InfiniBand's names of statuses, as rdma-core prints them. */
static const char *const status_words[] = {
	[IBV_WC_SUCCESS] = "success",
	[IBV_WC_LOC_LEN_ERR] = "local length error",
	[IBV_WC_LOC_QP_OP_ERR] = "local QP operation error",
	[IBV_WC_LOC_EEC_OP_ERR] = "local EE context operation error",
	[IBV_WC_LOC_PROT_ERR] = "local protection error",
	[IBV_WC_WR_FLUSH_ERR] = "Work Request Flushed Error",
	[IBV_WC_MW_BIND_ERR] = "memory management operation error",
	[IBV_WC_BAD_RESP_ERR] = "bad response error",
	[IBV_WC_LOC_ACCESS_ERR] = "local access error",
	[IBV_WC_REM_INV_REQ_ERR] = "remote invalid request error",
	[IBV_WC_REM_ACCESS_ERR] = "remote access error",
	[IBV_WC_REM_OP_ERR] = "remote operation error",
	[IBV_WC_RETRY_EXC_ERR] = "transport retry counter exceeded",
	[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR retry counter exceeded",
	[IBV_WC_LOC_RDD_VIOL_ERR] = "local RDD violation error",
	[IBV_WC_REM_INV_RD_REQ_ERR] = "remote invalid RD request",
	[IBV_WC_REM_ABORT_ERR] = "aborted error",
	[IBV_WC_INV_EECN_ERR] = "invalid EE context number",
	[IBV_WC_INV_EEC_STATE_ERR] = "invalid EE context state",
	[IBV_WC_FATAL_ERR] = "fatal error",
	[IBV_WC_RESP_TIMEOUT_ERR] = "response timeout error",
	[IBV_WC_GENERAL_ERR] = "general error",
	[IBV_WC_TM_ERR] = "TM error",
	[IBV_WC_TM_RNDV_INCOMPLETE] = "TM software rendezvous",
};
enum { STATUSES = sizeof(status_words) / sizeof(*status_words) };

/* Of one cause: the status of a request; of a receive; and of a request that was refused on this side. */
static const struct statuses {
	enum ibv_wc_status request, receive, local;
} by_cause[REFUSAL_CAUSES] = {
#define ACCESS                                                                  \
	{                                                                       \
		IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR \
	}
#define RETRIES                                                                 \
	{                                                                       \
		IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_QP_OP_ERR \
	}
	[REFUSAL_UNKNOWN_KEY] = ACCESS,
	[REFUSAL_CLOSED] = ACCESS,
	[REFUSAL_RIGHT] = ACCESS,
	[REFUSAL_RANGE] = ACCESS,
	[REFUSAL_WRAP] = ACCESS,
	[REFUSAL_NOT_BACKED] = ACCESS,
	[REFUSAL_DISABLED] = ACCESS,
	[REFUSAL_OTHER_ENDPOINT] = ACCESS,
	[REFUSAL_AUTH] = ACCESS,
	[REFUSAL_SPENT] = ACCESS,
	[REFUSAL_REFRESHING] = ACCESS,
	[REFUSAL_PAGE_UNKNOWN] = ACCESS,
	[REFUSAL_RESOURCE] = { IBV_WC_REM_OP_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	[REFUSAL_CAPABILITY] = ACCESS,
	[REFUSAL_NOT_PERSISTENT] = ACCESS,
	[REFUSAL_NOT_FLUSHED] = { IBV_WC_REM_OP_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	[REFUSAL_REGISTERING] = ACCESS,
	[REFUSAL_ATOMIC] = { IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	[REFUSAL_RECEIVE_BUFFER] = { IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR }, /* V103 */
	[REFUSAL_RECEIVE_RANGE] = ACCESS,
	[REFUSAL_MESSAGE_LONG] = { IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR },
	[REFUSAL_MISALIGNED] = { IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },
	[REFUSAL_INVALIDATED] = ACCESS,
	[REFUSAL_NO_REGION] = { IBV_WC_REM_ACCESS_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_MW_BIND_ERR },    /* local: V31 */
	[REFUSAL_NO_READS] = { IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR }, /* V95 */
	[REFUSAL_NO_SRX] = { IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR },   /* V189 */
	[REFUSAL_SOURCE_FAULT] = { IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	[REFUSAL_PEER_GONE] = RETRIES,
	[REFUSAL_UNREACHABLE] = RETRIES,
	[REFUSAL_CANCELLED] = { IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR },
	[REFUSAL_TRUNCATED] = { IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR }, /* V100 */
	[REFUSAL_PROTOCOL] = RETRIES,
	[REFUSAL_ADDRESS] = RETRIES,
	[REFUSAL_NO_SESSION] = { IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR },
	[REFUSAL_SECRET] = RETRIES,
	[REFUSAL_NOT_READY] = { IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_LOC_QP_OP_ERR },
	[REFUSAL_SENDER] = { IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR },
	[REFUSAL_LOCAL_CLOSED] = { IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR },
	[REFUSAL_FIREWALL] = RETRIES,
	[REFUSAL_PSN] = RETRIES,
	[REFUSAL_PATH_MTU] = RETRIES,
	[REFUSAL_BIND] = { IBV_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR },
#undef ACCESS
#undef RETRIES
};

enum ibv_wc_status vb_wc_status(enum refusal_cause cause, bool receive, bool local)
{
	static const struct statuses unknown = { IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR, IBV_WC_GENERAL_ERR };
	const struct statuses *of = (unsigned int)cause < REFUSAL_CAUSES && by_cause[cause].request ? &by_cause[cause] : &unknown;

	if (of == &unknown && cause > REFUSAL_NONE && cause <= REFUSAL_WIRE_MAX)
		return IBV_WC_REM_ACCESS_ERR; /* of a newer peer: see refusal_errno() */
	if (local)
		return of->local;
	return receive ? of->receive : of->request;
}

/* --- sentences --- */

enum { WORDS_MAX = 40, VB_QPN_BITS = 0xffffff };

/* One for the error polled last, and one for the flushed request polled last. */
static _Thread_local struct sentence {
	enum ibv_wc_status status; /* SUCCESS: none */
	char text[WORDS_MAX + LIMIT_ERROR_TEXT];
} sentences[2];

static struct sentence *sentence_of(enum ibv_wc_status status)
{
	return &sentences[status == IBV_WC_WR_FLUSH_ERR];
}

static void keep_sentence(enum ibv_wc_status status, const char *text)
{
	struct sentence *sentence = sentence_of(status);

	sentence->status = status;
	snprintf(sentence->text, sizeof(sentence->text), "%s: %s", status_words[status], text);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	const struct sentence *sentence = sentence_of(status);

	if ((unsigned int)status >= STATUSES)
		return "unknown";
	return status && sentence->status == status ? sentence->text : status_words[status];
}

/* --- completions --- */

static bool is_receive(const struct vb_wr *wr)
{
	return wr->opcode & IBV_WC_RECV;
}

/* The QP whose completion it is: a record of a shared queue does not know. */
static uint32_t qp_num_of(const struct completion *c, const struct vb_wr *wr)
{
	const struct vb_queue *queue = wr->queue;

	if (queue->shared) /* V125 */
		queue = (const struct vb_queue *)(uintptr_t)c->source;
	return queue->qp_num;
}

static void fill_receive(const struct completion *c, struct ibv_wc *wc)
{
	wc->opcode = c->flags & VB_CQ_WRITTEN ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV; /* V97 */
	wc->byte_len = (uint32_t)c->length;                                              /* V101 */
	if (c->flags & (VB_CQ_IMM | VB_CQ_WRITTEN)) {                                    /* V96 */
		wc->wc_flags = IBV_WC_WITH_IMM;
		wc->imm_data = htobe32((uint32_t)c->data);
	}
	if (c->flags & VB_CQ_GRH) { /* V143 */
		wc->wc_flags |= IBV_WC_GRH;
		wc->src_qp = (uint32_t)c->tag & VB_QPN_BITS;
		wc->sl = (uint8_t)(c->tag >> 24);
	}
	if (c->flags & VB_CQ_INVALIDATED) { /* V30 */
		wc->wc_flags = IBV_WC_WITH_INV;
		wc->invalidated_rkey = (uint32_t)c->data;
	}
}

void vb_wc_good(const struct completion *c, struct ibv_wc *wc)
{
	struct vb_wr *wr = c->context; /* V78 */

	*wc = (struct ibv_wc){ .wr_id = wr->wr_id, .opcode = wr->opcode, .byte_len = wr->length, .qp_num = qp_num_of(c, wr) };
	if (is_receive(wr))
		fill_receive(c, wc);
	vb_queue_free_to(wr);
}

void vb_wc_failed(const struct cq_error *error, struct ibv_wc *wc)
{
	struct vb_wr *wr = error->c.context;
	bool planned = wr->planned && error->prov_errno == REFUSAL_NO_SESSION;
	enum ibv_wc_status status = planned ? wr->planned : vb_wc_status(error->prov_errno, is_receive(wr), wr->local);

	*wc = (struct ibv_wc){
		.wr_id = wr->wr_id,
		.status = status,
		.opcode = wr->opcode,
		.vendor_err = (uint32_t)error->prov_errno,
		.qp_num = qp_num_of(&error->c, wr),
	};
	keep_sentence(status, error->text);
	vb_queue_free_to(wr);
}
