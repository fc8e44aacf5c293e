/* SPDX-License-Identifier: BSD-2-Clause */
/* pushed.h - an open device, a completion queue with a channel, and entries that the test pushes as the device does. */
#ifndef EMU_TESTS_PUSHED_H
#define EMU_TESTS_PUSHED_H

#include "emu/nic/regions/refusal.h"
#include "emu/verbs/queues/vb_cq.h"
#include "emu/verbs/queues/vb_wr.h"

extern struct ibv_context *context;
extern struct ibv_comp_channel *channel; /* O_NONBLOCK */
extern struct ibv_cq *cq;
extern struct vb_queue sends, receives; /* of a QP of the number 17, each for 8 requests */

void open_all(int cqe);
void open_all_ex(const struct ibv_cq_init_attr_ex *attr); /* without its channel */
void close_all(void);
/* One more request in this queue. */
struct vb_wr *posted(struct vb_queue *queue, uint64_t wr_id, enum ibv_wc_opcode opcode);
/* It completes; of a receive with these flags (enum vb_cq_flag) and data. */
void push_good(struct vb_wr *wr, uint64_t flags, uint64_t data);
void push_failed(struct vb_wr *wr, enum refusal_cause cause, const char *text);
/* Polls one entry. */
struct ibv_wc polled(void);
/* Events that the channel gives now. */
int events_now(void);

#endif
