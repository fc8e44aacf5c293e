/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram_pair.c - queue pairs for datagrams. An op ends when its datagram has left, in the order of posts; one that fails stops
 * those behind it, and what is received goes on. A datagram goes to the queue pair whose number and Q_Key it names, or is
 * dropped. */
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/ep_impl.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/request_calls.h"
#include "wire/datagram.h"
#include "wire/gid.h"
#include "wire/secret.h"

enum { DETAIL = 96 };

/* What hardware tells in the place of a service level, which a packet of RoCE has not (annex A17.4.5): it is in UDP, over IPv4 or
 * IPv6. UCX reads the header by it. */
enum { KIND_SHIFT = 24, KIND_IPV4 = 10, KIND_IPV6 = 9 };

/* The tag of a datagram covers its receiver's number and GID: no address is added (WIRE-153). */
static const struct wire_address_fields nowhere;

int dgram_pair_open(struct ep *ep)
{
	struct ep *listener = ep->attr.through;
	struct sockaddr_storage at = listener->name;
	int err;

	nic_role(ep->nic);
	dgram_begin(ep);
	if (listener->dgram.port)
		return 0;
	at.ss_family = AF_UNSPEC; /* everywhere, as the listener: the port keeps its place */
	err = ep->nic->link.bind(ep->nic->link_arg, &at, false, listener, &listener->dgram.port);
	return err;
}

void ep_set_qkey(struct ep *ep, uint32_t qkey)
{
	nic_role(ep->nic);
	ep->pairing->qkey = qkey;
}

/* --- out --- */

/* A GID, which may be a mapped address of IPv4, as an address of the wire. */
/* False: the op's memory cannot be read. */
static bool dgram_fill(const struct ep *ep, struct op *op, uint8_t *frame)
{
	const struct datagram_to *to = &op->to;
	struct wire_datagram_fields fields = {
		.flags = (op->flags & POST_CQ_DATA ? WIRE_DG_CQ_DATA : 0) | (op->flags & POST_SOLICITED ? WIRE_DG_SOLICITED : 0) |
			 dgram_seal(ep->nic),
		.payload = (uint32_t)op->length,
		.cq_data = op->flags & POST_CQ_DATA ? op->cq_data : 0,
	};
	struct wire_pair_datagram_fields pair = {
		.dest_qpn = to->qpn,
		.src_qpn = ep->pairing->qpn,
		.qkey = to->qkey,
		.flow_label = to->flow_label,
		.traffic_class = to->traffic_class,
		.hop_limit = to->hop_limit,
		.sl = to->sl,
	};
	struct place from;

	place_set(&from, op->iov, op->iov_count);
	if (!place_get(&from, frame + WIRE_PAIR_HEAD, op->length))
		return false;
	address_set_qpn(&op->to.at, to->qpn);
	wire_gid_put(to->sgid, (uint16_t)(pair.src_qpn >> 8), &fields.from);
	memcpy(pair.dgid, to->dgid, sizeof(pair.dgid));
	wire_put_pair_datagram(frame, &fields, &pair);
	if (ep->nic->secret)
		secret_tag(ep->nic->secret, (struct wire_datagram *)frame, &nowhere);
	return true;
}

/* The first failure: those behind it are given back. */
static void dgram_stop(struct ep *ep, struct op *op, enum refusal_cause cause)
{
	ep->pairing->stopped = true;
	cm_tell(ep, &(struct cm_event){ .kind = CM_STOPPED }); /* V147: before the program sees the failure */
	complete_refused(op, cause, NULL);
}

/* False: the port takes no more now. */
static bool dgram_go(struct ep *ep, struct op *op, const uint8_t *frame)
{
	struct port *port = ep->attr.through->dgram.port;

	if (group_is(op->to.dgid))
		port = group_way(ep->attr.through, &op->to, &op->to.at);
	if (ep->nic->unplugged)
		dgram_ended(ep, DGRAM_UNPLUGGED, NULL);
	else if (!port)
		dgram_ended(ep, DGRAM_UNSENT, "there is no port for groups");
	else
		return dgram_send(ep, port, &op->to.at, frame, WIRE_PAIR_HEAD + op->length);
	return true;
}

/* False: it waits. Else it has ended. */
static bool dgram_leave(struct ep *ep, struct op *op)
{
	const struct pairing *pairing = ep->pairing;
	enum refusal_cause cause = op->why.cause; /* of the front end */
	uint8_t frame[WIRE_DATAGRAM_MAX];

	assert(op->length <= WIRE_PAIR_MTU || cause != REFUSAL_NONE);
	op->why.cause = REFUSAL_NONE;
	if (pairing->stopped || pairing->halting || ep->closing) {
		complete_refused(op, REFUSAL_CANCELLED, NULL);
		return true;
	}
	if (pairing->held) {
		op->why.cause = cause;
		return false;
	}
	if (cause == REFUSAL_NONE && !dgram_fill(ep, op, frame))
		cause = REFUSAL_SOURCE_FAULT;
	if (cause != REFUSAL_NONE) {
		dgram_stop(ep, op, cause);
		return true;
	}
	if (!dgram_go(ep, op, frame))
		return false;
	complete_good(op);
	return true;
}

