/* SPDX-License-Identifier: BSD-2-Clause */
/* rworld.c - see rworld.h. */
#include "tests/rules/verbs/rworld.h"

#include <fcntl.h>
#include <poll.h>

#include "tests/rules/verbs/rcalls.h"

static void find_address(struct sockaddr_in *at)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct ibv_ah_attr path;
	struct vworld device;

	v_open_device(&device);
	v_path(&device, &path);
	v_close_device(&device);
	if (!path.is_global || memcmp(path.grh.dgid.raw, mapped, sizeof(mapped)) != 0)
		NOT_APPLICABLE("the device has no GID of an IPv4 address");
	*at = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&at->sin_addr, path.grh.dgid.raw + sizeof(mapped), sizeof(at->sin_addr));
}

void r_rc(const char *file, int line, const char *call, int want, int got)
{
	int err = errno;

	if (got != (want ? -1 : 0) || (want && err != want))
		check_fail(file, line, "%s returned %d, errno %d (%s), expected %d (%s)", call, got, err, strerror(err), want,
			   strerror(want));
}

struct rdma_cm_id *r_id(struct rworld *w)
{
	struct rdma_cm_id *id;

	R_RC(0, rdma_create_id(w->channel, &id, w, RDMA_PS_TCP));
	return id;
}

void r_open(struct rworld *w)
{
	const char *why = rcalls_load();

	if (why)
		NOT_APPLICABLE("there is no librdmacm.so.1: %s", why);
	memset(w, 0, sizeof(*w));
	find_address(&w->at);
	w->channel = rdma_create_event_channel();
	if (!w->channel && (errno == ENODEV || errno == ENOENT))
		NOT_APPLICABLE("librdmacm.so.1 finds no rdma_cm: %s", strerror(errno));
	CHECK(w->channel, "no event channel: %s", strerror(errno));
	w->listens = r_id(w);
	R_RC(0, rdma_bind_addr(w->listens, (struct sockaddr *)&w->at));
	R_RC(0, rdma_listen(w->listens, R_BACKLOG));
	w->at.sin_port = rdma_get_src_port(w->listens);
	w->asks = r_id(w);
	r_route(w, w->asks);
}

void r_route(struct rworld *w, struct rdma_cm_id *id)
{
	R_RC(0, rdma_resolve_addr(id, NULL, (struct sockaddr *)&w->at, R_TIMEOUT_MS));
	CHECK(r_told(w, RDMA_CM_EVENT_ADDR_RESOLVED) == id, "ADDR_RESOLVED is for another id");
	R_RC(0, rdma_resolve_route(id, R_TIMEOUT_MS));
	CHECK(r_told(w, RDMA_CM_EVENT_ROUTE_RESOLVED) == id, "ROUTE_RESOLVED is for another id");
}

void r_end(struct rdma_cm_id **id)
{
	if (*id && (*id)->qp)
		rdma_destroy_qp(*id);
	if (*id)
		R_RC(0, rdma_destroy_id(*id));
	*id = NULL;
}

void r_close(struct rworld *w)
{
	r_end(&w->asks);
	r_end(&w->answers);
	r_end(&w->listens);
	rdma_destroy_event_channel(w->channel);
}

void r_give_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { 8, 8, 1, 1, 0 }, .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };

	R_RC(0, rdma_create_qp(id, NULL, &attr));
	CHECK(id->qp && id->send_cq && id->recv_cq, "rdma_create_qp() has made no queue pair with its queues");
}

/* --- events --- */

struct rdma_cm_event *r_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct pollfd in = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *event;

	CHECK(poll(&in, 1, CHECK_GUARD_MS) == 1, "%s does not come", rdma_event_str(type));
	R_RC(0, rdma_get_cm_event(channel, &event));
	CHECK(event->event == type, "%s, status %d, came in the place of %s", rdma_event_str(event->event), event->status,
	      rdma_event_str(type));
	return event;
}

struct rdma_cm_id *r_told(struct rworld *w, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = r_event(w->channel, type);
	struct rdma_cm_id *id = event->id;

	R_RC(0, rdma_ack_cm_event(event));
	return id;
}

void r_nothing(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;
	int flags = fcntl(channel->fd, F_GETFL);

	CHECK(fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) == 0, "the channel's fd is no descriptor");
	R_RC(EAGAIN, rdma_get_cm_event(channel, &event));
	CHECK(fcntl(channel->fd, F_SETFL, flags) == 0, "the channel's fd is no descriptor");
}

/* --- connections --- */

void r_ask(struct rworld *w, const void *data, size_t length)
{
	struct rdma_conn_param param = {
		.private_data = data,
		.private_data_len = (uint8_t)length,
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};

	if (!w->asks->qp)
		r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, &param));
	w->answers = r_told(w, RDMA_CM_EVENT_CONNECT_REQUEST);
	r_give_qp(w->answers);
}

void r_accept(struct rworld *w, const void *data, size_t length)
{
	struct rdma_conn_param param = { .private_data = data,
					 .private_data_len = (uint8_t)length,
					 .responder_resources = 1,
					 .initiator_depth = 1,
					 .rnr_retry_count = 7 };

	R_RC(0, rdma_accept(w->answers, &param));
	CHECK(r_told(w, RDMA_CM_EVENT_ESTABLISHED) == w->asks, "ESTABLISHED is for another id");
	CHECK(r_told(w, RDMA_CM_EVENT_ESTABLISHED) == w->answers, "ESTABLISHED is for another id");
}

void r_meet(struct rworld *w)
{
	r_ask(w, NULL, 0);
	r_accept(w, NULL, 0);
}

void r_rejected(struct rworld *w, int status)
{
	struct rdma_cm_event *event = r_event(w->channel, RDMA_CM_EVENT_REJECTED);

	CHECK(event->id == w->asks, "REJECTED is for another id");
	CHECK(event->status == status, "the status is %d, expected %d", event->status, status);
	R_RC(0, rdma_ack_cm_event(event));
}
