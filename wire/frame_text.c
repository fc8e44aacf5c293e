/* SPDX-License-Identifier: BSD-2-Clause */
/* frame_text.c - a frame, a word of rdma_cm or a datagram as one line of text. */
#include "wire/frame_text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "wire/codec.h"
#include "wire/rdma.h"

struct text_line {
	char *at;
	size_t size;
	size_t used; /* without the terminator */
};

__attribute__((format(printf, 2, 3))) static void add(struct text_line *line, const char *format, ...)
{
	size_t room = line->size - line->used;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(line->at + line->used, room, format, args);
	va_end(args);
	line->used += length < 0 ? 0 : (size_t)length < room ? (size_t)length : room - 1;
}

static void add_count(struct text_line *line, const char *name, wire_u64 value)
{
	add(line, " %s %" PRIu64, name, wire_get64(value));
}

static void add_hex(struct text_line *line, const char *name, wire_u64 value)
{
	add(line, " %s 0x%" PRIx64, name, wire_get64(value));
}

static const char *flag_name(const struct wire_head *head, int bit)
{
	static const char *const names[8] = { "FIRST", "LAST", "CQ_DATA", "TAGGED", "PULLED", "COMMIT", "COLLECTIVE", "SOLICITED" };

	if (1 << bit == WIRE_F_SETTLES && wire_is_request(head->op))
		return "SETTLES";
	if (1 << bit == WIRE_F_DELIVERED && (head->op == WIRE_WRITE || head->op == WIRE_ATOMIC))
		return "DELIVERED";
	return names[bit];
}

static void add_flags(struct text_line *line, const struct wire_head *head)
{
	char before = ' ';

	for (int bit = 0; bit < 8; bit++) {
		if (!(head->flags & 1 << bit))
			continue;
		add(line, "%c%s", before, flag_name(head, bit));
		before = '|';
	}
}

static void add_hex_bytes(struct text_line *line, const char *name, const uint8_t *bytes, int length)
{
	add(line, " %s ", name);
	for (int i = 0; i < length; i++)
		add(line, "%02x", bytes[i]);
}

static void add_address(struct text_line *line, const char *name, const struct wire_address_fields *at)
{
	const uint8_t *addr = at->addr;

	add(line, " %s ", name);
	if (at->family == 4) {
		add(line, "%u.%u.%u.%u:%u", addr[0], addr[1], addr[2], addr[3], at->port);
		return;
	}
	add(line, "[");
	for (int i = 0; i < 16; i += 2)
		add(line, "%s%x", i ? ":" : "", addr[i] << 8 | addr[i + 1]);
	add(line, "%%%" PRIu32 "]:%u", at->scope, at->port);
}

static void add_challenge(struct text_line *line, const struct wire_head *head)
{
	const struct wire_challenge *challenge = wire_body(head);
	struct wire_address_fields to;

	wire_get_challenged(head, &to);
	add_hex_bytes(line, "nonce", challenge->nonce, WIRE_NONCE_LEN);
	add_address(line, "to", &to);
}

static void add_hello(struct text_line *line, const struct wire_head *head)
{
	struct wire_hello_fields hello;

	wire_get_hello(head, &hello);
	add(line, " version %u..%u features 0x%" PRIx32, hello.version_min, hello.version_max, hello.features);
	add_hex_bytes(line, "instance", hello.instance, WIRE_ID_LEN);
	add_hex_bytes(line, "expected", hello.expected, WIRE_ID_LEN);
	add(line, " session 0x%" PRIx64 " epoch %" PRIu64 " seen %" PRIu64 " verdict_seen %" PRIu64, hello.session, hello.epoch,
	    hello.seen, hello.verdict_seen);
	add(line, " requests %" PRIu32 " reads %" PRIu32 " segment %" PRIu32, hello.requests, hello.reads, hello.segment);
	add_address(line, "at", &hello.at);
	if (hello.known_port)
		add(line, " known by %u", hello.known_port);
	if (hello.version_min >= WIRE_VERSION_PAIRS)
		add(line, " index %u for %u", hello.index, hello.peer_index);
}

