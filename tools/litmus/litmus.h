/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus.h - what a litmus test is: a few steps of up to three sides, and one outcome that a promised order forbids. */
#ifndef LITMUS_H
#define LITMUS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rdma/fabric.h>
#include <rdma/fi_endpoint.h>

enum {
	SIDES = 3,
	STEPS = 8,        /* of a side */
	REGISTERS = 4,    /* of a test: what it reads */
	SEEN = 3,         /* values that make an outcome */
	ELEMENT = 8,      /* bytes of a variable and a register, */
	LONG_BYTES = 512, /* but for those of a long one */
};

enum verb {
	NO_STEP, /* the end of a side's steps */
	/* operations, to a variable of side `to`, by endpoint `ep` of this side */
	WRITE,
	READ,      /* into register `value` */
	PUT,       /* atomic write */
	ADD,       /* atomic sum of 1 */
	FETCH,     /* atomic read into register `value` */
	FETCH_ADD, /* atomic sum of 1; what was there comes into register `value` */
	SEND,
	RECEIVE, /* into the side's own variable */
	/* what the program does between them */
	WAIT,  /* for the completion of its step `value` */
	TOLD,  /* waits for CQ data */
	COUNT, /* waits for the counter of `value` operations of this side */
	MET,   /* waits for the counter of `value` writes to this side */
	POLL,  /* the side's own variable, until it is not 0 */
	LOOK,  /* loads the side's own variable into register `value` */
	STORE, /* stores `value` into the side's own variable */
	REUSE, /* puts 3 into the source buffer of its step `value` */
	PAUSE, /* for a drawn part of a millisecond */
	TELL,  /* another side, by a way that the NIC has no part in */
	HEAR,  /* waits for that */
	PEEK,  /* loads variable `var` of side `to` into register `value`, by a way that the NIC has no part in */
	VERBS
};

enum var { X, Y, Z, VARS }; /* Z is long */

struct step {
	enum verb verb;
	enum var var;
	uint8_t value, to, ep;
	uint64_t flags; /* of the operation: a completion level, FI_FENCE, FI_REMOTE_CQ_DATA */
};

/* What is looked at in the end. */
struct seen {
	enum { A_REGISTER = 1, A_VARIABLE, AN_END } what;
	uint8_t side,
		index; /* of a register; of a side's variable; of a side's step: 1 if it completes before the next posted one */
	uint8_t value; /* the outcome that the test is about has */
};

/* A long variable is one of these. */
enum { LONG_OLD, LONG_NEW, LONG_MIXED, LONG_TORN /* within an aligned element */ };

enum rule {
	BY_ORDER, /* forbidden where fi_getinfo(3) tells all of `asks`, else allowed */
	FORBIDDEN,
	ALLOWED,
};

/* Values of FI_EMU_ORDER. */
enum { STRONG = 0x1, RC = 0x2, WEAK = 0x4, ORDERS = 3 };

struct litmus {
	const char *name, *about;
	const char *source; /* the page that says so */
	enum rule rule;
	uint64_t asks;  /* bits of msg_order; with BY_ORDER the test runs once without them, and once with them */
	uint64_t also;  /* of these with either */
	uint64_t caps;  /* more than messages, RMA and atomics */
	uint32_t shows; /* where the NIC shows the outcome, if it is allowed */
	struct step steps[SIDES][STEPS];
	struct seen seen[SEEN];
};

extern const struct litmus litmus_table[];
extern const unsigned litmus_count;

/* Does the step post an operation, or a receive? */
static inline bool step_posts(const struct step *step)
{
	return step->verb >= WRITE && step->verb <= RECEIVE;
}

/* Ends the process with status 2, and a line that says why. */
_Noreturn void litmus_die(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a call of libfabric that has returned other than 0. */
void litmus_must(long rc, const char *call);

#endif
