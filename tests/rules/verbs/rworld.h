/* SPDX-License-Identifier: BSD-2-Clause */
/* rworld.h - what the tests of rdma_cm are written with: an id that listens at an address of the device, and one that has a route
 * to it. Without librdmacm.so.1, or an address of IPv4, the rules have no meaning here. */
#ifndef TESTS_RULES_VERBS_RWORLD_H
#define TESTS_RULES_VERBS_RWORLD_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include "tests/rules/verbs/vworld.h"

enum { R_TIMEOUT_MS = 2000, R_BACKLOG = 8 };

struct rworld {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listens, *asks;
	struct rdma_cm_id *answers; /* of a request; NULL: none was taken yet */
	struct sockaddr_in at;      /* of the listener */
};

void r_open(struct rworld *w);
/* What is not NULL. */
void r_close(struct rworld *w);
/* A new one of the channel. */
struct rdma_cm_id *r_id(struct rworld *w);
/* ADDR_RESOLVED, and ROUTE_RESOLVED. */
void r_route(struct rworld *w, struct rdma_cm_id *id);
void r_give_qp(struct rdma_cm_id *id);
/* The id's queue pair goes, and the id. */
void r_end(struct rdma_cm_id **id);

/* The next event, which must be this one; and acknowledged, the id that it is for. */
struct rdma_cm_event *r_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
struct rdma_cm_id *r_told(struct rworld *w, enum rdma_cm_event_type type);
/* No event is there now. */
void r_nothing(struct rdma_event_channel *channel);
/* Asks, with queue pairs on both sides; then accepts, and both are ESTABLISHED. */
void r_ask(struct rworld *w, const void *data, size_t length);
void r_accept(struct rworld *w, const void *data, size_t length);
void r_meet(struct rworld *w);
/* One that is told so ends by it. */
void r_rejected(struct rworld *w, int status);

/* A call that returns 0; or -1 and this errno. */
#define R_RC(want, call) r_rc(__FILE__, __LINE__, #call, (want), (errno = 0, (call)))
void r_rc(const char *file, int line, const char *call, int want, int got);

#define RIDS(name)                                 \
	static void name##_with(struct rworld *w); \
	static void name(void)                     \
	{                                          \
		struct rworld w;                   \
                                                   \
		r_open(&w);                        \
		name##_with(&w);                   \
		r_close(&w);                       \
	}                                          \
	RULE_TEST(name, name)                      \
	static void name##_with(struct rworld *w)

#endif
