/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_recv.c - ibv_post_recv(), and the list of receives of it or of ibv_post_srq_recv(). */
#include "emu/verbs/qp/vb_recv.h"

#include <errno.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/mr.h"
#include "emu/process/check/check.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/regions/vb_key.h"
#include "emu/verbs/regions/vb_pd.h"
#include "emu/verbs/start/vb_front_end.h"
#include "emu/verbs/start/vb_refuse.h"

#define CALL "ibv_post_recv"

/* A buffer of the list that its lkey does not allow, or not to its end: returns how many bytes of it are allowed, and *buffer. */
static uint64_t flawed_receive(const struct vb_recv_to *to, const struct ibv_recv_wr *wr, const struct ibv_sge *sge,
			       enum vb_key_flaw flaw, struct vb_buffer *buffer)
{
	char text[VB_KEY_WORDS];
	struct vb_key key;
	uint64_t inside = 0;

	*buffer = (struct vb_buffer){ .at = VB_FORBIDDEN }; /* V11 */
	vb_key_words(flaw, sge->lkey, sge->addr, sge->length, text);
	if (flaw == VB_KEY_OUTSIDE && vb_key_look(sge->lkey, &key) && sge->addr - key.addr < key.length)
		inside = key.length - (sge->addr - key.addr);
	if (vb_key_find(to->pd, sge->lkey, sge->addr, inside, MR_RECV, buffer) != VB_KEY_OK)
		inside = 0;
	vb_refuse(EFAULT, to->call, "receive 0x%llx will fail (IBV_WC_LOC_PROT_ERR), if a message is so long: %s",
		  (unsigned long long)wr->wr_id, text);
	return inside;
}

/* Hardware looks at the list when a message comes, as far as that is long. Returns how many bytes the lkeys allow it to have. */
static uint64_t gather_receive(const struct vb_recv_to *to, const struct ibv_recv_wr *wr, struct iovec *iov, void **desc)
{
	uint64_t before = 0, reach = UINT64_MAX;

	for (int i = 0; i < wr->num_sge; before += wr->sg_list[i++].length) { /* V72 */
		const struct ibv_sge *sge = &wr->sg_list[i];
		struct vb_buffer buffer = { .at = (void *)(uintptr_t)sge->addr };
		enum vb_key_flaw flaw = VB_KEY_OK;

		if (sge->length) /* V221 */
			flaw = vb_key_find(to->pd, sge->lkey, sge->addr, sge->length, MR_RECV, &buffer);
		if (unlikely(flaw != VB_KEY_OK)) {
			uint64_t inside = flawed_receive(to, wr, sge, flaw, &buffer);

			if (reach == UINT64_MAX)
				reach = before + inside;
		}
		iov[i] = (struct iovec){ buffer.at, sge->length };
		desc[i] = (void *)(uintptr_t)buffer.desc;
	}
	return reach;
}

/* A fault plan may have it fail, whichever message takes it. The status, or 0. */
__attribute__((cold, noinline)) static uint8_t plan_receive(const struct vb_recv_to *to, const struct ibv_recv_wr *wr,
							    struct recv_post *post)
{
	uint8_t status = vb_fault_request_met(to->call, FAULT_RECEIVES, to->number, wr->wr_id);

	if (status) {
		post->refused = status == IBV_WC_LOC_LEN_ERR ? REFUSAL_MESSAGE_LONG : REFUSAL_RECEIVE_BUFFER;
		post->reach = 0;
	}
	return status;
}

/* No datagram fits, not even an empty one: hardware says nothing before one comes. */
__attribute__((cold, noinline)) static void check_room(const struct vb_recv_to *to, const struct ibv_recv_wr *wr)
{
	uint64_t room = 0;

	for (int i = 0; i < wr->num_sge; i++)
		room += wr->sg_list[i].length;
	if (room < sizeof(struct ibv_grh))
		check_tell(&(struct check_finding){ .cause = CHECK_NO_HEADER_ROOM, .call = to->call, .here = true },
			   "%s: receive 0x%llx has %llu bytes, and a datagram begins with a header of %zu", to->call,
			   (unsigned long long)wr->wr_id, (unsigned long long)room, sizeof(struct ibv_grh));
}

