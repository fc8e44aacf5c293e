/* SPDX-License-Identifier: BSD-2-Clause */
/* vworld.c - see vworld.h. */
#include "tests/rules/verbs/vworld.h"

#include <fcntl.h>
#include <stdlib.h>

struct vchoice vchoice = { .gid = -1 };

enum { PORT = 1 };

/* --- the device --- */

const char *v_find_device(const char **device)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	static char name[IBV_SYSFS_NAME_MAX];
	const char *why = "libibverbs.so.1 finds no device";

	if (!list)
		return why;
	for (size_t i = 0; list[i]; i++) {
		if (vchoice.device && strcmp(vchoice.device, ibv_get_device_name(list[i])) != 0)
			continue;
		strncpy(name, ibv_get_device_name(list[i]), sizeof(name) - 1);
		*device = name;
		why = NULL;
		break;
	}
	if (why && list[0])
		why = "libibverbs.so.1 finds no device of this name";
	ibv_free_device_list(list);
	return why;
}

static void open_context(struct vworld *w)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	size_t i = 0;

	CHECK(list, "no list of devices");
	while (list[i] && vchoice.device && strcmp(vchoice.device, ibv_get_device_name(list[i])) != 0)
		i++;
	CHECK(list[i], "the device is gone");
	w->context = ibv_open_device(list[i]);
	CHECK(w->context, "the device does not open: %s", strerror(errno));
	ibv_free_device_list(list);
}

void v_open_device(struct vworld *w)
{
	memset(w, 0, sizeof(*w));
	open_context(w);
	V_RC(0, ibv_query_device(w->context, &w->device));
	V_RC(0, ibv_query_port(w->context, PORT, &w->port));
	w->side[0].pd = w->side[1].pd = ibv_alloc_pd(w->context);
	CHECK(w->side[0].pd, "ibv_alloc_pd: %s", strerror(errno));
	CHECK(fcntl(w->context->async_fd, F_SETFL, O_NONBLOCK) == 0, "async_fd is no descriptor");
}

void v_close_device(struct vworld *w)
{
	V_RC(0, ibv_dealloc_pd(w->side[0].pd));
	V_RC(0, ibv_close_device(w->context));
}

/* --- sides --- */

struct ibv_mr *v_region(struct ibv_pd *pd, void *addr, size_t length, unsigned access)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, addr, length, access);

	CHECK(mr, "ibv_reg_mr with access 0x%x: %s", access, strerror(errno));
	return mr;
}

static enum ibv_qp_type type_of(const struct vworld *w, int side)
{
	return w->wish.type[side] ? w->wish.type[side] : IBV_QPT_RC;
}

static bool is_ud(const struct vworld *w)
{
	return type_of(w, 0) == IBV_QPT_UD;
}

struct ibv_qp *v_qp(struct vworld *w, int side, const struct ibv_qp_cap *cap)
{
	struct vside *of = &w->side[side];
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type_of(w, side),
		.cap = cap ? *cap : (struct ibv_qp_cap){ V_WR, V_WR, V_SGE, V_SGE, V_INLINE },
		.send_cq = of->send_cq,
		.recv_cq = of->recv_cq,
		.sq_sig_all = !w->wish.unsignaled,
		.srq = side ? w->srq : NULL,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = of->pd,
	};
	struct ibv_qp *qp;

	if (init.qp_type == IBV_QPT_XRC_RECV)
		init = (struct ibv_qp_init_attr_ex){ .qp_type = init.qp_type, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = w->xrcd };
	if (w->wish.qp_ex && !side) {
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
	}
	qp = ibv_create_qp_ex(w->context, &init);
	if (!qp && w->wish.qp_ex && errno == EOPNOTSUPP)
		NOT_APPLICABLE("the device has no extended queue pairs");
	if (!qp && init.qp_type != IBV_QPT_RC && (errno == EOPNOTSUPP || errno == EINVAL))
		NOT_APPLICABLE("the device has no queue pairs of this type");
	CHECK(qp, "no queue pair: %s", strerror(errno));
	return qp;
}

