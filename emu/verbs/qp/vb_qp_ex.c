/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_ex.c - requests built by calls. */
#include "emu/verbs/qp/vb_qp_ex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/likely.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/start/vb_refuse.h"

enum {
	FIRST_ROOM = 16, /* of an array; each further step doubles it */
};

static struct vb_qp_head *head_of(struct ibv_qp_ex *ex)
{
	return (struct vb_qp_head *)ex;
}

/* Later ones are its consequences. */
static void batch_fail(struct vb_batch *batch, int err, const char *why)
{
	if (batch->err)
		return;
	batch->err = err;
	batch->why = why;
}

/* The array with room for `used` + `more` elements of `size`; NULL, and it is as it was: no memory. */
static void *reserve(struct vb_batch *batch, void *array, size_t size, size_t used, size_t more, size_t *room)
{
	size_t wanted = *room ? *room : FIRST_ROOM;
	void *grown;

	if (likely(used + more <= *room))
		return array;
	while (wanted < used + more)
		wanted *= 2;
	grown = realloc(array, wanted * size);
	if (grown)
		*room = wanted;
	else
		batch_fail(batch, ENOMEM, "no memory for the requests");
	return grown;
}

/* --- builders --- */

/* One more request. NULL: the batch has failed. */
static struct ibv_send_wr *build(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint64_t op)
{
	struct vb_qp_head *qp = head_of(ex);
	struct vb_batch *batch = &qp->batch;
	struct ibv_send_wr *wr = reserve(batch, batch->wr, sizeof(*wr), batch->wrs, 1, &batch->wrs_room);

	if (!(qp->ops & op))
		batch_fail(batch, EINVAL, "the queue pair was made without the op in send_ops_flags (ibv_create_qp_ex)");
	if (wr)
		batch->wr = wr;
	if (batch->err)
		return NULL;
	wr += batch->wrs++;
	*wr = (struct ibv_send_wr){ .wr_id = ex->wr_id,
				    .opcode = opcode,
				    .send_flags = ex->wr_flags & ~(unsigned int)IBV_SEND_INLINE };
	return wr;
}

static struct ibv_send_wr *build_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint64_t op, uint32_t rkey,
				      uint64_t remote_addr)
{
	struct ibv_send_wr *wr = build(ex, opcode, op);

	if (wr) {
		wr->wr.rdma.rkey = rkey;
		wr->wr.rdma.remote_addr = remote_addr;
	}
	return wr;
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	(void)build_rdma(ex, IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	(void)build_rdma(ex, IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	struct ibv_send_wr *wr = build_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, rkey, remote_addr);

	if (wr)
		wr->imm_data = imm_data;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	(void)build(ex, IBV_WR_SEND, IBV_QP_EX_WITH_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM);

	if (wr)
		wr->imm_data = imm_data;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_SEND_WITH_INV, IBV_QP_EX_WITH_SEND_WITH_INV);

	if (wr)
		wr->invalidate_rkey = rkey;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_LOCAL_INV, IBV_QP_EX_WITH_LOCAL_INV);

	if (wr)
		wr->invalidate_rkey = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct ibv_send_wr *wr = build(ex, IBV_WR_BIND_MW, IBV_QP_EX_WITH_BIND_MW);

	if (!wr)
		return;
	wr->bind_mw.mw = mw;
	wr->bind_mw.rkey = rkey;
	wr->bind_mw.bind_info = *info;
}

static void build_atomic(struct ibv_send_wr *wr, uint32_t rkey, uint64_t remote_addr, uint64_t compare_add, uint64_t swap)
{
	if (!wr)
		return;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = remote_addr;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare, uint64_t swap)
{
	build_atomic(build(ex, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP), rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	build_atomic(build(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD), rkey, remote_addr, add, 0);
}

/* --- setters --- */

/* The request that was built last, which has no memory yet. NULL: the batch has failed. */
static struct ibv_send_wr *to_set(struct vb_batch *batch)
{
	struct ibv_send_wr *wr = batch->wrs ? &batch->wr[batch->wrs - 1] : NULL;

	if (!wr)
		batch_fail(batch, EINVAL, "a setter was called before a builder");
	else if (wr->num_sge || wr->send_flags & IBV_SEND_INLINE)
		batch_fail(batch, EINVAL, "two setters were called for one request");
	return batch->err ? NULL : wr;
}

static void set_sges(struct vb_qp_head *qp, struct ibv_send_wr *wr, size_t count, const struct ibv_sge *from)
{
	struct vb_batch *batch = &qp->batch;
	struct ibv_sge *sge;

	if (count > qp->sge_most)
		batch_fail(batch, EINVAL, "a request has more scatter/gather elements than max_send_sge");
	if (batch->err)
		return;
	sge = reserve(batch, batch->sge, sizeof(*sge), batch->sges, count, &batch->sges_room);
	if (!sge)
		return;
	batch->sge = sge;
	if (count)
		memcpy(sge + batch->sges, from, count * sizeof(*sge));
	batch->sges += count;
	wr->num_sge = (int)count;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t number)
{
	struct vb_batch *batch = &head_of(ex)->batch;

	if (!batch->wrs)
		batch_fail(batch, EINVAL, "a setter was called before a builder");
	else if (!batch->err)
		batch->wr[batch->wrs - 1].qp_type.xrc.remote_srqn = number;
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	struct ibv_send_wr *wr = to_set(&head_of(ex)->batch);

	if (wr)
		set_sges(head_of(ex), wr, count, list);
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	wr_set_sge_list(ex, 1, &(struct ibv_sge){ addr, length, lkey });
}

/* May come before or behind the setter of data. */
static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct vb_batch *batch = &head_of(ex)->batch;

	if (!batch->wrs)
		batch_fail(batch, EINVAL, "a setter was called before a builder");
	if (batch->err)
		return;
	batch->wr[batch->wrs - 1].wr.ud.ah = ah;
	batch->wr[batch->wrs - 1].wr.ud.remote_qpn = qpn;
	batch->wr[batch->wrs - 1].wr.ud.remote_qkey = qkey;
}

