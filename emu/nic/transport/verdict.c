/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict.c - the queue of verdicts. */
#include "emu/nic/transport/session.h"

#include <inttypes.h>
#include <stdlib.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/greeting.h"
#include "emu/nic/transport/payload.h"

struct verdict *verdict_new(struct session *session, uint32_t length, const char **broken)
{
	struct verdict *verdict;

	nic_role(session->ep->nic);
	*broken = "verdicts are not acknowledged (WIRE-47)";
	if (session->rsp.verdict_count >= LIMIT_VERDICTS)
		return NULL;
	*broken = conn_no_memory;
	verdict = malloc(sizeof(*verdict) + length);
	if (!verdict) {
		session->answer_lost = true; /* the initiator would wait for it for ever */
		return NULL;
	}
	*verdict = (struct verdict){ .op = WIRE_RESULT, .length = length };
	*broken = NULL;
	return verdict;
}

enum refusal_cause verdict_lack(const struct session *session)
{
	nic_role(session->ep->nic);
	return session->answer_lost ? REFUSAL_NO_SESSION : REFUSAL_PROTOCOL;
}

void verdict_keep(struct session *session, struct verdict *verdict, uint64_t ref)
{
	struct responder *rsp = &session->rsp;

	nic_role(session->ep->nic);
	verdict->fields.ref = ref;
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
	verdict_keep(session, verdict, fields->ref);
	return NULL;
}

/* For the owner of the regions alone, not for a peer that guesses keys. */
static void tell_likeness(struct session *session, uint64_t key)
{
	uint64_t like;
	const char *how = mr_like(session->ep->attr.pd->regions, session->ep->nic->config.front, key, &like);

	if (how && like == key)
		nic_log(session->ep->nic, NIC_LOG_WARN, "key 0x%" PRIx64 " %s", key, how);
	else if (how)
		nic_log(session->ep->nic, NIC_LOG_WARN, "key 0x%" PRIx64 " %s (a region has key 0x%" PRIx64 ")", key, how, like);
}

bool verdict_halts(const struct session *session, enum refusal_cause cause)
{
	nic_role(session->ep->nic);
	/* V183 */
	return session->ep->pairing && (!ep_loses(session->ep) || cause == REFUSAL_RECEIVE_BUFFER || cause == REFUSAL_RESOURCE);
}

const char *verdict_refuse(struct session *session, uint64_t ref, const struct refusal *why)
{
	bool loses = ep_loses(session->ep); /* V180 */
	struct wire_nak_fields fields = {
		.ref = ref,
		.cause = why->cause,
		.access = refusal_access_put(why->access),
		.region = why->region,
		.excess = why->excess,
		.age_ns = why->age_ns,
	};
	char text[LIMIT_ERROR_TEXT], name[64];

	nic_role(session->ep->nic);
	session->ep->nic->counts.refused[why->cause < REFUSAL_CAUSES ? why->cause : REFUSAL_NONE]++;
	if (session->ep->nic->config.reports)
		session->ep->nic->config.reports->refused(session->ep->attr.pd, why, session_name(session, name, sizeof(name)));
	if (log_limit_ok(session->ep->nic, LOG_LIMIT_REFUSAL)) {
		refusal_text(session->ep->nic->config.front, why, NULL, text, sizeof(text));
		nic_log(session->ep->nic, NIC_LOG_WARN, "%s %s: %s", loses ? "lost, from" : "refused to",
			session_name(session, name, sizeof(name)), text);
		if (why->cause == REFUSAL_UNKNOWN_KEY && !(why->access & REFUSAL_INJECTED))
			tell_likeness(session, why->key);
	}
	if (why->cause == REFUSAL_UNKNOWN_KEY && session->conn)
		guess_made(session->conn);
	if (verdict_halts(session, why->cause))
		pairing_refused(session, why->cause);
	return loses ? NULL : verdict_push(session, WIRE_NAK, &fields);
}

const char *verdict_add(struct session *session, uint8_t op, uint64_t ref)
{
	nic_role(session->ep->nic);
	return verdict_push(session, op, &(struct wire_nak_fields){ .ref = ref });
}

/* The caller adjusts `unsent`. */
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

	nic_role(session->ep->nic);
	if (number >= sent)
		return "a verdict is acknowledged that was not sent (WIRE-47)";
	verdict_forget(rsp, number);
	return NULL;
}

/* The next one that may go. */
static struct verdict *verdict_due(const struct session *session)
{
	struct verdict *verdict = session->rsp.unsent;

	return verdict && session->rsp.open_seq && verdict->fields.ref >= session->rsp.open_seq ? NULL : verdict;
}

bool verdict_fill(struct session *session, struct conn *conn)
{
	struct verdict *verdict = verdict_due(session);
	void *at = verdict ? conn_frame_begin(conn, verdict->length, 0) : NULL;
	size_t length;

	nic_role(conn->nic);
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
	payload_put(conn, verdict->op, verdict->result, verdict->length, WIRE_GOOD);
	session->rsp.unsent = verdict->next;
	return true;
}

bool verdict_resume(struct session *session, uint64_t number)
{
	struct responder *rsp = &session->rsp;

	nic_role(session->ep->nic);
	if (number >= rsp->verdict_next)
		return false;
	verdict_forget(rsp, number);
	rsp->unsent = rsp->verdicts;
	return true;
}

void verdict_flush(struct session *session)
{
	nic_role(session->ep->nic);
	verdict_forget(&session->rsp, UINT64_MAX);
	session->rsp.unsent = NULL;
}
