/* SPDX-License-Identifier: BSD-2-Clause */
/* unacked.c - a program that leaves an event and an id as they are: unacked [end], which does not; unacked many, which leaves
 * thousands of ids. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <string.h>

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
	    rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 1000) || rdma_get_cm_event(channel, &event)) /* event here */
		return 1;
	for (int i = 0; argc > 1 && !strcmp(argv[1], "many") && i < 5000; i++)
		if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP)) /* ids here */
			return 1;
	if (argc > 1 && !strcmp(argv[1], "end")) {
		if (rdma_ack_cm_event(event) || rdma_destroy_id(id))
			return 1;
		rdma_destroy_event_channel(channel);
	}
	return 0;
}
