/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.c - a provider seen through the public libfabric API alone, the same way for every provider. */
#include "fabric.h"

#include <errno.h>
#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { CQ_SIZE = 1024, CQ_BATCH = 64, PLAIN_KEY = 1, ONCE_KEY = 2 };

#define ZEROS ((size_t)4096) /* behind inbox and outbox, to be added */

static const uint64_t region_access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

/* `provider` may end in :auto or :manual, which asks for that progress; else the provider's default is taken. */
static struct fi_info *wanted(const char *provider, const struct fabric_world *world)
{
	size_t name_size = strcspn(provider, ":");
	const char *progress = provider + name_size;
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	if (!strcmp(progress, ":auto"))
		hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	else if (!strcmp(progress, ":manual"))
		hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	hints->caps = FI_RMA | world->caps;
	hints->ep_attr->type = FI_EP_RDM;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = (int)world->mr_mode;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->tx_attr->op_flags = FI_COMPLETION;
	hints->fabric_attr->prov_name = strndup(provider, name_size);
	return hints;
}

static int open_objects(struct fabric *f, const struct fabric_world *world)
{
	struct fi_cq_attr cq_attr = { .size = CQ_SIZE, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = world->wait };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = world->wait };
	struct fi_av_attr av_attr = { .type = f->info->domain_attr->av_type, .count = 1 };
	int rc;

	if ((rc = fi_fabric(f->info->fabric_attr, &f->fabric, NULL)) || (rc = fi_domain(f->fabric, f->info, &f->domain, NULL)) ||
	    (rc = fi_cq_open(f->domain, &cq_attr, &f->cq, NULL)) || (rc = fi_av_open(f->domain, &av_attr, &f->av, NULL)) ||
	    (rc = fi_endpoint(f->domain, f->info, &f->ep, NULL)) || (rc = fi_ep_bind(f->ep, &f->av->fid, 0)) ||
	    (rc = fi_ep_bind(f->ep, &f->cq->fid, FI_TRANSMIT | FI_RECV)))
		return rc;
	if (world->counter && ((rc = fi_cntr_open(f->domain, &cntr_attr, &f->cntr, NULL)) ||
			       (rc = fi_ep_bind(f->ep, &f->cntr->fid, FI_REMOTE_WRITE))))
		return rc;
	rc = fi_enable(f->ep);
	if (rc)
		return rc;
	return 0;
}

static int open_region(struct fabric *f)
{
	size_t bytes = 2 * f->span + ZEROS;
	uint64_t access = region_access;
	int rc;

	f->memory = aligned_alloc(4096, bytes);
	if (!f->memory)
		return -FI_ENOMEM;
	memset(f->memory, 0, bytes);
	if (f->info->caps & FI_TAGGED)
		access |= FI_SEND | FI_RECV;
	rc = fi_mr_reg(f->domain, f->memory, bytes, access, 0, PLAIN_KEY, 0, &f->mr, NULL);
	if (rc)
		return rc;
	f->desc = fi_mr_desc(f->mr);
	return 0;
}

int fabric_open(struct fabric **out, const char *provider, const struct fabric_world *world, char *why, size_t why_size)
{
	struct fabric *f = calloc(1, sizeof(*f));
	struct fi_info *hints = wanted(provider, world);
	const char *step = "fi_getinfo";
	int rc = -FI_ENOMEM;

	if (!f || !hints)
		goto fail;
	rc = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", NULL, FI_SOURCE, hints, &f->info);
	if (rc)
		goto fail;
	step = "opening the endpoint";
	rc = open_objects(f, world);
	if (rc)
		goto fail;
	step = "registering memory";
	f->span = world->span;
	rc = open_region(f);
	if (rc)
		goto fail;
	f->keys = world->keys;
	fi_freeinfo(hints);
	*out = f;
	return 0;

fail:
	snprintf(why, why_size, "%s: %s", step, fi_strerror(-rc));
	if (hints)
		fi_freeinfo(hints);
	if (f)
		fabric_close(f);
	return rc;
}

