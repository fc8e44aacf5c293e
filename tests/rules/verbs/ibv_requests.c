/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_requests.c - what may be posted, and in which form: V65 to V82. */
#include "tests/rules/verbs/vworld.h"

#define WRITE IBV_WR_RDMA_WRITE

VPAIR(V65_more_buffers_than_asked_for_are_refused)
{
	unsigned most = (unsigned)w->device.max_sge;
	struct ibv_sge sges[V_SGE_MOST + 1];
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 8, sges), *bad = NULL;

	CHECK(most <= V_SGE_MOST, "%u buffers are possible", most);
	for (unsigned i = 1; i <= most; i++)
		sges[i] = sges[0];
	wr.num_sge = (int)most + 1;
	V_RC(EINVAL, ibv_post_send(w->side[0].qp, &wr, &bad));
	CHECK(bad == &wr, "bad_wr is not the request");
	v_works(w);
}

VPAIR(V66_a_list_ends_at_the_first_that_is_wrong)
{
	struct ibv_sge sges[4];
	struct ibv_send_wr wr[4], *bad = NULL;

	for (int i = 0; i < 4; i++) {
		wr[i] = v_request(w, 0, WRITE, 64u * (unsigned)i, 8, &sges[i]);
		wr[i].wr_id = (uint64_t)i;
		wr[i].next = i < 3 ? &wr[i + 1] : NULL;
	}
	wr[2].opcode = (enum ibv_wr_opcode)99;
	CHECK(ibv_post_send(w->side[0].qp, wr, &bad), "a list with an unknown opcode was taken");
	CHECK(bad == &wr[2], "bad_wr is not the wrong request");
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
	v_works(w);
	CHECK(v_is(w->side[1].bytes + 128, 0x11, 128), "the wrong request or the one behind it was carried out");
}

VPAIR(V67_a_full_queue_takes_no_more)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND, 0, 8, &sge), *bad = NULL;
	unsigned taken = 0;

	V_RC(0, ibv_query_qp(w->side[0].qp, &attr, IBV_QP_CAP, &init));
	while (taken <= attr.cap.max_send_wr && !ibv_post_send(w->side[0].qp, &wr, &bad)) /* no receive: they wait */
		taken++;
	CHECK(taken >= V_WR && taken <= attr.cap.max_send_wr, "%u requests in a queue of %u", taken, attr.cap.max_send_wr);
	CHECK(bad == &wr, "bad_wr is not the request");
	V_RC(ENOMEM, ibv_post_send(w->side[0].qp, &wr, &bad));
	v_receive(w, 1, 0, 64, 0);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	V_RC(0, ibv_post_send(w->side[0].qp, &wr, &bad)); /* one was polled */
}

VPAIR(V68_an_unknown_opcode_is_refused)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, (enum ibv_wr_opcode)99, 0, 8, &sge), *bad = NULL;

	V_RC(EINVAL, ibv_post_send(w->side[0].qp, &wr, &bad));
	CHECK(bad == &wr, "bad_wr is not the request");
	v_works(w);
}

VPAIR(V69_inline_bytes_are_taken_at_the_post)
{
	char bytes[8] = "inlined";
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND, 0, 8, &sge);

	sge = (struct ibv_sge){ (uintptr_t)bytes, 8, 0 }; /* in no region */
	wr.send_flags |= IBV_SEND_INLINE;
	v_send(w->side[0].qp, &wr);
	memset(bytes, 0, sizeof(bytes));
	v_receive(w, 1, 0, 64, 1); /* the message waited for it */
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(!strcmp((char *)w->side[1].bytes, "inlined"), "other bytes have arrived");
}

VPAIR(V70_more_bytes_inline_than_asked_for_are_refused)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 8, &sge), *bad = NULL;
	int err;

	V_RC(0, ibv_query_qp(w->side[0].qp, &attr, IBV_QP_CAP, &init));
	wr.send_flags |= IBV_SEND_INLINE;
	sge.length = attr.cap.max_inline_data + 1;
	err = ibv_post_send(w->side[0].qp, &wr, &bad);
	CHECK(err == EINVAL || err == ENOMEM, "it returned %d", err);
	CHECK(bad == &wr, "bad_wr is not the request");
	v_works(w);
}

VPAIR(V71_buffers_are_sent_in_their_order)
{
	struct ibv_sge sges[2];
	struct ibv_send_wr wr = v_request(w, 0, WRITE, 0, 3, sges);

	memset(w->side[0].bytes + 100, 0x55, 100);
	sges[1] = (struct ibv_sge){ (uintptr_t)w->side[0].bytes + 100, 5, w->side[0].mr->lkey };
	wr.num_sge = 2;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, 0x10, 3) && v_is(w->side[1].bytes + 3, 0x55, 5) && w->side[1].bytes[8] == 0x11,
	      "the bytes are not those of the two buffers");
}