/* It was posted before ep_reset(), and not looked at yet. It goes without a completion: a message takes no answer, so hardware has
 * sent it by now, and programs destroy queue pairs behind the last one. */
static void dgram_leave_untold(struct ep *ep, struct op *op)
{
	const struct pairing *pairing = ep->pairing;
	uint8_t frame[WIRE_DATAGRAM_MAX];

	if (ep->cm.state == CM_UP && !pairing->stopped && !pairing->held && !ep->dgram.waiting.first &&
	    op->why.cause == REFUSAL_NONE && dgram_fill(ep, op, frame) && !dgram_go(ep, op, frame))
		dgram_ended(ep, DGRAM_UNSENT, "its queue pair is reset, and the port is full");
	op_discard(op);
}

void dgram_pair_post(struct ep *ep, struct op *op)
{
	nic_role(ep->nic);
	if (ep->pairing->silent) {
		dgram_leave_untold(ep, op);
		return;
	}
	if (ep->dgram.waiting.first || !dgram_leave(ep, op))
		op_list_push(&ep->dgram.waiting, op);
}

static void leave_waiting(struct ep *ep)
{
	struct op *op, *next;

	while ((op = ep->dgram.waiting.first)) {
		next = op->next;
		if (!dgram_leave(ep, op))
			return;
		ep->dgram.waiting.first = next;
	}
}

void dgram_pairs_writable(struct ep *listener)
{
	nic_role(listener->nic);
	for (int i = 0; i < 256; i++)
		if (listener->pairs->at[i])
			leave_waiting(listener->pairs->at[i]);
}

/* --- states --- */

void dgram_pair_go_on(struct ep *ep)
{
	nic_role(ep->nic);
	leave_waiting(ep); /* posted before: they end */
	ep->pairing->stopped = false;
}

void dgram_pair_hold(struct ep *ep, bool held)
{
	nic_role(ep->nic);
	ep->pairing->held = held;
	if (held) /* each that had begun has left */
		cm_tell(ep, &(struct cm_event){ .kind = CM_DRAINED });
	else
		leave_waiting(ep);
}

void dgram_pair_halt(struct ep *ep)
{
	nic_role(ep->nic);
	ep->pairing->halting = true;
	if (ep->cm.state != CM_DOWN)
		cm_enter(ep, CM_DOWN);
	dgram_flush(ep);
	cm_flush_receives(ep);
}

void dgram_pair_reset(struct ep *ep)
{
	struct op *op;

	nic_role(ep->nic);
	while ((op = op_list_pop(&ep->dgram.waiting)))
		op_discard(op);
	cm_drop_receives(ep);
	cm_enter(ep, CM_IDLE);
	*ep->pairing = (struct pairing){ .qpn = ep->pairing->qpn, .groups = ep->pairing->groups };
}

void dgram_pairs_tick(struct nic *nic)
{
	nic_role(nic);
	nic->dgrams_overran = false;
	for (struct ep *ep = nic->eps; ep; ep = ep->next) {
		if (!ep->attr.datagrams || !ep->pairing || !ep->pairing->overran || ep->cm.state != CM_UP)
			continue;
		cm_failed(ep);
		dgram_pair_halt(ep);
	}
}

/* --- in --- */

/* A receive fails by itself, and with it the queue pair. */
static void fail_receive(struct ep *ep, struct rx *rx, enum refusal_cause cause)
{
	cm_failed(ep);
	complete_receive_failed(rx, cause);
	dgram_pair_halt(ep);
}

static void place_message(struct message *message, const struct grh_fields *grh, const uint8_t *payload)
{
	struct rx *rx = message->rx;
	uint8_t header[GRH_BYTES];
	struct place place;

	if (rx_is_planned(rx) || !rx_reaches(rx, message->length)) {
		fail_receive(message->ep, rx, rx_is_planned(rx) ? REFUSAL_NO_SESSION : rx->reach.beyond);
		return;
	}
	grh_put(header, grh);
	rx_place(rx, &place);
	if (place_put(&place, header, sizeof(header)) && place_put(&place, payload, grh->length))
		complete_receive(rx, message);
	else
		fail_receive(message->ep, rx, REFUSAL_RECEIVE_BUFFER);
}

/* The receive that a message is to take; one that was posted before it came may wait for this very slice to end. */
static const struct rx *next_receive(const struct ep *ep)
{
	const struct rx *rx = ep->srx->match.posted.first;

	if (rx || !submit_take_receives(ep->nic))
		return rx;
	return ep->srx->match.posted.first;
}

