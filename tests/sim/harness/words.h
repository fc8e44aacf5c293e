/* SPDX-License-Identifier: BSD-2-Clause */
/* words.h - what a stranger says to a listener, built up frame by frame. Owner: the test. */
#ifndef TESTS_SIM_WORDS_H
#define TESTS_SIM_WORDS_H

#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/lines.h"

enum { ROOM = 16384 };

struct words {
	struct bed *bed;
	struct region *target;
	uint32_t who; /* each stranger is another peer */
	uint8_t op;   /* of the last frame */
	size_t length;
	uint8_t bytes[ROOM];
};

/* Where the next frame goes. */
uint8_t *here(struct words *words);
/* A head and body of `length` bytes were put there. */
void seal(struct words *words, size_t length, uint64_t ack);
/* Payload of the frame that was sealed last, and its trailer; of any bytes. */
void add_bytes(struct words *words, const void *bytes, size_t length, uint32_t status);
void add_payload(struct words *words, size_t length, uint32_t status);
/* A HELLO that nothing is wrong with, and what says it. */
struct wire_hello_fields plain_hello(struct words *words);
void say_hello(struct words *words, const struct wire_hello_fields *fields);
/* The target fields of a request: that offset of the target's region. Valid until the next call. */
const struct wire_target_fields *at(const struct words *words, uint64_t addr);

#endif
