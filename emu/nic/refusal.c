/* SPDX-License-Identifier: BSD-2-Clause */
/* refusal.c - numbers and sentences for what was refused.
 *
 * A sentence is: what was asked, a colon, what is wrong (with the rule), and what to change. Most causes are one row
 * of the table below; those whose wording depends on the region have a function. */
#include "emu/nic/refusal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/errno.h"
#include "emu/nic/mr.h"

enum { SENTENCE_SEND = 0, SENTENCE_WRITE = 1, SENTENCE_READ = 2, SENTENCE_ATOMIC = 3,
       SENTENCE_CONNECT = 4 };	/* enum op_kind */

/* A bounded text that is always terminated. */
struct sentence {
	char  *text;
	size_t size, length;
};

static void say(struct sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct sentence *s, const char *format, ...)
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
	switch (op) {
	case SENTENCE_SEND: return "message";
	case SENTENCE_WRITE: return "remote write";
	case SENTENCE_READ: return "remote read";
	case SENTENCE_ATOMIC: return "remote atomic";
	case SENTENCE_CONNECT: return "connection request or its answer";
	default: return "remote op";
	}
}

/* The right that is missing. An atomic whose region can be written is one that reads, too (FI_EMU_FETCH_RIGHTS). */
static bool misses_read(const struct refusal *r)
{
	return r->op == SENTENCE_READ || (r->op == SENTENCE_ATOMIC && r->access & MR_REMOTE_WRITE);
}

static void say_asked(struct sentence *s, const struct refusal *r, const char *peer)
{
	say(s, "%s of %" PRIu64 " B", op_name(r->op), r->length);
	if (r->op != SENTENCE_SEND && r->op != SENTENCE_CONNECT) {
		if (r->access & (REFUSAL_VIRTUAL | REFUSAL_INJECTED))
			say(s, " at address 0x%" PRIx64, r->addr);
		else
			say(s, " at offset %" PRIu64, r->addr);
		say(s, " with key 0x%" PRIx64, r->key);
	}
	if (peer)
		say(s, " (peer %s)", peer);
	say(s, ": ");
}

static void say_rights(struct sentence *s, uint32_t access)
{
	static const struct { uint32_t bit; const char *name; } names[] = {
		{ MR_REMOTE_READ, "REMOTE_READ" }, { MR_REMOTE_WRITE, "REMOTE_WRITE" }, { MR_READ, "READ" },
		{ MR_WRITE, "WRITE" }, { MR_RECV, "RECV" }, { MR_SEND, "SEND" },
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (access & names[i].bit) {
			say(s, "%s%s", between, names[i].name);
			between = ", ";
		}
	}
	if (!(access & MR_ACCESS_ALL))
		say(s, "nothing");
}

static void say_right(struct sentence *s, const struct refusal *r)
{
	const char *rule = r->op == SENTENCE_READ ? "S27" : misses_read(r) ? "S30" : "S29";

	if (!(r->access & (MR_REMOTE_READ | MR_REMOTE_WRITE)))
		rule = "S31";
	say(s, "region allows ");
	say_rights(s, r->access);
	say(s, " only (%s). Add %s to the access given to fi_mr_reg.", rule,
	    misses_read(r) ? "FI_REMOTE_READ" : "FI_REMOTE_WRITE");
}

static void say_range(struct sentence *s, const struct refusal *r)
{
	if (r->access & REFUSAL_GAP) {
		say(s, "between the segments of a %" PRIu64 " B region (S64). Address each segment by its own "
		    "virtual address; nothing else belongs to the region.", r->region);
		return;
	}
	say(s, "%" PRIu64 " B %s of a %" PRIu64 " B region (S65). ", r->excess,
	    r->access & REFUSAL_BEFORE ? "before the start" : "past the end", r->region);
	if (r->access & REFUSAL_VIRTUAL)
		say(s, "Address it by the target's virtual address plus the offset (S60).");
	else if (r->addr >= r->region)
		say(s, "Address it by offset from 0, not by virtual address (S59).");
	else
		say(s, "The region was registered with len %" PRIu64 ".", r->region);
}

static void say_closed(struct sentence *s, const struct refusal *r)
{
	uint64_t us = r->age_ns / 1000;

	say(s, "closed ");
	if (us < 1000)
		say(s, "%" PRIu64 " us", us);
	else if (us < 1000000)
		say(s, "%" PRIu64 ".%" PRIu64 " ms", us / 1000, us / 100 % 10);
	else
		say(s, "%" PRIu64 ".%" PRIu64 " s", us / 1000000, us / 100000 % 10);
	say(s, " ago by fi_close (S178). Keep a region open until its peers are done with it.");
}

