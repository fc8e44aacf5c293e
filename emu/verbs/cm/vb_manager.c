/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_manager.c - managers: what peers say goes to the connection or the number that is meant. */
#include "emu/verbs/cm/vb_manager.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/role/driver.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/start/vb_refuse.h"

enum { FIRST_BUCKETS = 64, OPS_MOST = 1 << 24 };
enum { NUMBER_ANSWERS = 1 }; /* the lowest bit of a word's number: the accepting side says it */

/* Of the process. With the driver role. */
static struct vb_manager *managers;
static struct pd *shared_pd; /* of all these endpoints: no peer reaches memory through them */
static struct vb_cm *served;

void vb_managers_forked(void)
{
	managers = NULL; /* the parent's */
	shared_pd = NULL;
	served = NULL;
}

/* --- connections --- */

void connection_enter(struct vb_cm *cm, enum cm_stage stage)
{
	bool met = cm->stage == STAGE_MET;

	cm->stage = stage;
	if (met != (stage == STAGE_MET) && !cm->gone)
		ep_keep(cm->manager->ep, &cm->peer, !met);
}

void connection_add(struct vb_cm *cm, struct vb_manager *manager, const struct sockaddr_storage *peer, uint64_t number)
{
	cm->manager = manager;
	cm->peer = *peer;
	cm->number = number;
	hash_add(&manager->by_number, &cm->by_number, hash_u64(manager->secret, number));
	cm->next = manager->connections;
	cm->at = &manager->connections;
	if (cm->next)
		cm->next->at = &cm->next;
	manager->connections = cm;
}

void connection_remove(struct vb_cm *cm)
{
	if (!cm->number)
		return;
	hash_remove(&cm->manager->by_number, &cm->by_number);
	*cm->at = cm->next;
	if (cm->next)
		cm->next->at = cm->at;
	cm->number = 0;
}

/* A peer may choose the number of one that it has asked for, so there may be several: each is its own. */
static struct vb_cm *connection_find(const struct vb_manager *manager, const struct sockaddr_storage *peer, uint64_t number,
				     bool asks)
{
	struct hash_node *node = hash_first(&manager->by_number, hash_u64(manager->secret, number));

	for (; node; node = hash_next(node)) {
		struct vb_cm *cm = (struct vb_cm *)((char *)node - offsetof(struct vb_cm, by_number));

		if (cm->number == number && cm->asks == asks && address_equal(&cm->peer, peer))
			return cm;
	}
	return NULL;
}

static int say_to(struct vb_manager *manager, const struct sockaddr_storage *peer, uint64_t number,
		  const struct wire_rdma_fields *say) REQUIRES(driver_role)
{
	uint8_t bytes[WIRE_CM_DATA_MAX];

	return ep_say(manager->ep, peer, number, bytes, wire_put_rdma(bytes, say));
}

int connection_say(struct vb_cm *cm, const struct wire_rdma_fields *say)
{
	int err = say_to(cm->manager, &cm->peer, cm->asks ? cm->number : cm->number | NUMBER_ANSWERS, say);

	if (!err)
		cm->said |= (uint8_t)(1U << say->kind);
	return err;
}

int connection_request(struct vb_cm *cm, const struct sockaddr_storage *peer)
{
	uint64_t number = ep_draw(cm->manager->ep) << 1;

	connection_add(cm, cm->manager, peer, number ? number : 2);
	connection_enter(cm, STAGE_ASKS);
	return ep_say(cm->manager->ep, peer, cm->number, cm->request, cm->length);
}

int vb_manager_answer(const struct vb_cm_request *request, const struct wire_rdma_fields *say)
{
	return say_to(request->manager, &request->peer, request->number | NUMBER_ANSWERS, say);
}

static bool connection_tell(struct vb_cm *cm, struct vb_cm_told told)
{
	return cm->tell(cm->owner, &told);
}

/* --- numbers --- */

void vb_manager_serve(struct vb_cm *cm)
{
	cm->next_served = served;
	served = cm;
}

void vb_manager_serve_end(struct vb_cm *cm)
{
	struct vb_cm **at = &served;

	while (*at && *at != cm)
		at = &(*at)->next_served;
	if (*at)
		*at = cm->next_served;
}

static bool serves(const struct vb_cm *cm, const struct wire_address_fields *to)
{
	static const uint8_t any[sizeof(to->addr)];
	struct wire_address_fields own;

	if (cm->served.ss_family == AF_UNSPEC)
		return address_port(&cm->served) == to->port;
	address_put(&cm->served, &own);
	return own.port == to->port && own.family == to->family &&
	       (!memcmp(own.addr, any, sizeof(any)) || !memcmp(own.addr, to->addr, sizeof(own.addr)));
}

