/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_sync.c - ids and queue pairs in one call, which wait for their events. */
#include <errno.h>
#include <stdlib.h>

#include "emu/cm/cm_id.h"

enum { RESOLVE_MS = 2000 };

/* What requests of a listener get. */
static int keep_wish(struct cm_id *id, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	if (!init)
		return 0;
	id->wish = malloc(sizeof(*id->wish));
	if (!id->wish)
		return ENOMEM;
	*id->wish = *init;
	id->wish_pd = pd;
	return 0;
}

/* The program's, or one that is made up. */
static int begin_route(struct rdma_cm_id *id, const struct rdma_addrinfo *info)
{
	int rc;

	if (!info->ai_route_len)
		return rdma_resolve_route(id, RESOLVE_MS);
	rc = rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, info->ai_route, info->ai_route_len);
	return rc ? rc : cm_complete(cm_id_of(id)); /* that call does not wait */
}

static int begin_ep(struct rdma_cm_id *id, const struct rdma_addrinfo *info, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	int rc;

	if (info->ai_flags & RAI_PASSIVE) {
		rc = rdma_bind_addr(id, info->ai_src_addr);
		return rc ? rc : cm_result(keep_wish(cm_id_of(id), pd, init));
	}
	rc = rdma_resolve_addr(id, info->ai_src_addr, info->ai_dst_addr, RESOLVE_MS);
	if (!rc)
		rc = begin_route(id, info);
	if (!rc && init) {
		init->qp_type = info->ai_qp_type;
		rc = rdma_create_qp(id, pd, init);
	}
	return rc;
}

int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *info, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct rdma_cm_id *id;
	int rc, err;

	if (!out || !info)
		return cm_refuse(EINVAL, "rdma_create_ep", "id or res is NULL.");
	rc = cm_create(NULL, &id, NULL, info->ai_port_space, info->ai_qp_type);
	if (rc)
		return rc;
	rc = begin_ep(id, info, pd, init);
	if (!rc) {
		*out = id;
		return 0;
	}
	err = errno;
	rdma_destroy_ep(id);
	return cm_result(err);
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	(void)rdma_destroy_id(id);
}

/* The queue pair that rdma_create_ep() was asked for. */
static int grant_wish(const struct cm_id *listens, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init;

	if (!listens->wish)
		return 0;
	init = *listens->wish;
	init.qp_type = id->qp_type;
	return rdma_create_qp(id, listens->wish_pd, &init);
}

int rdma_get_request(struct rdma_cm_id *pub, struct rdma_cm_id **out)
{
	struct cm_id *listens = cm_id_of(pub);
	const char *call = "rdma_get_request";
	struct rdma_cm_event *event;
	int err;

	if (!out || !listens || !listens->sync) /* V229 */
		return cm_refuse(EINVAL, call,
				 "listen or id is NULL, or requests come by rdma_get_cm_event(), as listen has a channel.");
	if (cm_check(listens, 1 << ID_LISTENING, call, "Call rdma_listen() first."))
		return -1;
	if (cm_complete(listens))
		return -1;
	event = pub->event;
	pub->event = NULL;
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
		rdma_ack_cm_event(event);
		return cm_refuse(EINVAL, call, "the event is %s.", rdma_event_str(event->event));
	}
	if (!grant_wish(listens, event->id)) {
		event->id->event = event;
		*out = event->id;
		return 0;
	}
	err = errno;
	event->id->event = event;
	(void)rdma_destroy_id(event->id);
	return cm_result(err);
}
