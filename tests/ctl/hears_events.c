/* SPDX-License-Identifier: BSD-2-Clause */
/* hears_events.c - a program of libibverbs: has a queue pair in INIT, says "ready QP_NUM", and then each asynchronous event as it
 * comes, with the states of port and queue pair. After DEVICE_FATAL a child of it
 * opens all again, says "ready" again and its PID, and ends with its input. */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *state_of(struct ibv_context *context)
{
	struct ibv_port_attr port = { .state = IBV_PORT_NOP };

	if (ibv_query_port(context, 1, &port))
		return "failed";
	return port.state == IBV_PORT_DOWN ? "down" : "active";
}

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

static bool open_all(struct ibv_device *device)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	context = ibv_open_device(device);
	pd = context ? ibv_alloc_pd(context) : NULL;
	cq = pd ? ibv_create_cq(context, 4, NULL, NULL, 0) : NULL;
	init.send_cq = init.recv_cq = cq;
	qp = cq ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return false;
	printf("ready %#x\n", qp->qp_num);
	fflush(stdout);
	return true;
}

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_async_event event = { .event_type = IBV_EVENT_CLIENT_REREGISTER };
	pid_t child;
	int status;

	if (!list || !open_all(list[0]))
		return 1;
	while (event.event_type != IBV_EVENT_DEVICE_FATAL && !ibv_get_async_event(context, &event)) {
		printf("%d %s %d\n", (int)event.event_type, state_of(context), (int)qp->state);
		fflush(stdout);
		ibv_ack_async_event(&event);
	}
	child = fork();
	if (!child) {
		if (!open_all(list[0]))
			return 1;
		printf("%d\n", (int)getpid());
		fflush(stdout);
		while (getchar() != EOF)
			;
		return 0;
	}
	return child < 0 || waitpid(child, &status, 0) != child || status;
}
