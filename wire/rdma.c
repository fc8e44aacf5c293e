/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma.c - the codec and the validator of questions for a service and of rdma_cm's words. */
#include "wire/rdma.h"

#include <assert.h>

#include "wire/codec_impl.h"
#include "wire/digest.h"

enum { NUMBER_MAX = 0xffffff, REASON_MAX = 0xffff };

/* --- services --- */

static uint64_t service_digest(const struct wire_service *service)
{
	return digest_bytes(service, offsetof(struct wire_service, digest));
}

void wire_put_service(struct wire_service *at, const struct wire_service_fields *fields)
{
	*at = (struct wire_service){
		.version = wire_put16(WIRE_SERVICE_VERSION),
		.kind = wire_put16((uint16_t)fields->kind),
		.port = wire_put16(fields->port),
		.nonce = wire_put64(fields->nonce),
		.family = wire_put16(fields->at.family),
		.service = wire_put16(fields->at.port),
	};
	memcpy(at->magic, WIRE_SERVICE_MAGIC, sizeof(at->magic));
	memcpy(at->addr, fields->at.addr, sizeof(at->addr));
	at->digest = wire_put64(service_digest(at));
}

bool wire_get_service(const void *bytes, size_t length, struct wire_service_fields *fields)
{
	const struct wire_service *service = bytes;

	if (length != sizeof(*service) || memcmp(service->magic, WIRE_SERVICE_MAGIC, sizeof(service->magic)) ||
	    wire_get16(service->version) != WIRE_SERVICE_VERSION || !wire_all_zero(service->zero, sizeof(service->zero)))
		return false;
	*fields = (struct wire_service_fields){
		.kind = wire_get16(service->kind),
		.port = wire_get16(service->port),
		.nonce = wire_get64(service->nonce),
		.at = { .family = wire_get16(service->family), .port = wire_get16(service->service) },
	};
	memcpy(fields->at.addr, service->addr, sizeof(service->addr));
	if (fields->kind != WIRE_SERVICE_QUESTION && fields->kind != WIRE_SERVICE_ANSWER)
		return false;
	return wire_address_is_good(fields->at.family, fields->at.port, fields->at.addr, 0) && fields->nonce &&
	       (fields->kind == WIRE_SERVICE_ANSWER) == (fields->port != 0) &&
	       wire_get64(service->digest) == service_digest(service);
}

/* --- words --- */

size_t wire_rdma_room(enum wire_rdma_kind kind)
{
	static const uint8_t room[] = {
		[WIRE_RDMA_REQUEST] = WIRE_RDMA_REQUEST_DATA,
		[WIRE_RDMA_REPLY] = WIRE_RDMA_REPLY_DATA,
		[WIRE_RDMA_REJECT] = WIRE_RDMA_REJECT_DATA,
		[WIRE_RDMA_READY] = 0,
		[WIRE_RDMA_LEAVE] = 0,
		[WIRE_RDMA_LOOKUP] = WIRE_RDMA_LOOKUP_DATA,
		[WIRE_RDMA_FOUND] = WIRE_RDMA_FOUND_DATA,
	};

	return room[kind];
}

static size_t head_size(enum wire_rdma_kind kind)
{
	switch (kind) {
	case WIRE_RDMA_REQUEST:
		return sizeof(struct wire_rdma_request);
	case WIRE_RDMA_REPLY:
		return sizeof(struct wire_rdma_reply);
	case WIRE_RDMA_LOOKUP:
		return sizeof(struct wire_rdma_lookup);
	case WIRE_RDMA_FOUND:
		return sizeof(struct wire_rdma_found);
	default:
		return sizeof(struct wire_rdma_word);
	}
}

static void put_rdma_address(struct wire_rdma_address *at, const struct wire_address_fields *fields)
{
	at->family = wire_put16(fields->family);
	at->port = wire_put16(fields->port);
	memcpy(at->addr, fields->addr, sizeof(at->addr));
}

static struct wire_address_fields get_rdma_address(const struct wire_rdma_address *at)
{
	struct wire_address_fields fields = { .family = wire_get16(at->family), .port = wire_get16(at->port) };

	memcpy(fields.addr, at->addr, sizeof(fields.addr));
	return fields;
}

