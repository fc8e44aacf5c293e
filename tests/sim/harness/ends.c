/* SPDX-License-Identifier: BSD-2-Clause */
/* ends.c - see ends.h. */
#include "tests/sim/harness/ends.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/endpoint/service.h"
#include "emu/nic/memory/guard.h"

enum { CAPS = EP_SEND | EP_RECV | EP_READ | EP_WRITE | EP_REMOTE_READ | EP_REMOTE_WRITE, LONGEST = 1 << 20 };
#define PATIENCE_NS (60 * SIM_SECOND) /* more than any retry budget */

static void tell_story(struct end *end, const struct cm_event *event)
{
	static const char letters[ENDS_KINDS] = {
		[CM_REQUEST] = 'R', [CM_CONNECTED] = 'C', [CM_REFUSED] = 'F', [CM_SHUTDOWN] = 'S', [CM_FOUND] = 'f', [CM_SAID] = '+'
	};
	bool word = end->manages && event->length > 1 && (event->kind == CM_REQUEST || event->kind == CM_SAID);
	size_t length = strlen(end->story);
	char letter = letters[event->kind];

	if (length + 2 >= sizeof(end->story))
		return;
	if (!word || event->kind == CM_SAID)
		end->story[length++] = (char)(event->kind == CM_SAID && event->err ? '-' : letter ? letter : '.');
	if (word)
		end->story[length] = (char)('0' + ((const uint8_t *)event->data)[1] % 10);
}

static void keep_peer(struct end *end, const struct cm_event *event)
{
	bool met = event->kind == CM_REQUEST || (event->kind == CM_SAID && !event->err);

	if (event->kind == CM_SHUTDOWN)
		end->keeps = end->kept = false;
	if (!end->keeps || end->kept || !met)
		return;
	end->kept = true;
	ep_keep(end->ep, event->peer, true);
}

static bool on_event(void *owner, const struct cm_event *event)
{
	struct end *end = owner;

	if ((event->kind == CM_REQUEST || event->kind == CM_SOUGHT) && end->turns_away)
		return false;
	end->told[event->kind]++;
	if (event->kind != CM_SOUGHT)
		tell_story(end, event);
	end->err = event->err;
	end->cause = event->cause;
	if (event->kind == CM_REQUEST || event->kind == CM_FOUND) {
		end->peer = *event->peer;
		end->request = event->request;
	}
	if (event->kind == CM_SOUGHT)
		*event->port = address_port(&end->name);
	keep_peer(end, event);
	if (event->data) {
		end->length = event->length;
		memcpy(end->data, event->data, event->length);
	}
	return true;
}

static const struct cm_ops events = { .event = on_event };

static void open_as(struct end *end, struct node *node, struct ep_attr attr)
{
	struct sockaddr_in *at = (struct sockaddr_in *)&attr.at;
	int rc;

	assert(!guard_install());
	*end = (struct end){ .node = node };
	rc = cq_open(&end->cq, 0, NULL, NULL);
	rc = rc ? rc : pd_open(node->nic, &end->pd);
	WORLD_CHECK(node->world, !rc, "opening an end: %d", rc);
	attr.pd = end->pd;
	attr.tag = attr.tag ? attr.tag : AV_NONE;
	attr.tx_cq = attr.rx_cq = end->cq;
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(0x0a000001u + (uint32_t)node->id);
	node_enter(node);
	rc = ep_open(node->nic, &attr, &end->ep);
	node_leave(node);
	WORLD_CHECK(node->world, !rc, "ep_open: %d", rc);
	ep_name(end->ep, &end->name);
}

void end_open(struct end *end, struct node *node, bool passive)
{
	open_as(end, node, (struct ep_attr){ .cm = &events, .passive = passive, .caps = passive ? 0 : CAPS, .owner = end });
}

