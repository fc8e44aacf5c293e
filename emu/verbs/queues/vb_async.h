/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_async.h - asynchronous events of a context: ibv_get_async_event(). Any thread; vb_async_tell() also with the driver role.
 *
 * An event belongs to a QP, a CQ, an SRQ or to nothing (a port, the device). An object that is destroyed takes the events along
 * that nobody has read, and then waits until those that were read are acknowledged: so no program holds an event of an object
 * that is gone. */
#ifndef EMU_VB_ASYNC_H
#define EMU_VB_ASYNC_H

#include <pthread.h>
#include <stdint.h>

#include "emu/verbs/device/vb_context.h"

/* No cancellation point. `event` is copied; with an object, `told` counts those of its events that were read, under the lock of the
 * events. Without memory the event is lost, and the log says so. */
void vb_async_tell(struct vb_context *context, const struct ibv_async_event *event, uint32_t *told);
/* An object ends: none of its events comes any more. Returns *told: so many the program must acknowledge. `object` is what
 * element.cq, .qp or .srq was. */
uint32_t vb_async_forget(struct vb_context *context, const void *object, const uint32_t *told);
/* Waits until *acked, which the mutex guards, is `told`. */
void vb_await_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *acked, uint32_t told);

#endif
