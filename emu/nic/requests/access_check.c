/* SPDX-License-Identifier: BSD-2-Clause */
/* access_check.c - asks mr_check() with the session's state; tombstones explain keys that are not there any more. */
#include "emu/nic/requests/responder.h"

#include "emu/nic/base/likely.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/pagemap.h"
#include "emu/nic/memory/pin.h"
#include "emu/nic/ops/watch.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/regions/mr_window.h"
#include "emu/nic/requests/held.h"
#include "emu/nic/requests/open_access.h"
#include "emu/nic/transport/session.h"

/* Under FI_MR_MMU_NOTIFY a page that the NIC knew and that has gone, or was replaced and not touched yet, is not the one
 * that it knew. Asked of one segment at a time, since each page costs a look into the kernel. */
static bool all_there(const struct mr_place *place)
{
	for (uint8_t i = 0; i < place->count; i++)
		if (!pagemap_all((uintptr_t)place->run[i].iov_base, place->run[i].iov_len))
			return false;
	return true;
}

void access_describe(const struct access *ask, struct refusal *why)
{
	role_assert();
	why->op = ask->op;
	why->key = ask->to.key;
	why->addr = ask->to.addr;
	why->length = ask->length;
	if (ask->tagged)
		why->access |= REFUSAL_TAGGED;
}

/* The access goes on, to the old pages; it is the program that has to know. */
__attribute__((noinline)) static void tell_remapped(struct session *session, const struct access *asked)
{
	char text[LIMIT_ERROR_TEXT], name[64];
	struct refusal why = { .cause = REFUSAL_NONE };

	access_describe(asked, &why);
	refusal_remapped(&why, session_name(session, name, sizeof(name)), text, sizeof(text));
	nic_log(session->ep->nic, NIC_LOG_WARN, "%s", text);
	if (session->ep->nic->config.reports)
		session->ep->nic->config.reports->remapped(session->ep->attr.pd, &why, name, text);
}

/* EP_RULE_EMPTY_KEYLESS: the region of an access of no bytes (V40). */
static struct mr *no_region(struct mr_place *place, struct refusal *why)
{
	static struct mr nowhere;

	*place = (struct mr_place){ 0 };
	why->cause = REFUSAL_NONE;
	return &nowhere;
}

/* *why describes the region already, if there is one. */
__attribute__((noinline, cold)) static struct mr *access_refuse(struct session *session, const struct access *asked,
								const struct mr *mr, enum refusal_cause cause, struct refusal *why)
{
	access_describe(asked, why);
	why->cause = cause;
	why->age_ns = 0;
	if (asked->tagged) {
		if (!mr)
			why->cause = REFUSAL_RECEIVE_BUFFER;
		else if (cause == REFUSAL_RANGE || cause == REFUSAL_WRAP)
			why->cause = REFUSAL_RECEIVE_RANGE;
		return NULL;
	}
	if (cause == REFUSAL_UNKNOWN_KEY && access_ended(session, asked, why))
		why->cause = REFUSAL_CLOSED; /* also where its region's plain half is another's by now */
	if (!mr && asked->mr_id)
		why->cause = REFUSAL_CLOSED;
	return NULL;
}

bool access_ended(const struct session *session, const struct access *ask, struct refusal *why)
{
	bool window;

	nic_role(session->ep->nic);
	if (!mr_tombstone(session->ep->attr.pd->regions, ask->to.key, ask->to.key_tail, nic_now(session->ep->nic), &why->age_ns,
			  &window))
		return false;
	if (window)
		why->access |= REFUSAL_WINDOW;
	return true;
}

struct mr *access_region(const struct session *session, const struct access *ask)
{
	nic_role(session->ep->nic);
	return unlikely(ask->tagged) ? tagged_region(session, ask->seq) : mr_find(session->ep->attr.pd->regions, ask->to.key);
}

