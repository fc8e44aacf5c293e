/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_eq.h - the event queue object: a list of events and errors in order. It belongs to the fabric and may exist
 * before the NIC, so its wait object is an eventfd of its own, readable while the queue is not empty. Any
 * thread. */
#ifndef EMU_FI_EQ_H
#define EMU_FI_EQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_eq.h>

struct emu_fabric;

enum {
	EQ_EVENTS = 4096,        /* events unread, unless the program asks for more; then the queue is overrun */
	EQ_EVENTS_MAX = 1 << 20, /* the most that a program may ask for */
	EQ_DATA = 1024,          /* most bytes of an event that the program writes */
};

struct emu_eq; /* begins with the fid */

int emu_eq_open(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **eq, void *context);
int emu_eq_trywait(struct emu_eq *eq);
const struct emu_fabric *emu_eq_fabric(const struct emu_eq *eq);
/* False in a fork's child that has inherited it. */
bool emu_eq_mine(const struct emu_eq *eq);

/* One more, one less object bound to it: fi_close() returns -FI_EBUSY while there is any. */
void emu_eq_get(struct emu_eq *eq);
void emu_eq_put(struct emu_eq *eq);

/* Removes the unread events about an object that is being closed: all that were pushed with its fid. */
void emu_eq_withdraw(struct emu_eq *eq, const struct fid *fid);

/* A struct fi_eq_entry, or a failed operation. 0; -FI_EOVERRUN; -FI_ENOMEM, which overruns the queue as well. */
int emu_eq_push(struct emu_eq *eq, uint32_t event, struct fid *fid, void *context, uint64_t data);
int emu_eq_push_error(struct emu_eq *eq, struct fid *fid, void *context, uint64_t data, int err);
/* A struct fi_eq_cm_entry with up to LIMIT_CM_DATA bytes of the peer's behind it. Takes `info`, which may be NULL. A reader
 * whose buffer is too small for the data gets its beginning. */
int emu_eq_push_cm(struct emu_eq *eq, uint32_t event, struct fid *fid, struct fi_info *info, const void *data, size_t length);
/* A connection that was refused or failed, with those bytes as err_data. */
int emu_eq_push_refused(struct emu_eq *eq, struct fid *fid, int err, const void *data, size_t length);

#endif
