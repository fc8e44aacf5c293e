/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_datagrams.c - queue pairs of type UD, and address handles: V140 to V157. */
#include <arpa/inet.h>

#include "tests/rules/verbs/vworld.h"

#define UD .type = { IBV_QPT_UD, IBV_QPT_UD }

enum { GRH = 40, LENGTH = 64 };

/* One message of side 0 comes, to the start of the other's memory: its completion. */
static struct ibv_wc come(struct vworld *w, enum ibv_wr_opcode opcode, uint64_t wr_id)
{
	v_receive(w, 1, 0, GRH + LENGTH, wr_id);
	v_does(w, 0, opcode, 0, LENGTH, IBV_WC_SUCCESS);
	return v_done(w->side[1].recv_cq, wr_id, IBV_WC_SUCCESS);
}

/* All is well: datagrams of one queue pair to another keep their order here, so what came before would be there. */
static void comes_alone(struct vworld *w)
{
	come(w, IBV_WR_SEND, 99);
	v_none(w->side[1].recv_cq, "a message that is to be dropped has come");
}

static struct ibv_send_wr message(struct vworld *w, struct ibv_sge *sge)
{
	return v_request(w, 0, IBV_WR_SEND, 0, LENGTH, sge);
}

VRESET(V140_messages_are_received_from_RTR_on, UD)
{
	v_to(w, 0, IBV_QPS_INIT);
	v_to(w, 0, IBV_QPS_RTR);
	v_to(w, 0, IBV_QPS_RTS);
	v_to(w, 1, IBV_QPS_INIT);
	v_does(w, 0, IBV_WR_SEND, 0, LENGTH, IBV_WC_SUCCESS);
	v_to(w, 1, IBV_QPS_RTR);
	comes_alone(w);
}

VPAIR(V141_a_message_with_another_Q_Key_is_dropped, UD)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = message(w, &sge);

	v_receive(w, 1, 0, GRH + LENGTH, 1);
	wr.wr.ud.remote_qkey ^= 1;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_SEND, 0, LENGTH, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	v_none(w->side[1].recv_cq, "two messages took one receive");
	comes_alone(w);
}

VPAIR(V142_a_message_to_no_queue_pair_is_dropped, UD)
{
	struct ibv_qp *gone = v_qp(w, 1, NULL);
	struct ibv_sge sge;
	struct ibv_send_wr wr = message(w, &sge);

	wr.wr.ud.remote_qpn = gone->qp_num;
	V_RC(0, ibv_destroy_qp(gone));
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	comes_alone(w);
}

VPAIR(V143_a_message_comes_behind_a_GRH, UD)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_SEND_WITH_IMM, 0, LENGTH, &sge);
	struct ibv_wc wc;

	wr.imm_data = htonl(0x12345678);
	v_receive(w, 1, 0, GRH + LENGTH, 1);
	memset(w->side[1].bytes, 0xee, V_SPAN);
	v_send(w->side[0].qp, &wr);
	wc = v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	CHECK(wc.opcode == IBV_WC_RECV && wc.byte_len == GRH + LENGTH, "opcode %d, byte_len %u", (int)wc.opcode, wc.byte_len);
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM && wc.imm_data == wr.imm_data, "wc_flags 0x%x", wc.wc_flags);
	CHECK(wc.src_qp == w->side[0].qp->qp_num && wc.qp_num == w->side[1].qp->qp_num, "src_qp 0x%x, qp_num 0x%x", wc.src_qp,
	      wc.qp_num);
	CHECK(v_is(w->side[1].bytes + GRH, 0x10, LENGTH), "the message is not behind the GRH");
	CHECK(v_is(w->side[1].bytes + GRH + LENGTH, 0xee, 64), "more than the message was written");
	if (w->port.link_layer == IBV_LINK_LAYER_ETHERNET)
		CHECK(wc.wc_flags & IBV_WC_GRH, "wc_flags 0x%x without IBV_WC_GRH", wc.wc_flags);
}

VPAIR(V144_a_message_without_a_receive_is_dropped, UD)
{
	for (int i = 0; i < 3; i++)
		v_does(w, 0, IBV_WR_SEND, 0, LENGTH, IBV_WC_SUCCESS);
	comes_alone(w);
}

VPAIR(V145_a_message_that_is_too_long_for_its_receive_is_not_received, UD)
{
	struct ibv_wc wc;
	int n;

	memset(w->side[1].bytes, 0xee, V_SPAN);
	v_receive(w, 1, 0, GRH + LENGTH - 1, 1);
	v_does(w, 0, IBV_WR_SEND, 0, LENGTH, IBV_WC_SUCCESS);
	v_does(w, 0, IBV_WR_SEND, 0, LENGTH - 1, IBV_WC_SUCCESS);
	wc = v_next(w->side[1].recv_cq);
	CHECK(wc.wr_id == 1, "another receive");
	CHECK(wc.status == IBV_WC_LOC_LEN_ERR || (!wc.status && wc.byte_len == GRH + LENGTH - 1), "status %d, byte_len %u",
	      (int)wc.status, wc.byte_len);
	n = ibv_poll_cq(w->side[1].recv_cq, 1, &wc);
	CHECK(!n, "a second completion");
	CHECK(v_is(w->side[1].bytes + GRH + LENGTH - 1, 0xee, 64), "more than the receive was written");
}