VPAIR(V72_buffers_are_filled_in_their_order)
{
	struct ibv_sge sges[2] = { { (uintptr_t)w->side[1].bytes + 100, 3, w->side[1].mr->lkey },
				   { (uintptr_t)w->side[1].bytes, 5, w->side[1].mr->lkey } };
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = 2 }, *bad;

	memcpy(w->side[0].bytes, "abcdefgh", 8);
	V_RC(0, ibv_post_recv(w->side[1].qp, &wr, &bad));
	v_does(w, 0, IBV_WR_SEND, 0, 8, IBV_WC_SUCCESS);
	CHECK(v_done(w->side[1].recv_cq, 0, IBV_WC_SUCCESS).byte_len == 8, "byte_len is not 8");
	CHECK(!memcmp(w->side[1].bytes + 100, "abc\x11", 4) && !memcmp(w->side[1].bytes, "defgh\x11", 6),
	      "the bytes are not where the list says");
}

VPAIR(V72_so_are_those_of_a_read)
{
	struct ibv_sge sges[2];
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_READ, 0, 3, sges);

	memcpy(w->side[1].bytes, "abcdefgh", 8);
	sges[1] = (struct ibv_sge){ (uintptr_t)w->side[0].bytes + 100, 5, w->side[0].mr->lkey };
	wr.num_sge = 2;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	CHECK(!memcmp(w->side[0].bytes, "abc\x10", 4) && !memcmp(w->side[0].bytes + 100, "defgh\x10", 6),
	      "the bytes are not where the list says");
}

static void unsignaled(struct vworld *w, uint64_t at, uint32_t rkey, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, WRITE, at, 8, &sge);

	wr.wr_id = wr_id;
	wr.send_flags = 0;
	wr.wr.rdma.rkey = rkey;
	v_send(w->side[0].qp, &wr);
}

VPAIR(V73_what_is_not_signaled_does_not_complete, .unsignaled = true)
{
	for (uint64_t i = 0; i < 4; i++)
		unsignaled(w, 64 * i, w->side[1].mr->rkey, i);
	v_does(w, 0, WRITE, 4096, 8, IBV_WC_SUCCESS);
	v_none(w->side[0].send_cq, "not signaled");
	for (uint64_t i = 0; i < 4; i++)
		CHECK(v_is(w->side[1].bytes + 64 * i, 0x10, 8), "write %llu was not carried out", (unsigned long long)i);
}

VPAIR(V74_what_fails_completes_always, .unsignaled = true)
{
	unsignaled(w, 0, w->side[1].mr->rkey, 1);
	unsignaled(w, 0, w->side[1].mr->rkey ^ 0x5a5a5a00, 2);
	unsignaled(w, 0, w->side[1].mr->rkey, 3);
	v_done(w->side[0].send_cq, 2, IBV_WC_REM_ACCESS_ERR);
	v_done(w->side[0].send_cq, 3, IBV_WC_WR_FLUSH_ERR);
}

VPAIR(V75_a_queue_pair_may_signal_all)
{
	unsignaled(w, 0, w->side[1].mr->rkey, 1);
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
}

VPAIR(V76_a_completion_frees_those_before_it, .unsignaled = true)
{
	for (int round = 0; round < 20; round++) {
		for (uint64_t i = 1; i < V_WR; i++)
			unsignaled(w, 0, w->side[1].mr->rkey, i);
		v_does(w, 0, WRITE, 4096, 8, IBV_WC_SUCCESS);
	}
}

VPAIR(V77_a_fence_waits_for_reads)
{
	struct ibv_sge sges[2];
	struct ibv_send_wr reads = v_request(w, 0, IBV_WR_RDMA_READ, 0, V_SPAN / 2, &sges[0]);
	struct ibv_send_wr fenced = v_request(w, 0, WRITE, V_SPAN - 64, 64, &sges[1]);

	sges[1].addr = (uintptr_t)w->side[0].bytes + V_SPAN / 2 - 64; /* the last bytes that are read */
	fenced.send_flags |= IBV_SEND_FENCE;
	memset(w->side[1].bytes, 0x77, V_SPAN / 2);
	reads.next = &fenced;
	v_send(w->side[0].qp, &reads);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes + V_SPAN - 64, 0x77, 64), "the write took bytes that were not read yet");
}

