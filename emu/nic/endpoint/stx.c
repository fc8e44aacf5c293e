/* SPDX-License-Identifier: BSD-2-Clause */
/* stx.c - a transmit context. */
#include "emu/nic/endpoint/stx.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/pool.h"

int stx_open(uint32_t size, struct stx **out)
{
	struct stx *stx = calloc(1, sizeof(*stx));
	int err;

	if (!stx)
		return -ENOMEM;
	err = pool_open(&stx->ops, sizeof(struct op), size ? size : LIMIT_TX_OPS);
	if (err)
		free(stx);
	else
		*out = stx;
	return err;
}

int stx_close(struct stx *stx)
{
	if (atomic_load(&stx->users))
		return -EBUSY;
	pool_close(stx->ops);
	free(stx);
	return 0;
}

void stx_get(struct stx *stx)
{
	atomic_fetch_add(&stx->users, 1);
}

void stx_put(struct stx *stx)
{
	atomic_fetch_sub(&stx->users, 1);
}