static void open_shared(struct vworld *w)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = V_WR, .max_sge = V_SGE } };

	if (!w->device.max_srq)
		NOT_APPLICABLE("the device has no shared receive queues");
	w->srq = ibv_create_srq(w->side[1].pd, &attr);
	CHECK(w->srq, "no shared receive queue: %s", strerror(errno));
}

/* A domain, and a queue of it that completes at side 1. */
static void open_domain(struct vworld *w)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1,
					     .oflags = O_CREAT };
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = V_WR, .max_sge = V_SGE },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.pd = w->side[1].pd,
		.cq = w->side[1].recv_cq,
	};

	if (!(w->device.device_cap_flags & IBV_DEVICE_XRC))
		NOT_APPLICABLE("the device has no XRC");
	w->xrcd = attr.xrcd = ibv_open_xrcd(w->context, &domain);
	CHECK(w->xrcd, "no XRC domain: %s", strerror(errno));
	w->srq = ibv_create_srq_ex(w->context, &attr);
	CHECK(w->srq, "no shared receive queue of XRC: %s", strerror(errno));
	V_RC(0, ibv_get_srq_num(w->srq, &w->srqn));
}

static void open_side(struct vworld *w, int side)
{
	unsigned access = V_ALL & ~(side ? w->wish.mr_without : 0);
	struct vside *of = &w->side[side];

	of->bytes = aligned_alloc(4096, V_SPAN);
	CHECK(of->bytes, "no memory");
	memset(of->bytes, 0x10 + side, V_SPAN);
	of->mr = v_region(of->pd, of->bytes, V_SPAN, access);
	of->send_cq = ibv_create_cq(w->context, V_CQE, &of->send_cq, w->channel, 0);
	of->recv_cq = ibv_create_cq(w->context, V_CQE, &of->recv_cq, w->channel, 0);
	CHECK(of->send_cq && of->recv_cq, "no completion queue: %s", strerror(errno));
	if (type_of(w, side) == IBV_QPT_XRC_RECV)
		open_domain(w);
	of->qp = v_qp(w, side, NULL);
}

static void open_path(struct vworld *w)
{
	struct ibv_ah_attr path;

	v_path(w, &path);
	w->ah = ibv_create_ah(w->side[0].pd, &path);
	CHECK(w->ah, "no address handle: %s", strerror(errno));
}

void v_open(struct vworld *w, const struct vwish *wish)
{
	v_open_device(w);
	w->wish = *wish;
	if (wish->two_pds)
		w->side[1].pd = ibv_alloc_pd(w->context);
	CHECK(w->side[1].pd, "no second PD: %s", strerror(errno));
	if (wish->channel) {
		w->channel = ibv_create_comp_channel(w->context);
		CHECK(w->channel, "no completion channel: %s", strerror(errno));
		CHECK(fcntl(w->channel->fd, F_SETFL, O_NONBLOCK) == 0, "the channel's fd is no descriptor");
	}
	if (wish->srq)
		open_shared(w);
	for (int side = 0; side < 2; side++)
		open_side(w, side);
	if (is_ud(w))
		open_path(w);
}

void v_close(struct vworld *w)
{
	for (int side = 0; side < 2; side++)
		if (w->side[side].qp)
			V_RC(0, ibv_destroy_qp(w->side[side].qp));
	if (w->srq)
		V_RC(0, ibv_destroy_srq(w->srq));
	if (w->xrcd)
		V_RC(0, ibv_close_xrcd(w->xrcd));
	for (int side = 0; side < 2; side++) {
		V_RC(0, ibv_destroy_cq(w->side[side].send_cq));
		V_RC(0, ibv_destroy_cq(w->side[side].recv_cq));
		if (w->side[side].mr)
			V_RC(0, ibv_dereg_mr(w->side[side].mr));
		free(w->side[side].bytes);
	}
	if (w->ah)
		V_RC(0, ibv_destroy_ah(w->ah));
	if (w->channel)
		V_RC(0, ibv_destroy_comp_channel(w->channel));
	if (w->wish.two_pds)
		V_RC(0, ibv_dealloc_pd(w->side[1].pd));
	v_close_device(w);
}

/* --- states --- */