static void say_capability(struct sentence *s, const struct refusal *r)
{
	const char *caps = r->op == SENTENCE_SEND ? "FI_MSG (FI_TAGGED for tagged messages) and FI_RECV" :
			   r->op == SENTENCE_READ ? "FI_RMA and FI_REMOTE_READ" :
			   r->op == SENTENCE_WRITE ? "FI_RMA and FI_REMOTE_WRITE" :
			   "FI_ATOMIC and FI_REMOTE_WRITE (to be read atomically: FI_REMOTE_READ)";

	if (r->op == SENTENCE_CONNECT) {
		say(s, "nobody listens there, or waits for this answer.");
		return;
	}
	say(s, "the target's endpoint was opened without the capability. "
	    "Ask for %s in the target's hints->caps.", caps);
}

static void say_source_fault(struct sentence *s, const struct refusal *r)
{
	say(s, "the initiator's own buffer cannot be %s. Keep the memory mapped until the op has completed.",
	    r->op == SENTENCE_READ ? "written" : r->op == SENTENCE_ATOMIC ? "touched" : "read");
}

static void say_truncated(struct sentence *s, const struct refusal *r)
{
	say(s, "longer than the receive buffer");
	if (r->excess)
		say(s, " by %" PRIu64 " B, which were dropped", r->excess);
	say(s, ". Post a buffer as long as the longest message expected.");
}

/* refusal.excess is the errno. */
static void say_not_flushed(struct sentence *s, const struct refusal *r)
{
	const char *name = r->excess <= INT_MAX ? strerrorname_np((int)r->excess) : NULL;

	say(s, "written, but msync at the target failed with %s, so the bytes may not be durable (S133). See to the "
	    "target's file system, and write again.", name ? name : "an error");
}

