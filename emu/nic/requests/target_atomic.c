/* SPDX-License-Identifier: BSD-2-Clause */
/* target_atomic.c - from an ATOMIC's frame to its effect and its answer. */
#include "emu/nic/requests/responder.h"

#include <stdlib.h>

#include "emu/nic/atomics/atomic.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/messages/srx.h"
#include "emu/nic/requests/completer.h"
#include "emu/nic/requests/fault_ops.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/requests/request_calls.h"
#include "emu/nic/transport/conn.h"
#include "emu/nic/transport/session.h"

static_assert((int)WIRE_ATOMIC_MAX == (int)LIMIT_ATOMIC, "what goes into one frame");
static_assert((int)WIRE_ATOMIC_OPS == (int)ATOMIC_OPS && (int)WIRE_ATOMIC_TYPES == (int)ATOMIC_TYPES, "the same numbers");
static_assert((int)WIRE_ATOMIC_OP_READ == (int)ATOMIC_READ, "the same numbers");
static_assert((int)WIRE_ATOMIC_FETCH == (int)ATOMIC_FETCH && (int)WIRE_ATOMIC_COMPARE == (int)ATOMIC_COMPARE, "the same numbers");

/* The frame under way, its body being gone by the time the payload is here. */
struct atomic_request {
	struct wire_atomic_fields fields;
	uint8_t payload[];
};

static bool changes(struct atomic_what what)
{
	return what.op != ATOMIC_READ;
}

/* S30: FI_REMOTE_WRITE opens a region to every atomic, says fi_mr(3) to the letter; where FI_EMU_FETCH_RIGHTS asks for it,
 * an op that returns data needs FI_REMOTE_READ, too. */
static uint32_t right_for(const struct session *session, struct atomic_what what)
{
	if (session->ep->attr.rules & EP_RULE_ALIGNED)
		return MR_REMOTE_ATOMIC;
	if (!session->ep->nic->config.fetch_reads || what.kind == ATOMIC_PLAIN)
		return MR_REMOTE_WRITE;
	return MR_REMOTE_READ | (changes(what) ? MR_REMOTE_WRITE : 0);
}

/* The flaw of the request, apart from its region. */
static enum refusal_cause flaw(const struct session *session, struct atomic_what what, uint64_t addr, uint64_t length)
{
	uint32_t cap = changes(what) ? EP_REMOTE_ATOMIC_WRITE : EP_REMOTE_ATOMIC_READ;
	size_t size = atomic_size(what.type);

	if (!(cm_caps(session) & cap))
		return responder_lacks(session, cap);
	if (unlikely(session->ep->attr.xrc) && !xrc_named(session->ep))
		return REFUSAL_NO_SRX;
	if (!size || length % size || !atomic_valid(what))
		return REFUSAL_ATOMIC;
	/* V109 */
	return session->ep->attr.rules & EP_RULE_ALIGNED && addr % size ? REFUSAL_MISALIGNED : REFUSAL_NONE;
}

static struct access ask_of(const struct session *session, const struct wire_atomic_fields *fields, const struct wire_head *head)
{
	struct atomic_what what = { fields->kind, fields->op, fields->type };

	return (struct access){ .op = OP_ATOMIC,
				.to = fields->to,
				.length = fields->length,
				.right = right_for(session, what),
				.commit = head->flags & WIRE_F_COMMIT,
				.seq = wire_get64(head->seq) };
}

/* Others are compared with it (races.h), if it will not be refused. */
static __attribute__((noinline, cold)) const char *atomic_meets(struct conn *conn, const struct atomic_request *request,
								uint32_t payload)
{
	const struct wire_atomic_fields *fields = &request->fields;
	struct atomic_what what = { fields->kind, fields->op, fields->type };
	struct access ask = ask_of(conn->session, fields, &conn->in.head);
	struct access_effect effect = { .changes = changes(what),
					.returns = what.kind != ATOMIC_PLAIN,
					.waits = payload > 0,
					.element = (uint32_t)atomic_size(what.type) };
	struct refusal why = { .op = OP_ATOMIC };
	struct mr_place place;
	const struct mr *mr;

	if (flaw(conn->session, what, fields->to.addr, fields->length) != REFUSAL_NONE)
		return NULL;
	mr = access_check(conn->session, &ask, &place, &why);
	return mr && open_access_begin(conn, &ask, mr, &place, &effect).waits ? conn_waits : NULL;
}

const char *target_atomic_take(struct conn *conn, const struct wire_head *head)
{
	uint32_t payload = wire_get32(head->payload);
	struct iovec run = { .iov_len = payload };
	struct atomic_request *request;

	nic_role(conn->nic);
	if (unlikely(head->flags & WIRE_F_CQ_DATA) && conn->session->ep->attr.rules & EP_RULE_DATA_RECEIVES)
		return "ATOMIC with CQ data, which takes a receive here (WIRE-149)";
	if ((head->flags & WIRE_F_CQ_DATA || conn->session->ep->attr.caps & EP_REGION_EVENTS) && !complete_reserve(conn->session))
		return responder_rnr(conn); /* F5 */
	request = malloc(sizeof(*request) + payload);
	if (!request)
		return conn_no_memory;
	wire_get_atomic(head, &request->fields);
	request->fields.to.auth = auth_taken(conn, request->fields.to.auth);
	run.iov_base = request->payload;
	place_set(&conn->in.place, &run, 1);
	conn->in.sink = SINK_OWN;
	conn->in.own = request;
	return unlikely(conn->session->fault) && conn->nic->config.races ? atomic_meets(conn, request, payload) : NULL;
}

/* The arguments of atomic_run(), but for the memory. */
struct elements {
	struct atomic_what what;
	size_t count;
	const uint8_t *operand, *compare;
	uint8_t *result;
};

