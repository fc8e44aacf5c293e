/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.h - one remote access of a session's peer against the regions of the endpoint's domain.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_JUDGE_H
#define EMU_NIC_JUDGE_H

#include "emu/nic/mr.h"
#include "wire/codec.h"

struct session;

/* What a request says of the region that it wants. */
struct judge_ask {
	struct wire_target_fields to;
	uint64_t length;
	uint64_t seq;		/* the request's number, of its first segment; READ: also when it is asked again */
	uint64_t mr_id;		/* the region that an earlier part of the request met; 0: this is the first part */
	uint32_t right;		/* as in struct mr_ask */
	uint8_t  op;		/* enum op_kind */
	bool     commit;	/* as in struct mr_ask */
};

/* Finds the region and lets mr_check() judge it; a key that was closed, or went to another region meanwhile, is
 * REFUSAL_CLOSED. Fills *place, or *why; of what is granted *why says no more than that there is no cause. A region of single use
 * is taken by the request that is granted access, and closed to all others from then on (S130, S131). Of pinned memory whose
 * mapping was changed the log tells at a request's first frame (S80). Returns the region, or NULL: refused. */
struct mr *judge(struct session *session, const struct judge_ask *ask, struct mr_place *place, struct refusal *why);

/* Says in *why what was asked: op, key, address, length. */
void judge_asked(const struct judge_ask *ask, struct refusal *why);

/* A request that was granted access fails all the same, or ends before it is complete: it has not used up a region of
 * single use. Any request may be named. */
void judge_undo(struct session *session, uint64_t key, uint64_t mr_id, uint64_t seq);

/* A request has changed bytes of the region: counters that are bound to it count one (S98). */
void judge_changed(struct session *session, uint64_t key, uint64_t mr_id, uint64_t length);

#endif
