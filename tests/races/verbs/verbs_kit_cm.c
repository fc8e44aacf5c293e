/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_kit_cm.c - two sides that meet by librdmacm: queue pairs of rdma_cm, and rsockets. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <stdlib.h>

#include "tests/races/verbs/verbs_kit_impl.h"

enum { TIMEOUT_MS = 30000 };

struct manager {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listens, *id; /* side 1 listens not */
};

/* --- queue pairs of rdma_cm --- */

static struct rdma_cm_id *happens(struct manager *manager, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	NEED(!rdma_get_cm_event(manager->channel, &event));
	NEED(event->event == type);
	id = event->id;
	NEED(!rdma_ack_cm_event(event));
	return id;
}

static void give_pair(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = kit_qp_attr();

	init.send_cq = mine.sends[0];
	init.recv_cq = mine.receives[0];
	NEED(!rdma_create_qp(id, mine.pd, &init));
	mine.qp[!race_self][0] = id->qp;
}

static struct rdma_conn_param depths(void)
{
	return (struct rdma_conn_param){ .responder_resources = 16, .initiator_depth = 16, .retry_count = 7, .rnr_retry_count = 7 };
}

static void manager_answer(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param param = depths();
	struct manager *manager = mine.manager;

	NEED(!rdma_create_id(manager->channel, &manager->listens, NULL, RDMA_PS_TCP));
	NEED(!rdma_bind_addr(manager->listens, (struct sockaddr *)&at));
	NEED(!rdma_listen(manager->listens, 1));
	at.sin_port = rdma_get_src_port(manager->listens);
	share(0, &at, sizeof(at));
	manager->id = happens(manager, RDMA_CM_EVENT_CONNECT_REQUEST);
	give_pair(manager->id);
	NEED(!rdma_accept(manager->id, &param));
}

static void manager_ask(void)
{
	struct rdma_conn_param param = depths();
	struct manager *manager = mine.manager;
	struct sockaddr_in at;

	share(0, &at, sizeof(at));
	NEED(!rdma_create_id(manager->channel, &manager->id, NULL, RDMA_PS_TCP));
	NEED(!rdma_resolve_addr(manager->id, NULL, (struct sockaddr *)&at, TIMEOUT_MS));
	happens(manager, RDMA_CM_EVENT_ADDR_RESOLVED);
	NEED(!rdma_resolve_route(manager->id, TIMEOUT_MS));
	happens(manager, RDMA_CM_EVENT_ROUTE_RESOLVED);
	give_pair(manager->id);
	NEED(!rdma_connect(manager->id, &param));
}

struct ibv_context *manager_open(void)
{
	struct ibv_context **list = rdma_get_devices(NULL), *first;

	mine.manager = calloc(1, sizeof(*mine.manager));
	NEED(list && list[0] && mine.manager);
	mine.manager->channel = rdma_create_event_channel();
	NEED(mine.manager->channel);
	first = list[0]; /* which librdmacm keeps open */
	rdma_free_devices(list);
	return first;
}

void manager_connect(void)
{
	if (race_self)
		manager_ask();
	else
		manager_answer();
	happens(mine.manager, RDMA_CM_EVENT_ESTABLISHED);
}

void manager_close(void)
{
	struct manager *manager = mine.manager;

	rdma_destroy_qp(manager->id);
	NEED(!rdma_destroy_id(manager->id));
	if (manager->listens)
		NEED(!rdma_destroy_id(manager->listens));
	rdma_destroy_event_channel(manager->channel);
	free(manager);
}

/* --- rsockets --- */

static int stream_new(void)
{
	int mappings = 2, fd = rsocket(AF_INET, SOCK_STREAM, 0);

	NEED(fd >= 0);
	NEED(!rsetsockopt(fd, SOL_RDMA, RDMA_IOMAPSIZE, &mappings, sizeof(mappings)));
	return fd;
}

void stream_open(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int fd = stream_new();

	if (race_self) {
		share(0, &at, sizeof(at));
		NEED(!rconnect(fd, (struct sockaddr *)&at, sizeof(at)));
		mine.stream = fd;
		return;
	}
	NEED(!rbind(fd, (struct sockaddr *)&at, sizeof(at)));
	NEED(!rlisten(fd, 1));
	NEED(!rgetsockname(fd, (struct sockaddr *)&at, &length));
	share(0, &at, sizeof(at));
	mine.stream = raccept(fd, NULL, NULL);
	NEED(mine.stream >= 0);
	NEED(!rclose(fd));
}

void stream_close(void)
{
	NEED(!rclose(mine.stream));
}
