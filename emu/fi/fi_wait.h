/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_wait.h - wait objects of queues and counters, as libfabric names them, over emu/net's.
 *
 * A queue or counter that can be waited on owns one. Who blocks in a read arms the queue for as long (cq_arm). A
 * program that blocks on the descriptor itself arms it by fi_trywait(), and the next read that finds something
 * disarms it. */
#ifndef EMU_FI_WAIT_H
#define EMU_FI_WAIT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rdma/fi_eq.h>

struct wait;

struct waiter {
	enum fi_wait_obj obj;	/* FI_WAIT_NONE, UNSPEC or FD */
	struct wait *wait;	/* NULL with FI_WAIT_NONE */
	atomic_bool tried;	/* fi_trywait() has armed the queue */
};

/* 0; -FI_ENOSYS for kinds that are not there yet, logged; -FI_EINVAL; -errno. */
int  waiter_check(enum fi_wait_obj obj, const char *what);
int  waiter_open(struct waiter *waiter, enum fi_wait_obj obj);
void waiter_close(struct waiter *waiter);
/* FI_GETWAIT, FI_GETWAITOBJ; else -FI_ENOSYS. */
int  waiter_control(const struct waiter *waiter, int command, void *arg);

/* When a timeout in milliseconds ends; negative: never. And what is left of it, in milliseconds (-1: no end). */
uint64_t wait_deadline(int timeout_ms);
int  wait_left(uint64_t deadline_ns);

/* fi_trywait() of the fabric. */
int  emu_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

#endif
