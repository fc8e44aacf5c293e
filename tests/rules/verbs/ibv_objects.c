/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_objects.c - objects, what they are made with, and the order in which they close: V1 to V8. */
#include "tests/rules/verbs/vworld.h"

VTEST(V1_objects_of_two_contexts_do_not_mix)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct vworld one, other;

	v_open_device(&one);
	v_open_device(&other);
	init.send_cq = init.recv_cq = ibv_create_cq(other.context, 4, NULL, NULL, 0);
	CHECK(init.send_cq, "no completion queue");
	CHECK(!ibv_create_qp(one.side[0].pd, &init), "a queue pair completes in another context");
	V_RC(0, ibv_destroy_cq(init.send_cq));
	v_close_device(&other);
	v_close_device(&one);
}

static void pd_is_busy(struct vworld *w)
{
	V_RC(EBUSY, ibv_dealloc_pd(w->side[0].pd));
}

VDEVICE(V2_a_pd_with_a_region_stays)
{
	static char bytes[64];
	struct ibv_mr *mr = v_region(w->side[0].pd, bytes, sizeof(bytes), 0);

	pd_is_busy(w);
	V_RC(0, ibv_dereg_mr(mr));
}

VRESET(V2_a_pd_with_a_queue_pair_stays)
{
	for (int side = 0; side < 2; side++) {
		V_RC(0, ibv_dereg_mr(w->side[side].mr));
		w->side[side].mr = NULL;
	}
	pd_is_busy(w);
}

VDEVICE(V2_a_pd_with_a_shared_queue_stays)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq;

	if (!w->device.max_srq)
		NOT_APPLICABLE("the device has no shared receive queues");
	srq = ibv_create_srq(w->side[0].pd, &attr);
	CHECK(srq, "no shared receive queue: %s", strerror(errno));
	pd_is_busy(w);
	V_RC(0, ibv_destroy_srq(srq));
}

VRESET(V3_a_completion_queue_with_queue_pairs_stays)
{
	V_RC(EBUSY, ibv_destroy_cq(w->side[0].send_cq));
	V_RC(EBUSY, ibv_destroy_cq(w->side[0].recv_cq));
}

VRESET(V4_a_shared_queue_with_queue_pairs_stays, .srq = true)
{
	V_RC(EBUSY, ibv_destroy_srq(w->srq));
}

VRESET(V5_a_channel_with_completion_queues_stays, .channel = true)
{
	V_RC(EBUSY, ibv_destroy_comp_channel(w->channel));
}

VPAIR(V6_what_was_not_closed_works_on, .channel = true)
{
	pd_is_busy(w);
	V_RC(EBUSY, ibv_destroy_cq(w->side[0].send_cq));
	V_RC(EBUSY, ibv_destroy_cq(w->side[1].recv_cq));
	V_RC(EBUSY, ibv_destroy_comp_channel(w->channel));
	v_works(w);
}

VDEVICE(V7_what_is_made_has_what_was_asked_for)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 13, 7, 2, 1, 24 }, .qp_context = w };
	struct ibv_cq *cq = ibv_create_cq(w->context, 33, w, NULL, 0);
	struct ibv_qp *qp;

	CHECK(cq, "no completion queue: %s", strerror(errno));
	CHECK(cq->cqe >= 33, "%d entries, and 33 were asked for", cq->cqe);
	CHECK(cq->cq_context == w && cq->context == w->context, "not the contexts that were given");
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(w->side[0].pd, &init);
	CHECK(qp, "no queue pair: %s", strerror(errno));
	CHECK(init.cap.max_send_wr >= 13 && init.cap.max_recv_wr >= 7, "fewer requests than were asked for");
	CHECK(init.cap.max_send_sge >= 2 && init.cap.max_recv_sge >= 1, "fewer buffers than were asked for");
	CHECK(init.cap.max_inline_data >= 24, "fewer bytes inline than were asked for");
	CHECK(qp->qp_context == w && qp->pd == w->side[0].pd && qp->send_cq == cq && qp->recv_cq == cq && !qp->srq,
	      "not the objects that were given");
	CHECK(qp->qp_num && !(qp->qp_num >> 24), "qp_num 0x%x", qp->qp_num);
	V_RC(0, ibv_destroy_qp(qp));
	V_RC(0, ibv_destroy_cq(cq));
}

static void refuse_cap(struct vworld *w, struct ibv_cq *cq, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = cap, .send_cq = cq, .recv_cq = cq };

	CHECK(!ibv_create_qp(w->side[0].pd, &init), "a queue pair with more than the device has: %u, %u, %u, %u", cap.max_send_wr,
	      cap.max_recv_wr, cap.max_send_sge, cap.max_recv_sge);
}

VDEVICE(V8_more_than_the_device_has_is_refused)
{
	struct ibv_cq *cq = ibv_create_cq(w->context, 4, NULL, NULL, 0);
	unsigned wr = (unsigned)w->device.max_qp_wr + 1, sge = (unsigned)w->device.max_sge + 1;

	CHECK(cq, "no completion queue: %s", strerror(errno));
	refuse_cap(w, cq, (struct ibv_qp_cap){ wr, 1, 1, 1, 0 });
	refuse_cap(w, cq, (struct ibv_qp_cap){ 1, wr, 1, 1, 0 });
	refuse_cap(w, cq, (struct ibv_qp_cap){ 1, 1, sge, 1, 0 });
	refuse_cap(w, cq, (struct ibv_qp_cap){ 1, 1, 1, sge, 0 });
	V_RC(0, ibv_destroy_cq(cq));
	CHECK(!ibv_create_cq(w->context, w->device.max_cqe + 1, NULL, NULL, 0), "a queue of max_cqe + 1 entries");
	if (w->device.max_srq) {
		struct ibv_srq_init_attr attr = { .attr = { .max_wr = (unsigned)w->device.max_srq_wr + 1, .max_sge = 1 } };

		CHECK(!ibv_create_srq(w->side[0].pd, &attr), "a shared queue of max_srq_wr + 1 receives");
	}
}