static void put_request(struct wire_rdma_request *at, const struct wire_rdma_fields *fields)
{
	*at = (struct wire_rdma_request){
		.qp_type = fields->qp_type,
		.qpn = wire_put32(fields->qpn),
		.psn = wire_put32(fields->psn),
		.responder_resources = fields->responder_resources,
		.initiator_depth = fields->initiator_depth,
		.flow_control = fields->flow_control,
		.retry_count = fields->retry_count,
		.rnr_retry_count = fields->rnr_retry_count,
		.srq = fields->srq,
		.ece_vendor = wire_put32(fields->ece_vendor),
		.ece_options = wire_put32(fields->ece_options),
	};
	put_rdma_address(&at->from, &fields->from);
	put_rdma_address(&at->to, &fields->to);
}

static void put_reply(struct wire_rdma_reply *at, const struct wire_rdma_fields *fields)
{
	*at = (struct wire_rdma_reply){
		.qpn = wire_put32(fields->qpn),
		.psn = wire_put32(fields->psn),
		.responder_resources = fields->responder_resources,
		.initiator_depth = fields->initiator_depth,
		.flow_control = fields->flow_control,
		.rnr_retry_count = fields->rnr_retry_count,
		.srq = fields->srq,
		.ece_vendor = wire_put32(fields->ece_vendor),
		.ece_options = wire_put32(fields->ece_options),
	};
}

static void put_lookup(struct wire_rdma_lookup *at, const struct wire_rdma_fields *fields)
{
	*at = (struct wire_rdma_lookup){ .space = wire_put16(fields->space) };
	put_rdma_address(&at->from, &fields->from);
	put_rdma_address(&at->to, &fields->to);
}

static void put_found(struct wire_rdma_found *at, const struct wire_rdma_fields *fields)
{
	*at = (struct wire_rdma_found){
		.status = fields->status,
		.qpn = wire_put32(fields->qpn),
		.qkey = wire_put32(fields->qkey),
	};
}

size_t wire_put_rdma(void *at, const struct wire_rdma_fields *fields)
{
	struct wire_rdma_word *word = at;
	size_t head = head_size(fields->kind);

	assert(fields->length <= wire_rdma_room(fields->kind));
	if (fields->kind == WIRE_RDMA_REQUEST)
		put_request(at, fields);
	else if (fields->kind == WIRE_RDMA_REPLY)
		put_reply(at, fields);
	else if (fields->kind == WIRE_RDMA_LOOKUP)
		put_lookup(at, fields);
	else if (fields->kind == WIRE_RDMA_FOUND)
		put_found(at, fields);
	else
		*word = (struct wire_rdma_word){ .reason = wire_put32(fields->reason) };
	word->version = WIRE_RDMA_VERSION;
	word->kind = (uint8_t)fields->kind;
	word->length = fields->length;
	if (fields->length)
		memcpy((uint8_t *)at + head, fields->data, fields->length);
	return head + fields->length;
}

/* Of both sides, in one family. */
static bool addresses_are_good(const struct wire_rdma_fields *fields)
{
	return wire_address_is_good(fields->from.family, fields->from.port, fields->from.addr, 0) &&
	       wire_address_is_good(fields->to.family, fields->to.port, fields->to.addr, 0) &&
	       fields->from.family == fields->to.family;
}

static const char *get_request(const struct wire_rdma_request *at, struct wire_rdma_fields *fields)
{
	fields->qp_type = at->qp_type;
	fields->qpn = wire_get32(at->qpn);
	fields->psn = wire_get32(at->psn);
	fields->responder_resources = at->responder_resources;
	fields->initiator_depth = at->initiator_depth;
	fields->flow_control = at->flow_control;
	fields->retry_count = at->retry_count;
	fields->rnr_retry_count = at->rnr_retry_count;
	fields->srq = at->srq;
	fields->ece_vendor = wire_get32(at->ece_vendor);
	fields->ece_options = wire_get32(at->ece_options);
	fields->from = get_rdma_address(&at->from);
	fields->to = get_rdma_address(&at->to);
	if (at->qp_type != WIRE_RDMA_RC && at->qp_type != WIRE_RDMA_XRC_SEND)
		return "a request's queue pair is neither RC nor XRC_SEND (WIRE-183)";
	if (!addresses_are_good(fields))
		return "a request's addresses are malformed (WIRE-183)";
	return at->zero[0] || at->zero[1] ? "a request's reserved bytes are not zero (WIRE-183)" : NULL;
}