/* The first GID of IPv4: ::ffff:a.b.c.d. */
static int choose_gid(struct vworld *w)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid gid;

	if (vchoice.gid >= 0)
		return vchoice.gid;
	for (int i = 0; i < w->port.gid_tbl_len; i++)
		if (!ibv_query_gid(w->context, PORT, i, &gid) && !memcmp(gid.raw, mapped, sizeof(mapped)))
			return i;
	return 0;
}

void v_path(struct vworld *w, struct ibv_ah_attr *av)
{
	int index = choose_gid(w);

	memset(av, 0, sizeof(*av));
	av->port_num = PORT;
	av->dlid = w->port.lid;
	if (w->port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	av->is_global = 1;
	av->grh.hop_limit = 1;
	av->grh.sgid_index = (uint8_t)index;
	V_RC(0, ibv_query_gid(w->context, PORT, index, &av->grh.dgid));
}

/* Attributes that a type has not. */
static int masked(const struct vworld *w, int side, int mask)
{
	static const int answers = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
			 asks = IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;

	switch (type_of(w, side)) {
	case IBV_QPT_UC:
		return mask & ~(answers | asks | IBV_QP_TIMEOUT);
	case IBV_QPT_XRC_SEND:
		return mask & ~answers;
	case IBV_QPT_XRC_RECV:
		return mask & ~asks;
	default:
		return mask;
	}
}

static int ud_attr(enum ibv_qp_state state)
{
	if (state == IBV_QPS_INIT)
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	return IBV_QP_STATE | (state == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0);
}

int v_attr(struct vworld *w, int side, enum ibv_qp_state state, struct ibv_qp_attr *attr)
{
	*attr = (struct ibv_qp_attr){ .qp_state = state, .port_num = PORT, .qkey = V_QKEY, .sq_psn = V_PSN };
	if (is_ud(w))
		return ud_attr(state);
	switch (state) {
	case IBV_QPS_INIT:
		attr->qp_access_flags = V_ALL & ~(side ? w->wish.qp_without : 0);
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	case IBV_QPS_RTR:
		v_path(w, &attr->ah_attr);
		attr->path_mtu = IBV_MTU_1024;
		attr->dest_qp_num = w->side[!side].qp->qp_num;
		attr->rq_psn = V_PSN;
		attr->max_dest_rd_atomic = side && w->wish.reads_none ? 0 : V_READS;
		attr->min_rnr_timer = 1;
		return masked(w, side,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	case IBV_QPS_RTS:
		attr->timeout = w->wish.retry_few ? 12 : 14;
		attr->retry_cnt = w->wish.retry_few ? 1 : 7;
		attr->rnr_retry = w->wish.rnr_few ? 1 : 7;
		attr->max_rd_atomic = V_READS;
		return masked(w, side,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC);
	default:
		return IBV_QP_STATE;
	}
}

void v_to(struct vworld *w, int side, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr;
	int mask = v_attr(w, side, state, &attr);

	V_RC(0, ibv_modify_qp(w->side[side].qp, &attr, mask));
}

static const enum ibv_qp_state ways[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
enum { WAYS = sizeof(ways) / sizeof(*ways) };

void v_meet(struct vworld *w)
{
	for (size_t i = 0; i < WAYS; i++)
		for (int side = 0; side < 2; side++)
			v_to(w, side, ways[i]);
}

void v_connect(struct vworld *w, struct ibv_qp *one, struct ibv_qp *other)
{
	struct ibv_qp *both[2] = { one, other };

	for (size_t i = 0; i < WAYS; i++)
		for (int side = 0; side < 2; side++) {
			struct ibv_qp_attr attr;
			int mask = v_attr(w, side, ways[i], &attr);

			attr.dest_qp_num = both[!side]->qp_num;
			V_RC(0, ibv_modify_qp(both[side], &attr, mask));
		}
}

enum ibv_qp_state v_state(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	V_RC(0, ibv_query_qp(qp, &attr, IBV_QP_STATE, &init));
	return attr.qp_state;
}

/* --- requests --- */

struct ibv_send_wr v_request(struct vworld *w, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length,
			     struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };
	struct vside *own = &w->side[side], *peer = &w->side[!side];

	wr.qp_type.xrc.remote_srqn = w->srqn;
	*sge = (struct ibv_sge){ (uintptr_t)own->bytes, length, own->mr ? own->mr->lkey : 0 };
	if (is_ud(w)) {
		wr.wr.ud.ah = w->ah;
		wr.wr.ud.remote_qpn = peer->qp->qp_num;
		wr.wr.ud.remote_qkey = V_QKEY;
	} else if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->bytes + at;
		wr.wr.atomic.rkey = peer->mr ? peer->mr->rkey : 0;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->bytes + at;
		wr.wr.rdma.rkey = peer->mr ? peer->mr->rkey : 0;
	}
	return wr;
}

void v_send(struct ibv_qp *qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	V_RC(0, ibv_post_send(qp, wr, &bad));
}

void v_post(struct vworld *w, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, side, opcode, at, length, &sge);

	wr.wr_id = wr_id;
	v_send(w->side[side].qp, &wr);
}

