/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_cm.c - see lab_cm.h. */
#include "lab_cm.h"

enum { QUEUE = 16 };

void lab_open_channel(struct lab *lab)
{
	lab->channel = NEED(rdma_create_event_channel());
}

int lab_close_id(struct lab *lab, struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	MUST(ibv_destroy_cq(lab->cq));
	MUST(ibv_dealloc_pd(lab->pd));
	line_waits_in("rdma_destroy_id(), for events to be acknowledged");
	MUST(rdma_destroy_id(id));
	rdma_destroy_event_channel(lab->channel);
	return line_close(&lab->line);
}

struct rdma_cm_id *lab_id(struct lab *lab)
{
	struct rdma_cm_id *id;

	MUST(rdma_create_id(lab->channel, &id, NULL, RDMA_PS_TCP));
	return id;
}

struct rdma_cm_event *lab_event(struct lab *lab, enum rdma_cm_event_type wanted)
{
	const char *before = line_waits_in("lab_event()");
	struct rdma_cm_event *event;

	MUST(rdma_get_cm_event(lab->channel, &event));
	line_waits_in(before);
	if (event->event == wanted)
		return event;
	printf("%s came, status %d, and not %s\n", rdma_event_str(event->event), event->status, rdma_event_str(wanted));
	exit(1);
}

void lab_pass(struct lab *lab, enum rdma_cm_event_type wanted)
{
	MUST(rdma_ack_cm_event(lab_event(lab, wanted)));
}

void lab_queue_pair(struct lab *lab, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = QUEUE, .max_recv_wr = QUEUE, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	lab->pd = NEED(ibv_alloc_pd(id->verbs));
	lab->cq = init.send_cq = init.recv_cq = NEED(ibv_create_cq(id->verbs, 2 * QUEUE, NULL, NULL, 0));
	MUST(rdma_create_qp(id, lab->pd, &init));
}