/* --- what is heard --- */

/* The request is for an address of this manager, and for a number here. */
static bool request_heard(struct vb_manager *manager, const struct cm_event *event, const struct wire_rdma_fields *said)
{
	struct vb_cm_request request = { .manager = manager, .peer = *event->peer, .number = event->request };
	struct wire_address_fields own;
	struct vb_cm *cm = served;

	address_put(&manager->at, &own);
	if (event->request & NUMBER_ANSWERS || said->to.family != own.family ||
	    memcmp(said->to.addr, own.addr, sizeof(own.addr)) != 0)
		return false;
	while (cm && !serves(cm, &said->to))
		cm = cm->next_served;
	if (cm && connection_tell(cm, (struct vb_cm_told){ .kind = VB_CM_ASKED, .said = said, .request = &request }))
		return true;
	vb_inform("rdma_listen", "a request for number %u is refused: %s.", said->to.port,
		  cm ? "there is no memory, or as many are unread as rdma_listen() lets wait" : "nobody listens there");
	return false;
}

/* False: nobody waits for it, which its sender is to hear. */
static bool reply_heard(struct vb_cm *cm, const struct wire_rdma_fields *said) REQUIRES(driver_role)
{
	if (!cm || !cm->asks || cm->answered || (cm->stage != STAGE_ASKS && cm->stage != STAGE_MET) ||
	    !connection_tell(cm, (struct vb_cm_told){ .kind = VB_CM_REPLIED, .said = said }))
		return false;
	cm->answered = true;
	connection_enter(cm, STAGE_MET);
	return true;
}

/* The request is turned down, or the lookup answered. */
static bool rejection_heard(struct vb_cm *cm, const struct wire_rdma_fields *said) REQUIRES(driver_role)
{
	if (cm->stage != STAGE_ASKS && cm->stage != STAGE_MET)
		return true;
	if (!connection_tell(cm, (struct vb_cm_told){ .kind = VB_CM_FAILED, .err = ECONNREFUSED, .said = said }))
		return false;
	connection_enter(cm, STAGE_OVER);
	return true;
}

/* Each kind once, which is all that a peer of this library says: so what waits for the program has a limit. */
static bool word_heard(struct vb_cm *cm, const struct wire_rdma_fields *said)
{
	uint8_t bit = (uint8_t)(1U << said->kind);

	if (cm->stage != STAGE_MET || cm->heard & bit)
		return true;
	if (!connection_tell(cm, (struct vb_cm_told){ .kind = VB_CM_SAID, .said = said }))
		return false;
	cm->heard |= bit;
	return true;
}

static bool manager_hears(struct vb_manager *manager, const struct cm_event *event) REQUIRES(driver_role)
{
	bool answers = event->request & NUMBER_ANSWERS;
	struct wire_rdma_fields said;
	const char *flaw = wire_get_rdma(event->data, event->length, &said);
	struct vb_cm *cm;

	if (flaw) {
		vb_inform("rdma_cm", "what a peer said is refused: %s.", flaw);
		return false;
	}
	if (said.kind == WIRE_RDMA_REQUEST || said.kind == WIRE_RDMA_LOOKUP)
		return request_heard(manager, event, &said);
	cm = connection_find(manager, event->peer, event->request & ~(uint64_t)NUMBER_ANSWERS, answers);
	if (said.kind == WIRE_RDMA_REPLY)
		return reply_heard(cm, &said);
	if (!cm || (cm->asks && said.kind == WIRE_RDMA_READY) || (!cm->asks && said.kind == WIRE_RDMA_FOUND))
		return true;
	if (cm->asks && (said.kind == WIRE_RDMA_REJECT || said.kind == WIRE_RDMA_FOUND))
		return rejection_heard(cm, &said);
	return word_heard(cm, &said);
}

/* --- what became of own words --- */

static void manager_said(struct vb_manager *manager, const struct cm_event *event) REQUIRES(driver_role)
{
	bool answers = event->request & NUMBER_ANSWERS;
	struct vb_cm *cm = connection_find(manager, event->peer, event->request & ~(uint64_t)NUMBER_ANSWERS, !answers);
	struct wire_rdma_fields own;

	if (!cm || wire_get_rdma(event->data, event->length, &own))
		return;
	if (own.kind == WIRE_RDMA_LEAVE) {
		connection_tell(cm, (struct vb_cm_told){ .kind = VB_CM_HEARD });
	} else if (event->err && (own.kind == WIRE_RDMA_REPLY || cm->stage == STAGE_ASKS)) {
		connection_tell(cm, (struct vb_cm_told){ .kind = VB_CM_FAILED, .err = event->err });
		connection_enter(cm, STAGE_OVER);
	} else if (cm->stage == STAGE_ASKS) {
		connection_enter(cm, STAGE_MET);
	}
}

