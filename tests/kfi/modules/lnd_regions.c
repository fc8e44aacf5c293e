/* SPDX-License-Identifier: BSD-2-Clause */
/* lnd_regions.c - bulk data by memory regions that are bound to the receive context. */
#include "lnd.h"

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/printk.h>

const uint64_t lnd_bulk_caps = KFI_MSG | KFI_MULTI_RECV | KFI_RMA;

/* Asynchronous registration reports by the completion, whose address is the region's context. */
static int wait_enabled(struct lnd_net *net, struct lnd_bulk *bulk)
{
	if (!net->eq)
		return 0;
	return wait_for_completion_timeout(&bulk->op.complete, 60 * HZ) ? 0 : -ETIMEDOUT;
}

int lnd_bulk_offer(struct lnd_net *net, struct lnd_bulk *bulk, struct lnd_pages *pages, uint64_t key, bool write)
{
	int rc;

	lnd_op_init(&bulk->op);
	bulk->told = false;
	rc = kfi_mr_regbv(net->domain, pages->vec, pages->count, write ? KFI_REMOTE_WRITE : KFI_REMOTE_READ, 0, key, 0, &bulk->mr,
			  &bulk->op.complete);
	if (rc)
		return rc;
	rc = kfi_mr_bind(bulk->mr, &net->rx->fid, 0);
	rc = rc ? rc : kfi_mr_enable(bulk->mr);
	rc = rc ? rc : wait_enabled(net, bulk);
	if (rc) {
		kfi_close(&bulk->mr->fid);
		bulk->mr = NULL;
	}
	return rc;
}

int lnd_bulk_end(struct lnd_net *net, struct lnd_bulk *bulk)
{
	int rc = kfi_close(&bulk->mr->fid); /* while it is bound */

	(void)net;
	bulk->mr = NULL;
	return rc;
}

int lnd_bulk_move(struct lnd_net *net, kfi_addr_t peer, struct lnd_pages *pages, uint64_t key, bool write)
{
	kfi_addr_t target = kfi_rx_addr(peer, 0, LND_RX_BITS);
	struct lnd_op op;
	ssize_t rc;

	lnd_op_init(&op);
	if (write)
		rc = kfi_writebv(net->tx, pages->vec, NULL, pages->count, target, 0, key, &op);
	else
		rc = kfi_readbv(net->tx, pages->vec, NULL, pages->count, target, 0, key, &op);
	return rc ? (int)rc : lnd_wait(&op);
}

MODULE_LICENSE("Dual BSD/GPL");
