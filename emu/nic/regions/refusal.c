/* SPDX-License-Identifier: BSD-2-Clause */
/* refusal.c - numbers and sentences for refusals.
 *
 * A sentence is: the request, a colon, the fault (with the rule), and the remedy. Most causes are one row of the table
 * below; those whose wording depends on the region have a function. Names of calls, flags and settings come from the
 * front end (front_end.h), whose words stand in place of the plain ones that are here. */
#include "emu/nic/regions/refusal.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/base/op_kind.h"
#include "emu/nic/regions/front_end.h"
#include "emu/nic/regions/mr.h"
#include "emu/nic/regions/refusal_name.h"
#include "wire/frame.h"

static_assert((int)MR_ACCESS_TOLD << WIRE_RIGHTS_AT == (int)WIRE_RIGHTS_MASK, "the rights stand on the wire as they do here");

/* A bounded text that is always terminated. */
struct sentence {
	char *text;
	size_t size, length;
	const struct front_end *front;
};

static void say_text(struct sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say_text(struct sentence *s, const char *format, ...)
{
	size_t room = s->size - s->length;
	va_list args;
	int wanted;

	va_start(args, format);
	wanted = vsnprintf(s->text + s->length, room, format, args);
	va_end(args);
	if (wanted > 0)
		s->length += (size_t)wanted < room ? (size_t)wanted : room - 1;
}

static const char *op_name(uint8_t op)
{
	static const char *const local[] = { "receive", "local invalidation", "bind of a memory window" };

	return op >= REFUSAL_OP_RECEIVE && op <= REFUSAL_OP_BIND ? local[op - REFUSAL_OP_RECEIVE] : op_kind_words(op);
}

/* The right that is missing. An atomic whose region can be written is one that reads, too (nic_config.fetch_reads). */
static bool misses_read(const struct refusal *r)
{
	return r->op == OP_READ || (r->op == OP_ATOMIC && r->access & MR_REMOTE_WRITE);
}

/* The region decides whether the address is virtual or an offset. If no region is known, it is a number. */
static const char *addressing(const struct refusal *r)
{
	if (r->access & REFUSAL_VIRTUAL)
		return "virtual address ";
	return (r->region || r->access & ~(uint32_t)REFUSAL_WINDOW) && !(r->access & REFUSAL_INJECTED) ? "offset " : "";
}

static void say_asked(struct sentence *s, const struct refusal *r, const char *peer)
{
	if (r->op == REFUSAL_OP_LOCAL_INV || r->op == REFUSAL_OP_BIND)
		say_text(s, "%s, key 0x%" PRIx64, op_name(r->op), r->key);
	else
		say_text(s, "%s of %" PRIu64 " B", op_name(r->op), r->length);
	if (r->op == REFUSAL_OP_BIND)
		say_text(s, ", to %" PRIu64 " B at 0x%" PRIx64, r->length, r->addr);
	if (op_kind_targets(r->op))
		say_text(s, " at %s0x%" PRIx64 " with %s 0x%" PRIx64, addressing(r), r->addr,
			 r->access & REFUSAL_TAGGED ? "tag" : "key", r->key);
	if (peer)
		say_text(s, " (peer %s)", peer);
	say_text(s, ": ");
}

static void say_rights(struct sentence *s, uint32_t access)
{
	const char *between = "";

	for (const struct right_name *right = right_names; right->bit; right++) {
		if (access & right->bit & MR_ACCESS_TOLD) {
			say_text(s, "%s%s", between, right->name);
			between = ", ";
		}
	}
	if (!(access & MR_ACCESS_TOLD))
		say_text(s, "nothing");
}

/* After a blank; nothing for NULL. */
static void say_more(struct sentence *s, const char *words)
{
	if (words && *words)
		say_text(s, " %s", words);
}

static const char *region_word(const struct refusal *r)
{
	return r->access & REFUSAL_WINDOW ? "memory window" : "region";
}

static void say_right(struct sentence *s, const struct refusal *r)
{
	const char *rule = r->op == OP_READ ? "S27" : misses_read(r) ? "S30" : "S29";

	if (!(r->access & (MR_REMOTE_READ | MR_REMOTE_WRITE | MR_REMOTE_ATOMIC)))
		rule = "S31";
	say_text(s, "%s allows ", region_word(r));
	say_rights(s, r->access);
	say_text(s, " only (%s).", rule);
	if (r->access & REFUSAL_WINDOW)
		say_more(s, misses_read(r) ? s->front->bind_read : s->front->bind_write);
	else
		say_more(s, misses_read(r) ? s->front->give_read : s->front->give_write);
}

#define FAR (UINT64_C(1) << 32) /* no slip of an offset, but another thing */

/* The access began `at` bytes into the region, or behind it. */
static void say_past(struct sentence *s, const struct refusal *r, uint64_t at)
{
	const char *region = region_word(r);

	say_text(s, "%" PRIu64 " B past the end of a %" PRIu64 " B %s (S65). ", r->excess, r->region, region);
	if (at <= r->region)
		say_text(s, "It began %" PRIu64 " B into the %s, where %" PRIu64 " B are left. Shorten it, or %s more.", at, region,
			 r->region - at, r->access & REFUSAL_WINDOW ? "bind" : "register");
	else if (at - r->region < FAR)
		say_text(s, "It began %" PRIu64 " B behind the %s's end. Compute the offset again.", at - r->region, region);
	else if (r->access & REFUSAL_VIRTUAL)
		say_text(s, "That is far off. Use a region's key with that region's own virtual address.");
	else
		say_text(s, "Address it by offset from 0, not by virtual address (S59).");
}

static void say_before(struct sentence *s, const struct refusal *r, uint64_t excess)
{
	say_text(s, "%" PRIu64 " B before the start of a %" PRIu64 " B %s (S65). ", excess, r->region, region_word(r));
	if (!(r->access & REFUSAL_VIRTUAL) || excess < FAR)
		say_text(s, "The offset is negative. Compute it again.");
	else if (r->addr <= r->region || r->addr < FAR)
		say_text(s, "Address it by the target's virtual address plus the offset (S60).");
	else
		say_text(s, "That is far off. Use a region's key with that region's own virtual address.");
}

/* Where the access began follows from where it ended; unsigned, so that numbers that a peer made up do no harm. */
static void say_range(struct sentence *s, const struct refusal *r)
{
	if (r->access & REFUSAL_GAP)
		say_text(s,
			 "reaches between the segments of a %" PRIu64 " B region (S64). Address each segment by its own "
			 "virtual address; nothing else belongs to the region.",
			 r->region);
	else if (r->access & REFUSAL_BEFORE)
		say_before(s, r, r->excess);
	else if (r->access & REFUSAL_VIRTUAL)
		say_past(s, r, r->region + r->excess - r->length);
	else if (r->addr > INT64_MAX)
		say_before(s, r, -r->addr);
	else
		say_past(s, r, r->addr);
}

static void say_closed(struct sentence *s, const struct refusal *r)
{
	uint64_t us = r->age_ns / 1000;

	if (r->op == OP_SEND) {
		say_text(s, "a region that its receive names was closed before it had completed (S176). At the receiver, close a "
			    "region when all that was posted with its descriptor has completed.");
		return;
	}
	say_text(s, r->access & REFUSAL_WINDOW ? "the memory window was ended " : "closed ");
	if (us < 1000)
		say_text(s, "%" PRIu64 " us", us);
	else if (us < 1000000)
		say_text(s, "%" PRIu64 ".%" PRIu64 " ms", us / 1000, us / 100 % 10);
	else
		say_text(s, "%" PRIu64 ".%" PRIu64 " s", us / 1000000, us / 100000 % 10);
	say_text(s, " ago");
	say_more(s, r->access & REFUSAL_WINDOW ? s->front->window_closed_by : s->front->closed_by);
	say_text(s, " (S178). Keep a %s open until its peers are done with it.", region_word(r));
}

static void say_capability(struct sentence *s, const struct refusal *r)
{
	if (r->op == OP_CONNECT) {
		say_text(s, "no endpoint listens there, or waits for this answer.");
		return;
	}
	say_text(s, "the target's endpoint was opened without the capability.");
	say_more(s, r->access & REFUSAL_TAGGED ? s->front->give_tagged : s->front->give_cap[r->op < OP_KINDS ? r->op : OP_ATOMIC]);
}

/* Of a connection request or its answer, which managers pass on, it says more than memory (WIRE-183). */
static void say_resource(struct sentence *s, const struct refusal *r)
{
	if (r->op == OP_CONNECT)
		say_text(s, "nobody there hears it or waits for it, or there is no memory for it.");
	else
		say_text(s, "the target is out of memory. Try again later.");
}

static void say_receive_range(struct sentence *s, const struct refusal *r)
{
	if (r->op == REFUSAL_OP_RECEIVE)
		say_text(s, "a peer's access by its tag would have gone past its end, and was refused.");
	else
		say_text(s, "past the end of the %" PRIu64 " B buffer of the receive, which has failed, too.", r->region);
	say_text(s, " Post receives as long as what peers write and read by their tags.");
}

static void say_source_fault(struct sentence *s, const struct refusal *r)
{
	say_text(s, "the initiator's own buffer cannot be %s. Keep the memory mapped until the op has completed.",
		 r->op == OP_READ     ? "written"
		 : r->op == OP_ATOMIC ? "touched"
				      : "read");
}

static void say_truncated(struct sentence *s, const struct refusal *r)
{
	say_text(s, "longer than the receive buffer");
	if (r->excess)
		say_text(s, " by %" PRIu64 " B, which were dropped", r->excess);
	say_text(s, ". Post a buffer as long as the longest message expected.");
}

static void say_message_long(struct sentence *s, const struct refusal *r)
{
	say_text(s, "longer by %" PRIu64 " B than the %" PRIu64 " B receive that it took, which has failed, too. ", r->excess,
		 r->region);
	say_text(s, "Post receives as long as the longest message.");
}

static void say_too_long(struct sentence *s, const struct refusal *r)
{
	say_text(s,
		 "longer by %" PRIu64 " B than the %" PRIu64
		 " B receive that is the next, so it is lost, and the receive waits for "
		 "another. Post receives as long as the longest message.",
		 r->excess, r->region);
}

/* refusal.excess is the errno. */
static void say_not_flushed(struct sentence *s, const struct refusal *r)
{
	const char *name = r->excess <= INT_MAX ? strerrorname_np((int)r->excess) : NULL;

	say_text(s,
		 "written, but msync at the target failed with %s, so the bytes may not be durable (S133). See to the "
		 "target's file system, and write again.",
		 name ? name : "an error");
}

/* refusal.excess is the rule. */
static void say_bind(struct sentence *s, const struct refusal *r)
{
	const char *words = r->excess < MR_RULES ? s->front->bind_rules[r->excess] : NULL;

	say_text(s, "%s.", words ? words : "the window may not be bound so");
}

/* refusal.excess is the cause at the member that was the first to fail; 0: it has left. */
static void say_group(struct sentence *s, const struct refusal *r)
{
	if (!r->excess)
		say_text(s, "a member of the group has left it.");
	else
		say_text(s, "a member of the group has failed in a collective: %s.",
			 refusal_phrase(s->front, (enum refusal_cause)r->excess));
	say_text(s, " Close the group, and join a new one without that member.");
}

static const struct refusal_text {
	int err;
	const char *phrase; /* the fault, with the rule */
	const char *remedy;
	void (*say)(struct sentence *s, const struct refusal *r); /* in place of phrase and remedy */
} causes[] = {
	[REFUSAL_NONE] = { 0, "not refused", "", NULL },
	[REFUSAL_UNKNOWN_KEY] = { EACCES, "no region of the target has this key (S40)",
				  "Use the value that the target gave out, in the domain of the endpoint addressed.", NULL },
	[REFUSAL_CLOSED] = { EACCES, "the region was closed (S178)", "", say_closed },
	[REFUSAL_RIGHT] = { EACCES, "the region does not allow this kind of access (S27, S29, S31)", "", say_right },
	[REFUSAL_RANGE] = { EACCES, "outside the region (S65)", "", say_range },
	[REFUSAL_WRAP] = { EACCES, "address plus length wraps past 2^64 (S65)",
			   "Compute the remote address again; a negative number may have been added.", NULL },
	[REFUSAL_NOT_BACKED] = { EFAULT, "no memory, or none with these rights, backs that range of the region (S18)",
				 "Keep the target's memory mapped, readable and writable as registered, while peers use it.",
				 NULL },
	[REFUSAL_DISABLED] = { EACCES, "the region is not enabled yet (S92, S101)",
			       "At the target, enable it before peers use its key.", NULL },
	[REFUSAL_OTHER_ENDPOINT] = { EACCES, "the region is not bound to the endpoint addressed (S104)",
				     "Address the endpoint to which the target bound it; closing that endpoint ends the binding.",
				     NULL },
	[REFUSAL_AUTH] = { EACCES, "the initiator's authorization key is not the one that is taken here (S158)",
			   "Give both sides the same key.", NULL },
	[REFUSAL_SPENT] = { EACCES, "the region is for one op, and another has used it or is using it (S130)",
			    "Register again for each op.", NULL },
	[REFUSAL_REFRESHING] = { EACCES, "the region is being refreshed (S116)", "Hold back access while the target refreshes.",
				 NULL },
	[REFUSAL_PAGE_UNKNOWN] = { EACCES, "a page of the range came after the registration (S107)",
				   "Refresh the region at the target after its memory changed.", NULL },
	[REFUSAL_RESOURCE] = { ENOMEM, "the target is out of memory", "", say_resource },
	[REFUSAL_CAPABILITY] = { EACCES, "the target's endpoint was opened without the capability", "", say_capability },
	[REFUSAL_NOT_PERSISTENT] = { EACCES, "bytes to be made durable were sent, and the region is not persistent memory (S133)",
				     "Register a shared file mapping as persistent memory.", NULL },
	[REFUSAL_NOT_FLUSHED] = { EIO, "written, but not made durable (S133)", "", say_not_flushed },
	[REFUSAL_REGISTERING] = { EACCES, "the region's registration is not complete (S42)",
				  "Use the key when the registration is complete.", NULL },
	[REFUSAL_ATOMIC] = { EOPNOTSUPP, "the target has no such atomic operation on that datatype",
			     "Ask the target what there is.", NULL },
	[REFUSAL_RECEIVE_BUFFER] = { EFAULT, "the buffer of the receive that took the message cannot be written",
				     "At the receiver, keep the memory mapped until the receive has completed.", NULL },
	[REFUSAL_RECEIVE_RANGE] = { EMSGSIZE, "past the end of the receive that the tag names", "", say_receive_range },
	[REFUSAL_MESSAGE_LONG] = { EMSGSIZE, "longer than the receive that it took, which has failed, too", "", say_message_long },
	[REFUSAL_MISALIGNED] = { EINVAL, "its address is not a multiple of the element's size",
				 "Align what atomics change to 8 bytes.", NULL },
	[REFUSAL_INVALIDATED] = { EACCES, "the region was invalidated",
				  "Send no key in a message that invalidates it before all that uses the key has completed.",
				  NULL },
	[REFUSAL_NO_REGION] = { EACCES, "no region of the target is open under the key that it was to invalidate",
				"Name the key that the target gave out, once.", NULL },
	[REFUSAL_NO_READS] = { EINVAL, "the target's endpoint takes none, at no time", "Let it take one at least.", NULL },
	[REFUSAL_NO_SRX] = { EINVAL, "no shared receive queue of the target's domain has the number that it names",
			     "Use the number that the target's queue has now.", NULL },
	[REFUSAL_SOURCE_FAULT] = { EFAULT, "the initiator's own buffer cannot be touched", "", say_source_fault },
	[REFUSAL_PEER_GONE] = { ECONNREFUSED, "no endpoint, or another than before, answers at the peer's address",
				"It has ended, or is bound to another address of its host.", NULL },
	[REFUSAL_UNREACHABLE] = { ETIMEDOUT, "the peer could not be reached within the retry budget",
				  "See whether its host is up and the network lets the connection through.", NULL },
	[REFUSAL_CANCELLED] = { ECANCELED, "cancelled by its program or by closing the endpoint", "", NULL },
	[REFUSAL_TRUNCATED] = { NIC_ETRUNC, "longer than the receive buffer", "", say_truncated },
	[REFUSAL_PROTOCOL] = { EPROTO, "the peer broke the protocol or speaks another version of it", "See the log of both sides.",
			       NULL },
	[REFUSAL_ADDRESS] = { EINVAL, "no such entry in the address vector", "Insert the peer's address first.", NULL },
	[REFUSAL_NO_SESSION] = { ENOMEM, "no memory for what this peer needs, or too many peers", "Use fewer peers at once.",
				 NULL },
	[REFUSAL_NO_MESSAGE] = { ENOMSG, "none that fits has arrived, or was claimed with this context",
				 "Peek again later, or post a receive that waits.", NULL },
	[REFUSAL_STRANGER] = { EADDRNOTAVAIL, "received, from a peer that is not in the address vector",
			       "Insert the sender's address.", NULL },
	[REFUSAL_SECRET] = { EACCES, "the peer has not the same shared secret, or one side has none",
			     "Give both sides the same secret, and see the log of both.", NULL },
	[REFUSAL_NOT_READY] = { NIC_ENORX, "the receiver was not ready each time that it was tried",
				"See why it reads no completions or posts no receives.", NULL },
	[REFUSAL_SENDER] = { EIO, "the rest does not come, as the sender's op has ended", "See the sender's completion.", NULL },
	[REFUSAL_LOCAL_CLOSED] = { EACCES, "a local region that its descriptors name was closed before it had completed (S176)",
				   "Close a region when all that was posted with its descriptor has completed.", NULL },
	[REFUSAL_GROUP] = { ECONNABORTED, "a member of the group has failed in a collective, or has left the group", "",
			    say_group },
	[REFUSAL_DISAGREE] = { EINVAL, "another member has made another call, or one of another length",
			       "All members call the same collectives in the same order, with the same count and datatype.", NULL },
	[REFUSAL_FIREWALL] = { NIC_EFIREWALL, "the peer is behind a firewall, and is not connected",
			       "It connects with its first operation to this endpoint: wait for one.", NULL },
	[REFUSAL_PSN] = { EPROTO,
			  "the peer's queue pair expects another packet sequence number (rq_psn) than this one sends (sq_psn)",
			  "Set rq_psn of each to sq_psn of the other.", NULL },
	[REFUSAL_PATH_MTU] = { EPROTO, "its packets are longer than the peer's path MTU", "Set the same path MTU on both sides.",
			       NULL },
	[REFUSAL_NO_RECEIVE] = { ENOBUFS, "no receive was posted when it came, so it is lost",
				 "Post receives before the peer sends, and enough of them.", NULL },
	[REFUSAL_LOST] = { EIO, "lost on the way", "", NULL },
	[REFUSAL_TOO_LONG] = { EMSGSIZE, "longer than the receive that it would have taken, so it is lost", "", say_too_long },
	[REFUSAL_BIND] = { EINVAL, "a memory window may not be bound so", "", say_bind },
};

/* A number that this version does not know can come from a newer peer: still a refusal. */
static const struct refusal_text unknown_cause = { EACCES, "refused for a cause that this version does not know", "", NULL };

static const struct refusal_text *cause_of(enum refusal_cause number)
{
	if ((size_t)number < sizeof(causes) / sizeof(*causes) && causes[number].phrase)
		return &causes[number];
	return &unknown_cause;
}

int refusal_errno(enum refusal_cause cause)
{
	return cause_of(cause)->err;
}

/* The front end's words on a cause; NULL: it has none on that one. */
static const struct front_cause *front_cause(const struct front_end *front, enum refusal_cause number)
{
	return (size_t)number < REFUSAL_CAUSES ? &front->causes[number] : NULL;
}

const char *refusal_phrase(const struct front_end *front, enum refusal_cause cause)
{
	const struct front_cause *words = front_cause(front, cause);

	return words && words->phrase ? words->phrase : cause_of(cause)->phrase;
}

static const char *remedy_of(const struct front_end *front, enum refusal_cause cause)
{
	const struct front_cause *words = front_cause(front, cause);

	return words && words->remedy ? words->remedy : cause_of(cause)->remedy;
}

uint32_t refusal_access_put(uint32_t access)
{
	return (access & ~(uint32_t)MR_ACCESS_TOLD) | (access & MR_ACCESS_TOLD) << WIRE_RIGHTS_AT;
}

uint32_t refusal_access_get(uint32_t access)
{
	return (access & REFUSAL_FORMS) | (access & WIRE_RIGHTS_MASK) >> WIRE_RIGHTS_AT;
}

size_t refusal_text(const struct front_end *front, const struct refusal *refusal, const char *peer, char *text, size_t size)
{
	const struct refusal_text *cause = cause_of(refusal->cause);
	struct sentence s = { text, size, 0, front };

	if (!size)
		return 0;
	text[0] = '\0';
	say_asked(&s, refusal, peer);
	if (refusal->access & REFUSAL_INJECTED && refusal->cause > REFUSAL_WIRE_MAX) {
		say_text(&s, "injected by the fault plan (%s).", front->settings[FRONT_FAULT]);
	} else if (refusal->access & REFUSAL_INJECTED) {
		say_text(&s, "injected by the target's fault plan (%s), as if %s.", front->settings[FRONT_FAULT],
			 refusal_phrase(front, refusal->cause));
	} else if (cause->say) {
		cause->say(&s, refusal);
	} else {
		say_text(&s, "%s.", refusal_phrase(front, refusal->cause));
		say_more(&s, remedy_of(front, refusal->cause));
	}
	return front->respell ? front->respell(text, size) : s.length;
}

size_t refusal_remapped(const struct refusal *access, const char *peer, char *text, size_t size)
{
	struct sentence s = { text, size, 0, NULL };

	if (!size)
		return 0;
	text[0] = '\0';
	say_asked(&s, access, peer);
	say_text(&s, "done on the pages that were pinned at registration (S81), but the program has changed the mapping of the "
		     "region "
		     "since then (S80). Close a region before its memory is unmapped, moved or dropped.");
	return s.length;
}
