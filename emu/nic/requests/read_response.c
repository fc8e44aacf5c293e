/* SPDX-License-Identifier: BSD-2-Clause */
/* read_response.c - the queue of DATA to be sent. */
#include "emu/nic/requests/responder.h"

#include <stdlib.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/transport/payload.h"
#include "emu/nic/transport/session.h"
#include "emu/nic/transport/transport_calls.h"

static const char *reply_push(struct session *session, const struct read_response *fields)
{
	struct responder *rsp = &session->rsp;
	struct read_response *response = malloc(sizeof(*response));

	if (!response)
		return conn_no_memory;
	*response = *fields;
	if (rsp->responses)
		rsp->responses_last->next = response;
	else
		rsp->responses = response;
	rsp->responses_last = response;
	if (session->conn)
		conn_busy(session->conn);
	return NULL;
}

const char *read_response_add(struct session *session, uint64_t ref, const struct access *ask, bool pinned, struct held_read *looks)
{
	bool told = session->ep->attr.caps & EP_REGION_EVENTS && !ask->tagged && ref > session->rsp.read_told;
	struct read_response response = { .ref = ref, .ask = *ask, .way = pinned, .length = ask->length };
	const char *broken;

	nic_role(session->ep->nic);
	if (session->rsp.reads_open >= LIMIT_READS) {
		free(looks);
		return "more READs than granted (WIRE-25)";
	}
	if (looks) {
		response.way = READ_LATE;
		response.looks = looks;
	}
	if (told)
		response.slot = calloc(1, sizeof(*response.slot));
	broken = told && !response.slot ? conn_no_memory : reply_push(session, &response);
	if (broken)
		free(response.slot);
	session->rsp.reads_open += !broken;
	return broken;
}

const char *read_response_add_pull(struct session *session, const struct wire_head *head)
{
	const struct wire_pull *pull = wire_body(head);
	uint64_t ref = wire_get64(pull->ref);
	uint64_t offset = wire_get64(pull->offset);
	uint64_t length = wire_get64(pull->length);
	bool broken;
	struct op *op = requester_pulled(session, ref, offset, length, &broken);

	nic_role(session->ep->nic);
	if (broken)
		return "PULL of no message that was sent, or of more than it (WIRE-72)";
	if (op)
		read_response_drop_op(session, op); /* asked again: the old answer is not wanted any more */
	else if (length == 0)
		return NULL;
	else if (session->rsp.reads_open++ >= LIMIT_READS)
		return "more PULLs of ended messages than READs granted (WIRE-72)";
	return reply_push(session,
			  &(struct read_response){ .ref = ref, .pulled = true, .op = op, .start = offset, .length = length });
}

static void reply_pop(struct responder *rsp)
{
	struct read_response *response = rsp->responses;

	rsp->responses = response->next;
	if (!response->op) /* counted: READs, and answers to PULLs of ops that were given up */
		rsp->reads_open--;
	free(response->slot);
	free(response);
}

/* The parts of a segment. */
struct sourced {
	uint8_t *frame; /* where it is to be written */
	struct place from;
	const void *owner;
	uint64_t digest;
};
enum { DATA_HEAD = sizeof(struct wire_head) + sizeof(struct wire_data) };

/* Bytes lent without a digest are not touched before they are sent: so they are read here. */
static bool is_readable(const struct conn *conn, const struct place *from, uint32_t length)
{
	return payload_copied(conn, length) || conn->payload_digest || place_readable(from, length);
}

/* In the protection domain of the context that it names. A frame may be under way, which is of another one's turn. */
__attribute__((noinline, cold)) static struct mr *check_named(struct session *session, uint32_t number, const struct access *ask,
							      struct mr_place *place, struct refusal *why)
{
	uint32_t turn = xrc_named(session->ep);
	struct mr *mr;

	(void)xrc_turn(session->ep, number);
	mr = access_check(session, ask, place, why);
	(void)xrc_turn(session->ep, turn);
	return mr;
}

/* Finds the source of the next `length` bytes of a READ. False: the READ is refused, since the region has gone meanwhile or
 * its memory is not there; found out before a byte of the segment is sent, so that the reader's buffer stays as it was.
 * *broken: not even the refusal could be sent. */
static bool response_from_region(struct session *session, const struct read_response *response, uint32_t length,
				 struct sourced *source, const char **broken)
{
	struct access ask = response->ask;
	struct refusal why;
	struct mr_place place;
	struct mr *mr;

	ask.to.addr += response->offset;
	ask.length = length;
	mr = unlikely(response->srx) ? check_named(session, response->srx, &ask, &place, &why)
				     : access_check(session, &ask, &place, &why);
	if (mr) {
		place_set(&source->from, place.run, place.count);
		source->from.pin = mr->pin;
		source->owner = mr;
		if (is_readable(session->conn, &source->from, length) &&
		    payload_stage(session->conn, source->frame + DATA_HEAD, &source->from, length, &source->digest))
			return true;
		why = (struct refusal){ .cause = REFUSAL_NOT_BACKED };
		mr_describe(mr, &why);
	}
	access_describe(&response->ask, &why);
	if (ask.tagged)
		tagged_fail(session, response->ref, why.cause);
	else
		access_release(session, response->ask.to.key, response->ask.mr_id, response->ref);
	*broken = verdict_refuse(session, response->ref, &why);
	return false;
}

