/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_wait_set.h - the wait set object (fi_poll(3)): one wait object for several queues and counters. It belongs to the
 * fabric and may exist before the NIC. Any thread. */
#ifndef EMU_FI_WAIT_SET_H
#define EMU_FI_WAIT_SET_H

#include <stdbool.h>

#include <rdma/fi_eq.h>

struct emu_fabric;
struct emu_wait_set;
struct waiter;

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

#endif
