/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_unreliable.c - unreliable connections: V180 to V186. */
#include "tests/rules/verbs/vworld.h"

#define UC .type = { IBV_QPT_UC, IBV_QPT_UC }
#define WRITE IBV_WR_RDMA_WRITE

/* Neither has noticed anything, and what comes is received. */
static void both_go_on(struct vworld *w)
{
	for (int side = 0; side < 2; side++) {
		CHECK(v_state(w->side[side].qp) == IBV_QPS_RTS, "side %d is in state %d", side, (int)v_state(w->side[side].qp));
		v_none(w->side[side].recv_cq, "of what is lost");
	}
	v_works(w);
	v_no_event(w, IBV_EVENT_QP_ACCESS_ERR);
	v_no_event(w, IBV_EVENT_QP_REQ_ERR);
	v_no_event(w, IBV_EVENT_QP_FATAL);
}

/* Until side 1 has seen that write of side 0, which is behind all others. */
static void await_write(struct vworld *w)
{
	struct deadline guard = deadline_start();

	v_does(w, 0, WRITE, 4096, 8, IBV_WC_SUCCESS);
	while (!v_is(w->side[1].bytes + 4096, 0x10, 8))
		deadline_check(&guard, "the bytes of a write");
}

VPAIR(V180_what_has_no_receive_is_lost, UC)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 64, &sge);

	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	await_write(w);
	both_go_on(w);
}

VPAIR(V180_what_the_region_refuses_is_lost, UC)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 64, &sge);

	wr.wr.rdma.rkey ^= 0x55;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_does(w, 0, WRITE, V_SPAN - 32, 64, IBV_WC_SUCCESS);
	await_write(w);
	CHECK(v_is(w->side[1].bytes, 0x11, 64) && v_is(w->side[1].bytes + V_SPAN - 32, 0x11, 32), "bytes were written");
	both_go_on(w);
}

VPAIR(V180_what_the_queue_pair_refuses_is_lost, UC, .qp_without = IBV_ACCESS_REMOTE_WRITE)
{
	v_does(w, 0, WRITE, 0, 64, IBV_WC_SUCCESS);
	v_receive(w, 1, 4096, 64, 1);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes were written");
	v_no_event(w, IBV_EVENT_QP_ACCESS_ERR);
}

VRESET(V180_what_reaches_nobody_is_lost, UC)
{
	for (int state = 0; state < 3; state++)
		v_to(w, 0, ((const enum ibv_qp_state[]){ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS })[state]);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_does(w, 0, WRITE, 0, V_SPAN, IBV_WC_SUCCESS);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_RTS, "the queue pair is in state %d", (int)v_state(w->side[0].qp));
	for (int state = 0; state < 3; state++)
		v_to(w, 1, ((const enum ibv_qp_state[]){ IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS })[state]);
	v_works(w);
}

VPAIR(V181_the_receive_of_a_message_that_is_too_long_takes_the_next, UC)
{
	v_receive(w, 1, 0, 64, 1);
	v_does(w, 0, IBV_WR_SEND, 0, 65, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_SEND, 0, V_SPAN, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_SEND, 0, 8, IBV_WC_SUCCESS);
	CHECK(v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS).byte_len == 8, "another message was received");
	CHECK(v_is(w->side[1].bytes + 64, 0x11, 64), "bytes behind the receive were written");
	both_go_on(w);
}

VPAIR(V181_a_shared_one_too, UC, .srq = true)
{
	v_receive(w, 1, 0, 64, 1);
	v_does(w, 0, IBV_WR_SEND, 0, 65, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_SEND, 0, 8, IBV_WC_SUCCESS);
	CHECK(v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS).byte_len == 8, "another message was received");
	both_go_on(w);
}

