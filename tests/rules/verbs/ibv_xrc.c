/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_xrc.c - XRC: domains, and queue pairs whose requests name a shared receive queue: V187 to V191. */
#include "tests/rules/verbs/vworld.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define XRC .type = { IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV }

enum { ALL = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD };

static struct ibv_xrcd *open_domain(struct vworld *w, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = fd,
					   .oflags = oflags };

	return ibv_open_xrcd(w->context, &attr);
}

static struct ibv_srq *open_srq(struct vworld *w, struct ibv_xrcd *xrcd, struct ibv_pd *pd, uint32_t *number)
{
	struct ibv_srq_init_attr_ex attr = { .attr = { .max_wr = V_WR, .max_sge = V_SGE },
					     .comp_mask = ALL,
					     .srq_type = IBV_SRQT_XRC,
					     .pd = pd,
					     .cq = w->side[1].send_cq, /* which is nobody's else */
					     .xrcd = xrcd };
	struct ibv_srq *srq = ibv_create_srq_ex(w->context, &attr);

	CHECK(srq, "no shared receive queue: %s", strerror(errno));
	V_RC(0, ibv_get_srq_num(srq, number));
	return srq;
}

static void receive(struct vworld *w, struct ibv_srq *srq, struct ibv_mr *mr, uint64_t at, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)w->side[1].bytes + at, 64, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	V_RC(0, ibv_post_srq_recv(srq, &wr, &bad));
}

VPAIR(V187_a_message_goes_to_the_queue_that_it_names, XRC)
{
	uint32_t numbers[2] = { w->srqn, 0 };
	struct ibv_srq *srqs[2] = { w->srq, open_srq(w, w->xrcd, w->side[1].pd, &numbers[1]) };
	struct ibv_cq *cqs[2] = { w->side[1].recv_cq, w->side[1].send_cq };

	CHECK(numbers[0] != numbers[1], "two queues have number %u", numbers[0]);
	for (unsigned i = 0; i < 8; i++)
		receive(w, srqs[i % 2], w->side[1].mr, 64 * i, i);
	for (unsigned i = 0; i < 8; i++) {
		unsigned to = i / 2 % 2;
		uint64_t wr_id = 2 * (i / 4 * 2 + i % 2) + to;
		struct ibv_wc wc;

		w->srqn = numbers[to];
		memset(w->side[0].bytes, (int)i, 64);
		v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
		wc = v_done(cqs[to], wr_id, IBV_WC_SUCCESS);
		CHECK(wc.qp_num == w->side[1].qp->qp_num, "qp_num is 0x%x", wc.qp_num);
		CHECK(v_is(w->side[1].bytes + 64 * wr_id, (unsigned char)i, 64), "the bytes have not arrived");
		v_none(cqs[!to], "of the other queue");
	}
	V_RC(0, ibv_destroy_srq(srqs[1]));
	w->srqn = numbers[0];
	v_works(w);
}

VPAIR(V187_immediate_data_of_a_write_too, XRC)
{
	uint32_t first = w->srqn, second;
	struct ibv_srq *srq = open_srq(w, w->xrcd, w->side[1].pd, &second);
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct ibv_wc wc;

	receive(w, srq, w->side[1].mr, 0, 1);
	v_receive(w, 1, 0, 64, 2);
	w->srqn = second;
	wr = v_request(w, 0, IBV_WR_RDMA_WRITE_WITH_IMM, 4096, 64, &sge);
	wr.imm_data = htonl(77);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	wc = v_done(w->side[1].send_cq, 1, IBV_WC_SUCCESS);
	CHECK(wc.imm_data == htonl(77) && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM, "imm_data 0x%x, opcode %d", wc.imm_data,
	      (int)wc.opcode);
	v_none(w->side[1].recv_cq, "of the other queue");
	w->srqn = first;
	V_RC(0, ibv_destroy_srq(srq));
}

VPAIR(V187_a_message_waits_for_a_receive_of_that_queue, XRC)
{
	uint32_t first = w->srqn, second;
	struct ibv_srq *srq = open_srq(w, w->xrcd, w->side[1].pd, &second);

	v_receive(w, 1, 0, 64, 2);
	w->srqn = second;
	v_post(w, 0, IBV_WR_SEND, 0, 64, 1);
	v_none(w->side[0].send_cq, "without a receive");
	receive(w, srq, w->side[1].mr, 0, 1);
	v_done(w->side[0].send_cq, 1, IBV_WC_SUCCESS);
	v_done(w->side[1].send_cq, 1, IBV_WC_SUCCESS);
	w->srqn = first;
	V_RC(0, ibv_destroy_srq(srq));
}

