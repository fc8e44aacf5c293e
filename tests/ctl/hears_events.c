/* SPDX-License-Identifier: BSD-2-Clause */
/* hears_events.c - a program of libibverbs: has a queue pair in INIT, says "ready QP_NUM", and then each asynchronous event as it
 * comes, with the states of port and queue pair. Ends with DEVICE_FATAL. */
#include <infiniband/verbs.h>
#include <stdio.h>

static const char *state_of(struct ibv_context *context)
{
	struct ibv_port_attr port = { .state = IBV_PORT_NOP };

	if (ibv_query_port(context, 1, &port))
		return "failed";
	return port.state == IBV_PORT_DOWN ? "down" : "active";
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list ? ibv_open_device(list[0]) : NULL;
	struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
	struct ibv_cq *cq = pd ? ibv_create_cq(context, 4, NULL, NULL, 0) : NULL;
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq };
	struct ibv_qp *qp = cq ? ibv_create_qp(pd, &init) : NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_async_event event = { .event_type = IBV_EVENT_CLIENT_REREGISTER };

	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return 1;
	printf("ready %#x\n", qp->qp_num);
	fflush(stdout);
	while (event.event_type != IBV_EVENT_DEVICE_FATAL && !ibv_get_async_event(context, &event)) {
		printf("%d %s %d\n", (int)event.event_type, state_of(context), (int)qp->state);
		fflush(stdout);
		ibv_ack_async_event(&event);
	}
	return 0;
}