void v_receive(struct vworld *w, int side, uint64_t at, uint32_t length, uint64_t wr_id)
{
	struct vside *own = &w->side[side];
	struct ibv_sge sge = { (uintptr_t)own->bytes + at, length, own->mr ? own->mr->lkey : 0 };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (side && w->srq)
		V_RC(0, ibv_post_srq_recv(w->srq, &wr, &bad));
	else
		V_RC(0, ibv_post_recv(own->qp, &wr, &bad));
}

/* --- completions and events --- */

struct ibv_wc v_next(struct ibv_cq *cq)
{
	struct deadline guard = deadline_start();
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		deadline_check(&guard, "a completion");
	CHECK(n == 1, "ibv_poll_cq returned %d for 1", n);
	return wc;
}

struct ibv_wc v_done(struct ibv_cq *cq, uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = v_next(cq);

	CHECK(wc.wr_id == wr_id && wc.status == status, "request %llu came with status %d (%s), expected %llu with %d",
	      (unsigned long long)wc.wr_id, (int)wc.status, ibv_wc_status_str(wc.status), (unsigned long long)wr_id, (int)status);
	return wc;
}

void v_none(struct ibv_cq *cq, const char *what)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	CHECK(!n, "%s: a completion of request %llu, status %d", what, (unsigned long long)wc.wr_id, (int)wc.status);
}

void v_does(struct vworld *w, int side, enum ibv_wr_opcode opcode, uint64_t at, uint32_t length, enum ibv_wc_status status)
{
	v_post(w, side, opcode, at, length, 77);
	v_done(w->side[side].send_cq, 77, status);
}

bool v_is(const unsigned char *bytes, unsigned char value, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

void v_works(struct vworld *w)
{
	v_does(w, 0, IBV_WR_RDMA_WRITE, V_SPAN - 64, 64, IBV_WC_SUCCESS);
	CHECK(!memcmp(w->side[1].bytes + V_SPAN - 64, w->side[0].bytes, 64), "the bytes of a write have not arrived");
	v_receive(w, 1, V_SPAN - 128, 64, 78);
	v_does(w, 0, IBV_WR_SEND, 0, 64, IBV_WC_SUCCESS);
	v_done(w->side[1].recv_cq, 78, IBV_WC_SUCCESS);
}

struct ibv_async_event v_event(struct vworld *w, enum ibv_event_type type)
{
	struct deadline guard = deadline_start();
	struct ibv_async_event event;
	bool found = false;

	while (!found) {
		if (ibv_get_async_event(w->context, &event)) {
			CHECK(errno == EAGAIN, "ibv_get_async_event: %s", strerror(errno));
			deadline_check(&guard, ibv_event_type_str(type));
			continue;
		}
		found = event.event_type == type;
		ibv_ack_async_event(&event);
	}
	return event;
}

void v_no_event(struct vworld *w, enum ibv_event_type type)
{
	struct ibv_async_event event;

	while (!ibv_get_async_event(w->context, &event)) {
		CHECK(event.event_type != type, "an event \"%s\" in addition", ibv_event_type_str(type));
		ibv_ack_async_event(&event);
	}
}

void v_rc(const char *file, int line, const char *call, int got, int want)
{
	if (got != want)
		check_fail(file, line, "%s returned %d (%s), expected %d (%s)", call, got, strerror(got), want, strerror(want));
}
