/* SPDX-License-Identifier: BSD-2-Clause */
/* late.c - a program that listens at rping's number, says when it is asked, and accepts when it has read a byte, by which time its
 * peer may be out of reach; then says what event the connection has, and its status. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { NUMBER = 7174 };

int main(void)
{
	struct ibv_qp_init_attr init = { .cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(NUMBER) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *listens, *id;
	bool failed;
	char byte;

	if (!channel || rdma_create_id(channel, &listens, NULL, RDMA_PS_TCP) || rdma_bind_addr(listens, (struct sockaddr *)&at) ||
	    rdma_listen(listens, 1) || rdma_get_cm_event(channel, &event))
		return 1;
	id = event->id;
	puts("asked");
	fflush(stdout);
	if (rdma_ack_cm_event(event) || read(STDIN_FILENO, &byte, 1) != 1 || rdma_create_qp(id, NULL, &init) ||
	    rdma_accept(id, NULL) || rdma_get_cm_event(channel, &event))
		return 1;
	printf("%s %d, %s\n", rdma_event_str(event->event), event->status, event->id == id ? "accepted" : "another");
	failed = rdma_ack_cm_event(event) || id->qp->state != IBV_QPS_ERR;
	rdma_destroy_qp(id);
	failed = rdma_destroy_id(id) || failed;
	failed = rdma_destroy_id(listens) || failed;
	rdma_destroy_event_channel(channel);
	return failed;
}