static void add_pair(struct text_line *line, const struct wire_head *head)
{
	struct wire_pair_fields pair;

	wire_get_pair(head, &pair);
	if (pair.sq_psn != WIRE_PSN_UNKNOWN)
		add(line, " sends from 0x%06" PRIx32, pair.sq_psn);
	add(line, " expects 0x%06" PRIx32 " path MTU %" PRIu32, pair.rq_psn, pair.path_mtu);
}

static void add_bye(struct text_line *line, const struct wire_head *head)
{
	static const char *const names[] = {
		[WIRE_BYE_CLOSED] = "CLOSED",     [WIRE_BYE_VERSION] = "VERSION",     [WIRE_BYE_INSTANCE] = "INSTANCE",
		[WIRE_BYE_PROTOCOL] = "PROTOCOL", [WIRE_BYE_DUPLICATE] = "DUPLICATE", [WIRE_BYE_LIMIT] = "LIMIT",
		[WIRE_BYE_SESSION] = "SESSION",   [WIRE_BYE_SECRET] = "SECRET",       [WIRE_BYE_CLAIM] = "CLAIM",
		[WIRE_BYE_UNPAIRED] = "UNPAIRED",
	};
	struct wire_bye_fields bye;

	wire_get_bye(head, &bye);
	if (bye.reason >= WIRE_BYE_CLOSED && bye.reason <= WIRE_BYE_UNPAIRED)
		add(line, " %s \"", names[bye.reason]);
	else
		add(line, " reason %" PRIu32 " \"", (uint32_t)bye.reason);
	for (const char *c = bye.text; *c; c++)
		add(line, "%c", *c >= ' ' && *c <= '~' ? *c : '?');
	add(line, "\"");
}

static void add_auth(struct text_line *line, wire_u64 auth)
{
	if (wire_get64(auth))
		add_hex(line, "auth", auth);
}

static void add_target(struct text_line *line, const struct wire_target *target)
{
	add_hex(line, "key", target->key);
	if (wire_get64(target->key_tail))
		add_hex(line, "tail", target->key_tail);
	add_auth(line, target->auth);
	add_hex(line, "addr", target->addr);
}

static void add_write(struct text_line *line, const struct wire_head *head)
{
	const struct wire_write *write = wire_body(head);

	add_target(line, &write->to);
	add_count(line, "rest", write->rest);
	if (head->flags & WIRE_F_CQ_DATA)
		add_hex(line, "cq_data", write->cq_data);
}

static void add_read(struct text_line *line, const struct wire_read *read)
{
	add_target(line, &read->from);
	add_count(line, "length", read->length);
}

static void add_atomic(struct text_line *line, const struct wire_head *head)
{
	const struct wire_atomic *atomic = wire_body(head);

	add(line, " kind %u op %u type %u", atomic->kind, atomic->op, atomic->type);
	add_target(line, &atomic->to);
	add_count(line, "length", atomic->length);
	if (head->flags & WIRE_F_CQ_DATA)
		add_hex(line, "cq_data", atomic->cq_data);
}

static void add_message(struct text_line *line, const struct wire_head *head)
{
	const struct wire_send *send = wire_body(head);

	add_count(line, "length", send->length);
	if (head->flags & (WIRE_F_TAGGED | WIRE_F_COLLECTIVE))
		add_hex(line, "tag", send->tag);
	if (head->flags & (WIRE_F_CQ_DATA | WIRE_F_COLLECTIVE))
		add_hex(line, "cq_data", send->cq_data);
	add_auth(line, send->auth);
}

static void add_rsend(struct text_line *line, const struct wire_head *head)
{
	const struct wire_rsend *rsend = wire_body(head);

	add_count(line, "rest", rsend->rest);
	if (head->flags & WIRE_F_CQ_DATA)
		add_hex(line, "cq_data", rsend->cq_data);
	if (wire_get32(rsend->invalidate))
		add_hex(line, "invalidates", rsend->cq_data);
	add_auth(line, rsend->auth);
}

static void add_cm(struct text_line *line, const struct wire_cm *cm)
{
	add_hex(line, "request", cm->request);
}

static void add_taken(struct text_line *line, const struct wire_taken *taken)
{
	add_count(line, "ref", taken->ref);
	add(line, " status %" PRIu32, wire_get32(taken->status));
}