/* The op was given up: one byte whose trailer says that the message will not come (WIRE-72). */
static void put_given_up(struct conn *conn, void *at, const struct read_response *response)
{
	conn_frame_end(conn, wire_put_data(at, WIRE_F_PULLED, 1, response->ref, response->start + response->offset,
					   response->length - response->offset));
	payload_put(conn, WIRE_DATA, "", 1, WIRE_CANCELLED);
}

static bool fill_given_up(struct session *session, struct conn *conn, const struct read_response *response)
{
	void *at = conn_frame_begin(conn, 1, 0);

	if (!at)
		return false;
	put_given_up(conn, at, response);
	reply_pop(&session->rsp);
	return true;
}

/* Finds the source of the next `length` bytes of a message. False: they are not there, so its op ends, and the response with it. */
static bool response_from_message(struct session *session, const struct read_response *response, uint32_t length,
				  struct sourced *source)
{
	place_set(&source->from, response->op->iov, response->op->iov_count);
	place_advance(&source->from, response->start + response->offset);
	source->owner = response->op;
	if (payload_stage(session->conn, source->frame + DATA_HEAD, &source->from, length, &source->digest))
		return true;
	put_given_up(session->conn, source->frame, response);
	conn_revoke(session->conn, source->owner, WIRE_CANCELLED);
	requester_source_fault(session, source->owner);
	return false;
}

/* Of READs that are not plain: how much of `most` goes at a time, and the frame; NULL before its time, too. */
static __attribute__((noinline)) uint32_t segment_apart(struct session *session, const struct read_response *response,
							uint32_t most)
{
	if (response->way == READ_LATE)
		return held_read_piece(session, response->looks, response->offset, most);
	return most > LIMIT_COPIED_SEGMENT ? LIMIT_COPIED_SEGMENT : most;
}

static __attribute__((noinline)) void *begin_apart(struct session *session, struct conn *conn, const struct read_response *response,
						   uint32_t length)
{
	if (response->way == READ_PINNED)
		return conn_frame_begin(conn, length, LIMIT_IOV);
	return held_read_waits(session, response->looks) ? NULL : conn_frame_begin(conn, payload_copied(conn, length), LIMIT_IOV);
}

static uint32_t response_segment(struct session *session, const struct read_response *response)
{
	uint64_t rest = response->length - response->offset;
	uint32_t most = session->req.segment;
	uint32_t length = rest < most ? (uint32_t)rest : most;

	return response->way ? segment_apart(session, response, length) : length;
}

/* All bytes of a READ are on their way: those of a receive are told of when they are taken. */
static void read_sent(struct session *session, struct read_response *response)
{
	struct responder *rsp = &session->rsp;
	struct remote_done done = { .fetched = true, .length = response->length, .auth = response->ask.to.auth };

	if (response->ask.tagged)
		return;
	if (response->ref > rsp->read_told) /* READs are answered in the order of their numbers */
		done.event = access_event(session, &response->ask, &done.context);
	if (done.event)
		rsp->read_told = response->ref;
	complete_remote(session, &response->slot, &done);
}

bool read_response_fill(struct session *session, struct conn *conn)
{
	struct read_response *response = session->rsp.responses;
	const char *broken = NULL;
	struct sourced source = { 0 };
	uint64_t rest;
	uint32_t length;

	nic_role(conn->nic);
	if (!response || (session->rsp.open_seq && !response->pulled && response->ref >= session->rsp.open_seq))
		return false;
	if (response->pulled && !response->op)
		return fill_given_up(session, conn, response);
	rest = response->length - response->offset;
	length = response_segment(session, response);
	source.frame = response->way ? begin_apart(session, conn, response, length)
				     : conn_frame_begin(conn, payload_copied(conn, length), LIMIT_IOV);
	if (!source.frame)
		return false;
	if (response->pulled) {
		if (!response_from_message(session, response, length, &source))
			return true;
	} else if (!response_from_region(session, response, length, &source, &broken)) {
		reply_pop(&session->rsp);
		if (broken) /* the reader would wait for ever for its answer: rather no session */
			conn_broken(conn, broken);
		return true;
	}
	conn_frame_end(conn, wire_put_data(source.frame, response->pulled ? WIRE_F_PULLED : 0, length, response->ref,
					   response->offset + response->start, rest));
	payload_staged(conn, &source.from, length, source.owner, source.digest);
	response->offset += length;
	if (response->offset < response->length)
		return true;
	if (!response->pulled)
		read_sent(session, response);
	reply_pop(&session->rsp);
	return true;
}

void read_response_drop_op(struct session *session, const struct op *op)
{
	struct responder *rsp = &session->rsp;
	struct read_response *before = NULL, *response, *next;

	nic_role(session->ep->nic);
	for (response = rsp->responses; response; response = next) {
		next = response->next;
		if (!response->pulled || response->op != op) {
			before = response;
			continue;
		}
		if (before)
			before->next = next;
		else
			rsp->responses = next;
		if (rsp->responses_last == response)
			rsp->responses_last = before;
		free(response);
	}
}

void read_response_give_up_op(struct session *session, const struct op *op)
{
	nic_role(session->ep->nic);
	for (struct read_response *response = session->rsp.responses; response; response = response->next) {
		if (!response->pulled || response->op != op)
			continue;
		response->op = NULL;
		session->rsp.reads_open++;
	}
}

void read_response_flush(struct session *session)
{
	nic_role(session->ep->nic);
	while (session->rsp.responses)
		reply_pop(&session->rsp);
}
