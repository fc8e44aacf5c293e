/* SPDX-License-Identifier: BSD-2-Clause */
/* party.c - one endpoint with its queues, counters and addresses. */
#include <arpa/inet.h>
#include <assert.h>
#include <stdlib.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/model.h"

enum {
	ALL_CAPS = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE | EP_DIRECTED_RECV | EP_SOURCE |
		   EP_RMA_EVENT | EP_REMOTE_ATOMIC_READ | EP_REMOTE_ATOMIC_WRITE | EP_TSEND | EP_TRECV
};

static void party_queues(struct party *party, const struct party_config *config)
{
	struct world *world = party->model->world;
	int rc = av_open(&party->av, 0);

	rc = rc ? rc : cq_open(&party->tx, config->cq_size, NULL, NULL);
	if (config->one_cq)
		party->rx = party->tx;
	else
		rc = rc ? rc : cq_open(&party->rx, config->cq_size, NULL, NULL);
	for (int i = 0; i < EP_CNTRS; i++)
		rc = rc ? rc : cntr_open(&party->cntr[i], NULL, NULL);
	rc = rc ? rc : cntr_open(&party->events.cntr, NULL, NULL);
	WORLD_CHECK(world, !rc, "opening queues: %d", rc);
}

struct party *party_open(struct model *model, struct node *node, const struct party_config *config)
{
	static const struct party_config plain;
	const struct party_config *c = config ? config : &plain;
	struct party *party = calloc(1, sizeof(*party));
	struct ep_attr attr;
	struct sockaddr_in *at = (struct sockaddr_in *)&attr.at;
	int rc;

	assert(party && model->parties < MODEL_PARTIES && !guard_install());
	party->model = model;
	party->node = node;
	party->id = model->parties;
	party->order = c->order;
	party->rules = c->rules;
	party->unwatched = c->unwatched;
	for (int i = 0; i < MODEL_PARTIES; i++)
		party->index[i] = AV_NONE;
	party_queues(party, c);
	attr = (struct ep_attr){
		.av = party->av,
		.tx_cq = party->tx,
		.rx_cq = party->rx,
		.caps = c->caps ? c->caps : ALL_CAPS,
		.order = c->order,
		.rules = c->rules,
		.tag = c->tag,
		.tx_size = c->tx_size,
		.rx_size = c->rx_size,
		.bindings = &party->bindings,
		.owner = party,
	};
	memcpy(attr.cntr, party->cntr, sizeof(attr.cntr));
	if (c->unwatched)
		attr.cntr[EP_CNTR_REMOTE_WRITE] = NULL;
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(0x0a000001u + (uint32_t)node->id);
	at->sin_port = htons(c->port);
	rc = pd_open(node->nic, &party->pd);
	WORLD_CHECK(model->world, !rc, "pd_open: %d", rc);
	attr.pd = party->pd;
	node_enter(node);
	rc = ep_open(node->nic, &attr, &party->ep);
	WORLD_CHECK(model->world, !rc, "ep_open: %d", rc);
	node_leave(node);
	ep_name(party->ep, &party->name);
	model->party[model->parties++] = party;
	return party;
}

static bool is_quiet(void *arg)
{
	struct party *party = arg;
	bool quiet;

	node_enter(party->node);
	quiet = ep_quiet(party->ep);
	node_leave(party->node);
	return quiet;
}

void party_close(struct party *party)
{
	if (!party->ep)
		return;
	world_run(party->model->world, is_quiet, party, TIME_BYE_NS);
	node_enter(party->node);
	ep_close(party->ep);
	party->ep = NULL;
	node_leave(party->node);
	model_read(party);
}

static void party_insert(struct party *party, const struct party *other)
{
	int rc = av_insert(party->av, &other->name, 0, &party->index[other->id]);

	WORLD_CHECK(party->model->world, !rc, "av_insert: %d", rc);
}

void party_meet(struct party *a, struct party *b)
{
	party_insert(a, b);
	if (a != b)
		party_insert(b, a);
}

struct party *party_again(struct party *old, struct node *node, const struct party_config *config)
{
	struct party_config own = config ? *config : (struct party_config){ 0 };
	struct model *model = old->model;
	struct party *party;

	node->id = old->node->id; /* whose address it is */
	own.port = party_port(old);
	party = party_open(model, node, &own);
	old->successor = party;
	party->predecessor = old;
	for (int i = 0; i < model->parties; i++)
		if (model->party[i]->index[old->id] != AV_NONE)
			model->party[i]->index[party->id] = model->party[i]->index[old->id];
	return party;
}

uint16_t party_port(const struct party *party)
{
	return ntohs(((const struct sockaddr_in *)&party->name)->sin_port);
}

void party_shut(struct party *party)
{
	int rc;

	node_enter(party->node);
	if (party->ep)
		ep_close(party->ep);
	party->ep = NULL;
	rc = pd_close(party->pd);
	node_leave(party->node);
	WORLD_CHECK(party->model->world, !rc, "pd_close: %d", rc);
}

struct session *party_session(const struct party *party, const struct party *other)
{
	for (struct session *session = party->ep->sessions; session; session = session->next)
		if (address_same(&session->peer, &other->name))
			return session;
	return NULL;
}

/* The nic is closed already: whatever held the queues has let go. */
void party_free(struct party *party)
{
	struct world *world = party->model->world;
	int rc = cq_close(party->tx);

	if (party->rx != party->tx)
		rc = rc ? rc : cq_close(party->rx);
	for (int i = 0; i < EP_CNTRS; i++)
		rc = rc ? rc : cntr_close(party->cntr[i]);
	rc = rc ? rc : cntr_close(party->events.cntr);
	rc = rc ? rc : av_close(party->av);
	WORLD_CHECK(world, !rc, "party %d: queues are still in use: %d", party->id, rc);
	free(party);
}