static const struct cause {
	int err;
	const char *phrase;	/* what is wrong, with the rule */
	const char *remedy;
	void (*say)(struct sentence *s, const struct refusal *r);	/* in place of phrase and remedy */
} causes[] = {
	[REFUSAL_NONE] = { 0, "not refused", "", NULL },
	[REFUSAL_UNKNOWN_KEY] = { EACCES, "no region of the target has this key (S40)",
		"Use the value that fi_mr_key gave at the target, in the domain of the endpoint addressed.", NULL },
	[REFUSAL_CLOSED] = { EACCES, "the region was closed by fi_close (S178)", "", say_closed },
	[REFUSAL_RIGHT] = { EACCES, "the region does not allow this kind of access (S27, S29, S31)", "", say_right },
	[REFUSAL_RANGE] = { EACCES, "outside the region (S65)", "", say_range },
	[REFUSAL_WRAP] = { EACCES, "address plus length wraps past 2^64 (S65)",
		"Compute the remote address again; a negative number may have been added.", NULL },
	[REFUSAL_NOT_BACKED] = { EFAULT, "no memory, or none with these rights, backs that range of the region (S18)",
		"Keep the target's memory mapped, readable and writable as registered, while peers use it.", NULL },
	[REFUSAL_DISABLED] = { EACCES, "the region is not enabled yet (S92, S101)",
		"At the target, bind it to its endpoint or counters with fi_mr_bind and call fi_mr_enable, before peers use "
		"its key.", NULL },
	[REFUSAL_OTHER_ENDPOINT] = { EACCES, "the region is not bound to the endpoint addressed (S104)",
		"Address the endpoint to which the target bound it with fi_mr_bind; closing that endpoint ends the binding.",
		NULL },
	[REFUSAL_AUTH] = { EACCES, "the initiator's authorization key is not the one that is taken here (S158)",
		"Give both sides the same auth_key.", NULL },
	[REFUSAL_SPENT] = { EACCES, "the region is for one op (FI_MR_SINGLE_USE), and another has used it or is using it (S130)",
		"Register again for each op, or leave the flag out.", NULL },
	[REFUSAL_REFRESHING] = { EACCES, "the region is being refreshed by fi_mr_refresh (S116)",
		"Hold back access while the target refreshes.", NULL },
	[REFUSAL_PAGE_UNKNOWN] = { EACCES, "a page of the range came after the registration (S107)",
		"Call fi_mr_refresh at the target after its memory changed.", NULL },
	[REFUSAL_RESOURCE] = { ENOMEM, "the target is out of memory", "Try again later.", NULL },
	[REFUSAL_CAPABILITY] = { EACCES, "the target's endpoint was opened without the capability", "",
		say_capability },
	[REFUSAL_NOT_PERSISTENT] = { EACCES, "FI_COMMIT_COMPLETE was asked, and the region is not persistent memory (S133)",
		"Register a shared file mapping with FI_RMA_PMEM, or leave the flag out.", NULL },
	[REFUSAL_NOT_FLUSHED] = { EIO, "written, but not made durable (S133)", "", say_not_flushed },
	[REFUSAL_REGISTERING] = { EACCES, "the region's registration is not complete (S42)",
		"Use the key when the target has read its FI_MR_COMPLETE event.", NULL },
	[REFUSAL_ATOMIC] = { EOPNOTSUPP, "the target has no such atomic operation on that datatype",
		"Ask the target's fi_query_atomic what there is.", NULL },
	[REFUSAL_SOURCE_FAULT] = { EFAULT, "the initiator's own buffer cannot be touched", "", say_source_fault },
	[REFUSAL_PEER_GONE] = { ECONNREFUSED, "the peer is gone: nobody, or another endpoint, answers at its address",
		"Start it again and exchange addresses anew.", NULL },
	[REFUSAL_UNREACHABLE] = { ETIMEDOUT, "the peer could not be reached within the retry budget",
		"See whether its host is up and the network lets the connection through.", NULL },
	[REFUSAL_CANCELLED] = { ECANCELED, "cancelled by fi_cancel or by closing the endpoint", "", NULL },
	[REFUSAL_TRUNCATED] = { NIC_ETRUNC, "longer than the receive buffer", "", say_truncated },
	[REFUSAL_PROTOCOL] = { EPROTO, "the peer broke the protocol or speaks another version of it",
		"See the log of both sides.", NULL },
	[REFUSAL_ADDRESS] = { EINVAL, "no such entry in the address vector",
		"Insert the peer's address with fi_av_insert and use the fi_addr_t that it returns.", NULL },
	[REFUSAL_NO_SESSION] = { ENOMEM, "no memory for what this peer needs, or too many peers",
		"Use fewer peers at once.", NULL },
	[REFUSAL_NO_MESSAGE] = { ENOMSG, "none that fits has arrived, or was claimed with this context",
		"Peek again later, or post a receive that waits.", NULL },
	[REFUSAL_STRANGER] = { EADDRNOTAVAIL, "received, from a peer that is not in the address vector",
		"Insert the address that err_data holds with fi_av_insert, or leave FI_SOURCE_ERR out.", NULL },
	[REFUSAL_SECRET] = { EACCES, "the peer has not the same shared secret, or one side has none",
		"Set FI_EMU_SECRET_FILE on both sides, to files of the same bytes, and see the log of both.", NULL },
};

/* A number that this version does not know can come from a newer peer: still a refusal. */
static const struct cause unknown_cause = { EACCES, "refused for a cause that this version does not know", "", NULL };

static const struct cause *cause_of(enum refusal_cause number)
{
	if ((size_t)number < sizeof(causes) / sizeof(*causes) && causes[number].phrase)
		return &causes[number];
	return &unknown_cause;
}

int refusal_errno(enum refusal_cause cause)
{
	return cause_of(cause)->err;
}

const char *refusal_phrase(enum refusal_cause cause)
{
	return cause_of(cause)->phrase;
}

size_t refusal_text(const struct refusal *refusal, const char *peer, char *text, size_t size)
{
	const struct cause *cause = cause_of(refusal->cause);
	struct sentence s = { text, size, 0 };

	if (!size)
		return 0;
	text[0] = '\0';
	say_asked(&s, refusal, peer);
	if (refusal->access & REFUSAL_INJECTED)
		say(&s, "injected by the target's fault plan (FI_EMU_FAULT), as if %s.", cause->phrase);
	else if (cause->say)
		cause->say(&s, refusal);
	else
		say(&s, "%s.%s%s", cause->phrase, *cause->remedy ? " " : "", cause->remedy);
	return s.length;
}

size_t refusal_remapped(const struct refusal *access, const char *peer, char *text, size_t size)
{
	struct sentence s = { text, size, 0 };

	if (!size)
		return 0;
	text[0] = '\0';
	say_asked(&s, access, peer);
	say(&s, "done on the pages that were pinned at registration (S81), but the program has changed the mapping of the region "
	    "since then (S80). Close a region before its memory is unmapped, moved or dropped.");
	return s.length;
}
