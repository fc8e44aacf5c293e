/* SPDX-License-Identifier: BSD-2-Clause */
/* lnd_net.c - the endpoint, its queues, and the pages. Completions are read in a work queue, which the callback wakes. */
#include "lnd.h"

#include <kfi_cxi_ext.h>
#include <linux/compiler.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/workqueue.h>

enum { WAIT_S = 60 };

static struct lnd_net *read_for; /* one net a module */
static bool stopped;             /* nothing is read any more */
static struct work_struct reading, events;

/* --- completions --- */

void lnd_op_init(struct lnd_op *op)
{
	memset(op, 0, sizeof(*op));
	init_completion(&op->complete);
}

int lnd_wait(struct lnd_op *op)
{
	if (!wait_for_completion_timeout(&op->complete, WAIT_S * HZ))
		return -ETIMEDOUT;
	return op->status;
}

static void finish(struct lnd_op *op, uint64_t flags, uint64_t data, size_t len, int status)
{
	op->status = status;
	op->flags = flags;
	op->data = data;
	if (op->done)
		op->done(op, flags, len, status);
	else
		complete(&op->complete);
}

static void read_completions(struct work_struct *work)
{
	struct kfi_cq_data_entry event;
	struct kfi_cq_err_entry error = { 0 };

	(void)work;
	while (!READ_ONCE(stopped)) {
		ssize_t rc = kfi_cq_read(read_for->cq, &event, 1);

		if (rc == 1) {
			finish(event.op_context, event.flags, event.data, event.len, 0);
		} else if (rc == -KFI_EAVAIL && kfi_cq_readerr(read_for->cq, &error, 0) == 1) {
			if (error.op_context)
				finish(error.op_context, error.flags, error.data, 0, -error.err);
		} else {
			return; /* -EAGAIN, which has armed the callback */
		}
	}
}

static void completion_callback(struct kfid_cq *cq, void *context)
{
	(void)cq;
	(void)context;
	schedule_work(&reading);
}

/* Regions that are enabled: the context is that of the registration. */
static void read_events(struct work_struct *work)
{
	struct kfi_eq_entry entry;
	struct kfi_eq_err_entry error = { 0 };
	uint32_t event;

	(void)work;
	while (!READ_ONCE(stopped)) {
		ssize_t rc = kfi_eq_read(read_for->eq, &event, &entry, sizeof(entry), 0);

		if (rc == sizeof(entry) && event == KFI_MR_COMPLETE)
			complete(entry.context);
		else if (rc == -KFI_EAVAIL && kfi_eq_readerr(read_for->eq, &error, 0) > 0)
			pr_err("lnd: a region was not enabled: %d\n", error.err);
		else
			return;
	}
}

static void event_callback(struct kfid_eq *eq, void *context)
{
	(void)eq;
	(void)context;
	schedule_work(&events);
}

/* --- the endpoint --- */

static int get_info(struct lnd_net *net, const char *node, const char *service, uint64_t caps)
{
	struct kfi_info *hints = kfi_allocinfo();
	int rc;

	if (!hints)
		return -ENOMEM;
	hints->caps = caps;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->ep_attr->tx_ctx_cnt = 1;
	hints->ep_attr->rx_ctx_cnt = 1;
	hints->domain_attr->mr_mode = KFI_MR_ENDPOINT;
	hints->domain_attr->mr_iov_limit = 256;
	rc = kfi_getinfo(KFI_VERSION(1, 0), node, service, KFI_SOURCE, hints, &net->info);
	kfi_freeinfo(hints);
	return rc;
}

static int open_contexts(struct lnd_net *net)
{
	struct kfi_rx_attr rx = *net->info->rx_attr;
	int rc = kfi_tx_context(net->sep, 0, NULL, &net->tx, NULL);

	rx.op_flags = KFI_COMPLETION | KFI_MULTI_RECV;
	rc = rc ? rc : kfi_ep_bind(net->tx, &net->cq->fid, KFI_TRANSMIT);
	rc = rc ? rc : kfi_enable(net->tx);
	rc = rc ? rc : kfi_rx_context(net->sep, 0, &rx, &net->rx, NULL);
	rc = rc ? rc : kfi_ep_bind(net->rx, &net->cq->fid, KFI_RECV);
	rc = rc ? rc : kfi_enable(net->rx);
	net->address_len = sizeof(net->address);
	return rc ? rc : kfi_getname(&net->sep->fid, net->address, &net->address_len);
}

