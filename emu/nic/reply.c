/* SPDX-License-Identifier: BSD-2-Clause */
/* reply.c - the queue of DATA to be sent. */
#include "emu/nic/reply.h"

#include <stdlib.h>

#include "emu/nic/completer.h"
#include "emu/nic/ep.h"
#include "emu/nic/judge.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/payload.h"
#include "emu/nic/requester.h"
#include "emu/nic/verdict.h"

static const char *reply_push(struct session *session, const struct reply *fields)
{
	struct responder *rsp = &session->rsp;
	struct reply *reply = malloc(sizeof(*reply));

	if (!reply)
		return "out of memory for an answer";
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

const char *reply_read(struct session *session, uint64_t ref, const struct judge_ask *ask, bool pinned)
{
	const char *broken;

	if (session->rsp.reads_open >= LIMIT_READS)
		return "more READs than granted (WIRE-25)";
	broken = reply_push(session, &(struct reply){ .ref = ref, .ask = *ask, .pinned = pinned, .length = ask->length });
	session->rsp.reads_open += !broken;
	return broken;
}

const char *reply_pull(struct session *session, const struct wire_head *head)
{
	const struct wire_pull *pull = wire_body(head);
	uint64_t ref = wire_get64(pull->ref);
	uint64_t offset = wire_get64(pull->offset);
	uint64_t length = wire_get64(pull->length);
	bool broken;
	struct op *op = requester_pulled(session, ref, offset, length, &broken);

	if (broken)
		return "PULL past the message (WIRE-72)";
	if (op)
		reply_drop_op(session, op);	/* asked again: the old answer is not wanted any more */
	else if (length == 0)
		return NULL;
	else if (session->rsp.reads_open++ >= LIMIT_READS)
		return "more PULLs of ended messages than READs granted (WIRE-72)";
	return reply_push(session, &(struct reply){ .ref = ref, .pulled = true, .op = op, .start = offset,
						     .length = length });
}

static void reply_pop(struct responder *rsp)
{
	struct reply *reply = rsp->replies;

	rsp->replies = reply->next;
	if (!reply->op)	/* counted: READs, and answers to PULLs of what was given up */
		rsp->reads_open--;
	free(reply);
}

/* What a segment is made of. */
struct sourced {
	void *frame;		/* where it is to be written */
	struct place from;
	const void *owner;
	bool staged;		/* its payload has its digest, and is copied if it is to be */
	uint64_t digest;
};
enum { DATA_HEAD = sizeof(struct wire_head) + sizeof(struct wire_data) };

/* Where the next `length` bytes of a READ come from. False: the READ is refused, since the region has gone meanwhile or
 * its memory is not there; found out before a byte of the segment is sent, so that the reader's buffer stays as it was.
 * *broken: not even that could be said. */
static bool reply_region(struct session *session, const struct reply *reply, uint32_t length, struct sourced *source,
			 const char **broken)
{
	struct judge_ask ask = reply->ask;
	struct refusal why;
	struct mr_place place;
	struct mr *mr;

	ask.to.addr += reply->offset;
	ask.length = length;
	mr = judge(session, &ask, &place, &why);
	if (mr) {
		place_set(&source->from, place.run, place.count);
		source->from.pin = mr->pin;
		source->owner = mr;
		source->staged = length && !mr->pin && session->conn->payload_digest;
		if (source->staged ? payload_stage(session->conn, source->frame, DATA_HEAD, &source->from, length,
						   &source->digest) :
				     place_readable(&source->from, length))
			return true;
		why = (struct refusal){ .cause = REFUSAL_NOT_BACKED };
		mr_describe(mr, &why);
	}
	judge_asked(&reply->ask, &why);
	judge_undo(session, reply->ask.to.key, reply->ask.mr_id, reply->ref);
	*broken = verdict_refuse(session, reply->ref, &why);
	return false;
}

/* The op was given up: one byte whose trailer says that the message will not come (WIRE-72). */
static bool fill_given_up(struct session *session, struct conn *conn, const struct reply *reply)
{
	void *at = conn_frame_begin(conn, 1, 0);

	if (!at)
		return false;
	conn_frame_end(conn, wire_put_data(at, WIRE_F_PULLED, 1, reply->ref, reply->start, reply->length));
	payload_put(conn, "", 1, WIRE_CANCELLED);
	reply_pop(&session->rsp);
	return true;
}

static uint32_t reply_segment(const struct session *session, const struct reply *reply)
{
	uint64_t rest = reply->length - reply->offset;
	uint32_t most = session->req.segment;

	if (reply->pinned && most > LIMIT_COPIED_SEGMENT)
		most = LIMIT_COPIED_SEGMENT;
	return rest < most ? (uint32_t)rest : most;
}

bool reply_fill(struct session *session, struct conn *conn)
{
	struct reply *reply = session->rsp.replies;
	const char *broken = NULL;
	struct sourced source = { 0 };
	uint64_t rest;
	uint32_t length;
	bool good = true;

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
		place_set(&source.from, reply->op->iov, reply->op->iov_count);
		place_advance(&source.from, reply->start + reply->offset);
		source.owner = reply->op;
	} else if (!reply_region(session, reply, length, &source, &broken)) {
		reply_pop(&session->rsp);
		if (broken)	/* a READ without an answer, for which its reader would wait: rather no session */
			conn_broken(conn, broken);
		return true;
	}
	conn_frame_end(conn, wire_put_data(source.frame, reply->pulled ? WIRE_F_PULLED : 0, length, reply->ref,
					   reply->offset + reply->start, rest));
	if (source.staged)
		payload_staged(conn, &source.from, length, source.owner, source.digest);
	else
		good = payload_add(conn, &source.from, length, source.owner);
	reply->offset += length;
	if (good && reply->offset < reply->length)
		return true;
	if (good && !reply->pulled)
		complete_remote_read(session, reply->length);
	reply_pop(&session->rsp);
	if (!good && source.owner)
		requester_source_fault(session, source.owner);
	return true;
}

void reply_drop_op(struct session *session, const struct op *op)
{
	struct responder *rsp = &session->rsp;
	struct reply *before = NULL, *reply, *next;

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

void reply_flush(struct session *session)
{
	while (session->rsp.replies)
		reply_pop(&session->rsp);
}
