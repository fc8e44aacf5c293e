/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_context.h - an open device: the table of calls that programs reach inline, its NIC, its objects. Any thread. */
#ifndef EMU_VB_CONTEXT_H
#define EMU_VB_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/net/thread/net.h"
#include "emu/nic/base/mutex.h"
#include "emu/verbs/device/vb_device.h"
#include "emu/verbs/device/vb_events.h"

struct nic;
struct check_record;

struct vb_context {
	struct mutex lock;             /* of the first use of the NIC, here and in PDs */
	struct nic *_Atomic nic;       /* NULL: no object has needed it yet */
	const struct net_claim *claim; /* the NIC's, once there is one */
	struct vb_context *next;       /* in the list of open devices (vb_fault.h) */
	atomic_bool dead;              /* IBV_EVENT_DEVICE_FATAL was told */
	atomic_uint users;             /* the program's own, and its objects: the last one frees it */
	struct vb_events events;       /* asynchronous ones; each is malloc()'s, and begins with its vb_event */
	struct check_record *check;    /* check_object.h */
	struct vb_abi_context abi;
};

static inline struct vb_context *vb_context_of(struct ibv_context *ibv)
{
	return (struct vb_context *)((char *)ibv - offsetof(struct vb_context, abi.context));
}

/* ibv_open_device(); `recorded`: checked mode expects the program to close it. */
struct ibv_context *vb_context_open(struct ibv_device *device, bool recorded);
/* The process's NIC, which the first region, queue or QP starts. NULL with errno, after a line of log: ENODEV in a fork's child
 * that has inherited the context, else what nic_start() says. `call` is the program's. */
struct nic *vb_nic_get(struct vb_context *context, const char *call);
/* False in a fork's child, of a context whose NIC is its parent's: no call may touch that. */
static inline bool vb_context_usable(const struct vb_context *context)
{
	return !atomic_load_explicit(&context->nic, memory_order_acquire) || net_runs(context->claim);
}
/* The program calls with an object whose handle is `handle`, and was made with the handle `own`: 0; or as vb_refuse_handle(), or
 * as vb_inherited(). */
int vb_check_handle(const struct vb_context *context, uint32_t handle, uint32_t own, const char *what, const char *call);
/* The driver role, of a context that has a NIC; waits about a slice. 0; or EAGAIN, after a line of log: in a signal handler that
 * has interrupted the device. */
int vb_context_enter(const struct vb_context *context, const char *call) TRY_ACQUIRE(0, driver_role);
void vb_context_leave(const struct vb_context *context) RELEASE(driver_role);
/* The device has not taken a post: its errno as the program is told it, after a line of log. */
int vb_refuse_post(const struct vb_context *context, int err, const char *call) __attribute__((cold));
/* The calling thread is about to sleep on a descriptor or futex of ours: the NIC thread serves from now on. */
static inline void vb_context_doze(void)
{
	if (net_mine())
		net_doze();
}
/* One more object of it, or one less. A context that is closed stays in memory until the last has gone. */
void vb_context_get(struct vb_context *context);
void vb_context_put(struct vb_context *context);

/* One more of the process's objects of a kind, of which there may be `most`: 0; or ENOMEM, after a line of log with their `name`
 * ("queue pairs") and their `limit` ("max_qp"). Or one less. */
int vb_count_take(atomic_uint *count, unsigned int most, const char *call, const char *name, const char *limit);
static inline void vb_count_give(atomic_uint *count)
{
	atomic_fetch_sub(count, 1);
}

/* vb_ops.c: the calls of all rooms into the tables of a new context. */
void vb_fill_ops(struct vb_abi_context *abi);

#endif
