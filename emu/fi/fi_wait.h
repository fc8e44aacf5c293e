/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_wait.h - wait objects of queues and counters, as libfabric names them, over emu/net's.
 *
 * A queue or counter that can be waited on owns one, or shares that of a wait set. Who blocks in a read arms the queue
 * for as long (cq_arm). A program that blocks on the object itself arms it by fi_trywait(), for one wake-up (cq_notify).
 * What is in a wait set is armed as long as it is there. */
#ifndef EMU_FI_WAIT_H
#define EMU_FI_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <rdma/fi_eq.h>

struct emu_fabric;
struct emu_wait_set;
struct wait;
struct wait_cond;

struct waiter {
	enum fi_wait_obj obj;
	struct wait *wait;		/* what our own calls sleep on; NULL with FI_WAIT_NONE */
	struct wait_cond *cond;		/* FI_WAIT_MUTEX_COND: what the program sleeps on; else NULL */
	struct emu_wait_set *set;	/* FI_WAIT_SET: whose those two are; else NULL */
};

/* What the attributes of a queue or counter say. */
struct waiter_want {
	enum fi_wait_obj obj;
	struct fid_wait *set;		/* FI_WAIT_SET */
	const struct emu_fabric *fabric;
	const char *what;		/* for the log */
};

/* 0; -FI_EINVAL; -FI_ENOSYS where there is nobody to wake the program, logged. */
int  waiter_check(const struct waiter_want *want);
int  waiter_open(struct waiter *waiter, const struct waiter_want *want);	/* 0 or -errno */
void waiter_close(struct waiter *waiter);
/* Something came: what cq_open() and cntr_open() get. Never blocks; any thread. */
void waiter_wake(void *waiter);
/* May fi_cq_sread() and its like block here? Not where a wait set does. */
bool waiter_blocks(const struct waiter *waiter);
/* As wait_turn() and wait_sleep(). FI_WAIT_YIELD, or no wait object, gives the processor away and comes back. */
uint32_t waiter_turn(const struct waiter *waiter);
int  waiter_sleep(struct waiter *waiter, uint32_t turn, int timeout_ms);
/* fi_trywait() of what ready() arms and looks at: 0 or -FI_EAGAIN. */
int  waiter_try(struct waiter *waiter, bool (*ready)(void *arg), void *arg);
/* FI_GETWAIT, FI_GETWAITOBJ; else -FI_ENOSYS. waiter_tell() is for who has a descriptor of his own. */
int  waiter_control(const struct waiter *waiter, int command, void *arg);
int  waiter_tell(const struct waiter *waiter, int fd, int command, void *arg);

/* When a timeout in milliseconds ends; negative: never. And what is left of it, in milliseconds (-1: no end). */
uint64_t wait_deadline(int timeout_ms);
int  wait_left(uint64_t deadline_ns);

/* fi_trywait() of the fabric. */
int  emu_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

#endif
