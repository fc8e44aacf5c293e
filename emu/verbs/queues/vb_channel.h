/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_channel.h - completion channels: the events of completion queues behind a descriptor (vb_events.h). Any thread. */
#ifndef EMU_VB_CHANNEL_H
#define EMU_VB_CHANNEL_H

#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/device/vb_events.h"

struct check_record;
struct vb_cq;

struct vb_channel {
	struct ibv_comp_channel ibv; /* refcnt: its queues, under the mutex of the context */
	struct vb_events events;
	struct check_record *check;
};

static inline struct vb_channel *vb_channel_of(struct ibv_comp_channel *ibv)
{
	return (struct vb_channel *)ibv;
}

/* One more queue that tells here, or one less. */
void vb_channel_get(struct vb_channel *channel);
void vb_channel_put(struct vb_channel *channel);
/* The queue's arm is used up. With the driver role. */
void vb_channel_tell(struct vb_channel *channel, struct vb_cq *cq);
/* The queue is about to end: no event of it comes any more. Returns how many were taken, which the program must acknowledge. */
uint32_t vb_channel_forget(struct vb_channel *channel, struct vb_cq *cq);

#endif