VPAIR(V146_the_top_bit_asks_for_the_own_Q_Key, UD)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = message(w, &sge);

	v_receive(w, 1, 0, GRH + LENGTH, 1);
	wr.wr.ud.remote_qkey = 0x80000000;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
}

/* A request that fails on its own side, and one behind it. */
static void stop_sends(struct vworld *w)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = message(w, &sge);

	sge.lkey ^= 0xff;
	wr.wr_id = 1;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 1, IBV_WC_LOC_PROT_ERR);
	CHECK(v_state(w->side[0].qp) == IBV_QPS_SQE, "state %d after a request has failed", (int)v_state(w->side[0].qp));
	v_does(w, 0, IBV_WR_SEND, 0, LENGTH, IBV_WC_WR_FLUSH_ERR);
}

VPAIR(V147_a_failed_request_stops_requests_alone, UD)
{
	stop_sends(w);
	v_receive(w, 0, 0, GRH + LENGTH, 2);
	v_does(w, 1, IBV_WR_SEND, 0, LENGTH, IBV_WC_SUCCESS);
	v_done(w->side[0].recv_cq, 2, IBV_WC_SUCCESS);
}

VPAIR(V148_SQE_to_RTS, UD)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	stop_sends(w);
	V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, IBV_QP_STATE));
	comes_alone(w);
}

VPAIR(V149_an_address_handle_is_of_the_same_PD, UD)
{
	struct ibv_pd *pd = ibv_alloc_pd(w->context);
	struct ibv_ah_attr path;
	struct ibv_sge sge;
	struct ibv_send_wr wr = message(w, &sge);
	struct ibv_wc wc;

	CHECK(pd, "no second PD");
	v_path(w, &path);
	wr.wr.ud.ah = ibv_create_ah(pd, &path);
	CHECK(wr.wr.ud.ah, "ibv_create_ah: %s", strerror(errno));
	V_RC(EBUSY, ibv_dealloc_pd(pd));
	v_send(w->side[0].qp, &wr);
	wc = v_next(w->side[0].send_cq);
	CHECK(wc.status == IBV_WC_LOC_QP_OP_ERR, "status %d (%s)", (int)wc.status, ibv_wc_status_str(wc.status));
	V_RC(0, ibv_destroy_ah(wr.wr.ud.ah));
	V_RC(0, ibv_dealloc_pd(pd));
}

VDEVICE(V150_an_address_handle_has_bounds)
{
	struct ibv_ah_attr path, good;
	struct ibv_ah *ah;

	v_path(w, &good);
	ah = ibv_create_ah(w->side[0].pd, &good);
	CHECK(ah, "ibv_create_ah: %s", strerror(errno));
	V_RC(0, ibv_destroy_ah(ah));
	path = good;
	path.port_num = (uint8_t)(w->device.phys_port_cnt + 1);
	V_NULL(EINVAL, ibv_create_ah(w->side[0].pd, &path));
	if (w->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	path = good;
	path.is_global = 0;
	V_NULL(EINVAL, ibv_create_ah(w->side[0].pd, &path));
	path = good;
	path.grh.sgid_index = (uint8_t)w->port.gid_tbl_len;
	V_NULL(EINVAL, ibv_create_ah(w->side[0].pd, &path));
}

VPAIR(V151_a_message_has_at_most_the_MTU, UD)
{
	uint32_t most = 128u << w->port.active_mtu;

	v_receive(w, 1, 0, GRH + most, 1);
	v_does(w, 0, IBV_WR_SEND, 0, most, IBV_WC_SUCCESS);
	CHECK(v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS).byte_len == GRH + most, "another length");
	CHECK(v_is(w->side[1].bytes + GRH, 0x10, most), "other bytes");
	v_does(w, 0, IBV_WR_SEND, 0, most + 1, IBV_WC_LOC_LEN_ERR);
}

VPAIR(V152_a_message_that_came_leads_back, UD)
{
	struct ibv_wc wc = come(w, IBV_WR_SEND, 1);
	struct ibv_ah *ah = ibv_create_ah_from_wc(w->side[1].pd, &wc, (struct ibv_grh *)w->side[1].bytes, 1);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 1, IBV_WR_SEND, 0, LENGTH, &sge);

	CHECK(ah, "ibv_create_ah_from_wc: %s", strerror(errno));
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = wc.src_qp;
	v_receive(w, 0, 4096, GRH + LENGTH, 2);
	v_send(w->side[1].qp, &wr);
	v_done(w->side[0].recv_cq, 2, IBV_WC_SUCCESS);
	V_RC(0, ibv_destroy_ah(ah));
}

