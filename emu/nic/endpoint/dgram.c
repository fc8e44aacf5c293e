/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram.c - ops into datagrams, datagrams into receives. */
#include "emu/nic/endpoint/ep_impl.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/message.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/request_calls.h"
#include "wire/datagram.h"
#include "wire/secret.h"

static_assert((int)LIMIT_DGRAM == (int)WIRE_MTU, "what may be posted fits a datagram");

enum { HEAD = sizeof(struct wire_datagram), BILLION = 1000000000, NAME_MAX_TEXT = 64, DETAIL_MAX = 128 };

static const struct {
	const char *words, *rest; /* between them end_name() */
	enum nic_log level;
} ends[DGRAM_ENDS] = {
	[DGRAM_LOST] = { "lost, as ", " asks for", NIC_LOG_DEBUG },
	[DGRAM_UNSENT] = { "not sent", "", NIC_LOG_INFO },
	[DGRAM_MALFORMED] = { "dropped, being malformed", "", NIC_LOG_WARN },
	[DGRAM_NO_RECEIVE] = { "dropped: the endpoint was opened without ", "", NIC_LOG_INFO },
	[DGRAM_SECRET] = { "dropped", "", NIC_LOG_WARN },
	[DGRAM_AUTH] = { "dropped: the sender's authorization key is not the one that is taken here (S158)", "", NIC_LOG_INFO },
	[DGRAM_FULL] = { "dropped: completions that are not read leave no room for another", "", NIC_LOG_INFO },
	[DGRAM_UNEXPECTED] = { "dropped: no receive is posted for it", "", NIC_LOG_INFO },
	[DGRAM_NO_PAIR] = { "dropped: no queue pair for datagrams has the QPN", "", NIC_LOG_INFO },
	[DGRAM_NOT_READY] = { "dropped: the queue pair is neither in RTR nor beyond", "", NIC_LOG_INFO },
	[DGRAM_QKEY] = { "dropped: its Q_Key is not the queue pair's", "", NIC_LOG_WARN },
	[DGRAM_UNPLUGGED] = { "lost, as the port is down", "", NIC_LOG_INFO },
	[DGRAM_TOO_LONG] = { "dropped: it is longer than the receive, which needs 40 bytes for the GRH in addition", "",
			     NIC_LOG_WARN },
};

/* The front end's name of the call or setting by which datagrams end so. */
static const char *end_name(const struct ep *ep, enum dgram_end end)
{
	const struct front_end *front = ep->nic->config.front;

	return end == DGRAM_LOST ? front->settings[FRONT_DGRAM_LOSS] : end == DGRAM_NO_RECEIVE ? front->receive_cap : "";
}

/* Only powers of two are logged: a peer that floods a port does not flood the log. */
void dgram_ended(struct ep *ep, enum dgram_end end, const char *detail)
{
	uint64_t count = ++ep->dgram.ended[end];
	char name[NAME_MAX_TEXT];

	nic_role(ep->nic);
	if (count & (count - 1))
		return;
	nic_log(ep->nic, ends[end].level, "datagram %s%s%s%s%s (number %" PRIu64 " of these at %s)", ends[end].words,
		end_name(ep, end), ends[end].rest, detail ? ": " : "", detail ? detail : "", count,
		address_text(&ep->name, name, sizeof(name)));
}