static size_t inline_bytes(const struct ibv_data_buf *list, size_t count, size_t most)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count && bytes <= most; i++)
		bytes = list[i].length > most ? most + 1 : bytes + list[i].length; /* no sum that wraps */
	return bytes;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_data_buf *list)
{
	struct vb_qp_head *qp = head_of(ex);
	struct vb_batch *batch = &qp->batch;
	size_t bytes = inline_bytes(list, count, qp->inline_most);
	struct ibv_send_wr *wr = to_set(batch);
	uint8_t *data;

	if (bytes > qp->inline_most)
		batch_fail(batch, EINVAL, "inline data of a request is longer than max_inline_data");
	if (batch->err)
		return;
	data = reserve(batch, batch->data, 1, batch->bytes, bytes, &batch->bytes_room);
	if (batch->err)
		return;
	batch->data = data; /* NULL as long as all were empty */
	set_sges(qp, wr, 1, &(struct ibv_sge){ .addr = batch->bytes, .length = (uint32_t)bytes });
	wr->send_flags |= IBV_SEND_INLINE;
	for (size_t i = 0; i < count; i++) {
		if (list[i].length)
			memcpy(data + batch->bytes, list[i].addr, list[i].length);
		batch->bytes += list[i].length;
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	wr_set_inline_data_list(ex, 1, &(struct ibv_data_buf){ addr, length });
}

/* --- the batch --- */

/* The lock is held from here to one of the two below: its checker (clang) cannot see that. */
static void wr_start(struct ibv_qp_ex *ex) UNCHECKED
{
	struct vb_batch *batch = &head_of(ex)->batch;

	futex_lock(&batch->lock);
	batch->wrs = batch->sges = batch->bytes = 0;
	batch->err = 0;
}

/* V82 */
static void wr_abort(struct ibv_qp_ex *ex) UNCHECKED
{
	futex_unlock(&head_of(ex)->batch.lock);
}

/* The arrays stay where they are from now on. */
static void link_requests(struct vb_batch *batch)
{
	struct ibv_sge *sge = batch->sge;

	for (size_t i = 0; i < batch->wrs; i++) {
		struct ibv_send_wr *wr = &batch->wr[i];

		wr->next = i + 1 < batch->wrs ? wr + 1 : NULL;
		wr->sg_list = sge;
		if (wr->send_flags & IBV_SEND_INLINE)
			sge->addr += (uint64_t)(uintptr_t)batch->data;
		sge += wr->num_sge;
	}
}

static int wr_complete(struct ibv_qp_ex *ex) UNCHECKED
{
	struct vb_batch *batch = &head_of(ex)->batch;
	struct ibv_send_wr *bad;
	int err = batch->err;

	if (err) {
		vb_refuse(err, "ibv_wr_complete", "%s. Nothing of the batch was posted.", batch->why);
	} else if (batch->wrs) {
		link_requests(batch);
		err = vb_post_send(&ex->qp_base, batch->wr, &bad, true); /* V81 */
	}
	futex_unlock(&batch->lock);
	return err;
}

/* --- the queue pair --- */

static void fill_calls(struct ibv_qp_ex *ex)
{
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	ex->wr_send_inv = wr_send_inv;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_ud_addr = wr_set_ud_addr;
	ex->wr_set_xrc_srqn = wr_set_xrc_srqn;
}

int vb_qp_ex_init(struct vb_qp_head *qp, const struct vb_qp_kind *kind, uint64_t ops)
{
	if (ops & ~kind->ops)
		return vb_absent("ibv_create_qp_ex", "send_ops_flags 0x%llx: %s queue pairs have no such requests.",
				 (unsigned long long)(ops & ~kind->ops), kind->name);
	qp->extended = true;
	qp->ops = ops;
	fill_calls(&qp->ex);
	return 0;
}

void vb_qp_ex_fini(struct vb_qp_head *qp)
{
	free(qp->batch.wr);
	free(qp->batch.sge);
	free(qp->batch.data);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct vb_qp_head *head = (struct vb_qp_head *)qp;

	return head->extended ? &head->ex : NULL;
}
