/* SPDX-License-Identifier: BSD-2-Clause */
/* message.h - messages between the two processes of a pair, from and into the target's own registered buffer. */
#ifndef TESTS_RULES_MESSAGE_H
#define TESTS_RULES_MESSAGE_H

#include "tests/rules/harness/harness.h"

/* The target's buffer of PAIR_LOCAL_LEN bytes; pair_open and pair_close call these. */
void message_open(struct pair *p);
void message_close(struct pair *p);

/* From here on messages of both sides are tagged, or are not. Needs FI_TAGGED. */
void messages_tagged(struct pair *p, bool tagged);
/* The target posts one receive; one at a time. */
void target_post_recv(struct pair *p);
/* That receive completes with exactly these bytes. */
void target_expect_message(struct pair *p, size_t len, uint32_t seed);
/* The target sends the pattern and waits until that has completed. */
void target_send_message(struct pair *p, size_t len, uint32_t seed);

#endif
