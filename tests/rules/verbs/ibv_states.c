/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_states.c - the states of queue pairs, and the calls that change them: V43 to V53. */
#include "tests/rules/verbs/vworld.h"

VRESET(V43_a_new_queue_pair_is_in_reset)
{
	CHECK(v_state(w->side[0].qp) == IBV_QPS_RESET && w->side[0].qp->state == IBV_QPS_RESET, "it is in state %d",
	      (int)v_state(w->side[0].qp));
}

/* Each attribute but the state, left out, is missed. */
static void needs_each(struct vworld *w, enum ibv_qp_state to)
{
	enum ibv_qp_state from = v_state(w->side[0].qp);
	struct ibv_qp_attr attr;
	int mask = v_attr(w, 0, to, &attr);

	for (int bit = 1; bit <= mask; bit <<= 1) {
		if (!(mask & bit) || bit == IBV_QP_STATE)
			continue;
		check_label("without attribute 0x%x", (unsigned)bit);
		V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask & ~bit));
		CHECK(v_state(w->side[0].qp) == from, "the state has changed");
	}
	check_label("%s", "");
	v_to(w, 0, to);
	CHECK(v_state(w->side[0].qp) == to && w->side[0].qp->state == to, "it is not in the state asked for");
}

VRESET(V44_init_needs_partition_port_and_rights)
{
	needs_each(w, IBV_QPS_INIT);
}

VRESET(V45_rtr_needs_all_of_the_peer)
{
	v_to(w, 0, IBV_QPS_INIT);
	needs_each(w, IBV_QPS_RTR);
}

VRESET(V46_rts_needs_number_and_retries)
{
	v_to(w, 0, IBV_QPS_INIT);
	v_to(w, 0, IBV_QPS_RTR);
	needs_each(w, IBV_QPS_RTS);
}

static const enum ibv_qp_state ways[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

static void bring(struct vworld *w, enum ibv_qp_state to)
{
	for (int i = 1; i < 4 && ways[i] <= to; i++)
		v_to(w, 0, ways[i]);
	if (to == IBV_QPS_ERR)
		v_to(w, 0, to);
}

VRESET(V47_there_are_no_other_ways)
{
	static const struct {
		enum ibv_qp_state from, to;
	} wrong[] = {
		{ IBV_QPS_RESET, IBV_QPS_RTR }, { IBV_QPS_RESET, IBV_QPS_RTS }, { IBV_QPS_RESET, IBV_QPS_SQD },
		{ IBV_QPS_INIT, IBV_QPS_RTS },  { IBV_QPS_INIT, IBV_QPS_SQD },  { IBV_QPS_RTR, IBV_QPS_INIT },
		{ IBV_QPS_RTR, IBV_QPS_RTR },   { IBV_QPS_RTR, IBV_QPS_SQD },   { IBV_QPS_RTS, IBV_QPS_INIT },
		{ IBV_QPS_RTS, IBV_QPS_RTR },   { IBV_QPS_RTS, IBV_QPS_SQE },   { IBV_QPS_ERR, IBV_QPS_INIT },
		{ IBV_QPS_ERR, IBV_QPS_RTR },   { IBV_QPS_ERR, IBV_QPS_RTS },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct ibv_qp_attr attr;
		int mask = v_attr(w, 0, wrong[i].to, &attr);

		check_label("from state %d to %d", (int)wrong[i].from, (int)wrong[i].to);
		v_to(w, 0, IBV_QPS_RESET);
		bring(w, wrong[i].from);
		V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask));
		CHECK(v_state(w->side[0].qp) == wrong[i].from, "the state has changed");
	}
}

VRESET(V48_an_attribute_of_another_transition_is_refused)
{
	struct ibv_qp_attr attr;
	int mask = v_attr(w, 0, IBV_QPS_INIT, &attr);

	V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask | IBV_QP_TIMEOUT));
	v_to(w, 0, IBV_QPS_INIT);
	mask = v_attr(w, 0, IBV_QPS_RTR, &attr);
	V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask | IBV_QP_SQ_PSN));
	v_to(w, 0, IBV_QPS_RTR);
	mask = v_attr(w, 0, IBV_QPS_RTS, &attr);
	V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask | IBV_QP_DEST_QPN));
	v_to(w, 0, IBV_QPS_RTS);
	V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, IBV_QP_SQ_PSN));
}

