/* SPDX-License-Identifier: BSD-2-Clause */
/* read_response.c - the queue of DATA to be sent. */
#include "emu/nic/requests/read_response.h"

#include <stdlib.h>

#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/requests/access_check.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/requester.h"
#include "emu/nic/requests/verdict.h"
#include "emu/nic/transport/payload.h"

static const char *reply_push(struct session *session, const struct read_response *fields)
{
	struct responder *rsp = &session->rsp;
	struct read_response *reply = malloc(sizeof(*reply));

	if (!reply)
		return conn_no_memory;
	*reply = *fields;
	if (rsp->replies)
		rsp->replies_last->next = reply;
	else
		rsp->replies = reply;
	rsp->replies_last = reply;
	if (session->conn)
		conn_busy(session->conn);
	return NULL;
}

const char *read_response_add(struct session *session, uint64_t ref, const struct access *ask, bool pinned)
{
	const char *broken;

	nic_role(session->ep->nic);
	if (session->rsp.reads_open >= LIMIT_READS)
		return "more READs than granted (WIRE-25)";
	broken = reply_push(session, &(struct read_response){ .ref = ref, .ask = *ask, .pinned = pinned, .length = ask->length });
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
		read_response_drop_op(session, op);	/* asked again: the old answer is not wanted any more */
	else if (length == 0)
		return NULL;
	else if (session->rsp.reads_open++ >= LIMIT_READS)
		return "more PULLs of ended messages than READs granted (WIRE-72)";
	return reply_push(session, &(struct read_response){ .ref = ref, .pulled = true, .op = op, .start = offset,
						     .length = length });
}

static void reply_pop(struct responder *rsp)
{
	struct read_response *reply = rsp->replies;

	rsp->replies = reply->next;
	if (!reply->op)	/* counted: READs, and answers to PULLs of ops that were given up */
		rsp->reads_open--;
	free(reply);
}

/* The parts of a segment. */
struct sourced {
	uint8_t *frame;		/* where it is to be written */
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

/* Finds the source of the next `length` bytes of a READ. False: the READ is refused, since the region has gone meanwhile or
 * its memory is not there; found out before a byte of the segment is sent, so that the reader's buffer stays as it was.
 * *broken: not even the refusal could be sent. */
static bool reply_region(struct session *session, const struct read_response *reply, uint32_t length, struct sourced *source,
			 const char **broken)
{
	struct access ask = reply->ask;
	struct refusal why;
	struct mr_place place;
	struct mr *mr;

	ask.to.addr += reply->offset;
	ask.length = length;
	mr = access_check(session, &ask, &place, &why);
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
	access_describe(&reply->ask, &why);
	access_release(session, reply->ask.to.key, reply->ask.mr_id, reply->ref);
	*broken = verdict_refuse(session, reply->ref, &why);
	return false;
}

/* The op was given up: one byte whose trailer says that the message will not come (WIRE-72). */
static void put_given_up(struct conn *conn, void *at, const struct read_response *reply)
{
	conn_frame_end(conn, wire_put_data(at, WIRE_F_PULLED, 1, reply->ref, reply->start + reply->offset,
					   reply->length - reply->offset));
	payload_put(conn, WIRE_DATA, "", 1, WIRE_CANCELLED);
}

static bool fill_given_up(struct session *session, struct conn *conn, const struct read_response *reply)
{
	void *at = conn_frame_begin(conn, 1, 0);

	if (!at)
		return false;
	put_given_up(conn, at, reply);
	reply_pop(&session->rsp);
	return true;
}

/* Finds the source of the next `length` bytes of a message. False: they are not there, so its op ends, and the reply with it. */
static bool reply_message(struct session *session, const struct read_response *reply, uint32_t length, struct sourced *source)
{
	place_set(&source->from, reply->op->iov, reply->op->iov_count);
	place_advance(&source->from, reply->start + reply->offset);
	source->owner = reply->op;
	if (payload_stage(session->conn, source->frame + DATA_HEAD, &source->from, length, &source->digest))
		return true;
	put_given_up(session->conn, source->frame, reply);
	conn_revoke(session->conn, source->owner, WIRE_CANCELLED);
	requester_source_fault(session, source->owner);
	return false;
}

static uint32_t reply_segment(const struct session *session, const struct read_response *reply)
{
	uint64_t rest = reply->length - reply->offset;
	uint32_t most = session->req.segment;

	if (reply->pinned && most > LIMIT_COPIED_SEGMENT)
		most = LIMIT_COPIED_SEGMENT;
	return rest < most ? (uint32_t)rest : most;
}

bool read_response_fill(struct session *session, struct conn *conn)
{
	struct read_response *reply = session->rsp.replies;
	const char *broken = NULL;
	struct sourced source = { 0 };
	uint64_t rest;
	uint32_t length;

	nic_role(conn->nic);
	if (!reply)
		return false;
	if (reply->pulled && !reply->op)
		return fill_given_up(session, conn, reply);
	rest = reply->length - reply->offset;
	length = reply_segment(session, reply);
	source.frame = conn_frame_begin(conn, reply->pinned ? length : payload_copied(conn, length), LIMIT_IOV);
	if (!source.frame)
		return false;
	if (reply->pulled) {
		if (!reply_message(session, reply, length, &source))
			return true;
	} else if (!reply_region(session, reply, length, &source, &broken)) {
		reply_pop(&session->rsp);
		if (broken)	/* the reader would wait for ever for its answer: rather no session */
			conn_broken(conn, broken);
		return true;
	}
	conn_frame_end(conn, wire_put_data(source.frame, reply->pulled ? WIRE_F_PULLED : 0, length, reply->ref,
					   reply->offset + reply->start, rest));
	payload_staged(conn, &source.from, length, source.owner, source.digest);
	reply->offset += length;
	if (reply->offset < reply->length)
		return true;
	if (!reply->pulled)
		complete_remote_read(session, reply->length);
	reply_pop(&session->rsp);
	return true;
}

void read_response_drop_op(struct session *session, const struct op *op)
{
	struct responder *rsp = &session->rsp;
	struct read_response *before = NULL, *reply, *next;

	nic_role(session->ep->nic);
	for (reply = rsp->replies; reply; reply = next) {
		next = reply->next;
		if (!reply->pulled || reply->op != op) {
			before = reply;
			continue;
		}
		if (before)
			before->next = next;
		else
			rsp->replies = next;
		if (rsp->replies_last == reply)
			rsp->replies_last = before;
		free(reply);
	}
}

void read_response_give_up_op(struct session *session, const struct op *op)
{
	nic_role(session->ep->nic);
	for (struct read_response *reply = session->rsp.replies; reply; reply = reply->next) {
		if (!reply->pulled || reply->op != op)
			continue;
		reply->op = NULL;
		session->rsp.reads_open++;
	}
}

void read_response_flush(struct session *session)
{
	nic_role(session->ep->nic);
	while (session->rsp.replies)
		reply_pop(&session->rsp);
}
