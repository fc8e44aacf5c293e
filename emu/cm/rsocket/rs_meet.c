/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_meet.c - rsockets connect and accept: what the events of rdma_cm do to them. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/rsocket/rs_dgram.h"

enum {
	RESOLVE_MS = 2000,
	RETRIES = 7,
};

/* --- events --- */

static void greet_and(struct rsocket *rs, int (*call)(struct rdma_cm_id *id, struct rdma_conn_param *param))
{
	uint8_t greeting[RS_GREETING_BYTES];
	struct rdma_conn_param param = {
		.private_data = greeting, .private_data_len = sizeof(greeting), .retry_count = RETRIES, .rnr_retry_count = RETRIES
	};

	rs_greet(rs, greeting);
	if (call(rs->id, &param))
		rs_fail(rs, errno);
}

static void begin_asking(struct rsocket *rs)
{
	int err = rs_queues_open(rs);

	if (err)
		rs_fail(rs, err);
	else
		greet_and(rs, rdma_connect);
}

static void established(struct rsocket *rs, const struct rdma_cm_event *event)
{
	rs->connected = true;
	if (rs->state == RS_CONNECTING && rs_greeted(rs, event->param.conn.private_data, event->param.conn.private_data_len)) {
		rs_fail(rs, ECONNREFUSED);
		(void)rdma_disconnect(rs->id);
	} else if (rs->state == RS_CONNECTING || rs->state == RS_ACCEPTED) {
		rs_enter(rs, RS_UP);
		rs_say_due(rs);
	}
}

/* What has arrived before may still be read. */
static void disconnected(struct rsocket *rs)
{
	while (rs->cq && rs_poll(rs))
		;
	if (rs->state == RS_OVER)
		return;
	rs->end_heard = true;
	rs_enter(rs, RS_OVER);
}

/* That of an event which ends an attempt, as connect(2) has it. */
static int error_of(const struct rdma_cm_event *event)
{
	if (event->event == RDMA_CM_EVENT_REJECTED)
		return ECONNREFUSED;
	switch (-event->status) {
	case ENODEV:
		return ENETUNREACH;
	case EACCES:
	case ECONNREFUSED:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case ENOMEM:
		return -event->status;
	default:
		return ETIMEDOUT;
	}
}

void rs_event(struct rsocket *rs, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rs->state == RS_CONNECTING && rdma_resolve_route(rs->id, RESOLVE_MS))
			rs_fail(rs, errno);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (rs->state == RS_CONNECTING)
			begin_asking(rs);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		established(rs, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		disconnected(rs);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		rs_fail(rs, rs->state == RS_CONNECTING ? error_of(event) : ECONNRESET);
		break;
	default:
		break;
	}
}

/* --- asking --- */

static bool has_met(const struct rsocket *rs)
{
	return rs->state != RS_CONNECTING;
}

static int begin_meeting(struct rsocket *rs, const struct sockaddr *to, socklen_t length)
{
	int err = 0;

	if (rs->options.traffic_class &&
	    rdma_set_option(rs->id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &rs->options.traffic_class, sizeof(uint8_t)))
		return errno;
	memcpy(&rs->peer, to, length);
	rs_enter(rs, RS_CONNECTING);
	if (rdma_resolve_addr(rs->id, NULL, (struct sockaddr *)&rs->peer, RESOLVE_MS)) {
		err = errno;
		rs_enter(rs, RS_FRESH);
	}
	return err;
}

static int meet_peer(struct rsocket *rs, const struct sockaddr *to, socklen_t length)
{
	int err;

	switch (rs->state) {
	case RS_FRESH:
		err = begin_meeting(rs, to, length);
		break;
	case RS_CONNECTING:
		rs_look(rs);
		err = rs->state == RS_CONNECTING && rs->nonblocking ? EALREADY : 0;
		break;
	case RS_OVER:
		err = rs->error || rs->connected ? 0 : ECONNABORTED;
		break;
	default:
		err = rs->state == RS_UP && !rs->told_up ? 0 : EISCONN;
		break;
	}
	if (!err)
		err = rs_await(rs, has_met, !rs->nonblocking, -1);
	if (err)
		return err == EAGAIN ? EINPROGRESS : err;
	rs->told_up = true;
	err = rs->error;
	rs->error = 0;
	return err;
}