static void add_data(struct text_line *line, const struct wire_data *data)
{
	add_count(line, "ref", data->ref);
	add_count(line, "offset", data->offset);
	add_count(line, "rest", data->rest);
}

static void add_pull(struct text_line *line, const struct wire_pull *pull)
{
	add_count(line, "ref", pull->ref);
	add_count(line, "offset", pull->offset);
	add_count(line, "length", pull->length);
}

static void add_rnr(struct text_line *line, const struct wire_rnr *rnr)
{
	add_count(line, "ref", rnr->ref);
	add(line, " wait_us %" PRIu32, wire_get32(rnr->wait_us));
}

static void add_nak(struct text_line *line, const struct wire_head *head)
{
	struct wire_nak_fields nak;

	wire_get_nak(head, &nak);
	add(line, " verdict %" PRIu64 " ref %" PRIu64 " cause %" PRIu32 " access 0x%" PRIx32, nak.verdict, nak.ref, nak.cause,
	    nak.access);
	add(line, " region %" PRIu64 " excess %" PRIu64 " age_ns %" PRIu64, nak.region, nak.excess, nak.age_ns);
}

static void add_verdict(struct text_line *line, const struct wire_verdict *verdict)
{
	add_count(line, "verdict", verdict->verdict);
	add_count(line, "ref", verdict->ref);
}

static void add_ack(struct text_line *line, const struct wire_ack *ack)
{
	add_count(line, "verdict", ack->verdict);
}

static void add_proof(struct text_line *line, const struct wire_proof *proof)
{
	add_hex_bytes(line, "proof", proof->proof, WIRE_PROOF_LEN);
}

static void add_answer(struct text_line *line, const struct wire_head *head)
{
	switch (head->op) {
	case WIRE_DATA:
		add_data(line, wire_body(head));
		break;
	case WIRE_PULL:
		add_pull(line, wire_body(head));
		break;
	case WIRE_RNR:
		add_rnr(line, wire_body(head));
		break;
	case WIRE_NAK:
		add_nak(line, head);
		break;
	default:
		add_verdict(line, wire_body(head));
	}
}

static void add_body(struct text_line *line, const struct wire_head *head)
{
	switch ((enum wire_op)head->op) {
	case WIRE_HELLO:
		add_hello(line, head);
		break;
	case WIRE_BYE:
		add_bye(line, head);
		break;
	case WIRE_ACK:
		add_ack(line, wire_body(head));
		break;
	case WIRE_CHALLENGE:
		add_challenge(line, head);
		break;
	case WIRE_PROOF:
		add_proof(line, wire_body(head));
		break;
	case WIRE_PAIR:
		add_pair(line, head);
		break;
	case WIRE_WRITE:
		add_write(line, head);
		break;
	case WIRE_READ:
		add_read(line, wire_body(head));
		break;
	case WIRE_SEND:
	case WIRE_RTS:
		add_message(line, head);
		break;
	case WIRE_RSEND:
		add_rsend(line, head);
		break;
	case WIRE_ATOMIC:
		add_atomic(line, head);
		break;
	case WIRE_CONNECT:
	case WIRE_ACCEPT:
	case WIRE_REJECT:
		add_cm(line, wire_body(head));
		break;
	case WIRE_TAKEN:
		add_taken(line, wire_body(head));
		break;
	case WIRE_DATA:
	case WIRE_PULL:
	case WIRE_RNR:
	case WIRE_NAK:
	case WIRE_PARK:
	case WIRE_DONE:
	case WIRE_RESULT:
		add_answer(line, head);
		break;
	}
}

const char *wire_op_name(uint8_t op)
{
	return wire_forms[op].name ? wire_forms[op].name : "?";
}

size_t wire_text(char *text, size_t size, const struct wire_head *head)
{
	struct text_line line = { .at = text, .size = size };

	assert(size);
	if (wire_body_len(head->op))
		add(&line, "%s", wire_op_name(head->op));
	else
		add(&line, "op %u", head->op);
	if (wire_get64(head->seq))
		add_count(&line, "seq", head->seq);
	if (wire_get64(head->ack))
		add_count(&line, "ack", head->ack);
	add_flags(&line, head);
	add_body(&line, head);
	if (wire_get32(head->payload))
		add(&line, " payload %" PRIu32, wire_get32(head->payload));
	return line.used;
}

