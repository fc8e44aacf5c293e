/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_recv.c - ibv_post_recv(). */
#include <errno.h>
#include <sys/mman.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/mr.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_qp_rules.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/regions/vb_key.h"
#include "emu/verbs/regions/vb_pd.h"
#include "emu/verbs/start/vb_refuse.h"

#define CALL "ibv_post_recv"

/* Stands for a buffer that its lkey does not allow: hardware takes the receive, and fails it when a message comes. The last page of
 * what a program may have on any machine is never mapped. */
static void *forbidden(void)
{
	return (void *)(uintptr_t)-4096;
}

void vb_gather_receive(const struct vb_pd *pd, const struct ibv_recv_wr *wr, const char *call, struct iovec *iov, void **desc)
{
	for (int i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];
		struct vb_buffer buffer;
		enum vb_key_flaw flaw = vb_key_find(pd, sge->lkey, sge->addr, sge->length, MR_RECV, &buffer);
		char text[VB_KEY_WORDS];

		if (unlikely(flaw != VB_KEY_OK)) {
			vb_refuse(EFAULT, call, "receive 0x%llx will fail (IBV_WC_LOC_PROT_ERR): %s", (unsigned long long)wr->wr_id,
				  vb_key_words(flaw, sge->lkey, sge->addr, sge->length, text));
			buffer = (struct vb_buffer){ .at = forbidden() };
		}
		iov[i] = (struct iovec){ buffer.at, sge->length };
		desc[i] = (void *)(uintptr_t)buffer.desc;
	}
}

static int check_receive(const struct vb_qp *qp, const struct ibv_recv_wr *wr)
{
	if (qp->srq)
		return vb_refuse(EINVAL, CALL, "the queue pair takes its receives from an SRQ: ibv_post_srq_recv().");
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->cap.max_recv_sge)
		return vb_refuse(EINVAL, CALL, "num_sge is %d, and the queue pair was made with max_recv_sge %u.", wr->num_sge,
				 qp->cap.max_recv_sge);
	if (vb_qp_state(qp) == IBV_QPS_RESET)
		return vb_refuse(EINVAL, CALL, "the queue pair is in RESET. It takes receives from INIT on (ibv_modify_qp).");
	return 0;
}

/* With the lock. */
static int post_receive(struct vb_qp *qp, const struct ibv_recv_wr *wr)
{
	struct iovec iov[VB_MAX_SGE];
	void *desc[VB_MAX_SGE];
	struct recv_post post = { .iov = iov,
				  .iov_count = (size_t)wr->num_sge,
				  .desc = wr->num_sge > 0 ? desc : NULL,
				  .flags = POST_COMPLETE,
				  .source = AV_NONE };
	int err = check_receive(qp, wr);
	struct vb_wr *record;

	if (err)
		return err;
	record = vb_queue_take(&qp->rq);
	if (!record)
		return vb_refuse(ENOMEM, CALL, "%u receives are posted and not polled (max_recv_wr).", qp->cap.max_recv_wr);
	vb_gather_receive(qp->pd, wr, CALL, iov, desc);
	record->wr_id = wr->wr_id;
	record->opcode = (uint8_t)IBV_WC_RECV;
	post.context = record;
	err = -ep_recv(qp->ep, &post);
	if (!err)
		return 0;
	vb_queue_untake(&qp->rq, record);
	return vb_refuse(err == EAGAIN ? ENOMEM : err, CALL, "the device takes no receive now: too many errors are unread.");
}

int vb_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vb_qp *qp = vb_qp_of(ibv);
	int err = 0;

	if (unlikely(!vb_context_usable(qp->context))) {
		*bad = wr;
		return vb_inherited(CALL);
	}
	futex_lock(&qp->recv_lock);
	for (; !err && wr; wr = wr->next) {
		*bad = wr;
		err = post_receive(qp, wr);
	}
	futex_unlock(&qp->recv_lock);
	return err;
}
