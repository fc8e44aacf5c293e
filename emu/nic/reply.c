/* SPDX-License-Identifier: BSD-2-Clause */
/* reply.c - the queue of DATA to be sent. */
#include "emu/nic/reply.h"

#include <stdlib.h>

#include "emu/nic/completer.h"
#include "emu/nic/ep.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/payload.h"
#include "emu/nic/requester.h"
#include "emu/nic/verdict.h"
#include "wire/digest.h"

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

const char *reply_read(struct session *session, uint64_t ref, const struct mr *mr, uint64_t addr, uint64_t length)
{
	if (session->rsp.reads_open >= LIMIT_READS)
		return "more READs than granted (WIRE-25)";
	session->rsp.reads_open++;
	return reply_push(session, &(struct reply){ .ref = ref, .key = mr->key, .mr_id = mr->id, .addr = addr,
						     .length = length });
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

/* Where the next `length` bytes of a READ come from. False: the READ is refused, since the region has gone meanwhile or
 * its memory is not there; found out before a byte of the segment is sent, so that the reader's buffer stays as it was. */
static bool reply_region(struct session *session, const struct reply *reply, uint32_t length, struct place *from,
			 const void **owner)
{
	struct mr_table *regions = session->ep->attr.pd->regions;
	struct mr *mr = mr_find(regions, reply->key);
	struct refusal why = { .op = OP_READ, .key = reply->key, .addr = reply->addr, .length = reply->length };
	struct mr_place place;

	if (mr && mr->id != reply->mr_id)
		mr = NULL;
	why.cause = mr_check(mr, reply->addr + reply->offset, length, MR_REMOTE_READ, &place, &why);
	if (why.cause == REFUSAL_NONE) {
		place_set(from, place.run, place.count);
		*owner = mr;
		if (place_readable(from, length))
			return true;
		why.cause = REFUSAL_NOT_BACKED;
	}
	if (!mr && mr_tombstone(regions, reply->key, session->ep->nic->now_ns, &why.age_ns))
		why.cause = REFUSAL_CLOSED;
	verdict_refuse(session, reply->ref, &why);
	return false;
}

/* The op was given up: one byte whose trailer says that the message will not come (WIRE-72). */
static bool fill_given_up(struct session *session, struct conn *conn, const struct reply *reply)
{
	void *at = conn_frame_begin(conn, 1, 0);
	uint8_t *byte;

	if (!at)
		return false;
	conn_frame_end(conn, wire_put_data(at, WIRE_F_PULLED, 1, reply->ref, reply->start, reply->length));
	byte = sendq_add(&conn->out, 1 + sizeof(struct wire_trailer));
	*byte = 0;
	wire_put_trailer(byte + 1, WIRE_CANCELLED, conn->payload_digest ? digest_bytes(byte, 1) : 0);
	reply_pop(&session->rsp);
	return true;
}

bool reply_fill(struct session *session, struct conn *conn)
{
	struct reply *reply = session->rsp.replies;
	const void *owner;
	struct place from;
	uint64_t rest;
	uint32_t length;
	void *at;
	bool good;

	if (!reply)
		return false;
	if (reply->pulled && !reply->op)
		return fill_given_up(session, conn, reply);
	rest = reply->length - reply->offset;
	length = rest < session->req.segment ? (uint32_t)rest : session->req.segment;
	at = conn_frame_begin(conn, payload_copied(conn, length), LIMIT_IOV);
	if (!at)
		return false;
	if (reply->pulled) {
		place_set(&from, reply->op->iov, reply->op->iov_count);
		place_advance(&from, reply->start + reply->offset);
		owner = reply->op;
	} else if (!reply_region(session, reply, length, &from, &owner)) {
		reply_pop(&session->rsp);
		return true;
	}
	conn_frame_end(conn, wire_put_data(at, reply->pulled ? WIRE_F_PULLED : 0, length, reply->ref,
					   reply->offset + reply->start, rest));
	good = payload_add(conn, &from, length, owner);
	reply->offset += length;
	if (good && reply->offset < reply->length)
		return true;
	if (good && !reply->pulled)
		complete_remote_read(session);
	reply_pop(&session->rsp);
	if (!good && owner)
		requester_source_fault(session, owner);
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
