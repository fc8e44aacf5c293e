/* SPDX-License-Identifier: BSD-2-Clause */
/* service.c - questions which port has a service, and their answers. */
#include "emu/nic/endpoint/service.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "wire/rdma.h"

struct service {
	struct ep *ep;
	struct service *next; /* ep->services */
	struct port *port;
	void *owner;
	uint16_t number;
	bool asks; /* else it serves */
	bool hears;
	/* Of a question: */
	struct service *next_asking; /* nic->asking */
	uint64_t nonce, wait_ns, again_ns, until_ns;
	uint64_t patient_ns;        /* until then nobody may be there */
	bool refused;               /* nobody was there when it was asked last */
	struct sockaddr_storage at; /* canonical; its port is the number */
};

/* The port is at one place in both families. */
static in_port_t *service_port(struct sockaddr_storage *at)
{
	return &((struct sockaddr_in *)at)->sin_port;
}

/* With a port at that address. */
static int service_new(struct ep *ep, struct sockaddr_storage at, bool asks, void *owner, struct service **out)
{
	struct nic *nic = ep->nic;
	struct service *service = calloc(1, sizeof(*service));
	int err;

	assert(ep->attr.manages);
	if (!service)
		return -ENOMEM;
	service->ep = ep;
	service->asks = asks;
	service->owner = owner;
	err = nic->link.bind(nic->link_arg, &at, asks, ep, &service->port);
	if (err) {
		free(service);
		return err;
	}
	service->number = ntohs(*service_port(&at));
	service->next = ep->services;
	ep->services = service;
	*out = service;
	return 0;
}

int service_open(struct ep *manager, const struct sockaddr_storage *at, uint16_t *number, void *owner, struct service **out)
{
	struct sockaddr_storage bound = *at;
	int err;

	nic_role(manager->nic);
	*service_port(&bound) = htons(*number);
	err = service_new(manager, bound, false, owner, out);
	if (!err)
		*number = (*out)->number;
	return err;
}

void service_hear(struct service *service)
{
	nic_role(service->ep->nic);
	service->hears = true;
}

void service_close(struct service *service)
{
	struct ep *ep = service->ep;
	struct service **at;

	nic_role(ep->nic);
	for (at = &ep->nic->asking; service->asks && *at; at = &(*at)->next_asking) {
		if (*at == service) {
			*at = service->next_asking;
			break;
		}
	}
	for (at = &ep->services; *at != service; at = &(*at)->next)
		;
	*at = service->next;
	ep->nic->link.unbind(service->port);
	free(service);
}

void services_close(struct ep *ep)
{
	nic_role(ep->nic);
	while (ep->services)
		service_close(ep->services);
}

/* --- asked --- */

static void service_send(const struct service *service, const struct sockaddr_storage *to, const struct wire_service_fields *fields)
{
	const struct nic *nic = service->ep->nic;
	struct wire_service bytes;

	wire_put_service(&bytes, fields);
	(void)nic->link.send_datagram(service->port, to, &bytes, sizeof(bytes)); /* if it is lost, it is asked again */
}

static void service_answer(struct service *service, const struct wire_service_fields *question, const struct sockaddr_storage *from)
{
	struct wire_service_fields answer = { .kind = WIRE_SERVICE_ANSWER, .nonce = question->nonce, .at = question->at };
	struct sockaddr_storage asked;
	struct cm_event event = {
		.kind = CM_SOUGHT, .of = service->owner, .peer = &asked, .request = question->nonce, .port = &answer.port
	};

	if (!service->hears || question->kind != WIRE_SERVICE_QUESTION || question->at.port != service->number)
		return;
	address_get(&question->at, &asked);
	if (cm_tell(service->ep, &event) && answer.port)
		service_send(service, from, &answer);
}

/* --- asking --- */

/* Again after a time. Returns when. */
static uint64_t question_ask(struct service *service, uint64_t now_ns)
{
	struct wire_service_fields question = { .kind = WIRE_SERVICE_QUESTION, .nonce = service->nonce };

	address_put(&service->at, &question.at);
	question.at.scope = 0;
	service->refused = false;
	service_send(service, &service->at, &question);
	service->again_ns = now_ns + service->wait_ns;
	service->wait_ns = service->wait_ns < TIME_ASK_MOST_NS / 2 ? 2 * service->wait_ns : TIME_ASK_MOST_NS;
	return service->again_ns;
}