VRESET(V182_any_packet_sequence_number_is_taken, UC)
{
	static const enum ibv_qp_state ways[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (int i = 0; i < 3; i++)
		for (int side = 0; side < 2; side++) {
			struct ibv_qp_attr attr;
			int mask = v_attr(w, side, ways[i], &attr);

			attr.sq_psn += (unsigned)side + 1;
			V_RC(0, ibv_modify_qp(w->side[side].qp, &attr, mask));
		}
	both_go_on(w);
}

VPAIR(V183_a_receive_whose_region_has_ended, UC)
{
	v_receive(w, 1, 0, 64, 1);
	V_RC(0, ibv_dereg_mr(w->side[1].mr));
	w->side[1].mr = NULL;
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes were written");
	v_no_event(w, IBV_EVENT_QP_FATAL);
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "the queue pair is in state %d", (int)v_state(w->side[1].qp));
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_RTS, "its peer is in state %d", (int)v_state(w->side[0].qp));
}

static void fail_here(struct vworld *w)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND, 0, 64, &sge);

	sge.lkey ^= 0x55;
	wr.wr_id = 1;
	v_send(w->side[0].qp, &wr);
}

VPAIR(V184_a_local_failure_leads_to_SQE, UC)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .cur_qp_state = IBV_QPS_SQE };

	v_receive(w, 0, 0, 64, 10);
	fail_here(w);
	v_post(w, 0, WRITE, 0, 64, 2);
	v_done(w->side[0].send_cq, 1, IBV_WC_LOC_PROT_ERR);
	v_done(w->side[0].send_cq, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_SQE, "the queue pair is in state %d", (int)v_state(w->side[0].qp));
	v_does(w, 0, WRITE, 0, 64, IBV_WC_WR_FLUSH_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes were written");
	v_does(w, 1, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_done(w->side[0].recv_cq, 10, IBV_WC_SUCCESS);
	memset(w->side[0].bytes, 0x10, 64);
	V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
	both_go_on(w);
}

VPAIR(V184_and_from_there_to_ERR_and_RESET, UC)
{
	for (int i = 0; i < 2; i++) {
		v_receive(w, 0, 0, 64, 10);
		fail_here(w);
		v_done(w->side[0].send_cq, 1, IBV_WC_LOC_PROT_ERR);
		CHECK(v_state(w->side[0].qp) == IBV_QPS_SQE, "the queue pair is in state %d", (int)v_state(w->side[0].qp));
		v_none(w->side[0].recv_cq, "in SQE");
		v_to(w, 0, i ? IBV_QPS_RESET : IBV_QPS_ERR);
		if (!i)
			v_done(w->side[0].recv_cq, 10, IBV_WC_WR_FLUSH_ERR);
		v_none(w->side[0].recv_cq, "after RESET");
		if (!i) {
			v_to(w, 0, IBV_QPS_RESET);
			v_to(w, 1, IBV_QPS_RESET);
			v_meet(w);
		}
	}
}

VPAIR(V185_reads_and_atomics_are_refused, UC)
{
	static const enum ibv_wr_opcode others[] = { IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
						     IBV_WR_SEND_WITH_INV };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		struct ibv_sge sge;
		struct ibv_send_wr wr = v_request(w, 0, others[i], 0, 8, &sge), *bad = NULL;

		V_RC(EINVAL, ibv_post_send(w->side[0].qp, &wr, &bad));
		CHECK(bad == &wr, "bad_wr is another one");
	}
	v_none(w->side[0].send_cq, "of what was refused");
	both_go_on(w);
}

VPAIR(V186_two_types_do_not_meet, .type = { IBV_QPT_UC, IBV_QPT_RC }, .retry_few = true)
{
	v_receive(w, 0, 0, 64, 1);
	v_receive(w, 1, 0, 64, 1);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_does(w, 1, IBV_WR_SEND, 0, 64, IBV_WC_RETRY_EXC_ERR);
	v_done(w->side[1].recv_cq, 1, IBV_WC_WR_FLUSH_ERR);
	v_none(w->side[0].recv_cq, "of another type's message");
	CHECK(v_state(w->side[0].qp) == IBV_QPS_RTS, "the UC is in state %d", (int)v_state(w->side[0].qp));
}
