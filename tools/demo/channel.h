/* SPDX-License-Identifier: BSD-2-Clause */
/* channel.h - the side channel of the demo: two pipes by which the initiator asks and the target answers.
 * Every program with one-sided transfers has some such thing, since addresses and keys must be told before the first
 * transfer. No payload goes this way. One question at a time; both sides end the process when the other is gone. */
#ifndef DEMO_CHANNEL_H
#define DEMO_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ask {
	ASK_ADDRESS,	/* of the target's endpoint */
	ASK_REGISTER,	/* a region of `length` bytes with `access`; answered with its number, address and key */
	ASK_HASH,	/* of the bytes of a region, as the target's processor sees them */
	ASK_CLOSE,	/* the region; its memory stays */
	ASK_SLEEP,	/* answered, and then the target reads the next question and does nothing else */
	ASK_WAKE,	/* that next question; answered with what the target's thread did meanwhile */
	ASK_QUIT,
};

struct question {
	enum ask ask;
	uint32_t region;
	uint64_t length, access;
};

struct answer {
	uint32_t region;
	uint64_t address, key;		/* what a peer must name */
	uint64_t hash;
	uint8_t  name[64];		/* endpoint address */
	uint64_t name_size;
	int64_t  pid;
	int64_t  switches;		/* times that the thread gave the processor away by itself */
	int64_t  cpu_us;
};

struct channel {
	int in, out;
};

/* Opens the two FIFOs; waits for the other side to do so. */
struct channel channel_of_target(const char *questions, const char *answers);
struct channel channel_of_initiator(const char *questions, const char *answers);

struct question channel_await(const struct channel *ch);
void channel_answer(const struct channel *ch, const struct answer *answer);
struct answer channel_ask(const struct channel *ch, const struct question *question);

/* One line of the transcript, out before anything else happens. */
void say(const char *who, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process with status 1, after saying why. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