void end_open_manager(struct end *end, struct node *node)
{
	open_as(end, node,
		(struct ep_attr){ .cm = &events, .passive = true, .manages = true, .tx_size = 2 * LIMIT_WORDS, .owner = end });
	end->manages = true;
}

void end_open_pairs(struct end *end, struct node *node)
{
	open_as(end, node, (struct ep_attr){ .cm = &events, .passive = true, .pairs = true, .owner = end });
}

void end_open_pair(struct end *end, const struct end *pairs)
{
	open_as(end, pairs->node, (struct ep_attr){ .cm = &events, .through = pairs->ep, .caps = CAPS, .owner = end });
}

void end_open_ruled(struct end *end, const struct end *pairs, uint32_t rules, struct srx *srx, uint64_t tag)
{
	struct ep_attr attr = { .cm = &events, .through = pairs->ep, .caps = CAPS, .owner = end };

	attr.order = EP_ORDER_ALL;
	attr.rules = rules;
	attr.srx = srx;
	attr.tag = tag;
	open_as(end, pairs->node, attr);
}

void end_open_xrc(struct end *end, const struct end *pairs, uint32_t rules, struct xrc *xrc)
{
	open_as(end, pairs->node,
		(struct ep_attr){
			.cm = &events, .through = pairs->ep, .caps = CAPS, .owner = end, .rules = rules, .xrc = xrc, .tag = 77 });
}

void end_open_datagrams(struct end *end, const struct end *pairs, uint32_t qkey)
{
	struct ep_attr attr = { .cm = &events, .through = pairs->ep, .caps = EP_SEND | EP_RECV, .owner = end, .datagrams = true };
	int rc;

	attr.rules = EP_RULE_RECEIVE_FIRST;
	open_as(end, pairs->node, attr);
	node_enter(end->node);
	rc = ep_pair(end->ep, &(struct ep_pair){ .peer_qpn = 0 });
	ep_pair_send(end->ep, 0);
	ep_set_qkey(end->ep, qkey);
	node_leave(end->node);
	WORLD_CHECK(end->node->world, !rc, "ep_pair: %d", rc);
}

void end_pair(struct end *end, const struct end *peer, uint32_t rq_psn, uint32_t path_mtu)
{
	struct ep_pair pair = {
		.own = end->name, .peer = peer->name, .peer_qpn = ep_qpn(peer->ep), .rq_psn = rq_psn, .path_mtu = path_mtu
	};
	int rc;

	node_enter(end->node);
	rc = ep_pair(end->ep, &pair);
	node_leave(end->node);
	WORLD_CHECK(end->node->world, !rc, "ep_pair: %d", rc);
}

void end_pair_send(struct end *end, uint32_t sq_psn)
{
	node_enter(end->node);
	ep_pair_send(end->ep, sq_psn);
	node_leave(end->node);
}

static bool is_quiet(void *arg)
{
	struct end *end = arg;
	bool quiet;

	node_enter(end->node);
	quiet = ep_quiet(end->ep);
	node_leave(end->node);
	return quiet;
}

void end_close(struct end *end)
{
	int rc;

	if (!end->ep)
		return;
	world_run(end->node->world, is_quiet, end, TIME_BYE_NS);
	node_enter(end->node);
	ep_close(end->ep);
	rc = pd_close(end->pd);
	node_leave(end->node);
	end->ep = NULL;
	rc = rc ? rc : cq_close(end->cq);
	WORLD_CHECK(end->node->world, !rc, "closing an end: %d", rc);
}

void ends_open(struct ends *ends, uint64_t seed)
{
	memset(ends, 0, sizeof(*ends));
	ends->world = world_open(world_seed(seed));
	ends->world->tapped = true;
	for (int i = 0; i < 2; i++)
		node_open(ends->world, NULL);
	end_open(&ends->asks, ends->world->node[0], false);
	end_open(&ends->listens, ends->world->node[1], true);
}