int service_ask(struct ep *manager, const struct sockaddr_storage *at, void *owner, struct service **out)
{
	struct nic *nic = manager->nic;
	struct sockaddr_storage own = manager->attr.at;
	struct service *service;
	int err;

	nic_role(nic);
	*service_port(&own) = 0;
	err = service_new(manager, own, true, owner, &service);
	if (err)
		return err;
	service->at = *at;
	nic->link.random(nic->link_arg, &service->nonce, sizeof(service->nonce));
	service->nonce |= service->nonce == 0;
	service->wait_ns = TIME_ASK_NS;
	service->until_ns = nic_now(nic) + nic->config.retry_budget_ns;
	service->patient_ns = nic_now(nic) + TIME_ASK_REFUSED_NS;
	service->next_asking = nic->asking;
	nic->asking = service;
	nic_arm_timer(nic, question_ask(service, nic_now(nic)));
	*out = service;
	return 0;
}

static void question_end(struct service *service, int err, const struct sockaddr_storage *found)
{
	struct cm_event event = { .kind = err ? CM_REFUSED : CM_FOUND, .err = err, .of = service->owner, .peer = found };
	struct ep *ep = service->ep;

	nic_role(ep->nic);
	service_close(service);
	cm_tell(ep, &event);
}

uint64_t service_tick(struct nic *nic)
{
	uint64_t now_ns = nic_now(nic), due_ns = UINT64_MAX;
	struct service *service, *next;

	nic_role(nic);
	for (service = nic->asking; service; service = next) {
		uint64_t at_ns = service->again_ns;

		next = service->next_asking;
		if (now_ns >= service->until_ns || (service->refused && now_ns >= service->patient_ns)) {
			question_end(service, service->refused ? ECONNREFUSED : ETIMEDOUT, NULL);
			continue;
		}
		if (now_ns >= at_ns)
			at_ns = question_ask(service, now_ns);
		at_ns = service->refused && service->patient_ns < at_ns ? service->patient_ns : at_ns;
		due_ns = at_ns < due_ns ? at_ns : due_ns;
	}
	return due_ns;
}

/* Is it that of the question? Then the manager is at that port. */
static bool question_answered(struct service *service, const struct wire_service_fields *fields)
{
	struct wire_address_fields asked;
	struct sockaddr_storage found = service->at;

	address_put(&service->at, &asked);
	asked.scope = 0;
	if (fields->kind != WIRE_SERVICE_ANSWER || fields->nonce != service->nonce || memcmp(&fields->at, &asked, sizeof(asked)))
		return false;
	*service_port(&found) = htons(fields->port);
	question_end(service, 0, &found);
	return true;
}

/* --- both --- */

/* True: the service has gone. */
static bool service_take(struct service *service, const void *bytes, size_t length, const struct sockaddr_storage *from)
{
	struct wire_service_fields fields;

	if (!wire_get_service(bytes, length, &fields)) /* WIRE-181: it is dropped, without a word */
		return false;
	if (service->asks)
		return question_answered(service, &fields);
	service_answer(service, &fields, from);
	return false;
}

void services_readable(struct ep *ep, const struct port *port)
{
	struct service *service = ep->services;
	struct nic *nic = ep->nic;
	struct sockaddr_storage from;
	uint8_t bytes[sizeof(struct wire_service) + 1]; /* a longer one shows */

	nic_role(ep->nic);
	while (service && service->port != port)
		service = service->next;
	for (int i = 0; service && i < SLICE_DATAGRAMS; i++) {
		ssize_t length = nic->link.recv_datagram(service->port, bytes, sizeof(bytes), &from);

		if (length == -EAGAIN)
			return;
		if (length == -ECONNREFUSED && service->nonce) { /* a server may be about to listen anew: service_tick() goes on */
			service->refused = true;
			nic_arm_timer(nic, service->patient_ns);
		}
		if (length >= 0 && (size_t)length <= sizeof(bytes) && service_take(service, bytes, (size_t)length, &from))
			return;
	}
}
