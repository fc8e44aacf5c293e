/* SPDX-License-Identifier: BSD-2-Clause */
/* endpoint.c - opening an endpoint, registering memory, one transfer at a time. */
#include "endpoint.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"

enum { WAIT_MS = 30000 }; /* without a completion for so long a transfer hangs */

static void must(ssize_t rc, const char *call)
{
	if (rc)
		die("%s: %s", call, fi_strerror((int)-rc));
}

/* Asks for the capabilities we need, and offers mr_mode bits: we follow their rules if the provider asks for them. */
static struct fi_info *find_provider(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		die("out of memory");
	hints->caps = FI_RMA;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	must(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &info), "fi_getinfo");
	fi_freeinfo(hints);
	return info;
}

void endpoint_open(struct endpoint *e)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	*e = (struct endpoint){ .info = find_provider() };
	must(fi_fabric(e->info->fabric_attr, &e->fabric, NULL), "fi_fabric");
	must(fi_domain(e->fabric, e->info, &e->domain, NULL), "fi_domain");
	must(fi_cq_open(e->domain, &cq_attr, &e->cq, NULL), "fi_cq_open");
	must(fi_av_open(e->domain, &av_attr, &e->av, NULL), "fi_av_open");
	must(fi_endpoint(e->domain, e->info, &e->ep, NULL), "fi_endpoint");
	must(fi_ep_bind(e->ep, &e->av->fid, 0), "fi_ep_bind(av)");
	must(fi_ep_bind(e->ep, &e->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind(cq)");
	must(fi_enable(e->ep), "fi_enable");
}

void endpoint_close(struct endpoint *e)
{
	must(fi_close(&e->ep->fid), "fi_close(endpoint)");
	must(fi_close(&e->av->fid), "fi_close(av)");
	must(fi_close(&e->cq->fid), "fi_close(cq)");
	must(fi_close(&e->domain->fid), "fi_close(domain)");
	must(fi_close(&e->fabric->fid), "fi_close(fabric)");
	fi_freeinfo(e->info);
}

void endpoint_meet(struct endpoint *e, const void *peer_name)
{
	if (fi_av_insert(e->av, peer_name, 1, &e->peer, 0, NULL) != 1)
		die("fi_av_insert does not take the peer's address");
}

void region_open(struct endpoint *e, struct region *r, size_t length, uint64_t access)
{
	*r = (struct region){ .bytes = calloc(1, length), .length = length };
	if (!r->bytes)
		die("no memory for %zu bytes", length);
	must(fi_mr_reg(e->domain, r->bytes, length, access, 0, ++e->keys, 0, &r->mr, NULL), "fi_mr_reg");
	r->key = fi_mr_key(r->mr);
	r->address = e->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)r->bytes : 0;
}

void region_close(struct region *r)
{
	if (r->mr)
		must(fi_close(&r->mr->fid), "fi_close(region)");
	r->mr = NULL;
}

void region_free(struct region *r)
{
	region_close(r);
	free(r->bytes);
}

static ssize_t post(struct endpoint *e, const struct transfer *t)
{
	uint8_t *bytes = t->local->bytes + t->local_at;
	void *desc = fi_mr_desc(t->local->mr);

	if (t->direction == REMOTE_WRITE)
		return fi_write(e->ep, bytes, t->length, desc, e->peer, t->address, t->key, NULL);
	return fi_read(e->ep, bytes, t->length, desc, e->peer, t->address, t->key, NULL);
}

static struct outcome failure(struct endpoint *e)
{
	struct fi_cq_err_entry entry = { 0 };
	struct outcome out = { 0 };
	char text[sizeof(out.sentence)] = "";
	const char *said;

	if (fi_cq_readerr(e->cq, &entry, 0) != 1)
		die("fi_cq_readerr has nothing to say");
	out.err = entry.err;
	out.prov_errno = entry.prov_errno;
	said = fi_cq_strerror(e->cq, entry.prov_errno, entry.err_data, text, sizeof(text));
	for (size_t i = 0; said && said[i] && i < sizeof(out.sentence) - 1; i++)
		out.sentence[i] = said[i];
	return out;
}

struct outcome transfer(struct endpoint *e, const struct transfer *t)
{
	struct fi_cq_entry entry;
	ssize_t rc;

	while ((rc = post(e, t)) == -FI_EAGAIN)
		(void)fi_cq_read(e->cq, NULL, 0);
	must(rc, t->direction == REMOTE_WRITE ? "fi_write" : "fi_read");
	rc = fi_cq_sread(e->cq, &entry, 1, NULL, WAIT_MS);
	if (rc == -FI_EAVAIL)
		return failure(e);
	if (rc == -FI_EAGAIN)
		die("no completion in %d s", WAIT_MS / 1000);
	if (rc != 1)
		die("fi_cq_sread: %s", fi_strerror((int)-rc));
	return (struct outcome){ .good = true };
}
