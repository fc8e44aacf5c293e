/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.c - what the session knows goes to mr_check(); tombstones explain what is not there any more. */
#include "emu/nic/judge.h"

#include "emu/nic/bond.h"
#include "emu/nic/ep.h"
#include "emu/nic/nic_impl.h"
#include "emu/nic/pagemap.h"
#include "emu/nic/pin.h"
#include "emu/nic/session.h"

/* Under FI_MR_MMU_NOTIFY a page that the NIC knew and that has gone, or was replaced and not touched yet, is not the one
 * that it knew. Asked of one segment at a time, since each page costs a look into the kernel. */
static bool all_there(const struct mr_place *place)
{
	for (uint8_t i = 0; i < place->count; i++)
		if (!pagemap_all((uintptr_t)place->run[i].iov_base, place->run[i].iov_len))
			return false;
	return true;
}

void judge_asked(const struct judge_ask *ask, struct refusal *why)
{
	why->op = ask->op;
	why->key = ask->to.key;
	why->addr = ask->to.addr;
	why->length = ask->length;
}

/* The access goes on, to the old pages; it is the program that has to know. */
__attribute__((noinline)) static void tell_remapped(struct session *session, const struct judge_ask *asked)
{
	char text[LIMIT_ERROR_TEXT], name[64];
	struct refusal why = { .cause = REFUSAL_NONE };

	judge_asked(asked, &why);
	refusal_remapped(&why, session_name(session, name, sizeof(name)), text, sizeof(text));
	nic_log(session->ep->nic, NIC_LOG_WARN, "%s", text);
}

/* mr_check() has said of the region, if there is one, what is to be said. */
__attribute__((noinline, cold))
static struct mr *refuse(struct session *session, const struct judge_ask *asked, const struct mr *mr, enum refusal_cause cause,
			 struct refusal *why)
{
	judge_asked(asked, why);
	why->cause = cause;
	why->age_ns = 0;
	if (!mr && (mr_tombstone(session->ep->attr.pd->regions, asked->to.key, nic_now(session->ep->nic), &why->age_ns) ||
		    asked->mr_id))
		why->cause = REFUSAL_CLOSED;
	return NULL;
}

struct mr *judge(struct session *session, const struct judge_ask *asked, struct mr_place *place, struct refusal *why)
{
	struct mr *mr = mr_find(session->ep->attr.pd->regions, asked->to.key);
	struct mr_ask ask = {
		.addr = asked->to.addr, .length = asked->length, .key_tail = asked->to.key_tail,
		.auth = asked->to.auth,
		.peer = &session->peer, .right = asked->right, .ep = session->ep->attr.bonds, .by = session->rsp.life,
		.seq = asked->seq, .commit = asked->commit,
	};
	enum refusal_cause cause;

	if (mr && asked->mr_id && mr->id != asked->mr_id)
		mr = NULL;
	cause = mr_check(mr, &ask, place, why);
	if (cause != REFUSAL_NONE)
		return refuse(session, asked, mr, cause, why);
	if (mr->pages && asked->mr_id && !all_there(place)) {
		mr_describe(mr, why);
		why->excess = 0;
		return refuse(session, asked, mr, REFUSAL_PAGE_UNKNOWN, why);	/* S108 */
	}
	if (mr->pin && !asked->mr_id && mr->pin->ops->changed(mr->pin))
		tell_remapped(session, asked);	/* S80 */
	if (mr->single && !mr->single->by)
		*mr->single = (struct mr_single){
			.by = ask.by, .seq = ask.seq, .addr = ask.addr, .length = ask.length, .right = ask.right,
		};
	why->cause = REFUSAL_NONE;
	return mr;
}

static struct mr *same(struct session *session, uint64_t key, uint64_t mr_id)
{
	struct mr *mr = mr_id ? mr_find(session->ep->attr.pd->regions, key) : NULL;

	return mr && mr->id == mr_id ? mr : NULL;
}

void judge_undo(struct session *session, uint64_t key, uint64_t mr_id, uint64_t seq)
{
	struct mr *mr = same(session, key, mr_id);

	if (mr && mr->single && mr->single->by == session->rsp.life && mr->single->seq == seq)
		mr->single->by = 0;
}

void judge_changed(struct session *session, uint64_t key, uint64_t mr_id, uint64_t length)
{
	const struct mr *mr = same(session, key, mr_id);

	if (mr)
		bond_count(mr, session->ep, length);
}
