/* SPDX-License-Identifier: BSD-2-Clause */
/* target_read.c - the peer's READs: judged; their answers are queued by read_response.c. TAKEN ends one of a tagged receive. */
#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

/* May the endpoint be read from, by a key or by a tag? A tag finds its receive, and a READ that is asked again has it already. As
 * write_find() in target_write.c. */
static const char *read_admit(struct conn *conn, const struct access *ask)
{
	struct session *session = conn->session;

	if (!responder_allows(session, ask->tagged ? EP_TAGGED_READ : EP_REMOTE_READ, &conn->in.why)) {
		access_describe(ask, &conn->in.why);
		return NULL;
	}
	if (ask->tagged)
		return conn->in.repeat ? NULL : tagged_admit(conn, ask);
	if (session->ep->attr.caps & EP_REGION_EVENTS && !conn->in.repeat && !complete_has_room(session))
		return responder_rnr(conn); /* F5: before a byte is read */
	return NULL;
}

/* What races mode and fault plans do about a READ that was granted; either has sessions with `fault`. */
static __attribute__((noinline, cold)) struct held_read *read_watched(struct conn *conn, const struct wire_head *head,
								      const struct access *ask, const struct mr *mr,
								      const struct mr_place *place)
{
	if (conn->nic->config.races && !conn->in.repeat && !ask->tagged)
		open_access_begin(conn, ask, mr, place, &(struct access_effect){ .returns = true });
	return held_read(conn, head, mr, place);
}

const char *target_read_take(struct conn *conn, const struct wire_head *head)
{
	const struct wire_read *body = wire_body(head);
	struct access ask = {
		.length = wire_get64(body->length), .right = MR_REMOTE_READ, .op = OP_READ, .seq = wire_get64(head->seq)
	};
	struct session *session = conn->session;
	struct held_read *looks = NULL;
	struct mr_place place;
	const char *broken;
	struct mr *mr;

	ask.tagged = head->flags & WIRE_F_TAGGED;
	auth_get_target(conn, &body->from, &ask.to);
	broken = read_admit(conn, &ask);
	if (broken || conn->in.skip || conn->in.why.cause != REFUSAL_NONE)
		return broken;
	mr = access_check(session, &ask, &place, &conn->in.why);
	if (!mr)
		return NULL;
	ask.mr_id = mr->id;
	if (unlikely(session->fault))
		looks = read_watched(conn, head, &ask, mr, &place);
	broken = read_response_add(session, wire_get64(head->seq), &ask, mr->pin, looks);
	if (broken && !ask.tagged)
		access_release(session, ask.to.key, ask.mr_id, ask.seq);
	return broken;
}

const char *target_read_end(struct conn *conn, enum wire_status status)
{
	(void)status;
	if (conn->in.why.cause == REFUSAL_NONE)
		return NULL;
	tagged_fail(conn->session, wire_get64(conn->in.head.seq), conn->in.why.cause);
	return verdict_refuse(conn->session, wire_get64(conn->in.head.seq), &conn->in.why);
}

const char *target_taken_take(struct conn *conn, const struct wire_head *head)
{
	const struct wire_taken *body = wire_body(head);
	struct session *session = conn->session;
	uint64_t ref = wire_get64(body->ref);
	uint64_t length;

	nic_role(conn->nic);
	/* It was refused, or has ended here meanwhile; or it is a WRITE's, which has ended now that another request came. */
	if (!tagged_find_length(session, ref, &length))
		return NULL;
	if (wire_get32(body->status) == WIRE_GOOD)
		tagged_done(session, ref, &(struct remote_done){ .fetched = true, .length = length });
	else
		tagged_fail(session, ref, REFUSAL_SENDER);
	return NULL;
}

const char *target_taken_end(struct conn *conn, enum wire_status status)
{
	(void)conn;
	(void)status;
	return NULL;
}
