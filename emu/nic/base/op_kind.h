/* SPDX-License-Identifier: BSD-2-Clause */
/* op_kind.h - the kinds of ops, and the words for them. What the initiator does with each is a row of op_kinds.c, what the target
 * does with its frames a row of dispatch.c. */
#ifndef EMU_NIC_OP_KIND_H
#define EMU_NIC_OP_KIND_H

#include <stdbool.h>
#include <stddef.h>

enum op_kind {
	OP_SEND = 0,
	OP_WRITE = 1,
	OP_READ = 2,
	OP_ATOMIC = 3,
	OP_POSTED_KINDS = 4, /* those before are posted by programs, those behind are the device's own (cm.c, coll_step.c) */
	OP_CONNECT = 4,
	OP_ACCEPT = 5,
	OP_REJECT = 6,
	OP_COLLECTIVE = 7, /* a message of a collective */
	OP_KINDS = 8,
};

/* In settings. NULL: no kind that is posted. */
static inline const char *op_kind_name(unsigned int kind)
{
	static const char *const names[OP_POSTED_KINDS] = { "send", "write", "read", "atomic" };

	return kind < OP_POSTED_KINDS ? names[kind] : NULL;
}

/* In sentences. */
static inline const char *op_kind_words(unsigned int kind)
{
	static const char *const words[OP_POSTED_KINDS] = { "message", "remote write", "remote read", "remote atomic" };

	if (kind < OP_POSTED_KINDS)
		return words[kind];
	return kind == OP_COLLECTIVE ? "collective" : "connection request or its answer";
}

/* Does it wait for a receive of the target? */
static inline bool op_kind_is_message(unsigned int kind)
{
	return kind == OP_SEND || kind == OP_COLLECTIVE;
}

/* Does it name a region of the target? */
static inline bool op_kind_targets(unsigned int kind)
{
	return kind == OP_WRITE || kind == OP_READ || kind == OP_ATOMIC;
}

#endif