static enum atomic_end atomic_run_in_place(const struct mr_place *place, const struct elements *elements)
{
	return atomic_run(elements->what, place, elements->count, elements->operand, elements->compare, elements->result);
}

/* Pinned memory cannot be changed in its place: atomic with respect to this device only, as on a NIC behind a bus. */
static enum atomic_end run_pinned(struct pin *pin, const struct mr_place *place, uint64_t length, const struct elements *elements)
{
	_Alignas(16) uint8_t copy[LIMIT_ATOMIC];
	struct mr_place here = { .run = { { copy, length } }, .count = 1 };
	enum atomic_end end;
	struct place there;

	place_set(&there, place->run, place->count);
	there.pin = pin;
	if (!place_get(&there, copy, length))
		return ATOMIC_FAULT;
	end = atomic_run_in_place(&here, elements);
	if (end != ATOMIC_STORED)
		return end;
	place_set(&there, place->run, place->count);
	there.pin = pin;
	return place_put(&there, copy, length) ? end : ATOMIC_FAULT;
}

/* A fault plan has others see it later. */
static enum atomic_end run_held(struct conn *conn, const struct mr_place *place, const struct access *ask,
				const struct elements *elements)
{
	_Alignas(16) uint8_t copy[LIMIT_ATOMIC];
	struct mr_place here = { .run = { { copy, ask->length } }, .count = 1 };
	enum atomic_end end;
	struct place there;

	place_set(&there, place->run, place->count);
	if (!place_get(&there, copy, ask->length))
		return ATOMIC_FAULT;
	end = atomic_run_in_place(&here, elements);
	if (end == ATOMIC_STORED)
		held_atomic(conn, ask, place, copy, (uint32_t)ask->length);
	return conn->in.fault ? ATOMIC_FAULT : end;
}

static enum atomic_end run_anywhere(struct conn *conn, const struct mr *mr, const struct mr_place *place, const struct access *ask,
				    const struct elements *elements)
{
	if (mr->pin)
		return run_pinned(mr->pin, place, ask->length, elements);
	if (unlikely(conn->session->fault) && held_takes_atomic(conn, mr) && !elements->result)
		return run_held(conn, place, ask, elements);
	return atomic_run_in_place(place, elements);
}

/* V110: one at a time. Executes it, and answers. `result`, NULL for a plain one, is taken over. */
static const char *execute(struct conn *conn, const struct atomic_request *request, struct committed *done, struct refusal *why)
{
	const struct wire_atomic_fields *fields = &request->fields;
	struct atomic_what what = { fields->kind, fields->op, fields->type };
	struct elements elements = {
		.what = what,
		.count = fields->length / atomic_size(what.type),
		.operand = changes(what) ? request->payload : NULL,
		.compare = what.kind == ATOMIC_COMPARE ? request->payload + fields->length : NULL,
		.result = done->result ? done->result->result : NULL,
	};
	struct session *session = conn->session;
	struct access *ask = &done->ask;
	struct mr_place place;
	const struct mr *mr = access_check(session, ask, &place, why);
	enum atomic_end end;

	if (!mr)
		return NULL;
	ask->mr_id = mr->id;
	done->counted = mr->bindings;
	end = run_anywhere(conn, mr, &place, ask, &elements);
	if (end == ATOMIC_FAULT) {
		access_release(session, ask->to.key, ask->mr_id, ask->seq);
		mr_describe(mr, why);
		why->cause = REFUSAL_NOT_BACKED;
		return NULL;
	}
	done->changed = end == ATOMIC_STORED;
	done->done.event = access_event(session, ask, &done->done.context);
	if (ask->commit)
		return commit_begin(session, done);
	if (done->counted && done->changed)
		access_count_change(session, ask->to.key, ask->mr_id, ask->length);
	complete_remote(session, &session->rsp.slot, &done->done);
	if (done->result)
		verdict_keep(session, done->result, ask->seq);
	return NULL;
}

static const char *answer(struct conn *conn, const struct atomic_request *request)
{
	const struct wire_atomic_fields *fields = &request->fields;
	struct atomic_what what = { fields->kind, fields->op, fields->type };
	const struct wire_head *head = &conn->in.head;
	struct session *session = conn->session;
	struct refusal why = { .op = OP_ATOMIC, .key = fields->to.key, .addr = fields->to.addr, .length = fields->length };
	bool fetched = what.kind != ATOMIC_PLAIN;
	struct committed done = {
		.ask = ask_of(session, fields, head),
		.done = { .atomic = true,
			  .fetched = fetched,
			  .has_cq_data = head->flags & WIRE_F_CQ_DATA,
			  .length = fields->length,
			  .cq_data = fields->cq_data,
			  .auth = fields->to.auth },
	};
	const char *broken = NULL;

	why.cause = flaw(session, what, fields->to.addr, fields->length);
	if (why.cause == REFUSAL_NONE && session->fault)
		fault_refuses(session, &why);
	if (why.cause == REFUSAL_NONE && fetched) {
		done.result = verdict_new(session, (uint32_t)fields->length, &broken);
		if (!done.result)
			return broken;
	}
	if (why.cause == REFUSAL_NONE)
		broken = execute(conn, request, &done, &why);
	if (why.cause == REFUSAL_NONE)
		return broken;
	free(done.result);
	return verdict_refuse(session, done.ask.seq, &why);
}

const char *target_atomic_end(struct conn *conn, enum wire_status status)
{
	struct atomic_request *request = conn->in.own;
	const char *broken = NULL;

	nic_role(conn->nic);
	conn->in.own = NULL;
	if (status == WIRE_GOOD) /* else the initiator has ended it, and reports for itself (WIRE-58) */
		broken = answer(conn, request);
	free(request);
	return broken;
}
