/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_wr.h - records of work requests, from the post to the poll.
 *
 * A send queue, a receive queue and a shared receive queue each have as many records as the program may have posted and not polled.
 * The record is the context of the device's op or receive, and so of its completion. In a QP's queue requests complete in the
 * order of their posts, and some leave no completion: so the one that is polled frees those before it, too. In a shared queue
 * each frees itself.
 *
 * Posts: one thread at a time takes records of a queue (the QP's or the SRQ's lock). Polls free them under the lock of their CQ, a
 * shared queue's perhaps of several CQs at once. */
#ifndef EMU_VB_WR_H
#define EMU_VB_WR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/base/futex_lock.h"

struct vb_block;
struct vb_queue;

struct vb_wr {
	uint64_t wr_id;
	struct vb_queue *queue;
	struct vb_wr *next; /* of a free record of a shared queue */
	uint64_t number;    /* of the requests of a QP's queue, from 0 */
	uint32_t length;    /* bytes, told as byte_len where the device tells none: READ, atomics */
	uint8_t opcode;     /* enum ibv_wc_opcode. IBV_WC_RECV: what kind of receive the completion tells */
	uint8_t planned;    /* enum ibv_wc_status by which a fault plan has it fail; 0: none has */
	bool local;         /* it was refused on this side (OP_LOCAL): its cause speaks of local memory */
};

/* ep_attr.tag of a QP is the address of its receive queue, which it has with a shared one, too, then without records. So a receive
 * tells by completion.source at which QP it ended. */
struct vb_queue {
	uint32_t size;              /* requests that may be out; 0: none may be posted */
	uint32_t qp_num;            /* of a QP's queue; constant */
	bool shared;                /* an SRQ's; constant */
	struct vb_block *blocks;    /* the records; of a QP's queue one block */
	uint64_t posted;            /* of a QP's queue, the poster's: requests ever, */
	uint32_t at;                /* and the next one's record */
	atomic_uint_fast64_t freed; /* likewise: those of them that have been polled. The others are out */
	struct futex_lock lock;     /* of a shared queue: guards the fields below */
	struct vb_wr *free;
	uint32_t out, records;
};

/* 0 or ENOMEM. */
int vb_queue_open(struct vb_queue *queue, uint32_t size, uint32_t qp_num, bool shared);
void vb_queue_close(struct vb_queue *queue); /* nothing refers to its records any more (cq_purge()) */
/* Of a shared queue: from now on so many may be out. Those that are out stay as they are. 0, ENOMEM; EINVAL: more are out. */
int vb_queue_resize(struct vb_queue *queue, uint32_t size);
/* Poster: the record for one more request; the caller fills it. NULL (ENOMEM): as many are out as there may be. */
struct vb_wr *vb_queue_take(struct vb_queue *queue);
/* Poster: the record that vb_queue_take() gave last was not posted after all. */
void vb_queue_untake(struct vb_queue *queue, struct vb_wr *wr);
/* The request has been polled. */
void vb_queue_free_to(struct vb_wr *wr);
/* Poster: all are free, since the QP went to RESET, where none completes. */
void vb_queue_reset(struct vb_queue *queue);
/* Requests that are out: posted and not polled. The poster, or of a shared queue any thread. */
uint32_t vb_queue_out(struct vb_queue *queue);

#endif