VPAIR(V188_they_have_no_receives_and_only_one_has_requests, XRC)
{
	struct ibv_recv_wr recv = { .num_sge = 0 }, *bad_recv;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;

	for (int side = 0; side < 2; side++)
		V_RC(EINVAL, ibv_post_recv(w->side[side].qp, &recv, &bad_recv));
	V_RC(EINVAL, ibv_post_send(w->side[1].qp, &send, &bad_send));
	v_works(w);
}

VPAIR(V189_an_unknown_number_is_refused, XRC)
{
	w->srqn ^= 0x5555;
	v_receive(w, 1, 0, 64, 1);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_REM_INV_REQ_ERR);
	v_event(w, IBV_EVENT_QP_REQ_ERR);
	v_none(w->side[1].recv_cq, "of what was refused");
	CHECK(v_state(w->side[1].qp) == IBV_QPS_ERR, "the queue pair is in state %d", (int)v_state(w->side[1].qp));
}

VPAIR(V189_and_that_of_another_domain, XRC)
{
	struct ibv_xrcd *other = open_domain(w, -1, O_CREAT);
	struct ibv_srq *srq;

	CHECK(other, "no second domain: %s", strerror(errno));
	srq = open_srq(w, other, w->side[1].pd, &w->srqn);
	receive(w, srq, w->side[1].mr, 0, 1);
	v_does(w, 0, IBV_WR_RDMA_WRITE, 0, 64, IBV_WC_REM_INV_REQ_ERR);
	v_none(w->side[1].send_cq, "of another domain's queue");
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes were written");
	V_RC(0, ibv_destroy_srq(srq));
	V_RC(0, ibv_close_xrcd(other));
}

VPAIR(V189_and_that_of_one_that_was_destroyed, XRC)
{
	uint32_t first = w->srqn;
	struct ibv_srq *srq = open_srq(w, w->xrcd, w->side[1].pd, &w->srqn);

	receive(w, srq, w->side[1].mr, 0, 1);
	receive(w, srq, w->side[1].mr, 0, 2);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	V_RC(0, ibv_destroy_srq(srq));
	v_none(w->side[1].send_cq, "of a queue that is gone");
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_REM_INV_REQ_ERR);
	w->srqn = first;
}

VPAIR(V190_a_domain_in_use_does_not_close, XRC)
{
	V_RC(EBUSY, ibv_close_xrcd(w->xrcd));
	v_works(w);
}

VDEVICE(V190_a_domain_is_that_of_its_file)
{
	char path[] = "/tmp/emu-xrcd-XXXXXX";
	int fd = mkstemp(path), again;
	struct ibv_xrcd *one, *same;

	if (!(w->device.device_cap_flags & IBV_DEVICE_XRC))
		NOT_APPLICABLE("the device has no XRC");
	CHECK(fd >= 0, "mkstemp: %s", strerror(errno));
	again = open(path, O_RDONLY);
	unlink(path);
	V_NULL(EAGAIN, open_domain(w, fd, 0));
	one = open_domain(w, fd, O_CREAT | O_EXCL);
	CHECK(one, "no domain: %s", strerror(errno));
	V_NULL(EINVAL, open_domain(w, again, O_CREAT | O_EXCL));
	same = open_domain(w, again, 0);
	CHECK(same, "the file's domain is not found: %s", strerror(errno));
	V_RC(0, ibv_close_xrcd(one));
	V_RC(0, ibv_close_xrcd(same));
	V_NULL(EAGAIN, open_domain(w, fd, 0));
	V_NULL(EBADF, open_domain(w, 999, O_CREAT));
	close(again);
	close(fd);
}

VPAIR(V191_the_PD_is_that_of_the_queue_that_is_named, XRC)
{
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_mr *mr;
	struct ibv_srq *srq;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	uint32_t first = w->srqn;

	CHECK(pd, "no second PD: %s", strerror(errno));
	mr = v_region(pd, w->side[1].bytes, V_SPAN, V_ALL);
	srq = open_srq(w, w->xrcd, pd, &w->srqn);
	receive(w, srq, mr, 0, 1);
	for (int i = 0; i < 3; i++) {
		static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };

		wr = v_request(w, 0, opcodes[i], 4096, 8, &sge);
		if (opcodes[i] == IBV_WR_ATOMIC_FETCH_AND_ADD)
			wr.wr.atomic.rkey = mr->rkey;
		else
			wr.wr.rdma.rkey = mr->rkey;
		v_send(w->side[0].qp, &wr);
		v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	}
	w->srqn = first;
	v_does(w, 0, IBV_WR_RDMA_READ, 4096, 8, IBV_WC_SUCCESS);
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	wr.qp_type.xrc.remote_srqn = first;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_destroy_srq(srq));
	V_RC(0, ibv_dereg_mr(mr));
	V_RC(0, ibv_dealloc_pd(pd));
}
