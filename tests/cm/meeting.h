/* SPDX-License-Identifier: BSD-2-Clause */
/* meeting.h - two ids of rdma_cm in one process, one that listens and one that asks, and what they become. Failures end the
 * test. */
#ifndef TESTS_CM_MEETING_H
#define TESTS_CM_MEETING_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

struct meeting {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listens, *asks;
	struct rdma_cm_id *answers; /* of a request; NULL: none was taken yet */
};

/* A listener at 127.0.0.1, at a free number. An id that has a route to it. Of RDMA_PS_TCP, or of these port spaces. */
void meeting_open(struct meeting *meeting);
void meeting_open_spaces(struct meeting *meeting, enum rdma_port_space listens, enum rdma_port_space asks);
/* At another address, of any family, without port. */
void meeting_open_at(struct meeting *meeting, struct sockaddr_in6 *at, enum rdma_port_space listens, enum rdma_port_space asks);
void meeting_close(struct meeting *meeting);
/* The next event, which must be this one; acknowledged unless `event` is given. */
struct rdma_cm_id *meeting_expect(struct meeting *meeting, enum rdma_cm_event_type type, struct rdma_cm_event **event);
/* A queue pair of the id's own. */
void meeting_give_qp(struct rdma_cm_id *id);
/* Asks, and takes the request; then accepts, and both are told. */
void meeting_ask(struct meeting *meeting, const void *data, size_t length);
void meeting_accept(struct meeting *meeting, const void *data, size_t length);
void meeting_meet(struct meeting *meeting);
/* Both are told that they are disconnected, and that their queue pairs may be used again, in any order of the two. */
void meeting_part(struct meeting *meeting);
/* The address of an entry of the device's table; false: there is none of IPv6. */
bool meeting_own_ipv6(struct sockaddr_in6 *at);

#endif