static void close_fid(struct fid *fid)
{
	int rc = fi_close(fid);

	if (rc)
		fprintf(stderr, "bench: fi_close: %s\n", fi_strerror(-rc));
}

/* The endpoint goes first, the region after it: the order that every libfabric of the field accepts. */
void fabric_close(struct fabric *f)
{
	if (f->ep)
		close_fid(&f->ep->fid);
	for (uint64_t i = 0; f->keyed && i < f->keys; i++) {
		if (f->keyed[i])
			close_fid(&f->keyed[i]->fid);
	}
	free(f->keyed);
	if (f->mr)
		close_fid(&f->mr->fid);
	if (f->av)
		close_fid(&f->av->fid);
	if (f->cntr)
		close_fid(&f->cntr->fid);
	if (f->cq)
		close_fid(&f->cq->fid);
	if (f->domain)
		close_fid(&f->domain->fid);
	if (f->fabric)
		close_fid(&f->fabric->fid);
	if (f->info)
		fi_freeinfo(f->info);
	free(f->memory);
	free(f);
}

int fabric_card(struct fabric *f, struct fabric_card *card)
{
	size_t size = sizeof(card->name);
	int rc = fi_getname(&f->ep->fid, card->name, &size);

	if (rc)
		return rc;
	card->name_size = size;
	card->key = fi_mr_key(f->mr);
	card->base = f->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)f->memory : 0;
	return 0;
}

int fabric_meet(struct fabric *f, const struct fabric_card *peer)
{
	f->peer_base = peer->base;
	f->peer_key = peer->key;
	return fi_av_insert(f->av, peer->name, 1, &f->peer, 0, NULL) == 1 ? 0 : -FI_EINVAL;
}

/* Spread over all 64 bits, none of them twice, none of them PLAIN_KEY or ONCE_KEY (numbers from 3 on, times an odd one
 * and mixed, cannot meet those two for any count in use). */
static uint64_t nth_key(uint64_t nth)
{
	uint64_t key = (nth + 3) * 0x9e3779b97f4a7c15u;

	return key ^ key >> 32;
}

int fabric_register_keys(struct fabric *f)
{
	int rc = 0;

	if (f->keyed || !f->keys)
		return 0;
	f->keyed = calloc(f->keys, sizeof(struct fid_mr *));
	if (!f->keyed)
		return -FI_ENOMEM;
	for (uint64_t i = 0; i < f->keys && !rc; i++)
		rc = fi_mr_reg(f->domain, f->memory, f->span, region_access, 0, nth_key(i), 0, &f->keyed[i], NULL);
	return rc;
}

/* The peer's inbox has many keys, or one. */
static uint64_t write_key(struct fabric *f)
{
	if (!f->keys)
		return f->peer_key;
	f->drawn = f->drawn * 6364136223846793005u + 1442695040888963407u;
	return nth_key((f->drawn >> 33) % f->keys);
}

int fabric_write(struct fabric *f, size_t from, size_t to, size_t size)
{
	ssize_t rc = fi_write(f->ep, f->memory + f->span + from, size, f->desc, f->peer, f->peer_base + to, write_key(f),
			      &f->pending);

	if (!rc)
		f->pending++;
	return (int)rc;
}

int fabric_read(struct fabric *f, size_t from, size_t to, size_t size)
{
	ssize_t rc = fi_read(f->ep, f->memory + to, size, f->desc, f->peer, f->peer_base + f->span + from, f->peer_key,
			     &f->pending);

	if (!rc)
		f->pending++;
	return (int)rc;
}

int fabric_fetch_add(struct fabric *f, size_t from, size_t to, size_t size)
{
	ssize_t rc = fi_fetch_atomic(f->ep, f->memory + 2 * f->span, size / sizeof(uint64_t), f->desc, f->memory + to, f->desc,
				     f->peer, f->peer_base + f->span + from, f->peer_key, FI_UINT64, FI_SUM, &f->pending);

	if (!rc)
		f->pending++;
	return (int)rc;
}