static const char *get_reply(const struct wire_rdma_reply *at, struct wire_rdma_fields *fields)
{
	fields->qpn = wire_get32(at->qpn);
	fields->psn = wire_get32(at->psn);
	fields->responder_resources = at->responder_resources;
	fields->initiator_depth = at->initiator_depth;
	fields->flow_control = at->flow_control;
	fields->rnr_retry_count = at->rnr_retry_count;
	fields->srq = at->srq;
	fields->ece_vendor = wire_get32(at->ece_vendor);
	fields->ece_options = wire_get32(at->ece_options);
	return at->zero || !wire_all_zero(at->zeros, sizeof(at->zeros)) ? "a reply's reserved bytes are not zero (WIRE-183)" : NULL;
}

static const char *get_lookup(const struct wire_rdma_lookup *at, struct wire_rdma_fields *fields)
{
	fields->space = wire_get16(at->space);
	fields->from = get_rdma_address(&at->from);
	fields->to = get_rdma_address(&at->to);
	if (!fields->space || !addresses_are_good(fields))
		return "a lookup's port space or addresses are malformed (WIRE-183)";
	return at->zero || !wire_all_zero(at->zeros, sizeof(at->zeros)) ? "a lookup's reserved bytes are not zero (WIRE-183)"
									: NULL;
}

static const char *get_found(const struct wire_rdma_found *at, struct wire_rdma_fields *fields)
{
	fields->status = at->status;
	fields->qpn = wire_get32(at->qpn);
	fields->qkey = wire_get32(at->qkey);
	if (fields->status > WIRE_SIDR_MOST || (fields->status && (fields->qpn || fields->qkey)))
		return "the answer to a lookup has an unknown status, or fails and names a queue pair (WIRE-183)";
	return NULL;
}

static const char *get_word(const struct wire_rdma_word *at, struct wire_rdma_fields *fields)
{
	fields->reason = wire_get32(at->reason);
	if (fields->reason > REASON_MAX || (fields->kind == WIRE_RDMA_REJECT) != (fields->reason != 0))
		return "a reason goes with rejections alone, and has 16 bits (WIRE-183)";
	return at->zero ? "a word's reserved byte is not zero (WIRE-183)" : NULL;
}

const char *wire_get_rdma(const void *bytes, size_t length, struct wire_rdma_fields *fields)
{
	const struct wire_rdma_word *word = bytes;
	const char *flaw;
	size_t head;

	if (length < sizeof(*word))
		return "shorter than a word of rdma_cm (WIRE-183): the peer is no program of librdmacm";
	if (word->version != WIRE_RDMA_VERSION || word->kind < WIRE_RDMA_REQUEST || word->kind > WIRE_RDMA_FOUND)
		return "no word of rdma_cm, or of another version (WIRE-183)";
	*fields = (struct wire_rdma_fields){ .kind = word->kind, .length = word->length };
	head = head_size(fields->kind);
	if (length < head || fields->length != length - head || fields->length > wire_rdma_room(fields->kind))
		return "the word's length is not the number of bytes that follow, or above the limit (WIRE-183)";
	fields->data = (const uint8_t *)bytes + head;
	if (fields->kind == WIRE_RDMA_REQUEST)
		flaw = get_request(bytes, fields);
	else if (fields->kind == WIRE_RDMA_REPLY)
		flaw = get_reply(bytes, fields);
	else if (fields->kind == WIRE_RDMA_LOOKUP)
		flaw = get_lookup(bytes, fields);
	else if (fields->kind == WIRE_RDMA_FOUND)
		flaw = get_found(bytes, fields);
	else
		flaw = get_word(word, fields);
	if (!flaw && (fields->qpn > NUMBER_MAX || fields->psn > NUMBER_MAX))
		flaw = "a number of a queue pair or packet has more than 24 bits (WIRE-183)";
	return flaw;
}