/* --- words of rdma_cm --- */

static void add_word(struct text_line *line, const struct wire_rdma_fields *word)
{
	static const char *const names[] = {
		[WIRE_RDMA_REQUEST] = "REQUEST", [WIRE_RDMA_REPLY] = "REPLY", [WIRE_RDMA_REJECT] = "REJECT",
		[WIRE_RDMA_READY] = "READY",     [WIRE_RDMA_LEAVE] = "LEAVE", [WIRE_RDMA_LOOKUP] = "LOOKUP",
		[WIRE_RDMA_FOUND] = "FOUND"
	};

	add(line, "%s", names[word->kind]);
	if (word->kind == WIRE_RDMA_REQUEST || word->kind == WIRE_RDMA_LOOKUP) {
		add_address(line, "from", &word->from);
		add_address(line, "to", &word->to);
	}
	if (word->kind == WIRE_RDMA_REQUEST || word->kind == WIRE_RDMA_REPLY)
		add(line, " QPN 0x%06" PRIx32 " PSN 0x%06" PRIx32, word->qpn, word->psn);
	if (word->kind == WIRE_RDMA_FOUND && word->status)
		add(line, " status %u", word->status);
	else if (word->kind == WIRE_RDMA_FOUND)
		add(line, " QPN 0x%06" PRIx32 " Q_Key 0x%08" PRIx32, word->qpn, word->qkey);
	if (word->kind == WIRE_RDMA_REJECT)
		add(line, " reason %" PRIu32, word->reason);
	if (word->length)
		add(line, " data %u", word->length);
}

size_t wire_word_text(char *text, size_t size, const struct wire_head *head, const void *payload, size_t kept)
{
	struct text_line line = { .at = text, .size = size };
	uint32_t length = wire_get32(head->payload);
	uint8_t bytes[WIRE_CM_DATA_MAX] = { 0 }; /* what is not there is the program's, and may be anything */
	struct wire_rdma_fields word;

	assert(size);
	*text = 0;
	if (head->op != WIRE_CONNECT || length > sizeof(bytes))
		return 0;
	memcpy(bytes, payload, kept < length ? kept : length);
	if (!wire_get_rdma(bytes, length, &word))
		add_word(&line, &word);
	return line.used;
}

/* --- datagrams --- */

static void add_service(struct text_line *line, const struct wire_service_fields *service)
{
	add(line, service->kind == WIRE_SERVICE_QUESTION ? "question for the port of" : "answer:");
	add_address(line, "service", &service->at);
	if (service->kind == WIRE_SERVICE_ANSWER)
		add(line, " is at port %u", service->port);
}

static void add_pair_datagram(struct text_line *line, const struct wire_pair_datagram *pair)
{
	add(line, " from QPN 0x%06" PRIx32 " to 0x%06" PRIx32 " Q_Key 0x%08" PRIx32, wire_get32(pair->src_qpn),
	    wire_get32(pair->dest_qpn), wire_get32(pair->qkey));
}

size_t wire_datagram_text(char *text, size_t size, const void *bytes, size_t kept, size_t whole)
{
	struct text_line line = { .at = text, .size = size };
	const struct wire_datagram *head = bytes;
	struct wire_service_fields service;

	assert(size);
	if (kept == whole && wire_get_service(bytes, whole, &service)) {
		add_service(&line, &service);
		return line.used;
	}
	add(&line, "datagram of %zu bytes", whole);
	if (kept < sizeof(*head) + sizeof(struct wire_pair_datagram) ||
	    memcmp(head->magic, WIRE_DATAGRAM_MAGIC, sizeof(head->magic)) ||
	    wire_get16(head->version) != WIRE_PAIR_DATAGRAM_VERSION)
		return line.used;
	add_pair_datagram(&line, (const struct wire_pair_datagram *)(head + 1));
	if (wire_get16(head->flags) & WIRE_DG_CQ_DATA)
		add_hex(&line, "cq_data", head->cq_data);
	return line.used;
}
