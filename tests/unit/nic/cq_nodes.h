/* SPDX-License-Identifier: BSD-2-Clause */
/* cq_nodes.h - one completion queue, and numbered entries for it. */
#ifndef EMU_TESTS_CQ_NODES_H
#define EMU_TESTS_CQ_NODES_H

#include "emu/nic/queues/cq.h"

/* A node that counts how often it was released; op numbers travel in `data`. */
struct test_node {
	struct cq_node node;
	int released;
};

extern struct test_node nodes[64];
extern struct cq *cq;

void count_wake(void *arg); /* arg: an int */
void open_of(size_t size);
void push(uint64_t number); /* < 64 */
void push_flagged(uint64_t number, uint64_t flags);
void push_error(uint64_t number);
/* cq_take() of up to `count` gives `wanted`, and entries from the number `first` on. */
void take(ssize_t wanted, size_t count, uint64_t first);
void take_error(uint64_t number);

#endif