VPAIR(V153_messages_take_shared_receives, UD, .srq = true)
{
	struct ibv_wc wc = come(w, IBV_WR_SEND, 1);

	CHECK(wc.qp_num == w->side[1].qp->qp_num && wc.src_qp == w->side[0].qp->qp_num, "qp_num 0x%x, src_qp 0x%x", wc.qp_num,
	      wc.src_qp);
	comes_alone(w);
}

/* Of IPv6, for any network; link-local. */
static const union ibv_gid group = { .raw = { 0xff, 0x12, 0x40, 0x1b, [14] = 0x65, 0x6d } };
static const union ibv_gid second = { .raw = { 0xff, 0x12, 0x40, 0x1b, [14] = 0x65, 0x6e } };

static void attach(struct vworld *w, int side, const union ibv_gid *gid)
{
	int err = ibv_attach_mcast(w->side[side].qp, gid, 0);

	if (err == EOPNOTSUPP || !w->device.max_mcast_grp)
		NOT_APPLICABLE("the device has no groups");
	V_RC(0, err);
}

/* Side 0 sends to a group. */
static void send_to(struct vworld *w, const union ibv_gid *gid)
{
	struct ibv_ah_attr path;
	struct ibv_sge sge;
	struct ibv_send_wr wr = message(w, &sge);

	v_path(w, &path);
	path.grh.dgid = *gid;
	path.is_global = 1;
	wr.wr.ud.ah = ibv_create_ah(w->side[0].pd, &path);
	CHECK(wr.wr.ud.ah, "ibv_create_ah: %s", strerror(errno));
	wr.wr.ud.remote_qpn = 0xffffff;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	V_RC(0, ibv_destroy_ah(wr.wr.ud.ah));
}

VPAIR(V154_a_message_to_a_group_comes_to_all, UD)
{
	struct ibv_wc wc;

	attach(w, 0, &group);
	attach(w, 1, &group);
	v_receive(w, 0, 4096, GRH + LENGTH, 1);
	v_receive(w, 1, 0, GRH + LENGTH, 2);
	send_to(w, &group);
	v_done(w->side[0].recv_cq, 1, IBV_WC_SUCCESS);
	wc = v_done(w->side[1].recv_cq, 2, IBV_WC_SUCCESS);
	CHECK(wc.src_qp == w->side[0].qp->qp_num && wc.byte_len == GRH + LENGTH, "src_qp 0x%x, byte_len %u", wc.src_qp,
	      wc.byte_len);
	CHECK(v_is(w->side[1].bytes + GRH, 0x10, LENGTH), "other bytes");
	V_RC(0, ibv_detach_mcast(w->side[0].qp, &group, 0));
	V_RC(0, ibv_detach_mcast(w->side[1].qp, &group, 0));
	v_receive(w, 1, 0, GRH + LENGTH, 3);
	send_to(w, &group);
	v_none(w->side[1].recv_cq, "after it was detached");
	v_none(w->side[0].recv_cq, "after it was detached");
}

VPAIR(V155_what_may_be_attached, UD)
{
	union ibv_gid none = { .raw = { 0xfe, 0x80, [15] = 1 } };
	struct ibv_qp *rc;

	attach(w, 1, &group);
	V_RC(0, ibv_detach_mcast(w->side[1].qp, &group, 0));
	V_RC(EINVAL, ibv_attach_mcast(w->side[1].qp, &none, 0));
	w->wish.type[0] = IBV_QPT_RC;
	rc = v_qp(w, 0, NULL);
	w->wish.type[0] = IBV_QPT_UD;
	V_RC(EINVAL, ibv_attach_mcast(rc, &group, 0));
	V_RC(0, ibv_destroy_qp(rc));
}

VPAIR(V156_several_groups, UD)
{
	attach(w, 1, &group);
	attach(w, 1, &second);
	attach(w, 1, &group);
	v_receive(w, 1, 0, GRH + LENGTH, 1);
	v_receive(w, 1, 0, GRH + LENGTH, 2);
	send_to(w, &group);
	v_done(w->side[1].recv_cq, 1, IBV_WC_SUCCESS);
	send_to(w, &second);
	v_done(w->side[1].recv_cq, 2, IBV_WC_SUCCESS);
	V_RC(0, ibv_detach_mcast(w->side[1].qp, &group, 0));
	V_RC(0, ibv_detach_mcast(w->side[1].qp, &second, 0));
	V_RC(EINVAL, ibv_detach_mcast(w->side[1].qp, &group, 0));
}

VPAIR(V157_an_attached_queue_pair_stays, UD)
{
	attach(w, 1, &group);
	V_RC(EBUSY, ibv_destroy_qp(w->side[1].qp));
	V_RC(0, ibv_detach_mcast(w->side[1].qp, &group, 0));
}
