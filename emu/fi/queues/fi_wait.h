/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_wait.h - wait objects, wait sets and poll sets. */
#ifndef EMU_FI_WAIT_H
#define EMU_FI_WAIT_H

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stdint.h>

struct emu_fabric;
struct emu_wait_set;
struct wait;
struct wait_cond;
struct waiter;

/* --- The wait set object (fi_poll(3)): one wait object for several queues and counters. It belongs to the fabric and may
 * exist before the NIC. Any thread. --- */

/* One queue or counter of a set, embedded in its object, which is armed as long as it is in the set. */
struct wait_member {
	struct wait_member *next;
	bool (*ready)(void *arg); /* is there anything to be read? Any thread */
	void *arg;
	int fd; /* readable while there is anything; -1: the object calls its waiter instead */
};

int emu_wait_open(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **set);
int emu_wait_set_trywait(struct emu_wait_set *set);

const struct emu_fabric *wait_set_fabric(struct fid_wait *set);
/* Lets a waiter that is being opened use the set's object. 0 or -errno. */
int wait_set_share(struct fid_wait *set, struct waiter *waiter);
/* fi_close() of the set returns -FI_EBUSY while anything is in it. 0 or -errno. */
int wait_set_add(struct emu_wait_set *set, struct wait_member *member);
void wait_set_remove(struct emu_wait_set *set, struct wait_member *member);

/* --- Wait objects of queues and counters, as libfabric names them, over emu/net's.
 *
 * A queue or counter that can be waited on owns one, or shares that of a wait set. A blocking read arms the queue while it
 * lasts (cq_arm). A program that blocks on the object itself arms it by fi_trywait(), for one wake-up (cq_notify). A queue or
 * counter in a wait set is armed as long as it is there. --- */

struct waiter {
	enum fi_wait_obj obj;
	struct wait *wait;        /* our own calls sleep on it; NULL with FI_WAIT_NONE */
	struct wait_cond *cond;   /* FI_WAIT_MUTEX_COND: the program sleeps on it; else NULL */
	struct emu_wait_set *set; /* FI_WAIT_SET: the owner of those two; else NULL */
};

/* The attributes of a queue or counter that concern waiting. */
struct waiter_want {
	enum fi_wait_obj obj;
	struct fid_wait *set; /* FI_WAIT_SET */
	const struct emu_fabric *fabric;
	const char *what; /* for the log */
};

/* 0; -FI_EINVAL; -FI_ENOSYS if no thread could wake the program, logged. */
int waiter_check(const struct waiter_want *want);
int waiter_open(struct waiter *waiter, const struct waiter_want *want); /* 0 or -errno */
void waiter_close(struct waiter *waiter);
/* cq_open() and cntr_open() get this, to be called when an entry or count comes. Never blocks; any thread. */
void waiter_wake(void *waiter);
/* May fi_cq_sread() and similar calls block here? Not if the object is in a wait set. */
bool waiter_blocks(const struct waiter *waiter);
/* As wait_turn() and wait_sleep(). With FI_WAIT_YIELD, or without a wait object, yields the processor and returns. */
uint32_t waiter_turn(const struct waiter *waiter);
int waiter_sleep(struct waiter *waiter, uint32_t turn, int timeout_ms);
/* fi_trywait() of one object, which ready() arms and tests: 0 or -FI_EAGAIN. */
int waiter_try(struct waiter *waiter, bool (*ready)(void *arg), void *arg);
/* As wait_quiet() and wait_rouse(), of a waiter that has a descriptor of its own. */
void waiter_quiet(struct waiter *waiter);
void waiter_rouse(struct waiter *waiter);
/* FI_GETWAIT, FI_GETWAITOBJ; else -FI_ENOSYS. waiter_tell() is for objects that have a descriptor of their own. */
int waiter_control(const struct waiter *waiter, int command, void *arg);
int waiter_tell(const struct waiter *waiter, int fd, int command, void *arg);

/* The time at which a timeout in milliseconds ends; negative: never. And the milliseconds left of it (-1: no end). */
uint64_t wait_deadline(int timeout_ms);
int wait_left(uint64_t deadline_ns);

/* fi_trywait() of the fabric. */
int emu_trywait(struct fid_fabric *fabric, struct fid **fids, int count);

/* --- The poll set object (fi_poll(3)): which of several completion queues and counters have something. Objects in one cannot
 * be closed. Any thread. --- */

int emu_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **pollset);

#endif