VRESET(V49_each_state_leads_to_reset_and_error)
{
	static const enum ibv_qp_state from[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR };

	for (int i = 0; i < 4; i++) {
		check_label("from state %d", (int)from[i]);
		bring(w, from[i]);
		v_to(w, 0, IBV_QPS_ERR);
		CHECK(v_state(w->side[0].qp) == IBV_QPS_ERR, "it is not in ERR");
		v_to(w, 0, IBV_QPS_RESET);
		bring(w, from[i]);
		v_to(w, 0, IBV_QPS_RESET);
		CHECK(v_state(w->side[0].qp) == IBV_QPS_RESET, "it is not in RESET");
	}
}

VRESET(V50_init_and_rts_may_change_attributes)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, got;
	int mask = v_attr(w, 0, IBV_QPS_INIT, &attr);

	v_to(w, 0, IBV_QPS_INIT);
	attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, mask));
	V_RC(0, ibv_query_qp(w->side[0].qp, &got, IBV_QP_ACCESS_FLAGS, &init));
	CHECK((got.qp_access_flags & V_ALL & ~IBV_ACCESS_LOCAL_WRITE) == IBV_ACCESS_REMOTE_READ, "access 0x%x",
	      got.qp_access_flags);
	v_to(w, 0, IBV_QPS_RTR);
	v_to(w, 0, IBV_QPS_RTS);
	attr = (struct ibv_qp_attr){ .qp_access_flags = IBV_ACCESS_REMOTE_WRITE, .min_rnr_timer = 14 };
	V_RC(0, ibv_modify_qp(w->side[0].qp, &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER));
	V_RC(0, ibv_query_qp(w->side[0].qp, &got, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER, &init));
	CHECK((got.qp_access_flags & V_ALL & ~IBV_ACCESS_LOCAL_WRITE) == IBV_ACCESS_REMOTE_WRITE, "access 0x%x",
	      got.qp_access_flags);
	CHECK(got.min_rnr_timer == 14, "min_rnr_timer %u", got.min_rnr_timer);
}

VPAIR(V51_a_change_that_is_refused_changes_nothing)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr, got;

	v_attr(w, 1, IBV_QPS_RTR, &attr);
	attr.qp_access_flags = 0;
	attr.min_rnr_timer = 20;
	V_RC(EINVAL, ibv_modify_qp(w->side[1].qp, &attr, IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_RQ_PSN));
	V_RC(0, ibv_query_qp(w->side[1].qp, &got, IBV_QP_MIN_RNR_TIMER, &init));
	CHECK(got.min_rnr_timer == 1, "min_rnr_timer %u", got.min_rnr_timer);
	v_works(w);
}

VRESET(V52_values_beyond_the_device_are_refused)
{
	struct ibv_qp_attr attr;
	int mask = v_attr(w, 0, IBV_QPS_INIT, &attr);

	attr.port_num = (uint8_t)(w->device.phys_port_cnt + 1);
	V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask));
	v_attr(w, 0, IBV_QPS_INIT, &attr);
	attr.pkey_index = w->port.pkey_tbl_len;
	V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask));
	v_to(w, 0, IBV_QPS_INIT);
	mask = v_attr(w, 0, IBV_QPS_RTR, &attr);
	if (w->device.max_qp_rd_atom < UINT8_MAX) {
		attr.max_dest_rd_atomic = (uint8_t)(w->device.max_qp_rd_atom + 1);
		V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask));
	}
	v_to(w, 0, IBV_QPS_RTR);
	mask = v_attr(w, 0, IBV_QPS_RTS, &attr);
	if (w->device.max_qp_init_rd_atom < UINT8_MAX) {
		attr.max_rd_atomic = (uint8_t)(w->device.max_qp_init_rd_atom + 1);
		V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask));
	}
	CHECK(v_state(w->side[0].qp) == IBV_QPS_RTR, "the state has changed");
}

VRESET(V53_a_path_on_ethernet_has_a_gid)
{
	struct ibv_qp_attr attr;
	int mask;

	if (w->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		NOT_APPLICABLE("the port is not Ethernet's");
	v_to(w, 0, IBV_QPS_INIT);
	mask = v_attr(w, 0, IBV_QPS_RTR, &attr);
	attr.ah_attr.is_global = 0;
	V_RC(EINVAL, ibv_modify_qp(w->side[0].qp, &attr, mask));
	v_to(w, 0, IBV_QPS_RTR);
}
