/* SPDX-License-Identifier: BSD-2-Clause */
/* target_read.c - the peer's READs: judged; their answers are queued by read_response.c. */
#include "emu/nic/endpoint/ep.h"
#include "emu/nic/endpoint/nic_impl.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/requests/access_check.h"
#include "emu/nic/requests/read_response.h"
#include "emu/nic/requests/responder.h"
#include "emu/nic/requests/target.h"
#include "emu/nic/requests/verdict.h"
#include "emu/nic/transport/auth_tokens.h"

const char *target_read_take(struct conn *conn, const struct wire_head *head)
{
	const struct wire_read *body = wire_body(head);
	struct access ask = {
		.length = wire_get64(body->length), .right = MR_REMOTE_READ, .op = OP_READ, .seq = wire_get64(head->seq)
	};
	struct session *session = conn->session;
	struct mr_place place;
	const char *broken;
	struct mr *mr;

	auth_get_target(conn, &body->from, &ask.to);
	if (!responder_allows(session, EP_REMOTE_READ, &conn->in.why)) {
		access_describe(&ask, &conn->in.why);
		return NULL;
	}
	mr = access_check(session, &ask, &place, &conn->in.why);
	if (!mr)
		return NULL;
	ask.mr_id = mr->id;
	broken = read_response_add(session, wire_get64(head->seq), &ask, mr->pin);
	if (broken)
		access_release(session, ask.to.key, ask.mr_id, ask.seq);
	return broken;
}

const char *target_read_end(struct conn *conn, enum wire_status status)
{
	(void)status;
	if (conn->in.why.cause == REFUSAL_NONE)
		return NULL;
	return verdict_refuse(conn->session, wire_get64(conn->in.head.seq), &conn->in.why);
}