int fabric_write_told(struct fabric *f, size_t from, size_t to, size_t size)
{
	ssize_t rc = fi_writedata(f->ep, f->memory + f->span + from, size, f->desc, 1, f->peer, f->peer_base + to, f->peer_key,
				  &f->pending);

	if (!rc)
		f->pending++;
	return (int)rc;
}

int fabric_tsend(struct fabric *f, size_t from, size_t size, uint64_t tag)
{
	ssize_t rc = fi_tsend(f->ep, f->memory + f->span + from, size, f->desc, f->peer, tag, &f->pending);

	if (!rc)
		f->pending++;
	return (int)rc;
}

int fabric_trecv(struct fabric *f, size_t to, size_t size, uint64_t tag)
{
	ssize_t rc = fi_trecv(f->ep, f->memory + to, size, f->desc, FI_ADDR_UNSPEC, tag, 0, f);

	f->receives += !rc;
	return (int)rc;
}

int fabric_trecv_cancel(struct fabric *f)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (f->receives) {
		int rc;

		(void)fi_cancel(&f->ep->fid, f);
		rc = fabric_poll(f);
		if (rc == -FI_ECANCELED)
			f->receives--;
		else if (rc < 0)
			return rc;
		else if (rc == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 0;
}

static int completion_failed(struct fabric *f)
{
	struct fi_cq_err_entry entry = { 0 };
	char text[96];
	ssize_t rc = fi_cq_readerr(f->cq, &entry, 0);

	if (rc != 1)
		return rc < 0 ? (int)rc : -FI_EOTHER;
	snprintf(f->why, sizeof(f->why), "completion failed: %s (%s)", fi_strerror(entry.err),
		 fi_cq_strerror(f->cq, entry.prov_errno, entry.err_data, text, sizeof(text)));
	return -entry.err;
}

/* Counts the result of reading the queue. A completion is of a receive, of an op that we posted, or tells of a peer's write. */
static int take(struct fabric *f, const struct fi_cq_entry *entries, ssize_t n)
{
	if (n == -FI_EAGAIN)
		return 0;
	if (n == -FI_EAVAIL)
		return completion_failed(f);
	for (ssize_t i = 0; i < n; i++) {
		if (entries[i].op_context == &f->pending) {
			f->pending--;
		} else {
			f->receives -= entries[i].op_context == f;
			f->received++;
		}
	}
	return (int)n;
}

int fabric_poll(struct fabric *f)
{
	struct fi_cq_entry entries[CQ_BATCH];

	return take(f, entries, fi_cq_read(f->cq, entries, CQ_BATCH));
}

int fabric_sread(struct fabric *f, int patience_ms)
{
	struct fi_cq_entry entries[CQ_BATCH];

	return take(f, entries, fi_cq_sread(f->cq, entries, CQ_BATCH, NULL, patience_ms));
}

int fabric_wait_fd(struct fabric *f, int patience_ms)
{
	struct fid *fid = &f->cq->fid;
	struct pollfd wait = { .events = POLLIN };
	int rc = fi_trywait(f->fabric, &fid, 1);

	if (rc == 0) {
		rc = fi_control(fid, FI_GETWAIT, &wait.fd);
		if (rc)
			return rc;
		if (poll(&wait, 1, patience_ms) < 0)
			return -errno;
	} else if (rc != -FI_EAGAIN) {
		return rc;
	}
	return fabric_poll(f);
}

int fabric_wait_count(struct fabric *f, uint64_t count, int patience_ms)
{
	return fi_cntr_wait(f->cntr, count, patience_ms);
}

int fabric_drain(struct fabric *f, uint64_t patience_ns)
{
	struct patience patience = patience_for(patience_ns);

	while (f->pending) {
		int n = fabric_poll(f);

		if (n < 0)
			return n;
		if (n == 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 0;
}

int fabric_register_once(struct fabric *f, void *memory, size_t size)
{
	struct fid_mr *mr;
	int rc = fi_mr_reg(f->domain, memory, size, region_access, 0, ONCE_KEY, 0, &mr, NULL);

	return rc ? rc : fi_close(&mr->fid);
}
