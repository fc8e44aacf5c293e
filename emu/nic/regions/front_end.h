/* SPDX-License-Identifier: BSD-2-Clause */
/* front_end.h - the words and values of the interface above the device, which supplies them. The device itself knows none: it
 * says these words and passes these values on.
 * Constant while the device is there. */
#ifndef EMU_NIC_FRONT_END_H
#define EMU_NIC_FRONT_END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/op_kind.h"
#include "emu/nic/regions/mr_rules.h"
#include "emu/nic/regions/refusal.h"

/* Words for one cause in place of the device's own; NULL: the device's. */
struct front_cause {
	const char *phrase; /* the fault, with the rule */
	const char *remedy; /* the change to make */
};

/* Settings of the user, by the front end's names. */
enum front_setting { FRONT_SECRET, FRONT_FAULT, FRONT_DGRAM_LOSS, FRONT_ADVERTISE, FRONT_SETTINGS };

/* All texts are there; cap and op words are complete for what the front end lets a program post. */
struct front_end {
	struct front_cause causes[REFUSAL_CAUSES];
	/* Remedies that depend on the op. */
	const char *give_read, *give_write; /* REFUSAL_RIGHT, by the right that is missing */
	const char *give_cap[OP_KINDS];     /* REFUSAL_CAPABILITY */
	const char *give_tagged;            /* likewise, of RMA by a tag */
	const char *bind_read, *bind_write; /* as give_read, give_write, of a memory window; NULL: there are none */
	const char *window_closed_by;       /* likewise, as closed_by */
	const char *bind_rules[MR_RULES];   /* REFUSAL_BIND, by the rule; likewise */
	const char *closed_by;              /* in the middle of a sentence: how a program closes a region */
	const char *receive_cap;            /* likewise: the capability of an endpoint that takes messages */
	const char *asked_key;              /* of a key: a region asked for it and got another; which key to send */
	const char *settings[FRONT_SETTINGS];

	/* The last word on a sentence of `size` bytes, in its place: returns its length. NULL: sentences stay as they are. */
	size_t (*respell)(char *text, size_t size);

	/* Flags of the completions that no post describes, or that have more to tell than their post says. */
	uint64_t cq_written[2], cq_fetched[2]; /* data came with a remote write, or an op that read; [1]: an atomic */
	uint64_t cq_data;                      /* added: data came with a message */
	uint64_t cq_tagged[2];                 /* added: a remote write, [1] a read, has used up the tagged receive */
	uint64_t cq_solicited;                 /* added: the peer's post says POST_SOLICITED */
	uint64_t cq_invalidated;               /* added: the message has invalidated the region whose key is completion.data */
	/* Added: a queue pair's datagram, behind a GRH. completion.tag has the sender's QPN, and above 24 bits the kind of its
	 * header. */
	uint64_t cq_grh;
	uint64_t cq_multi; /* alone or added: a buffer of many messages is its program's again */
};

struct post;

/* Told of ops, to be counted and reported. All but the first two are called with the driver role. None may sleep, and none may
 * call the device. */
struct front_reports {
	/* Any thread, before a watched post (watch.h) is taken, which may fail yet. `owner`: of ep_attr. */
	void (*posted)(const void *owner, const struct post *post);
	void (*received)(const void *owner, const void *context); /* NULL: a shared context's */

	/* An own op begins, and is through; `bytes` are of all its parts. */
	void (*begun)(unsigned int kind);
	void (*done)(unsigned int kind, uint64_t bytes);
	/* An own op, or a receive (REFUSAL_OP_RECEIVE), has failed; `text` is its sentence, `peer` NULL or a name. */
	void (*failed)(const void *owner, const void *context, const struct refusal *why, const char *peer, const char *text);
	/* A peer's request, or with `first` false a further part of it, was executed or refused. */
	void (*served)(unsigned int kind, uint64_t bytes, bool first);
	/* A peer's op was refused; `pd` is the protection domain. */
	void (*refused)(const void *pd, const struct refusal *why, const char *peer);
	/* A peer's op met pinned pages whose mapping the program has changed (refusal_remapped()). */
	void (*remapped)(const void *pd, const struct refusal *why, const char *peer, const char *text);
};

#endif