int rconnect(int fd, const struct sockaddr *to, socklen_t length)
{
	struct rsocket *rs = rs_hold(fd);
	bool ends; /* a datagram rsocket has no peer any more */
	int err;

	if (!rs)
		return -1;
	ends = rs->dgram && to && length >= sizeof(sa_family_t) && to->sa_family == AF_UNSPEC;
	if (!ends && (!to || length < rs_address_least(rs) || length > sizeof(rs->peer)))
		err = vb_refuse(EINVAL, "rconnect", "addr is NULL, or addrlen is not that of an address of the rsocket's domain.");
	else if (!ends && to->sa_family != rs->family)
		err = vb_refuse(EAFNOSUPPORT, "rconnect", "the address is of family %d, and the rsocket of %d.", to->sa_family,
				rs->family);
	else if (rs->dgram)
		err = rs_dgram_connect(rs, to, length);
	else
		err = meet_peer(rs, to, length);
	rs_leave(rs);
	return rs_result(err, 0);
}

/* --- accepting --- */

bool rs_has_request(const struct rsocket *rs)
{
	struct pollfd on = { .fd = rs->channel->fd, .events = POLLIN };

	return poll(&on, 1, 0) > 0;
}

/* The rsocket of a request, with that number; else the request is rejected. */
static int answer_request(const struct rsocket *listens, struct rdma_cm_id *id, const uint8_t greeting[RS_GREETING_BYTES],
			  int *number)
{
	struct rsocket *rs = rs_new(listens->family);
	int err;

	if (!rs) {
		err = errno;
		(void)rdma_destroy_id(id);
		return err;
	}
	rs->options = listens->options;
	rs->peer = id->route.addr.dst_storage;
	rs->id = id;
	err = rdma_migrate_id(id, rs->channel) ? errno : rs_queues_open(rs);
	if (!err)
		err = rs_greeted(rs, greeting, RS_GREETING_BYTES);
	if (!err) {
		rs_enter(rs, RS_ACCEPTED);
		greet_and(rs, rdma_accept);
		err = rs->state == RS_OVER ? rs->error : 0;
	}
	rs->connected = !err;
	*number = err ? -1 : rs->fd;
	if (err)
		(void)rs_unlist(rs);
	rs_leave(rs);
	return err;
}

/* The listener's next event. EAGAIN: it was no request of an rsocket's. */
static int next_request(struct rsocket *listens, int *number)
{
	uint8_t greeting[RS_GREETING_BYTES] = { 0 };
	struct rdma_cm_event *event;
	struct rdma_cm_id *id = NULL;
	int err;

	if (rdma_get_cm_event(listens->channel, &event))
		return errno;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		id = event->id;
		if (event->param.conn.private_data_len >= sizeof(greeting))
			memcpy(greeting, event->param.conn.private_data, sizeof(greeting));
	}
	rdma_ack_cm_event(event);
	rs_ring(listens);
	if (!id)
		return EAGAIN;
	err = answer_request(listens, id, greeting, number);
	return err == EPROTO ? EAGAIN : err;
}

int raccept(int fd, struct sockaddr *from, socklen_t *length)
{
	struct rsocket *listens = rs_hold(fd);
	int err, number = -1;

	if (!listens)
		return -1;
	if (listens->state != RS_LISTENING)
		err = vb_refuse(EINVAL, "raccept", "the rsocket does not listen. Call rlisten() first.");
	else
		do {
			err = rs_await(listens, rs_has_request, !listens->nonblocking, -1);
			if (!err)
				err = next_request(listens, &number);
			else if (err == EAGAIN)
				break;
		} while (err == EAGAIN);
	rs_leave(listens);
	if (!err && from && length)
		(void)rgetpeername(number, from, length);
	return rs_result(err, number);
}
