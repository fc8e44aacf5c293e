/* SPDX-License-Identifier: BSD-2-Clause */
/* channel.h - the side channel of the demo: two pipes by which the initiator asks and the target answers.
 * Every program with one-sided transfers has a side channel, since addresses and keys must be told before the first
 * transfer. No payload goes this way. One question at a time; each side ends its process when the other is gone. */
#ifndef DEMO_CHANNEL_H
#define DEMO_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ask {
	ASK_ADDRESS,  /* for the address of the target's endpoint */
	ASK_REGISTER, /* to register `length` bytes with `access`; the answer has number, address and key */
	ASK_HASH,     /* for the hash of a region's bytes, as the target's processor sees them */
	ASK_CLOSE,    /* to close the region; its memory stays */
	ASK_SLEEP,    /* to sleep: after the answer the target only waits for the next question */
	ASK_WAKE,     /* that next question; the answer has switches and cpu_us of the sleep */
	ASK_QUIT,
};

struct question {
	enum ask ask;
	uint32_t region;
	uint64_t length, access;
};

struct answer {
	uint32_t region;
	uint64_t address, key; /* by which a peer names the region */
	uint64_t hash;
	uint8_t name[64]; /* endpoint address */
	uint64_t name_size;
	int64_t pid;
	int64_t switches; /* voluntary context switches of the thread */
	int64_t cpu_us;
};

struct channel {
	int in, out;
};

/* Opens the two FIFOs; waits until the other side opens them. */
struct channel channel_of_target(const char *questions, const char *answers);
struct channel channel_of_initiator(const char *questions, const char *answers);

struct question channel_await(const struct channel *ch);
void channel_answer(const struct channel *ch, const struct answer *answer);
struct answer channel_ask(const struct channel *ch, const struct question *question);

/* One line of the transcript, flushed at once. */
void say(const char *who, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Ends the process with status 1, after a line that says why. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