void ends_close(struct ends *ends)
{
	end_close(&ends->asks);
	end_close(&ends->accepts);
	end_close(&ends->listens);
	world_close(ends->world);
}

static void done(struct end *end, int rc)
{
	node_leave(end->node);
	WORLD_CHECK(end->node->world, !rc, "a call of connection management: %d", rc);
}

void end_connect(struct end *end, const struct end *passive, const char *data)
{
	node_enter(end->node);
	done(end, ep_connect(end->ep, &passive->name, data, strlen(data)));
}

void end_accept(struct end *end, const struct end *passive, const char *data)
{
	end_open(end, passive->node, false);
	node_enter(end->node);
	done(end, ep_accept(end->ep, &passive->peer, passive->request, data, strlen(data)));
}

void end_serve(struct end *manager, uint16_t number)
{
	struct service *service;
	int rc;

	node_enter(manager->node);
	rc = service_open(manager->ep, &manager->name, &number, manager, &service);
	if (!rc)
		service_hear(service);
	node_leave(manager->node);
	WORLD_CHECK(manager->node->world, !rc, "service_open: %d", rc);
}

struct service *end_seek(struct end *end, const struct end *other, uint16_t number)
{
	struct sockaddr_storage at = other->name;
	struct service *service = NULL;
	int rc;

	((struct sockaddr_in *)&at)->sin_port = htons(number);
	node_enter(end->node);
	rc = service_ask(end->ep, &at, end, &service);
	node_leave(end->node);
	WORLD_CHECK(end->node->world, !rc, "service_ask: %d", rc);
	return service;
}

void end_say(struct end *end, const struct sockaddr_storage *peer, uint64_t number, const char *data)
{
	int rc;

	node_enter(end->node);
	rc = ep_say(end->ep, peer, number, data, strlen(data));
	node_leave(end->node);
	WORLD_CHECK(end->node->world, !rc, "ep_say: %d", rc);
}

void end_reject(struct end *passive, const char *data)
{
	node_enter(passive->node);
	done(passive, ep_reject(passive->ep, &passive->peer, passive->request, data, strlen(data)));
}

void end_shutdown(struct end *end)
{
	world_run(end->node->world, is_quiet, end, TIME_BYE_NS);
	node_enter(end->node);
	ep_shutdown(end->ep);
	node_leave(end->node);
}

struct wish {
	const struct end *end;
	enum cm_event_kind kind;
};

static bool is_told(void *arg)
{
	const struct wish *wish = arg;

	return wish->end->told[wish->kind] > 0;
}

void end_await(struct world *world, struct end *end, enum cm_event_kind kind)
{
	struct wish wish = { end, kind };

	WORLD_CHECK(world, world_run(world, is_told, &wish, PATIENCE_NS), "event %d was not told", kind);
	WORLD_CHECK(world, end->told[kind] == 1, "event %d was told %u times", kind, end->told[kind]);
}

bool end_data_is(const struct end *end, const char *text)
{
	return end->length == strlen(text) && !memcmp(end->data, text, end->length);
}

void ends_meet(struct ends *ends)
{
	struct world *world = ends->world;

	end_connect(&ends->asks, &ends->listens, "may I come in?");
	end_await(world, &ends->listens, CM_REQUEST);
	WORLD_CHECK(world, end_data_is(&ends->listens, "may I come in?"), "not the data that was sent with the request");
	end_accept(&ends->accepts, &ends->listens, "please do");
	end_await(world, &ends->asks, CM_CONNECTED);
	end_await(world, &ends->accepts, CM_CONNECTED);
	WORLD_CHECK(world, end_data_is(&ends->asks, "please do"), "not the data that was sent with the answer");
}

static bool has_completion(void *arg)
{
	return cq_ready(arg);
}