/* InfiniBand's spec, 9.9.3: whatever is wrong with a datagram, it is dropped, and the queue pair stays as it is. */
static void hear(struct ep *ep, const struct wire_datagram_fields *fields, const struct wire_pair_datagram_fields *pair,
		 const struct grh_fields *grh, const uint8_t *payload)
{
	const struct front_end *front = ep->nic->config.front;
	struct message message = { .ep = ep, .srx = ep->srx, .source = AV_NONE, .length = GRH_BYTES + grh->length };
	struct sockaddr_storage from;
	const struct rx *next;
	char detail[DETAIL];

	if (ep->cm.state != CM_UP || ep->pairing->halting) {
		dgram_ended(ep, DGRAM_NOT_READY, NULL);
		return;
	}
	if (pair->qkey != ep->pairing->qkey) { /* V141 */
		snprintf(detail, sizeof(detail), "0x%08x from QPN 0x%06x, and 0x%08x here", pair->qkey, pair->src_qpn,
			 ep->pairing->qkey);
		dgram_ended(ep, DGRAM_QKEY, detail);
		return;
	}
	next = next_receive(ep);
	if (next && next->capacity < message.length) { /* V145 */
		snprintf(detail, sizeof(detail), "%zu bytes with the GRH, for %llu", message.length,
			 (unsigned long long)next->capacity);
		dgram_ended(ep, DGRAM_TOO_LONG, detail);
		return;
	}
	address_get(&fields->from, &from);
	message.from = &from;
	message.has_cq_data = fields->flags & WIRE_DG_CQ_DATA;
	message.cq_data = fields->cq_data;
	if (!dgram_find_receive(&message)) {
		dgram_ended(ep, DGRAM_FULL, NULL);
		return;
	}
	if (!message.rx) { /* V144 */
		dgram_ended(ep, DGRAM_UNEXPECTED, NULL);
		return;
	}
	message.tag = pair->src_qpn | (uint32_t)(fields->from.family == 4 ? KIND_IPV4 : KIND_IPV6) << KIND_SHIFT;
	message.rx->done.c.flags |= front->cq_grh | (fields->flags & WIRE_DG_SOLICITED ? front->cq_solicited : 0);
	place_message(&message, grh, payload); /* V153 */
}

/* V154: each that is attached has a copy. */
static void hear_group(struct ep *listener, const struct wire_datagram_fields *fields, const struct wire_pair_datagram_fields *pair,
		       const struct grh_fields *grh, const uint8_t *payload)
{
	for (int i = 0; i < 256; i++) {
		struct ep *ep = listener->pairs->at[i];

		if (ep && ep->attr.datagrams && group_has(ep, grh->dgid))
			hear(ep, fields, pair, grh, payload);
	}
}

void dgram_pairs_arrive(struct ep *listener, const uint8_t *frame, size_t length)
{
	enum wire_datagram_flaw flaw;
	struct wire_datagram_fields fields;
	struct wire_pair_datagram_fields pair;
	struct grh_fields grh;
	char detail[DETAIL];
	struct ep *ep;

	nic_role(listener->nic);
	if (listener->nic->unplugged) {
		dgram_ended(listener, DGRAM_UNPLUGGED, NULL);
		return;
	}
	flaw = wire_check_pair_datagram(frame, length);
	if (flaw != WIRE_DG_FLAWLESS) {
		dgram_ended(listener, DGRAM_MALFORMED, wire_datagram_flaw_name(flaw));
		return;
	}
	wire_get_pair_datagram(frame, &fields, &pair);
	if (!dgram_is_trusted(listener, frame, fields.flags, &nowhere))
		return;
	grh = (struct grh_fields){ .flow_label = pair.flow_label,
				   .traffic_class = pair.traffic_class,
				   .hop_limit = pair.hop_limit,
				   .has_data = fields.flags & WIRE_DG_CQ_DATA,
				   .length = fields.payload };
	wire_gid_get(&fields.from, grh.sgid);
	memcpy(grh.dgid, pair.dgid, sizeof(grh.dgid));
	if (pair.dest_qpn == WIRE_QPN_GROUP) {
		hear_group(listener, &fields, &pair, &grh, frame + WIRE_PAIR_HEAD);
		return;
	}
	ep = listener->pairs->at[pair.dest_qpn & 0xff];
	if (!ep || !ep->attr.datagrams || ep->pairing->qpn != pair.dest_qpn) { /* V142 */
		snprintf(detail, sizeof(detail), "0x%06x", pair.dest_qpn);
		dgram_ended(listener, DGRAM_NO_PAIR, detail);
		return;
	}
	hear(ep, &fields, &pair, &grh, frame + WIRE_PAIR_HEAD);
}