/* splitmix64. */
static uint64_t draw_loss(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

/* The seed and the endpoint's number in its process say which of its datagrams are lost. */
void dgram_begin(struct ep *ep)
{
	nic_role(ep->nic);
	ep->dgram.draws = ep->nic->config.dgram_seed + ep->nic->dgram_eps++;
	ep->dgram.draws = draw_loss(&ep->dgram.draws);
}

int dgram_open(struct ep *ep)
{
	int err = ep->nic->link.bind(ep->nic->link_arg, &ep->name, false, ep, &ep->dgram.port);

	nic_role(ep->nic);
	if (!err)
		dgram_begin(ep);
	return err;
}

static void tell_ended(const struct ep *ep)
{
	char name[NAME_MAX_TEXT];

	for (int end = 0; end < DGRAM_ENDS; end++)
		if (ep->dgram.ended[end])
			nic_log(ep->nic, NIC_LOG_INFO, "endpoint %s closes: %" PRIu64 " datagrams were %s%s%s",
				address_text(&ep->name, name, sizeof(name)), ep->dgram.ended[end], ends[end].words,
				end_name(ep, (enum dgram_end)end), ends[end].rest);
}

void dgram_close(struct ep *ep)
{
	nic_role(ep->nic);
	if (!ep->dgram.port && !ep->pairing)
		return;
	groups_close(ep);
	if (ep->dgram.port)
		ep->nic->link.unbind(ep->dgram.port);
	ep->dgram.port = NULL;
	tell_ended(ep);
}

void dgram_flush(struct ep *ep)
{
	struct op *op;

	nic_role(ep->nic);
	while ((op = op_list_pop(&ep->dgram.waiting)))
		complete_refused(op, REFUSAL_CANCELLED, NULL);
}

bool dgram_quiet(const struct dgram *dgram)
{
	role_assert();
	return !dgram->waiting.first;
}

/* --- out --- */

uint16_t dgram_seal(const struct nic *nic)
{
	nic_role(nic);
	return nic->secret ? WIRE_DG_TAGGED : nic->config.digest == NIC_DIGEST_FULL ? WIRE_DG_WHOLE : 0;
}

/* False: the op's memory cannot be read. */
static bool frame_fill(const struct ep *ep, const struct op *op, const struct sockaddr_storage *to, uint8_t *frame)
{
	const struct nic *nic = ep->nic;
	struct wire_datagram_fields fields = {
		.flags = (op->flags & POST_CQ_DATA ? WIRE_DG_CQ_DATA : 0) | dgram_seal(nic),
		.payload = (uint32_t)op->length,
		.cq_data = op->flags & POST_CQ_DATA ? op->cq_data : 0,
		.auth = op->auth,
	};
	struct wire_address_fields address;
	struct place from;

	place_set(&from, op->iov, op->iov_count);
	if (!place_get(&from, frame + HEAD, op->length))
		return false;
	address_put(&ep->name, &fields.from);
	wire_put_datagram(frame, &fields);
	address_put(to, &address);
	if (nic->secret)
		secret_tag(nic->secret, (struct wire_datagram *)frame, &address);
	return true;
}

bool dgram_send(struct ep *ep, struct port *port, const struct sockaddr_storage *to, const void *frame, size_t length)
{
	const struct nic *nic = ep->nic;
	uint64_t draws = ep->dgram.draws;
	bool lost = draw_loss(&draws) % BILLION < nic->config.dgram_loss;
	int err = 0;

	nic_role(ep->nic);
	if (!lost)
		err = nic->link.send_datagram(port, to, frame, length);
	if (err == -EAGAIN)
		return false;
	ep->dgram.draws = draws;
	if (lost)
		dgram_ended(ep, DGRAM_LOST, NULL);
	else if (err)
		dgram_ended(ep, DGRAM_UNSENT, strerror(-err));
	return true;
}

/* False: the port takes no more now. Else the op has ended. */
static bool op_leave(struct ep *ep, struct op *op)
{
	uint8_t frame[WIRE_DATAGRAM_MAX];
	struct sockaddr_storage to;
	uint64_t stamp;

	assert(op->kind == OP_SEND && op->length <= LIMIT_DGRAM);
	av_generation(ep->attr.av);
	if (av_lookup(ep->attr.av, op->dest, &to, &stamp)) {
		complete_refused(op, REFUSAL_ADDRESS, NULL);
		return true;
	}
	if (!frame_fill(ep, op, &to, frame)) {
		complete_refused(op, REFUSAL_SOURCE_FAULT, NULL);
		return true;
	}
	if (!dgram_send(ep, ep->dgram.port, &to, frame, HEAD + op->length))
		return false;
	complete_good(op);
	return true;
}

void dgram_post(struct ep *ep, struct op *op)
{
	nic_role(ep->nic);
	if (!ep->dgram.port)
		complete_refused(op, REFUSAL_CANCELLED, NULL);
	else if (ep->dgram.waiting.first || !op_leave(ep, op))
		op_list_push(&ep->dgram.waiting, op);
}

void ep_writable(struct ep *ep)
{
	struct op *op, *next;

	nic_role(ep->nic);
	if (ep->pairs) {
		dgram_pairs_writable(ep);
		return;
	}
	while ((op = ep->dgram.waiting.first)) {
		next = op->next;
		if (!op_leave(ep, op))
			return;
		ep->dgram.waiting.first = next;
	}
}

/* --- in --- */

static void dgram_receive(struct message *message, const uint8_t *payload)
{
	struct place place;

	rx_place(message->rx, &place);
	if (place_put(&place, payload, message->length))
		complete_receive(message->rx, message);
	else
		complete_receive_failed(message->rx, REFUSAL_RECEIVE_BUFFER);
}

bool dgram_find_receive(struct message *message)
{
	nic_role(message->ep->nic);
	if (!message_find(message))
		return false;
	return message->rx || !submit_take_receives(message->ep->nic) || message_find(message);
}

/* The flaw in the tag of an otherwise flawless datagram, or in having one; NULL: none. */
static const char *tag_flaw(const struct ep *ep, const uint8_t *frame, uint16_t flags, const struct wire_address_fields *own)
{
	const struct wire_secret *secret = ep->nic->secret;

	if (!secret)
		return flags & WIRE_DG_TAGGED ? "tagged by a secret, and there is none here" : NULL;
	if (!(flags & WIRE_DG_TAGGED))
		return "not tagged by the secret that is asked for here";
	return secret_tagged(secret, (const struct wire_datagram *)frame, own)
		       ? NULL
		       : "changed, for another address, or tagged by another secret";
}

bool dgram_is_trusted(struct ep *ep, const uint8_t *frame, uint16_t flags, const struct wire_address_fields *own)
{
	const char *flaw = tag_flaw(ep, frame, flags, own);
	char detail[DETAIL_MAX];

	nic_role(ep->nic);
	if (!flaw)
		return true;
	snprintf(detail, sizeof(detail), "%s (%s)", flaw, ep->nic->config.front->settings[FRONT_SECRET]);
	dgram_ended(ep, DGRAM_SECRET, detail);
	return false;
}

static void arrive(struct ep *ep, const uint8_t *frame, size_t length)
{
	enum wire_datagram_flaw flaw = wire_check_datagram(frame, length);
	struct message message = { .ep = ep, .srx = ep->srx, .source = AV_NONE };
	struct wire_datagram_fields fields;
	struct wire_address_fields own;
	struct sockaddr_storage from;

	if (flaw != WIRE_DG_FLAWLESS) {
		dgram_ended(ep, DGRAM_MALFORMED, wire_datagram_flaw_name(flaw));
		return;
	}
	wire_get_datagram(frame, &fields);
	address_put(&ep->name, &own);
	if (!dgram_is_trusted(ep, frame, fields.flags, &own))
		return;
	address_get(&fields.from, &from);
	message.from = &from;
	message.length = fields.payload;
	message.has_cq_data = fields.flags & WIRE_DG_CQ_DATA;
	message.cq_data = fields.cq_data;
	message.auth = fields.auth;
	if (ep->attr.caps & (EP_SOURCE | EP_DIRECTED_RECV)) {
		av_generation(ep->attr.av);
		message.source = av_find(ep->attr.av, &from, fields.auth);
	}
	if (!(ep->attr.caps & EP_RECV))
		dgram_ended(ep, DGRAM_NO_RECEIVE, NULL);
	else if (!ep_takes(ep, fields.auth, &from))
		dgram_ended(ep, DGRAM_AUTH, NULL);
	else if (!dgram_find_receive(&message))
		dgram_ended(ep, DGRAM_FULL, NULL);
	else if (!message.rx)
		dgram_ended(ep, DGRAM_UNEXPECTED, NULL);
	else
		dgram_receive(&message, frame + HEAD);
}

/* Its own, or one for groups? */
static bool has_port(const struct ep *ep, const struct port *port)
{
	const struct dgram *dgram = &ep->dgram;

	return port == dgram->port || port == dgram->groups[0] || port == dgram->groups[1];
}

/* A failure to receive is the error of a datagram sent before, if the outside tells such: it is ignored. What arrives may close the
 * port. */
void ep_readable(struct ep *ep, struct port *port)
{
	void (*take)(struct ep * ep, const uint8_t *frame, size_t length) = ep->pairs ? dgram_pairs_arrive : arrive;
	uint8_t frame[WIRE_DATAGRAM_MAX];

	nic_role(ep->nic);
	if (ep->attr.manages) {
		services_readable(ep, port);
		return;
	}
	for (int i = 0; i < SLICE_DATAGRAMS && has_port(ep, port); i++) {
		ssize_t length = ep->nic->link.recv_datagram(port, frame, WIRE_DATAGRAM_MAX, NULL);

		if (length == -EAGAIN)
			return;
		if (length >= 0)
			take(ep, frame, (size_t)length);
	}
}
