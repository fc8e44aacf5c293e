/* SPDX-License-Identifier: BSD-2-Clause */
/* lnd_tagged.c - bulk data by tagged receives, which the peer's tagged RMA uses up. */
#include "lnd.h"

#include <linux/module.h>
#include <linux/printk.h>

const uint64_t lnd_bulk_caps = KFI_MSG | KFI_MULTI_RECV | KFI_RMA | KFI_TAGGED | KFI_TAGGED_RMA;

int lnd_bulk_offer(struct lnd_net *net, struct lnd_bulk *bulk, struct lnd_pages *pages, uint64_t key, bool write)
{
	struct kfi_msg_tagged msg = {
		.type = KFI_BVEC,
		.msg_biov = pages->vec,
		.iov_count = pages->count,
		.addr = KFI_ADDR_UNSPEC,
		.tag = key,
		.context = &bulk->op,
	};

	(void)write; /* the peer decides */
	lnd_op_init(&bulk->op);
	bulk->mr = NULL;
	bulk->told = true;
	return (int)kfi_trecvmsg(net->rx, &msg, KFI_COMPLETION);
}

int lnd_bulk_end(struct lnd_net *net, struct lnd_bulk *bulk)
{
	if (completion_done(&bulk->op.complete) || bulk->op.flags)
		return 0;
	if (!kfi_cancel(&net->rx->fid, &bulk->op))
		lnd_wait(&bulk->op);
	return 0;
}

int lnd_bulk_move(struct lnd_net *net, kfi_addr_t peer, struct lnd_pages *pages, uint64_t key, bool write)
{
	struct kfi_rma_iov remote = { .len = pages->length, .key = key };
	struct lnd_op op;
	struct kfi_msg_rma msg = {
		.type = KFI_BVEC,
		.msg_biov = pages->vec,
		.iov_count = pages->count,
		.addr = kfi_rx_addr(peer, 0, LND_RX_BITS),
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = &op,
	};
	uint64_t wanted = KFI_TAGGED | KFI_RMA | KFI_SEND | (write ? KFI_WRITE : KFI_READ);
	ssize_t rc;
	int status;

	lnd_op_init(&op);
	if (write)
		rc = kfi_writemsg(net->tx, &msg, KFI_TAGGED | KFI_COMPLETION);
	else
		rc = kfi_readmsg(net->tx, &msg, KFI_TAGGED | KFI_COMPLETION);
	if (rc)
		return (int)rc;
	status = lnd_wait(&op);
	if (!status && op.flags != wanted) {
		pr_err("lnd: a tagged access completes with flags %#llx\n", (unsigned long long)op.flags);
		return -EPROTO;
	}
	return status;
}

MODULE_LICENSE("Dual BSD/GPL");
