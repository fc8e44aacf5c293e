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

static_assert((int)LIMIT_CM_DATA == (int)WIRE_CM_DATA_MAX, "what a question is asked for fits");

struct service {
	struct ep *ep;
	struct service *next; /* nic->asking */
	struct port *port;
	uint16_t number;
	bool asks; /* else it serves */
	bool hears;
	/* Of one that asks: */
	uint64_t nonce, wait_ns, again_ns, until_ns;
	uint64_t patient_ns; /* until then nobody may be there */
	bool refused;        /* nobody was there when it was asked last */
	struct sockaddr_storage at;
	size_t length;
	uint8_t data[LIMIT_CM_DATA];
};

/* The port is at one place in both families. */
static in_port_t *service_port(struct sockaddr_storage *at)
{
	return &((struct sockaddr_in *)at)->sin_port;
}

/* With a port at that address, whose number is *number. */
static int service_open(struct ep *ep, struct sockaddr_storage at, bool asks, uint16_t *number)
{
	struct nic *nic = ep->nic;
	struct service *service = calloc(1, sizeof(*service));
	int err;

	if (!service)
		return -ENOMEM;
	service->ep = ep;
	service->asks = asks;
	*service_port(&at) = htons(*number);
	err = nic->link.bind(nic->link_arg, &at, asks, ep, &service->port);
	if (err) {
		free(service);
		return err;
	}
	*number = service->number = ntohs(*service_port(&at));
	ep->service = service;
	return 0;
}

int ep_serve(struct ep *ep, uint16_t *number)
{
	nic_role(ep->nic);
	assert(ep->attr.passive && !ep->service);
	return service_open(ep, ep->attr.at, false, number);
}

void ep_serve_hear(struct ep *ep)
{
	nic_role(ep->nic);
	ep->service->hears = true;
}

void ep_serve_end(struct ep *ep)
{
	nic_role(ep->nic);
	service_close(ep);
}

void service_close(struct ep *ep)
{
	struct service *service = ep->service, **at = &ep->nic->asking;

	nic_role(ep->nic);
	if (!service)
		return;
	while (service->asks && *at != service)
		at = &(*at)->next;
	if (service->asks)
		*at = service->next;
	ep->service = NULL;
	ep->nic->link.unbind(service->port);
	free(service);
}

/* --- asked --- */

static void service_send(const struct service *service, const struct sockaddr_storage *to, const struct wire_service_fields *fields)
{
	const struct nic *nic = service->ep->nic;
	struct wire_service bytes;

	wire_put_service(&bytes, fields);
	(void)nic->link.send_datagram(service->port, to, &bytes, sizeof(bytes)); /* if it is lost, it is asked again */
}

static void service_answer(const struct service *service, const struct wire_service_fields *question,
			   const struct sockaddr_storage *from)
{
	struct wire_service_fields answer = { .kind = WIRE_SERVICE_ANSWER,
					      .service = question->service,
					      .port = address_port(&service->ep->name),
					      .nonce = question->nonce };

	if (service->hears && question->kind == WIRE_SERVICE_QUESTION && question->service == service->number &&
	    cm_tell(service->ep, &(struct cm_event){ .kind = CM_SOUGHT, .request = question->nonce }))
		service_send(service, from, &answer);
}

/* --- asking --- */

/* Again after a time. Returns when. */
static uint64_t question_ask(struct service *service, uint64_t now_ns)
{
	struct wire_service_fields question = { .kind = WIRE_SERVICE_QUESTION,
						.service = address_port(&service->at),
						.nonce = service->nonce };

	service->refused = false;
	service_send(service, &service->at, &question);
	service->again_ns = now_ns + service->wait_ns;
	service->wait_ns = service->wait_ns < TIME_ASK_MOST_NS / 2 ? 2 * service->wait_ns : TIME_ASK_MOST_NS;
	return service->again_ns;
}

int ep_ask(struct ep *ep, const struct sockaddr_storage *at, const void *data, size_t length)
{
	struct nic *nic = ep->nic;
	uint16_t number = 0;
	struct service *service;
	int err;

	nic_role(ep->nic);
	assert(!ep->service && length <= LIMIT_CM_DATA);
	err = service_open(ep, ep->attr.at, true, &number);
	if (err)
		return err;
	service = ep->service;
	service->at = *at;
	service->length = length;
	if (length)
		memcpy(service->data, data, length);
	nic->link.random(nic->link_arg, &service->nonce, sizeof(service->nonce));
	service->nonce |= service->nonce == 0;
	service->wait_ns = TIME_ASK_NS;
	service->until_ns = nic_now(nic) + nic->config.retry_budget_ns;
	service->patient_ns = nic_now(nic) + TIME_ASK_REFUSED_NS;
	service->next = nic->asking;
	nic->asking = service;
	nic_arm_timer(nic, question_ask(service, nic_now(nic)));
	return 0;
}

/* The passive endpoint is at that port. The endpoint has no op under way, so there is room for its request. */
static void question_answered(struct service *service, uint16_t port)
{
	struct ep *ep = service->ep;
	struct service asked = *service;
	int err;

	*service_port(&asked.at) = htons(port);
	service_close(ep);
	err = ep_connect(ep, &asked.at, asked.data, asked.length);
	if (err)
		cm_fail(ep, -err, NULL, 0);
}

static void question_failed(struct service *service, int err)
{
	struct ep *ep = service->ep;

	service_close(ep);
	cm_fail(ep, err, NULL, 0);
}

uint64_t service_tick(struct nic *nic)
{
	uint64_t now_ns = nic_now(nic), due_ns = UINT64_MAX;
	struct service *service, *next;

	nic_role(nic);
	for (service = nic->asking; service; service = next) {
		uint64_t at_ns = service->again_ns;

		next = service->next;
		if (now_ns >= service->until_ns || (service->refused && now_ns >= service->patient_ns)) {
			question_failed(service, service->refused ? ECONNREFUSED : ETIMEDOUT);
			continue;
		}
		if (now_ns >= at_ns)
			at_ns = question_ask(service, now_ns);
		due_ns = at_ns < due_ns ? at_ns : due_ns;
	}
	return due_ns;
}

/* --- both --- */

/* True: the service has gone. */
static bool service_take(struct service *service, const void *bytes, size_t length, const struct sockaddr_storage *from)
{
	struct wire_service_fields fields;

	if (!wire_get_service(bytes, length, &fields)) /* WIRE-181: it is dropped, without a word */
		return false;
	if (!service->asks) {
		service_answer(service, &fields, from);
		return false;
	}
	if (fields.kind != WIRE_SERVICE_ANSWER || fields.nonce != service->nonce || fields.service != address_port(&service->at))
		return false;
	question_answered(service, fields.port);
	return true;
}

void service_readable(struct ep *ep)
{
	struct service *service = ep->service;
	struct nic *nic = ep->nic;
	struct sockaddr_storage from;
	uint8_t bytes[sizeof(struct wire_service) + 1]; /* a longer one shows */

	nic_role(ep->nic);
	for (int i = 0; i < SLICE_DATAGRAMS; i++) {
		ssize_t length = nic->link.recv_datagram(service->port, bytes, sizeof(bytes), &from);

		if (length == -EAGAIN)
			return;
		service->refused |= length == -ECONNREFUSED; /* a server may be about to listen anew: service_tick() goes on */
		if (length >= 0 && (size_t)length <= sizeof(bytes) && service_take(service, bytes, (size_t)length, &from))
			return;
	}
}