struct mr *access_check(struct session *session, const struct access *asked, struct mr_place *place, struct refusal *why)
{
	struct mr *mr = access_region(session, asked);
	struct mr_ask ask = {
		.addr = asked->to.addr,
		.length = asked->length,
		.key_tail = asked->to.key_tail,
		.auth = asked->to.auth,
		.peer = &session->peer,
		.right = asked->right,
		.ep = session->ep->attr.bindings,
		.by = session->rsp.generation,
		.seq = asked->seq,
		.commit = asked->commit,
	};
	enum refusal_cause cause;

	nic_role(session->ep->nic);
	if (mr && asked->mr_id && mr->id != asked->mr_id)
		mr = NULL;
	cause = mr_check(mr, &ask, place, why);
	if (cause != REFUSAL_NONE) {
		if (!asked->length && !asked->commit && session->ep->attr.rules & EP_RULE_EMPTY_KEYLESS)
			return no_region(place, why);
		return access_refuse(session, asked, mr, cause, why);
	}
	if (mr->pages && asked->mr_id && !all_there(place)) {
		mr_describe(mr, why);
		why->excess = 0;
		return access_refuse(session, asked, mr, REFUSAL_PAGE_UNKNOWN, why); /* S108 */
	}
	if (mr->pin && !asked->mr_id && mr->pin->ops->changed(mr->pin))
		tell_remapped(session, asked); /* S80 */
	if (mr->single && !mr->single->by)
		*mr->single = (struct mr_single){
			.by = ask.by,
			.seq = ask.seq,
			.addr = ask.addr,
			.length = ask.length,
			.right = ask.right,
		};
	why->cause = REFUSAL_NONE;
	return mr;
}

bool access_may_invalidate(const struct session *session, uint64_t key)
{
	const struct mr *mr = mr_find(session->ep->attr.pd->regions, key);

	nic_role(session->ep->nic);
	return mr_may_invalidate(mr, session->ep->attr.bindings);
}

void access_revoke(struct nic *nic, const struct mr *mr)
{
	nic_role(nic);
	held_release_region(nic, mr);
	if (nic->opens)
		open_access_end_region(nic, mr);
	/* Bytes that wait to be sent out of it; payload that arrives for it looks the region up again (target_write_recheck()). */
	for (struct conn *conn = nic->conns; conn; conn = conn->next)
		conn_revoke(conn, mr, WIRE_CANCELLED);
}

bool access_invalidate(const struct session *session, uint64_t key)
{
	struct mr *mr = mr_find(session->ep->attr.pd->regions, key); /* V178 */

	nic_role(session->ep->nic);
	if (!mr_may_invalidate(mr, session->ep->attr.bindings))
		return false;
	if (mr->window) {
		window_end(session->ep->attr.pd, mr_window_find(&session->ep->attr.pd->windows, key));
		return true;
	}
	mr->invalidated = true;
	access_revoke(session->ep->nic, mr);
	return true;
}

static struct mr *same(struct session *session, uint64_t key, uint64_t mr_id)
{
	struct mr *mr = mr_id ? mr_find(session->ep->attr.pd->regions, key) : NULL;

	return mr && mr->id == mr_id ? mr : NULL;
}

void access_release(struct session *session, uint64_t key, uint64_t mr_id, uint64_t seq)
{
	struct mr *mr = same(session, key, mr_id);

	nic_role(session->ep->nic);
	if (mr && mr->single && mr->single->by == session->rsp.generation && mr->single->seq == seq)
		mr->single->by = 0;
}

void access_count_change(struct session *session, uint64_t key, uint64_t mr_id, uint64_t length)
{
	const struct mr *mr = same(session, key, mr_id);

	nic_role(session->ep->nic);
	if (mr && session->ep->attr.caps & EP_RMA_EVENT)
		binding_count_change(mr, length);
}

bool access_event(struct session *session, const struct access *ask, void **context)
{
	const struct nic *nic = session->ep->nic;
	const struct mr *mr;

	nic_role(nic);
	if (unlikely(session->ep->attr.caps & EP_WATCHED) && nic->config.watch)
		nic->config.watch->accessed(session->ep->attr.owner);
	if (!(session->ep->attr.caps & EP_REGION_EVENTS))
		return false;
	mr = same(session, ask->to.key, ask->mr_id);
	*context = mr ? mr->context : NULL;
	return true;
}
