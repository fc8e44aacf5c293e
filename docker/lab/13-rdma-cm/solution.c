/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 13: a server and a client that rdma_cm connects: a message, and a read from what the server offers. */
#include <arpa/inet.h>

#include "lab_cm.h"

enum { ROOM = 64 };

static void post_receive(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = ROOM, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(id->qp, &wr, &bad));
}

/* The server: `offered` is what the client may read, and its message goes to `inbox`. */
static int target(struct lab *lab)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char *offered = calloc(1, LAB_BYTES), *inbox = calloc(1, LAB_BYTES);
	struct lab_region told = { .addr = (uintptr_t)offered, .length = LAB_BYTES };
	struct rdma_conn_param param = { .private_data = &told, .private_data_len = sizeof(told), .responder_resources = 1 };
	struct rdma_cm_id *listener = lab_id(lab), *id;
	struct ibv_mr *offered_mr, *inbox_mr;
	struct rdma_cm_event *event;
	uint16_t port;
	char sent;

	strcpy(offered, "hello, client");
	MUST(rdma_bind_addr(listener, (struct sockaddr *)&here)); /* port 0: one that is free */
	MUST(rdma_listen(listener, 1));
	port = rdma_get_src_port(listener);
	lab_tell(lab, &port, sizeof(port));
	event = lab_event(lab, RDMA_CM_EVENT_CONNECT_REQUEST);
	id = event->id;
	MUST(rdma_ack_cm_event(event));
	lab_queue_pair(lab, id);
	offered_mr = lab_register(lab, offered, LAB_BYTES, IBV_ACCESS_REMOTE_READ);
	inbox_mr = lab_register(lab, inbox, LAB_BYTES, IBV_ACCESS_LOCAL_WRITE);
	told.key = offered_mr->rkey;
	post_receive(id, inbox_mr);
	MUST(rdma_accept(id, &param));
	lab_pass(lab, RDMA_CM_EVENT_ESTABLISHED);
	lab_hear(lab, &sent, sizeof(sent)); /* busy with others until the client has sent: leave this as it is */
	lab_pass(lab, RDMA_CM_EVENT_DISCONNECTED);
	MUST(rdma_disconnect(id)); /* gives back the receives that no message has taken */
	if (!lab_wait(lab))
		printf("target has: %s\n", inbox);
	MUST(ibv_dereg_mr(offered_mr));
	MUST(ibv_dereg_mr(inbox_mr));
	MUST(rdma_destroy_id(listener));
	free(offered);
	free(inbox);
	return lab_close_id(lab, id);
}

/* Posts a request for ROOM bytes of the region `mr`. */
static void post(struct rdma_cm_id *id, enum ibv_wr_opcode opcode, struct ibv_mr *mr, const struct lab_region *region)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = ROOM, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (opcode == IBV_WR_RDMA_READ) {
		wr.wr.rdma.remote_addr = region->addr;
		wr.wr.rdma.rkey = (uint32_t)region->key;
	}
	MUST(ibv_post_send(id->qp, &wr, &bad));
}

/* The client. */
static int initiator(struct lab *lab)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param param = { .initiator_depth = 1, .retry_count = 7 };
	struct rdma_cm_id *id = lab_id(lab);
	char *memory = calloc(1, LAB_BYTES);
	struct rdma_cm_event *event;
	struct lab_region region = { .addr = 0 };
	struct ibv_mr *mr;

	lab_hear(lab, &server.sin_port, sizeof(server.sin_port));
	MUST(rdma_resolve_addr(id, NULL, (struct sockaddr *)&server, 1000));
	lab_pass(lab, RDMA_CM_EVENT_ADDR_RESOLVED);
	MUST(rdma_resolve_route(id, 1000));
	lab_pass(lab, RDMA_CM_EVENT_ROUTE_RESOLVED);
	lab_queue_pair(lab, id);
	mr = lab_register(lab, memory, LAB_BYTES, IBV_ACCESS_LOCAL_WRITE);
	MUST(rdma_connect(id, &param));
	event = lab_event(lab, RDMA_CM_EVENT_ESTABLISHED);
	memcpy(&region, event->param.conn.private_data, sizeof(region));
	MUST(rdma_ack_cm_event(event)); /* which ends its private data */
	strcpy(memory, "hello, server");
	post(id, IBV_WR_SEND, mr, &region);
	lab_wait(lab);
	lab_tell(lab, "", 1);
	post(id, IBV_WR_RDMA_READ, mr, &region);
	lab_wait(lab);
	printf("initiator has: %s\n", memory);
	MUST(rdma_disconnect(id));
	lab_pass(lab, RDMA_CM_EVENT_DISCONNECTED);
	MUST(ibv_dereg_mr(mr));
	free(memory);
	return lab_close_id(lab, id);
}

int main(void)
{
	struct lab lab;

	lab_fork(&lab);
	lab_open_channel(&lab);
	return lab.side == LAB_TARGET ? target(&lab) : initiator(&lab);
}
