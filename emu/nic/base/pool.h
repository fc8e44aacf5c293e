/* SPDX-License-Identifier: BSD-2-Clause */
/* pool.h - a bounded pool of equal objects: program threads take them, the completing thread gives them back.
 *
 * Thread: takers serialise among themselves (the submit lock); pool_give() may come from any thread at any time, also
 * after pool_close(): the memory goes when the last object is back. */
#ifndef EMU_NIC_POOL_H
#define EMU_NIC_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/must_use.h"

struct pool;

/* 0 or -ENOMEM. `object` bytes each, at most `max` out at a time; memory is allocated as it is needed. */
MUST_USE int pool_open(struct pool **pool, size_t object, uint32_t max);
void pool_close(struct pool *pool);
/* NULL: `max` objects are out, or no memory. The contents are undefined. */
MUST_USE void *pool_take(struct pool *pool);
void pool_give(struct pool *pool, void *object);

#endif
