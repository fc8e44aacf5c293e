/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_wr.c - records of work requests: taken by posts, freed by polls. */
#include "emu/verbs/queues/vb_wr.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

struct vb_block {
	struct vb_block *next;
	struct vb_wr wr[];
};

/* A block of `count` records, which are entered in no list. NULL: no memory. */
static struct vb_block *block_open(struct vb_queue *queue, uint32_t count)
{
	struct vb_block *block = calloc(1, sizeof(*block) + count * sizeof(*block->wr));

	for (uint32_t i = 0; block && i < count; i++)
		block->wr[i].queue = queue;
	return block;
}

int vb_queue_open(struct vb_queue *queue, uint32_t size, uint32_t qp_num, bool shared)
{
	*queue = (struct vb_queue){ .qp_num = qp_num, .shared = shared };
	if (shared)
		return vb_queue_resize(queue, size);
	queue->blocks = block_open(queue, size);
	if (!queue->blocks)
		return ENOMEM;
	queue->size = size;
	return 0;
}

void vb_queue_close(struct vb_queue *queue)
{
	while (queue->blocks) {
		struct vb_block *next = queue->blocks->next;

		free(queue->blocks);
		queue->blocks = next;
	}
}

/* Lock held. */
static void add_block(struct vb_queue *queue, struct vb_block *block, uint32_t count)
{
	block->next = queue->blocks;
	queue->blocks = block;
	queue->records += count;
	for (uint32_t i = 0; i < count; i++) {
		block->wr[i].next = queue->free;
		queue->free = &block->wr[i];
	}
}

int vb_queue_resize(struct vb_queue *queue, uint32_t size)
{
	uint32_t more = size > queue->records ? size - queue->records : 0; /* resizes come one at a time, and no one else adds */
	struct vb_block *block = more ? block_open(queue, more) : NULL;
	int err = 0;

	assert(queue->shared);
	if (more && !block)
		return ENOMEM;
	futex_lock(&queue->lock);
	if (queue->out > size)
		err = EINVAL;
	else
		queue->size = size;
	if (block)
		add_block(queue, block, more);
	futex_unlock(&queue->lock);
	return err;
}

static struct vb_wr *take_shared(struct vb_queue *queue)
{
	struct vb_wr *wr = NULL;

	futex_lock(&queue->lock);
	if (queue->out < queue->size) {
		wr = queue->free;
		queue->free = wr->next;
		queue->out++;
	}
	futex_unlock(&queue->lock);
	return wr;
}

static void free_shared(struct vb_wr *wr)
{
	struct vb_queue *queue = wr->queue;

	futex_lock(&queue->lock);
	wr->next = queue->free;
	queue->free = wr;
	queue->out--;
	futex_unlock(&queue->lock);
}

static uint64_t freed(const struct vb_queue *queue)
{
	return atomic_load_explicit(&queue->freed,
				    memory_order_acquire); /* pairs with the release of a poll, which has read the record */
}

struct vb_wr *vb_queue_take(struct vb_queue *queue)
{
	struct vb_wr *wr;

	if (queue->shared)
		return take_shared(queue);
	if (queue->posted - freed(queue) >= queue->size) /* V67, V80 */
		return NULL;
	wr = &queue->blocks->wr[queue->at];
	queue->at = queue->at + 1 < queue->size ? queue->at + 1 : 0;
	wr->number = queue->posted++;
	return wr;
}

void vb_queue_untake(struct vb_queue *queue, struct vb_wr *wr)
{
	if (queue->shared) {
		free_shared(wr);
		return;
	}
	assert(wr->number + 1 == queue->posted);
	queue->posted--;
	queue->at = (uint32_t)(wr - queue->blocks->wr);
}

/* And those posted before it (V76). One CQ's lock orders the polls of a QP's queue, so no other thread frees. */
void vb_queue_free_to(struct vb_wr *wr)
{
	struct vb_queue *queue = wr->queue;

	if (queue->shared)
		free_shared(wr);
	else if (wr->number >= atomic_load_explicit(&queue->freed, memory_order_relaxed))
		atomic_store_explicit(&queue->freed, wr->number + 1, memory_order_release);
}

void vb_queue_reset(struct vb_queue *queue)
{
	assert(!queue->shared);
	atomic_store_explicit(&queue->freed, queue->posted, memory_order_release);
}

uint32_t vb_queue_out(struct vb_queue *queue)
{
	uint32_t out;

	if (!queue->shared)
		return (uint32_t)(queue->posted - freed(queue));
	futex_lock(&queue->lock);
	out = queue->out;
	futex_unlock(&queue->lock);
	return out;
}
