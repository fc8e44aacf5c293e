/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_region.c - demo_kfi.sh's kernel side: a module that offers a page to peers, and reads the memory that a peer offers. */
#define pr_fmt(format) "kfi_region: " format

#include <kfabric.h>
#include <kfi_cm.h>
#include <kfi_domain.h>
#include <kfi_endpoint.h>
#include <kfi_eq.h>
#include <kfi_errno.h>
#include <kfi_rma.h>
#include <linux/compiler.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

enum { TEXT_BYTES = 64, KEY = 0x77, NAME_BYTES = 64 };

/* What the peer sends: where its text is. */
struct offer {
	uint8_t name[NAME_BYTES];
	uint64_t addr, key;
};

static struct kfi_info *info;
static struct kfid_fabric *fabric;
static struct kfid_domain *domain;
static struct kfid_av *av;
static struct kfid_cq *cq;
static struct kfid_ep *ep;
static struct kfid_mr *mr;
static struct page *page;
static struct offer offer;
static char text[TEXT_BYTES];
static struct work_struct reading;
static bool stopped; /* nothing is read any more */

/* The receive completes with the offer as its context, the read with the text. */
static void completed(void *context)
{
	kfi_addr_t peer;

	if (context == text) {
		pr_info("the peer's memory says: %.*s\n", TEXT_BYTES, text);
	} else if (context == &offer && kfi_av_insert(av, offer.name, 1, &peer, 0, NULL) == 1) {
		if (kfi_read(ep, text, sizeof(text), NULL, peer, offer.addr, offer.key, text))
			pr_err("the read was not posted\n");
	}
}

static void read_queue(struct work_struct *work)
{
	struct kfi_cq_data_entry entry;
	struct kfi_cq_err_entry error = { 0 };
	ssize_t rc;

	(void)work;
	while (!READ_ONCE(stopped) && (rc = kfi_cq_read(cq, &entry, 1)) != -KFI_EAGAIN) {
		if (rc == 1)
			completed(entry.op_context);
		else if (rc != -KFI_EAVAIL || kfi_cq_readerr(cq, &error, 0) != 1)
			return;
		else
			pr_err("error %d\n", error.err);
	}
}

static void queue_callback(struct kfid_cq *queue, void *context)
{
	(void)queue;
	(void)context;
	schedule_work(&reading);
}

static int open_net(void)
{
	struct kfi_cq_attr cq_attr = { .format = KFI_CQ_FORMAT_DATA };
	struct kfi_av_attr av_attr = { 0 };
	struct kfi_info *hints = kfi_allocinfo();
	int rc;

	if (!hints)
		return -ENOMEM;
	hints->caps = KFI_MSG | KFI_RMA;
	hints->ep_attr->type = KFI_EP_RDM;
	hints->domain_attr->mr_mode = KFI_MR_ENDPOINT;
	rc = kfi_getinfo(KFI_VERSION(1, 0), "127.0.0.1", NULL, KFI_SOURCE, hints, &info);
	kfi_freeinfo(hints);
	rc = rc ? rc : kfi_fabric(info->fabric_attr, &fabric, NULL);
	rc = rc ? rc : kfi_domain(fabric, info, &domain, NULL);
	rc = rc ? rc : kfi_av_open(domain, &av_attr, &av, NULL);
	rc = rc ? rc : kfi_cq_open(domain, &cq_attr, &cq, queue_callback, NULL);
	rc = rc ? rc : kfi_endpoint(domain, info, &ep, NULL);
	rc = rc ? rc : kfi_ep_bind(ep, &av->fid, 0);
	rc = rc ? rc : kfi_ep_bind(ep, &cq->fid, KFI_TRANSMIT | KFI_RECV);
	return rc ? rc : kfi_enable(ep);
}

static int offer_page(void)
{
	struct bio_vec vec;
	int rc;

	page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!page)
		return -ENOMEM;
	bvec_set_page(&vec, page, PAGE_SIZE, 0);
	rc = kfi_mr_regbv(domain, &vec, 1, KFI_REMOTE_READ | KFI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL);
	rc = rc ? rc : kfi_mr_bind(mr, &ep->fid, 0);
	return rc ? rc : kfi_mr_enable(mr);
}

static void tell_name(void)
{
	uint8_t name[NAME_BYTES];
	size_t length = sizeof(name);
	char hex[2 * NAME_BYTES + 1];

	if (kfi_getname(&ep->fid, name, &length))
		return;
	for (size_t i = 0; i < length; i++)
		snprintf(hex + 2 * i, 3, "%02x", name[i]);
	pr_info("a page of %lu bytes with key %#llx at %s\n", PAGE_SIZE, (unsigned long long)kfi_mr_key(mr), hex);
}

static void region_end(void)
{
	if (page)
		pr_info("the page says: %.*s\n", TEXT_BYTES, (char *)page_address(page));
	if (ep)
		kfi_close(&ep->fid);
	WRITE_ONCE(stopped, true); /* the callback may begin the work once more */
	flush_work(&reading);
	if (mr)
		kfi_close(&mr->fid);
	if (cq)
		kfi_close(&cq->fid);
	cancel_work_sync(&reading);
	if (av)
		kfi_close(&av->fid);
	if (domain)
		kfi_close(&domain->fid);
	if (fabric)
		kfi_close(&fabric->fid);
	kfi_freeinfo(info);
	if (page)
		__free_page(page);
}

static int region_begin(void)
{
	int rc;

	INIT_WORK(&reading, read_queue);
	rc = open_net();
	rc = rc ? rc : offer_page();
	rc = rc ? rc : (int)kfi_recv(ep, &offer, sizeof(offer), NULL, KFI_ADDR_UNSPEC, &offer);
	if (rc) {
		pr_err("it does not start: %d\n", rc);
		region_end();
		return rc;
	}
	tell_name();
	schedule_work(&reading); /* arms the callback */
	return 0;
}

module_init(region_begin);
module_exit(region_end);
MODULE_LICENSE("Dual BSD/GPL");
