/* SPDX-License-Identifier: BSD-2-Clause */
/* target.h - the other process of a test, and the way to make it do things.
 * It is forked before the test process uses libfabric, and then runs steps: functions of this program, called there
 * with the bytes that the test process sent, whose answer comes back. So a test reads as one script for both processes.
 * Between steps the target sleeps in the kernel and calls nothing of libfabric, unless its provider has to be polled.
 * A step that fails a check, and a target that dies, fail the test by name. */
#ifndef TESTS_RULES_TARGET_H
#define TESTS_RULES_TARGET_H

#include "tests/rules/harness/peer.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { STEP_BYTES_MAX = 1 << 17 };

struct target {
	pid_t pid;
	int fd;
};

typedef void target_step(const void *arg, void *reply);

void target_start(struct target *target);
/* Ends the process and checks that it was still well. */
void target_stop(struct target *target);
/* SIGKILL, and waits until it is gone. */
void target_kill(struct target *target);

/* Runs the step there and waits for its answer of exactly reply_len bytes. */
void target_do(struct target *target, target_step *step, const void *arg, size_t arg_len, void *reply, size_t reply_len);
/* The two halves of it, so that the test process can act while the step runs. */
void target_begin(struct target *target, target_step *step, const void *arg, size_t arg_len, size_t reply_len);
void target_end(struct target *target, void *reply, size_t reply_len);

/* Whether a step that was begun has answered, or its process has ended. */
bool target_answered(const struct target *target);

/* In the target process: its endpoint, once target_open has run, and the test process's address in its AV. */
extern struct peer target_peer;
extern fi_addr_t target_tester;

/* Opens an endpoint in the target, and enters each address into the other's AV. Returns the target's in `peer`'s. */
fi_addr_t target_open(struct target *target, const struct peer_want *want, struct peer *peer);
void target_close(struct target *target);

#endif
