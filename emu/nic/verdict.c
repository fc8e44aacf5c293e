/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict.c - the queue of verdicts. */
#include "emu/nic/verdict.h"

#include <stdlib.h>

#include "emu/nic/ep.h"
#include "emu/nic/guess.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/payload.h"

struct verdict *verdict_new(struct session *session, uint32_t length, const char **broken)
{
	struct verdict *verdict;

	*broken = "verdicts are not acknowledged (WIRE-47)";
	if (session->rsp.verdict_count >= LIMIT_VERDICTS)
		return NULL;
	*broken = "out of memory for a verdict";
	verdict = malloc(sizeof(*verdict) + length);
	if (!verdict) {
		session->mute = true;	/* whoever waits for it would wait for ever */
		return NULL;
	}
	*verdict = (struct verdict){ .op = WIRE_RESULT, .length = length };
	*broken = NULL;
	return verdict;
}

enum refusal_cause verdict_lack(const struct session *session)
{
	return session->mute ? REFUSAL_NO_SESSION : REFUSAL_PROTOCOL;
}

/* Numbers it, and keeps it. */
static void verdict_keep(struct session *session, struct verdict *verdict)
{
	struct responder *rsp = &session->rsp;

	verdict->fields.verdict = rsp->verdict_next++;
	if (rsp->verdicts)
		rsp->verdicts_last->next = verdict;
	else
		rsp->verdicts = verdict;
	rsp->verdicts_last = verdict;
	rsp->verdict_count++;
	if (!rsp->unsent)
		rsp->unsent = verdict;
	if (session->conn)
		conn_busy(session->conn);
}

static const char *verdict_push(struct session *session, uint8_t op, const struct wire_nak_fields *fields)
{
	const char *broken;
	struct verdict *verdict = verdict_new(session, 0, &broken);

	if (!verdict)
		return broken;
	verdict->op = op;
	verdict->fields = *fields;
	verdict_keep(session, verdict);
	return NULL;
}

void verdict_result(struct session *session, struct verdict *verdict, uint64_t ref)
{
	verdict->fields.ref = ref;
	verdict_keep(session, verdict);
}

const char *verdict_refuse(struct session *session, uint64_t ref, const struct refusal *why)
{
	struct wire_nak_fields fields = {
		.ref = ref, .cause = why->cause, .access = why->access, .region = why->region,
		.excess = why->excess, .age_ns = why->age_ns,
	};
	char text[LIMIT_ERROR_TEXT], name[64];

	if (told_one(session->ep->nic, TOLD_REFUSAL)) {
		refusal_text(why, NULL, text, sizeof(text));
		nic_log(session->ep->nic, NIC_LOG_WARN, "refused to %s: %s", session_name(session, name, sizeof(name)), text);
	}
	if (why->cause == REFUSAL_UNKNOWN_KEY && session->conn)
		guess_made(session->conn);
	return verdict_push(session, WIRE_NAK, &fields);
}

const char *verdict_add(struct session *session, uint8_t op, uint64_t ref)
{
	return verdict_push(session, op, &(struct wire_nak_fields){ .ref = ref });
}

/* The caller sees to `unsent`. */
static void verdict_forget(struct responder *rsp, uint64_t number)
{
	struct verdict *verdict;

	while ((verdict = rsp->verdicts) && verdict->fields.verdict <= number) {
		rsp->verdicts = verdict->next;
		rsp->verdict_count--;
		free(verdict);
	}
}

const char *verdict_acked(struct session *session, uint64_t number)
{
	struct responder *rsp = &session->rsp;
	uint64_t sent = rsp->unsent ? rsp->unsent->fields.verdict : rsp->verdict_next;

	if (number >= sent)
		return "a verdict is acknowledged that was not sent (WIRE-46)";
	verdict_forget(rsp, number);
	return NULL;
}

bool verdict_fill(struct session *session, struct conn *conn)
{
	struct verdict *verdict = session->rsp.unsent;
	void *at = verdict ? conn_frame_begin(conn, verdict->length, 0) : NULL;
	size_t length;

	if (!at)
		return false;
	if (verdict->op == WIRE_NAK)
		length = wire_put_nak(at, &verdict->fields);
	else if (verdict->op == WIRE_RESULT)
		length = wire_put_result(at, verdict->length, verdict->fields.verdict, verdict->fields.ref);
	else
		length = wire_put_verdict(at, verdict->op, verdict->fields.verdict, verdict->fields.ref);
	/* Sealed with the old acknowledgement: a new one would overtake the verdicts behind this one. */
	conn_frame_end(conn, length);
	payload_put(conn, verdict->result, verdict->length, WIRE_GOOD);
	session->rsp.unsent = verdict->next;
	return true;
}

bool verdict_resume(struct session *session, uint64_t number)
{
	struct responder *rsp = &session->rsp;

	if (number >= rsp->verdict_next)
		return false;
	verdict_forget(rsp, number);
	rsp->unsent = rsp->verdicts;
	return true;
}

void verdict_flush(struct session *session)
{
	verdict_forget(&session->rsp, UINT64_MAX);
	session->rsp.unsent = NULL;
}