static int recv_one(const struct vb_recv_to *to, const struct ibv_recv_wr *wr)
{
	struct iovec iov[VB_MAX_SGE];
	void *desc[VB_MAX_SGE];
	struct recv_post post = { .iov = iov,
				  .iov_count = (size_t)wr->num_sge,
				  .desc = wr->num_sge > 0 ? desc : NULL,
				  .flags = POST_COMPLETE | POST_REACH,
				  .source = AV_NONE,
				  .when = to->watched };
	struct vb_wr *record;
	int err;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > to->sge_most) /* V79 */
		return vb_refuse(EINVAL, to->call, "num_sge is %d, and the queue was made with %s %u.", wr->num_sge, to->sge_name,
				 to->sge_most);
	record = vb_queue_take(to->queue);
	if (!record)
		return vb_refuse(ENOMEM, to->call, "%u receives are posted and not polled (%s).", to->queue->size, to->wr_name);
	if (unlikely(to->watched && to->datagrams))
		check_room(to, wr);
	post.reach = gather_receive(to, wr, iov, desc);
	record->planned = vb_fault_shown() ? plan_receive(to, wr, &post) : 0;
	record->wr_id = wr->wr_id;
	record->opcode = (uint8_t)IBV_WC_RECV;
	post.context = record;
	err = to->ep ? -ep_recv(to->ep, &post) : -srx_recv(to->srx, &post);
	if (!err)
		return 0;
	vb_queue_untake(to->queue, record);
	return vb_refuse_post(to->pd->context, err, to->call);
}

int vb_recv_list(const struct vb_recv_to *to, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	for (; wr; wr = wr->next) {
		int err = recv_one(to, wr);

		if (unlikely(err)) {
			*bad = wr;
			return err;
		}
	}
	return 0;
}

static int check_takes(const struct vb_qp *qp)
{
	if (qp->kind->lacks & VB_QP_RECEIVES) /* V188 */
		return vb_refuse(EINVAL, CALL, "%s queue pairs have no receive queue.", qp->kind->name);
	if (qp->srq) /* V126 */
		return vb_refuse(EINVAL, CALL, "the queue pair takes its receives from an SRQ: ibv_post_srq_recv().");
	if (vb_qp_state(qp) == IBV_QPS_RESET) /* V54 */
		return vb_refuse(EINVAL, CALL, "the queue pair is in RESET. It takes receives from INIT on (ibv_modify_qp).");
	return 0;
}

/* With the lock. */
static int post_list(struct vb_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	const struct vb_recv_to to = { .call = CALL,
				       .sge_name = "max_recv_sge",
				       .wr_name = "max_recv_wr",
				       .pd = qp->pd,
				       .queue = &qp->rq,
				       .number = qp->number,
				       .sge_most = qp->cap.max_recv_sge,
				       .watched = qp->watched,
				       .ep = qp->ep,
				       .datagrams = qp->kind->datagrams };
	int err = check_takes(qp);

	if (unlikely(err)) {
		*bad = wr;
		return err;
	}
	return vb_recv_list(&to, wr, bad);
}

int vb_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct vb_qp *qp = vb_qp_of(ibv);
	int err;

	err = unlikely(!vb_context_usable(qp->context)) ? vb_inherited(CALL) : vb_fault("ibv_post_recv", ibv->context, qp->number);
	if (unlikely(err)) {
		*bad = wr;
		return err;
	}
	futex_lock(&qp->recv_lock);
	err = post_list(qp, wr, bad);
	futex_unlock(&qp->recv_lock);
	return err;
}
