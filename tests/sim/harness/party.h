/* SPDX-License-Identifier: BSD-2-Clause */
/* party.h - one endpoint with its queues, counters and addresses, as a program would hold them. Owner: the model. */
#ifndef TESTS_SIM_PARTY_H
#define TESTS_SIM_PARTY_H

#include "tests/sim/harness/world.h"

enum { MODEL_PARTIES = 12 };

struct party_config {
	uint32_t caps; /* 0: all */
	uint32_t order;
	uint32_t rules;   /* enum ep_rule */
	uint64_t tag;     /* without EP_SOURCE: what completions tell in its place */
	uint32_t cq_size; /* 0: the device's default */
	uint32_t tx_size, rx_size;
	uint16_t port;  /* 0: any */
	bool one_cq;    /* sends and receives complete in the same queue */
	bool unwatched; /* no counter of remote writes */
};

struct party {
	struct model *model;
	struct node *node;
	int id;
	struct pd *pd;
	struct av *av;
	struct cq *tx, *rx;
	struct cntr *cntr[EP_CNTRS];
	struct ep *ep;  /* NULL: closed */
	uint32_t order; /* that it promises */
	uint32_t rules; /* that it has, as all others */
	bool unwatched;
	struct binding_end bindings, events; /* of gated regions: to ep, and to a counter of its own */
	struct sockaddr_storage name;
	uint64_t index[MODEL_PARTIES]; /* of the others in this one's AV; AV_NONE: not there */
	struct party *successor;       /* the party that came back under its address; NULL: none */
	struct party *predecessor;     /* whose successor this is */
	bool reads_slowly;             /* its program looks at its queues now and then only */
	bool deaf;                     /* not at all */
	/* The values that its counters must have in the end. */
	uint64_t posted[EP_CNTRS], good[EP_CNTRS], bad[EP_CNTRS];
	uint64_t remote_least, remote_most;   /* remote writes executed here */
	uint64_t changed_least, changed_most; /* of them into gated regions */
	uint64_t intakes;                     /* receives posted so far */
	uint64_t intakes_open;                /* not done */
	uint64_t intakes_any[2];              /* of them those that take everything: without, with tags */
};

/* config may be NULL. */
struct party *party_open(struct model *model, struct node *node, const struct party_config *config);
/* As a program closes: waits until the endpoint is quiet, then closes it. Its memory stays until model_close(). */
void party_close(struct party *party);
/* The node of `old` has died, or `old` was closed: another comes back under its address, on `node`, and is found by all
 * that knew it. */
struct party *party_again(struct party *old, struct node *node, const struct party_config *config);
/* Each learns the other's address (or its own, if they are the same). */
void party_meet(struct party *a, struct party *b);
/* The session that it has with the other, to be looked at without the role: NULL if there is none. */
struct session *party_session(const struct party *party, const struct party *other);
uint16_t party_port(const struct party *party);
/* Closes what is left of it in its NIC, at once. */
void party_shut(struct party *party);
void party_free(struct party *party);

#endif
