/* SPDX-License-Identifier: BSD-2-Clause */
/* disk.h - what makes a node's persistent regions durable (emu/nic/regions/flush.h): a queue whose flushes end after a drawn
 * time, in drawn order. A flush takes what the memory holds when it ends, and puts it into world->durable. */
#ifndef TESTS_SIM_DISK_H
#define TESTS_SIM_DISK_H

#include "tests/sim/harness/world.h"

extern const struct flush_ops disk_ops; /* `arg` is the node */

/* Ends the flushes whose time has come, as the worker thread would: without the role. True if there were any. */
bool disk_run(struct node *node);
/* When the next one ends; UINT64_MAX: none is on. */
uint64_t disk_next_ns(const struct node *node);
void disk_free(struct node *node);

#endif
