/* SPDX-License-Identifier: BSD-2-Clause */
/* ends.h - connection-oriented endpoints in the simulator: node 0 asks, node 1 listens and accepts. All that a device reports is
 * counted, so that a test sees what was reported twice. */
#ifndef TESTS_SIM_ENDS_H
#define TESTS_SIM_ENDS_H

#include "emu/nic/endpoint/cm.h"
#include "tests/sim/harness/tap.h"

enum { ENDS_KINDS = CM_FOUND + 1, ENDS_STORY = 64 };

/* One endpoint, and what it was told. */
struct end {
	struct node *node;
	struct pd *pd;
	struct cq *cq;
	struct ep *ep; /* NULL: closed */
	struct sockaddr_storage name;
	unsigned told[ENDS_KINDS];    /* by enum cm_event_kind */
	int err;                      /* of CM_REFUSED */
	enum refusal_cause cause;     /* of CM_HALTED */
	struct sockaddr_storage peer; /* of the last CM_REQUEST or CM_FOUND */
	uint64_t request;
	bool manages;
	bool keeps, kept; /* ep_keep() from the first word on that has come or was taken; likewise, now */
	/* All that it was told, a letter each: R request, C connected, F refused, S shutdown, f found; of a manager a word by its
	 * kind (wire/rdma.h), and + before one that was said, - before one that was not taken; . what else there is. Too long:
	 * cut. */
	char story[ENDS_STORY];
	size_t length; /* of the last event that had any data */
	uint8_t data[LIMIT_CM_DATA];
	bool turns_away; /* takes no request, and answers no question */
};

struct ends {
	struct world *world;
	struct end asks, listens, accepts;
};

void ends_open(struct ends *ends, uint64_t seed);
void ends_close(struct ends *ends);
/* At an endpoint's node and port; passive or connected. */
void end_open(struct end *end, struct node *node, bool passive);
void end_open_manager(struct end *end, struct node *node);
/* A listener for queue pairs; a queue pair that listens through it. */
void end_open_pairs(struct end *end, struct node *node);
void end_open_pair(struct end *end, const struct end *pairs);
/* Likewise, with rules (enum ep_rule); NULL: receives of its own, else of that shared context, which tell `tag`. */
void end_open_ruled(struct end *end, const struct end *pairs, uint32_t rules, struct srx *srx, uint64_t tag);
/* Likewise, with receives that its requests name. */
void end_open_xrc(struct end *end, const struct end *pairs, uint32_t rules, struct xrc *xrc);
/* One for datagrams, in RTS with that Q_Key. */
void end_open_datagrams(struct end *end, const struct end *pairs, uint32_t qkey);
/* To RTR, with these numbers; to RTS. */
void end_pair(struct end *end, const struct end *peer, uint32_t rq_psn, uint32_t path_mtu);
void end_pair_send(struct end *end, uint32_t sq_psn);
/* A write of `length` zeros by a key that no region has, and why it has failed. */
enum refusal_cause end_try(struct world *world, struct end *end, size_t length);
void end_close(struct end *end);
void end_connect(struct end *end, const struct end *passive, const char *data);
/* `end` is opened, to answer what `passive` was asked. */
void end_accept(struct end *end, const struct end *passive, const char *data);
void end_reject(struct end *passive, const char *data);
/* Managers: `manager` serves a number, and hears; `end` seeks it at the other's address, and says something to a peer. */
void end_serve(struct end *manager, uint16_t number);
struct service *end_seek(struct end *end, const struct end *other, uint16_t number);
void end_say(struct end *end, const struct sockaddr_storage *peer, uint64_t number, const char *data);
void end_shutdown(struct end *end);
/* Runs until `end` was told this, and checks that it was, once. */
void end_await(struct world *world, struct end *end, enum cm_event_kind kind);
/* Asked, accepted, and told so on both sides, with data that is checked. */
void ends_meet(struct ends *ends);
/* A message of `length` bytes that is received whole. */
void end_message(struct world *world, struct end *from, struct end *to, size_t length);
bool end_data_is(const struct end *end, const char *text);

/* Runs the script again and again, each time with one of the first connections (1 or 2) cut at another byte, of either way. */
typedef void (*ends_script)(struct ends *ends);
void ends_cut_everywhere(ends_script run, uint64_t seed, uint32_t cables);

#endif