/* A request that the peer has not heard yet may be for the next process there: CM_SAID tells what becomes of it. */
static void manager_lost(struct vb_manager *manager, const struct sockaddr_storage *peer) REQUIRES(driver_role)
{
	for (struct vb_cm *cm = manager->connections; cm; cm = cm->next) {
		if (cm->stage != STAGE_MET || !address_equal(&cm->peer, peer))
			continue;
		cm->gone = true;
		connection_enter(cm, STAGE_OVER);
		connection_tell(cm, (struct vb_cm_told){ .kind = VB_CM_GONE });
	}
}

/* The port of the manager at that address, which is to be one of this host's. */
static bool manager_sought(struct vb_manager *manager, const struct cm_event *event) REQUIRES(driver_role)
{
	struct wire_address_fields asked, own;
	struct sockaddr_storage name;
	struct vb_manager *found;
	struct vb_gid entry;

	address_put(event->peer, &asked);
	for (unsigned int i = 0; i < VB_GIDS; i++) {
		if (!vb_gid_get(i, &entry))
			continue;
		address_put(&entry.at, &own);
		if (own.family != asked.family || memcmp(own.addr, asked.addr, sizeof(own.addr)) != 0)
			continue;
		if (vb_manager_get(manager->context, &entry.at, &found))
			return false;
		ep_name(found->ep, &name);
		*event->port = address_port(&name);
		return connection_tell(event->of, (struct vb_cm_told){ .kind = VB_CM_SOUGHT, .seeks = event->request });
	}
	return false;
}

static bool manager_event(void *owner, const struct cm_event *event)
{
	struct vb_manager *manager = owner;

	role_assert();
	switch (event->kind) {
	case CM_REQUEST:
		return manager_hears(manager, event);
	case CM_SAID:
		manager_said(manager, event);
		return true;
	case CM_SHUTDOWN:
		manager_lost(manager, event->peer);
		return true;
	case CM_SOUGHT:
		return manager_sought(manager, event);
	case CM_FOUND:
	case CM_REFUSED:
		question_over(event->of, event->peer, event->err);
		return true;
	default:
		return true;
	}
}

/* --- opened --- */

static int manager_open(struct vb_manager *manager) REQUIRES(driver_role)
{
	static const struct cm_ops ops = { .event = manager_event };
	struct nic *nic = atomic_load(&manager->context->nic);
	struct ep_attr attr = { .tx_size = OPS_MOST,
				.rx_size = 1,
				.at = manager->at,
				.cm = &ops,
				.passive = true,
				.manages = true,
				.tag = AV_NONE,
				.owner = manager };
	int err = shared_pd ? 0 : pd_open(nic, &shared_pd);

	if (err)
		return err;
	attr.pd = shared_pd;
	err = hash_init(&manager->by_number, FIRST_BUCKETS);
	if (err)
		return err;
	err = ep_open(nic, &attr, &manager->ep);
	if (err) {
		hash_fini(&manager->by_number);
		return err;
	}
	for (int i = 0; i < 2; i++)
		manager->secret[i] = ep_draw(manager->ep);
	vb_context_get(manager->context);
	return 0;
}

int vb_manager_get(struct vb_context *context, const struct sockaddr_storage *at, struct vb_manager **out)
{
	struct vb_manager *manager;
	struct sockaddr_storage canonical;
	int err;

	if (!address_canonical((const struct sockaddr *)at, &canonical))
		return -EAFNOSUPPORT;
	for (manager = managers; manager; manager = manager->next) {
		if (manager->context != context || !address_equal(&manager->at, &canonical))
			continue;
		*out = manager;
		return 0;
	}
	manager = calloc(1, sizeof(*manager));
	if (!manager)
		return -ENOMEM;
	manager->context = context;
	manager->at = canonical;
	err = manager_open(manager);
	if (err) {
		free(manager);
		return err;
	}
	manager->next = managers;
	managers = manager;
	*out = manager;
	return 0;
}

int vb_manager_any(struct vb_context *context, struct vb_manager **out)
{
	struct vb_gid entry;
	int err = -EADDRNOTAVAIL;

	for (struct vb_manager *manager = managers; manager; manager = manager->next) {
		if (manager->context != context)
			continue;
		*out = manager;
		return 0;
	}
	/* An address of IPv6 whose duplicates the host still looks for is not there to be bound. */
	for (unsigned int i = 0; i < VB_GIDS && err == -EADDRNOTAVAIL; i++)
		if (vb_gid_get(i, &entry))
			err = vb_manager_get(context, &entry.at, out);
	return err;
}
