/* SPDX-License-Identifier: BSD-2-Clause */
/* rcalls.c - see rcalls.h. All is hidden, as in vcalls.c. */
#include "tests/rules/verbs/rcalls.h"

#include <dlfcn.h>
#include <rdma/rdma_cma.h>

#include "tests/rules/harness/check.h"
#include "tests/rules/verbs/forward.h"

static void *rdmacm;

const char *rcalls_load(void)
{
	rdmacm = dlopen("librdmacm.so.1", RTLD_NOW | RTLD_GLOBAL);
	return rdmacm ? NULL : dlerror();
}

static void *find_call(const char *name)
{
	void *at = dlsym(rdmacm, name);

	CHECK(at, "librdmacm.so.1 has no %s", name);
	return at;
}

FORWARD(struct rdma_event_channel *, rdma_create_event_channel, (void), )
FORWARD_VOID(rdma_destroy_event_channel, (struct rdma_event_channel * channel), channel)
FORWARD(int, rdma_create_id, (struct rdma_event_channel * channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps),
	channel, id, context, ps)
FORWARD(int, rdma_destroy_id, (struct rdma_cm_id * id), id)
FORWARD(int, rdma_bind_addr, (struct rdma_cm_id * id, struct sockaddr *addr), id, addr)
FORWARD(int, rdma_resolve_addr, (struct rdma_cm_id * id, struct sockaddr *from, struct sockaddr *to, int timeout_ms), id, from, to,
	timeout_ms)
FORWARD(int, rdma_resolve_route, (struct rdma_cm_id * id, int timeout_ms), id, timeout_ms)
FORWARD(int, rdma_create_qp, (struct rdma_cm_id * id, struct ibv_pd *pd, struct ibv_qp_init_attr *attr), id, pd, attr)
FORWARD_VOID(rdma_destroy_qp, (struct rdma_cm_id * id), id)
FORWARD(int, rdma_connect, (struct rdma_cm_id * id, struct rdma_conn_param *param), id, param)
FORWARD(int, rdma_establish, (struct rdma_cm_id * id), id)
FORWARD(int, rdma_listen, (struct rdma_cm_id * id, int backlog), id, backlog)
FORWARD(int, rdma_get_request, (struct rdma_cm_id * listens, struct rdma_cm_id **id), listens, id)
FORWARD(int, rdma_accept, (struct rdma_cm_id * id, struct rdma_conn_param *param), id, param)
FORWARD(int, rdma_reject, (struct rdma_cm_id * id, const void *data, uint8_t length), id, data, length)
FORWARD(int, rdma_disconnect, (struct rdma_cm_id * id), id)
FORWARD(int, rdma_notify, (struct rdma_cm_id * id, enum ibv_event_type event), id, event)
FORWARD(int, rdma_get_cm_event, (struct rdma_event_channel * channel, struct rdma_cm_event **event), channel, event)
FORWARD(int, rdma_ack_cm_event, (struct rdma_cm_event * event), event)
FORWARD(__be16, rdma_get_src_port, (struct rdma_cm_id * id), id)
FORWARD(__be16, rdma_get_dst_port, (struct rdma_cm_id * id), id)
FORWARD(const char *, rdma_event_str, (enum rdma_cm_event_type event), event)
FORWARD(int, rdma_set_option, (struct rdma_cm_id * id, int level, int name, void *value, size_t length), id, level, name, value,
	length)
FORWARD(int, rdma_migrate_id, (struct rdma_cm_id * id, struct rdma_event_channel *channel), id, channel)
FORWARD(int, rdma_init_qp_attr, (struct rdma_cm_id * id, struct ibv_qp_attr *attr, int *mask), id, attr, mask)
