/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_cq.c - completion queues: V111 to V117. */
#include "tests/rules/verbs/vworld.h"

#define WRITE IBV_WR_RDMA_WRITE

VPAIR(V111_a_poll_takes_as_many_as_it_asks_for)
{
	struct ibv_wc wc[V_WR];
	struct deadline guard;
	int got = 0;

	for (uint64_t i = 0; i < 8; i++)
		v_post(w, 0, WRITE, 0, 8, i);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	guard = deadline_start();
	while (got < 7) {
		int n = ibv_poll_cq(w->side[0].send_cq, 3, wc + got);

		CHECK(n >= 0 && n <= 3, "a poll for 3 gave %d", n);
		got += n;
		deadline_check(&guard, "a completion");
	}
	for (uint64_t i = 0; i < 7; i++)
		CHECK(wc[i].wr_id == i + 1, "request %llu in place of %llu", (unsigned long long)wc[i].wr_id,
		      (unsigned long long)i + 1);
	v_none(w->side[0].send_cq, "once more");
}

VDEVICE(V112_a_vector_that_is_not_there_is_refused)
{
	V_NULL(EINVAL, ibv_create_cq(w->context, 4, NULL, NULL, w->context->num_comp_vectors));
	V_NULL(EINVAL, ibv_create_cq(w->context, 4, NULL, NULL, -1));
}

VPAIR(V113_queue_pairs_may_share_a_queue)
{
	struct ibv_qp *own = v_qp(w, 0, NULL), *other = v_qp(w, 1, NULL);
	struct ibv_qp *from[2] = { w->side[0].qp, own };
	unsigned seen[2] = { 0, 0 };
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 8, &sge);

	v_connect(w, own, other);
	for (unsigned i = 0; i < 8; i++)
		v_send(from[i % 2], &wr);
	for (unsigned i = 0; i < 8; i++) {
		struct ibv_wc wc = v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);

		CHECK(wc.qp_num == own->qp_num || wc.qp_num == w->side[0].qp->qp_num, "qp_num 0x%x", wc.qp_num);
		seen[wc.qp_num == own->qp_num]++;
	}
	CHECK(seen[0] == 4 && seen[1] == 4, "%u of one, %u of the other", seen[0], seen[1]);
	V_RC(0, ibv_destroy_qp(own));
	V_RC(0, ibv_destroy_qp(other));
}

static void resize(struct ibv_cq *cq, int cqe)
{
	int err = ibv_resize_cq(cq, cqe);

	if (err == EOPNOTSUPP || err == ENOSYS)
		NOT_APPLICABLE("the device does not resize completion queues");
	V_RC(0, err);
	CHECK(cq->cqe >= cqe, "%d entries, and %d were asked for", cq->cqe, cqe);
}

VPAIR(V114_a_queue_that_is_resized_keeps_its_entries)
{
	for (uint64_t i = 0; i < 8; i++)
		v_post(w, 0, WRITE, 0, 8, i);
	v_post(w, 1, WRITE, 0, 8, 0);
	v_done(w->side[1].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	resize(w->side[0].send_cq, 4 * V_CQE);
	for (uint64_t i = 1; i < 8; i++)
		v_done(w->side[0].send_cq, i, IBV_WC_SUCCESS);
	resize(w->side[0].send_cq, 8);
	v_works(w);
}

VPAIR(V115_a_queue_does_not_shrink_below_its_entries)
{
	struct deadline guard = deadline_start();
	int err;

	for (uint64_t i = 0; i < V_WR; i++)
		v_receive(w, 1, 0, 64, i);
	v_to(w, 1, IBV_QPS_ERR); /* V_WR entries now, or soon */
	v_done(w->side[1].recv_cq, 0, IBV_WC_WR_FLUSH_ERR);
	do {
		err = ibv_resize_cq(w->side[1].recv_cq, 1);
		if (err == EOPNOTSUPP || err == ENOSYS)
			NOT_APPLICABLE("the device does not resize completion queues");
		deadline_check(&guard, "a refusal");
	} while (!err && w->side[1].recv_cq->cqe < V_WR - 1);
	CHECK(err == EINVAL || !err, "it returned %d", err);
	for (uint64_t i = 1; i < V_WR; i++)
		v_done(w->side[1].recv_cq, i, IBV_WC_WR_FLUSH_ERR);
}

VPAIR(V116_a_queue_that_overflows_tells_of_it)
{
	struct ibv_cq *usual = w->side[0].send_cq, *small = ibv_create_cq(w->context, 1, NULL, NULL, 0);
	struct ibv_qp *own, *other;
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 8, &sge);

	CHECK(small, "no completion queue: %s", strerror(errno));
	if (small->cqe >= V_WR)
		NOT_APPLICABLE("the smallest queue of the device holds %d entries", small->cqe);
	w->side[0].send_cq = small;
	own = v_qp(w, 0, NULL);
	w->side[0].send_cq = usual;
	other = v_qp(w, 1, NULL);
	v_connect(w, own, other);
	for (int i = 0; i < V_WR; i++)
		v_send(own, &wr);
	CHECK(v_event(w, IBV_EVENT_CQ_ERR).element.cq == small, "the event is of another queue");
	V_RC(0, ibv_destroy_qp(own));
	V_RC(0, ibv_destroy_qp(other));
	V_RC(0, ibv_destroy_cq(small));
	v_works(w);
}

/* One write of side 0 is in an extended queue. */
static void extended(struct vworld *w, struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr none = { 0 };
	struct deadline guard = deadline_start();
	int err;

	while ((err = ibv_start_poll(cq, &none)) == ENOENT)
		deadline_check(&guard, "a completion");
	V_RC(0, err);
	CHECK(cq->wr_id == 5 && cq->status == IBV_WC_SUCCESS, "request %llu, status %d", (unsigned long long)cq->wr_id,
	      (int)cq->status);
	CHECK(ibv_wc_read_opcode(cq) == IBV_WC_RDMA_WRITE, "opcode %d", (int)ibv_wc_read_opcode(cq));
	CHECK(ibv_wc_read_qp_num(cq) != w->side[0].qp->qp_num, "the qp_num of another");
	err = ibv_next_poll(cq);
	ibv_end_poll(cq);
	V_RC(ENOENT, err);
	V_RC(ENOENT, ibv_start_poll(cq, &none));
}

VPAIR(V117_an_extended_queue_is_read_entry_by_entry)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = V_CQE, .wc_flags = IBV_WC_STANDARD_FLAGS };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(w->context, &attr);
	struct ibv_cq *usual = w->side[0].send_cq;
	struct ibv_qp *own, *other;
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 8, &sge);

	if (!cq && (errno == EOPNOTSUPP || errno == ENOSYS))
		NOT_APPLICABLE("the device has no extended completion queues");
	CHECK(cq, "no extended completion queue: %s", strerror(errno));
	w->side[0].send_cq = ibv_cq_ex_to_cq(cq);
	own = v_qp(w, 0, NULL);
	w->side[0].send_cq = usual;
	other = v_qp(w, 1, NULL);
	v_connect(w, own, other);
	wr.wr_id = 5;
	v_send(own, &wr);
	extended(w, cq);
	V_RC(0, ibv_destroy_qp(own));
	V_RC(0, ibv_destroy_qp(other));
	V_RC(0, ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
}