static void completes(struct vworld *w, enum ibv_wr_opcode opcode, enum ibv_wc_opcode as)
{
	uint64_t wr_id = UINT64_C(0xfedcba9876543210) + (unsigned)opcode;
	struct ibv_wc wc;

	v_post(w, 0, opcode, 0, 8, wr_id);
	wc = v_done(w->side[0].send_cq, wr_id, IBV_WC_SUCCESS);
	CHECK(wc.opcode == as && wc.qp_num == w->side[0].qp->qp_num, "opcode %d, qp_num 0x%x", (int)wc.opcode, wc.qp_num);
}

VPAIR(V78_a_completion_names_its_request)
{
	struct ibv_wc wc;

	completes(w, WRITE, IBV_WC_RDMA_WRITE);
	completes(w, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ);
	completes(w, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD);
	completes(w, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP);
	v_receive(w, 1, 0, 64, UINT64_MAX);
	completes(w, IBV_WR_SEND, IBV_WC_SEND);
	wc = v_done(w->side[1].recv_cq, UINT64_MAX, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_RECV && wc.qp_num == w->side[1].qp->qp_num && wc.byte_len == 8,
	      "opcode %d, qp_num 0x%x, byte_len %u", (int)wc.opcode, wc.qp_num, wc.byte_len);
}

VPAIR(V79_receives_have_bounds_and_lists_too)
{
	unsigned most = (unsigned)w->device.max_sge;
	struct ibv_sge sges[V_SGE_MOST + 1];
	struct ibv_recv_wr wr[3] = { 0 }, *bad = NULL;

	CHECK(most <= V_SGE_MOST, "%u buffers are possible", most);
	for (unsigned i = 0; i <= most; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)w->side[1].bytes, 8, w->side[1].mr->lkey };
	for (int i = 0; i < 3; i++)
		wr[i] = (struct ibv_recv_wr){
			.wr_id = (uint64_t)i, .sg_list = sges, .num_sge = 1, .next = i < 2 ? &wr[i + 1] : NULL
		};
	wr[1].num_sge = (int)most + 1;
	V_RC(EINVAL, ibv_post_recv(w->side[1].qp, wr, &bad));
	CHECK(bad == &wr[1], "bad_wr is not the wrong receive");
	v_to(w, 1, IBV_QPS_ERR);
	v_done(w->side[1].recv_cq, 0, IBV_WC_WR_FLUSH_ERR);
	v_none(w->side[1].recv_cq, "behind the wrong receive");
}

VPAIR(V80_a_full_receive_queue_takes_no_more)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	unsigned taken = 0;

	V_RC(0, ibv_query_qp(w->side[1].qp, &attr, IBV_QP_CAP, &init));
	while (taken <= attr.cap.max_recv_wr && !ibv_post_recv(w->side[1].qp, &wr, &bad))
		taken++;
	CHECK(taken >= V_WR && taken <= attr.cap.max_recv_wr, "%u receives in a queue of %u", taken, attr.cap.max_recv_wr);
	CHECK(bad == &wr, "bad_wr is not the receive");
	V_RC(ENOMEM, ibv_post_recv(w->side[1].qp, &wr, &bad));
}

/* A write and a message, by calls. */
static struct ibv_qp_ex *build(struct vworld *w)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(w->side[0].qp);

	CHECK(qp, "it is no extended queue pair");
	ibv_wr_start(qp);
	qp->wr_id = 1;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, w->side[1].mr->rkey, (uintptr_t)w->side[1].bytes);
	ibv_wr_set_sge(qp, w->side[0].mr->lkey, (uintptr_t)w->side[0].bytes, 64);
	qp->wr_id = 2;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, w->side[0].mr->lkey, (uintptr_t)w->side[0].bytes, 8);
	return qp;
}

VPAIR(V81_requests_that_were_built_are_posted_together, .qp_ex = true)
{
	v_receive(w, 1, 4096, 64, 3);
	V_RC(0, ibv_wr_complete(build(w)));
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
	v_done(w->side[0].send_cq, 2, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 3, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, 0x10, 64), "the bytes have not arrived");
}

VPAIR(V82_requests_that_were_abandoned_are_not, .qp_ex = true)
{
	v_receive(w, 1, 4096, 64, 3);
	ibv_wr_abort(build(w));
	v_does(w, 0, WRITE, 8192, 8, IBV_WC_SUCCESS);
	v_none(w->side[0].send_cq, "abandoned");
	v_none(w->side[1].recv_cq, "abandoned");
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes have arrived");
}