static void complete(struct world *world, struct end *end, size_t length)
{
	struct completion c;

	WORLD_CHECK(world, world_run(world, has_completion, end->cq, PATIENCE_NS), "nothing completes");
	WORLD_CHECK(world, cq_take(end->cq, &c, 1) == 1, "an op has failed");
	WORLD_CHECK(world, !(c.flags & CQ_F_RECV) || c.length == length, "received %zu B of %zu", c.length, length);
}

void end_message(struct world *world, struct end *from, struct end *to, size_t length)
{
	static uint8_t out[LONGEST], in[LONGEST];
	struct iovec here = { out, length }, there = { in, length };
	struct post post = { .kind = OP_SEND, .flags = POST_COMPLETE, .iov = &here, .iov_count = 1, .cq_flags = CQ_F_SEND };
	struct recv_post recv = { .iov = &there, .iov_count = 1, .flags = POST_COMPLETE, .source = AV_NONE, .cq_flags = CQ_F_RECV };

	assert(length <= LONGEST);
	rnd_fill(&world->rnd, out, length);
	memset(in, 0, length);
	WORLD_CHECK(world, !ep_recv(to->ep, &recv) && !ep_post(from->ep, &post), "a post has failed");
	complete(world, from, length);
	complete(world, to, length);
	WORLD_CHECK(world, !memcmp(out, in, length), "other bytes came than were sent");
}

enum refusal_cause end_try(struct world *world, struct end *end, size_t length)
{
	static uint8_t zeros[LONGEST];
	struct iovec here = { zeros, length };
	struct remote there = { .addr = 0, .length = length, .key = 1 };
	struct post post = {
		.kind = OP_WRITE, .flags = POST_COMPLETE, .iov = &here, .iov_count = 1, .remote = &there, .remote_count = 1
	};
	struct completion c;
	struct cq_error error;

	WORLD_CHECK(world, !ep_post(end->ep, &post), "a post has failed");
	WORLD_CHECK(world, world_run(world, has_completion, end->cq, PATIENCE_NS), "nothing completes");
	return cq_take_error(end->cq, &error) == 1 ? (enum refusal_cause)error.prov_errno
	       : cq_take(end->cq, &c, 1) == 1      ? REFUSAL_NONE
						   : REFUSAL_PROTOCOL;
}

/* --- cuts --- */

static void open_slow(struct ends *ends, uint64_t seed)
{
	ends_open(ends, seed);
	ends->world->weather.chunk_max = 50;
}

/* Bytes of each direction of the first two connections, in a run without a cut. */
static void measure(ends_script run, uint64_t seed, uint64_t total[2][2])
{
	struct ends ends;

	open_slow(&ends, seed);
	run(&ends);
	for (uint32_t cable = 0; cable < 2; cable++)
		for (uint8_t dir = 0; dir < 2; dir++) {
			const struct tap *tap = tap_find(ends.world, cable, dir);

			total[cable][dir] = tap ? tap->offset : 0;
		}
	ends_close(&ends);
}

static void cut_at(ends_script run, uint64_t seed, uint32_t cable, uint8_t dir, uint64_t at)
{
	struct ends ends;

	open_slow(&ends, seed);
	world_fault(ends.world, FAULT_CUT, cable, dir, at);
	run(&ends);
	WORLD_CHECK(ends.world, ends.world->fault[0].spent, "the cut did not happen");
	ends_close(&ends);
}

void ends_cut_everywhere(ends_script run, uint64_t seed, uint32_t cables)
{
	uint64_t total[2][2];

	measure(run, seed, total);
	for (uint32_t cable = 0; cable < cables; cable++)
		for (uint8_t dir = 0; dir < 2; dir++) {
			assert(total[cable][dir] > sizeof(struct wire_head) + sizeof(struct wire_hello));
			fprintf(stderr, "connection %u, direction %u: %llu cuts\n", cable, dir,
				(unsigned long long)total[cable][dir] + 1);
			for (uint64_t at = 0; at <= total[cable][dir]; at++)
				cut_at(run, seed, cable, dir, at);
		}
}