static int open_all(struct lnd_net *net, bool async)
{
	struct kfi_cq_attr cq = { .format = KFI_CQ_FORMAT_DATA, .size = 1024 };
	struct kfi_av_attr av = { .type = KFI_AV_UNSPEC, .rx_ctx_bits = LND_RX_BITS };
	struct kfi_eq_attr eq = { .size = 64 };
	int rc = kfi_fabric(net->info->fabric_attr, &net->fabric, NULL);

	rc = rc ? rc : kfi_domain(net->fabric, net->info, &net->domain, NULL);
	if (async) {
		rc = rc ? rc : kfi_eq_open(net->fabric, &eq, &net->eq, event_callback, net);
		rc = rc ? rc : kfi_domain_bind(net->domain, &net->eq->fid, KFI_REG_MR);
	}
	rc = rc ? rc : kfi_av_open(net->domain, &av, &net->av, NULL);
	rc = rc ? rc : kfi_cq_open(net->domain, &cq, &net->cq, completion_callback, net);
	rc = rc ? rc : kfi_scalable_ep(net->domain, net->info, &net->sep, NULL);
	rc = rc ? rc : kfi_scalable_ep_bind(net->sep, &net->av->fid, 0);
	rc = rc ? rc : open_contexts(net);
	rc = rc ? rc : kfi_enable(net->sep);
	return rc;
}

int lnd_net_open(struct lnd_net *net, const char *node, const char *service, uint64_t caps, bool async)
{
	int rc;

	memset(net, 0, sizeof(*net));
	read_for = net;
	stopped = false;
	INIT_WORK(&reading, read_completions);
	INIT_WORK(&events, read_events);
	rc = get_info(net, node, service, caps);
	rc = rc ? rc : open_all(net, async);
	if (rc) {
		pr_err("lnd: the endpoint could not be opened: %d (%s)\n", rc, kfi_strerror(-rc));
		lnd_net_close(net);
		return rc;
	}
	read_completions(&reading); /* finds nothing, and so arms the callbacks */
	if (async)
		read_events(&events);
	return 0;
}

static void close_object(struct kfid *fid, const char *what)
{
	int rc = fid ? kfi_close(fid) : 0;

	if (rc)
		pr_err("lnd: the %s does not close: %d\n", what, rc);
}

/* Work that reads posts receives, so it ends before the contexts close; callbacks may come until the queues close, and begin work
 * that reads nothing. */
void lnd_net_close(struct lnd_net *net)
{
	WRITE_ONCE(stopped, true);
	flush_work(&reading);
	flush_work(&events);
	close_object(net->tx ? &net->tx->fid : NULL, "transmit context");
	close_object(net->rx ? &net->rx->fid : NULL, "receive context");
	close_object(net->sep ? &net->sep->fid : NULL, "endpoint");
	close_object(net->cq ? &net->cq->fid : NULL, "completion queue");
	close_object(net->av ? &net->av->fid : NULL, "address vector");
	close_object(net->domain ? &net->domain->fid : NULL, "domain");
	close_object(net->eq ? &net->eq->fid : NULL, "event queue");
	cancel_work_sync(&reading);
	cancel_work_sync(&events);
	close_object(net->fabric ? &net->fabric->fid : NULL, "fabric");
	kfi_freeinfo(net->info);
	memset(net, 0, sizeof(*net));
}

unsigned int lnd_net_service(const struct lnd_net *net)
{
	struct kcxi_addr cxi;

	if (net->info->addr_format != KFI_ADDR_CXI)
		return (unsigned int)net->address[2] << 8 | net->address[3]; /* of a struct sockaddr_in */
	memcpy(&cxi, net->address, sizeof(cxi));
	return cxi.pid;
}

/* --- pages --- */

int lnd_pages_make(struct lnd_pages *pages, size_t length)
{
	memset(pages, 0, sizeof(*pages));
	pages->length = length;
	pages->count = (unsigned int)((length + PAGE_SIZE - 1) / PAGE_SIZE);
	if (!pages->count || pages->count > LND_PAGES_MAX)
		return -EINVAL;
	while (1u << pages->order < 2 * pages->count)
		pages->order++;
	pages->block = alloc_pages(GFP_KERNEL | __GFP_ZERO, pages->order);
	if (!pages->block)
		return -ENOMEM;
	for (unsigned int i = 0; i < pages->count; i++) {
		pages->vec[i].bv_page = pages->block + 2 * i;
		pages->vec[i].bv_len = (unsigned int)(length > PAGE_SIZE ? PAGE_SIZE : length);
		length -= pages->vec[i].bv_len;
	}
	return 0;
}

void lnd_pages_free(struct lnd_pages *pages)
{
	if (pages->block)
		__free_pages(pages->block, pages->order);
	pages->block = NULL;
}

static uint8_t byte_at(uint8_t seed, unsigned int page, size_t offset)
{
	return (uint8_t)(seed + 31 * page + 7 * offset + (offset >> 8));
}

void lnd_pages_fill(struct lnd_pages *pages, uint8_t seed)
{
	for (unsigned int i = 0; i < pages->count; i++) {
		uint8_t *at = page_address(pages->vec[i].bv_page);

		for (size_t k = 0; k < pages->vec[i].bv_len; k++)
			at[k] = byte_at(seed, i, k);
	}
}

bool lnd_pages_are(const struct lnd_pages *pages, uint8_t seed)
{
	for (unsigned int i = 0; i < pages->count; i++) {
		const uint8_t *at = page_address(pages->vec[i].bv_page);

		for (size_t k = 0; k < pages->vec[i].bv_len; k++)
			if (at[k] != byte_at(seed, i, k))
				return false;
	}
	return true;
}
