/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.c - a provider seen through the public libfabric API alone, the same way for every provider. */
#include "tools/perf/core/fabric.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CQ_SIZE = 1024, PLAIN_KEY = 1, ONCE_KEY = 2, PAGE = 4096, ZEROS = FABRIC_ATOMIC_MAX /* behind inbox and outbox */ };

static const uint64_t region_access = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

static struct fi_info *fabric_hints(const char *provider, const struct fabric_world *world)
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
	hints->caps = (world->no_rma ? 0 : FI_RMA) | world->caps;
	hints->mode = world->mode;
	hints->ep_attr->type = FI_EP_RDM;
	hints->addr_format = world->any_address ? FI_FORMAT_UNSPEC : FI_SOCKADDR_IN;
	hints->domain_attr->mr_mode = (int)world->mr_mode;
	hints->domain_attr->threading = FI_THREAD_DOMAIN;
	hints->tx_attr->op_flags = world->counters ? 0 : FI_COMPLETION;
	if (world->in_order) {
		hints->tx_attr->msg_order = FI_ORDER_SAS;
		hints->rx_attr->msg_order = FI_ORDER_SAS;
	}
	hints->fabric_attr->prov_name = strndup(provider, name_size);
	return hints;
}

/* An own address is given where that is an IP address: other names are the provider's own matter. */
static int find_info(struct fabric *f, struct fi_info *hints, const struct fabric_world *world)
{
	const char *node = world->node ? world->node : "127.0.0.1";

	if (world->any_address) {
		int rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &f->info);

		if (rc == -FI_ENODATA) {
			hints->domain_attr->mr_mode |= (int)world->mr_mode_more;
			rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &f->info);
		}
		if (rc)
			return rc;
		if (f->info->addr_format != FI_SOCKADDR && f->info->addr_format != FI_SOCKADDR_IN &&
		    f->info->addr_format != FI_SOCKADDR_IN6)
			return 0;
		fi_freeinfo(f->info);
		f->info = NULL;
		hints->addr_format = strchr(node, ':') ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	}
	return fi_getinfo(FI_VERSION(1, 17), node, NULL, FI_SOURCE, hints, &f->info);
}

static int open_counters(struct fabric *f, const struct fabric_world *world)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP, .wait_obj = world->wait };
	uint64_t arrivals = FI_REMOTE_WRITE;
	int rc;

	if (world->counters) {
		arrivals = world->caps & FI_RMA_EVENT ? FI_REMOTE_WRITE : FI_RECV;
		rc = fi_cntr_open(f->domain, &attr, &f->tx_cntr, NULL);
		if (!rc)
			rc = fi_ep_bind(f->ep, &f->tx_cntr->fid, FI_SEND | FI_READ | FI_WRITE);
		if (rc)
			return rc;
		if (!(world->caps & (FI_RMA_EVENT | FI_MSG | FI_TAGGED)))
			return 0; /* nothing is told here */
	}
	rc = fi_cntr_open(f->domain, &attr, &f->cntr, NULL);
	return rc ? rc : fi_ep_bind(f->ep, &f->cntr->fid, arrivals);
}

static int open_contexts(struct fabric *f, size_t count)
{
	if (!(f->info->mode & (FI_CONTEXT | FI_CONTEXT2)))
		return 0;
	f->contexts = calloc(count, sizeof(*f->contexts));
	f->free_contexts = calloc(count, sizeof(*f->free_contexts));
	if (!f->contexts || !f->free_contexts)
		return -FI_ENOMEM;
	f->contexts_count = (unsigned)count;
	for (size_t i = 0; i < count; i++)
		f->free_contexts[f->free_count++] = &f->contexts[i];
	return 0;
}

/* On failure `step` is what failed. */
static int open_objects(struct fabric *f, const struct fabric_world *world, const char **step)
{
	size_t cq_size = world->cq_size ? world->cq_size : CQ_SIZE;
	uint64_t selective = world->counters ? FI_SELECTIVE_COMPLETION : 0;
	struct fi_cq_attr cq_attr = { .size = cq_size, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = world->wait };
	struct fi_av_attr av_attr = { .type = f->info->domain_attr->av_type, .count = world->peers ? world->peers : 1 };
	int rc;

	*step = "opening the domain";
	if ((rc = fi_fabric(f->info->fabric_attr, &f->fabric, NULL)) || (rc = fi_domain(f->fabric, f->info, &f->domain, NULL)))
		return rc;
	*step = "opening the completion queue";
	if ((rc = fi_cq_open(f->domain, &cq_attr, &f->cq, NULL)))
		return rc;
	*step = "opening the endpoint";
	if ((rc = fi_av_open(f->domain, &av_attr, &f->av, NULL)) || (rc = fi_endpoint(f->domain, f->info, &f->ep, NULL)) ||
	    (rc = fi_ep_bind(f->ep, &f->av->fid, 0)) || (rc = fi_ep_bind(f->ep, &f->cq->fid, FI_TRANSMIT | FI_RECV | selective)))
		return rc;
	if (world->counter || world->counters) {
		rc = open_counters(f, world);
		if (rc)
			return rc;
	}
	rc = open_contexts(f, cq_size);
	return rc ? rc : fi_enable(f->ep);
}

/* Providers of FI_MR_ENDPOINT have regions that belong to an endpoint. */
static int region_bind(struct fabric *f, struct fid_mr *mr)
{
	int rc;

	if (!(f->info->domain_attr->mr_mode & FI_MR_ENDPOINT))
		return 0;
	rc = fi_mr_bind(mr, &f->ep->fid, 0);
	return rc ? rc : fi_mr_enable(mr);
}

static int memory_open(struct fabric *f)
{
	size_t bytes = 2 * f->span + ZEROS;
	uint64_t access = region_access;
	int rc;

	f->memory = aligned_alloc(PAGE, bytes);
	if (!f->memory)
		return -FI_ENOMEM;
	memset(f->memory, 0, bytes);
	if (f->info->caps & (FI_TAGGED | FI_MSG))
		access |= FI_SEND | FI_RECV;
	rc = fi_mr_reg(f->domain, f->memory, bytes, access, 0, PLAIN_KEY, 0, &f->mr, NULL);
	if (!rc)
		rc = region_bind(f, f->mr);
	if (rc)
		return rc;
	f->desc = fi_mr_desc(f->mr);
	return 0;
}

int fabric_open(struct fabric **out, const char *provider, const struct fabric_world *world, char *why, size_t why_size)
{
	struct fabric *f = calloc(1, sizeof(*f));
	struct fi_info *hints = fabric_hints(provider, world);
	const char *step = "fi_getinfo";
	int rc = -FI_ENOMEM;

	if (!f || !hints)
		goto fail;
	rc = find_info(f, hints, world);
	if (rc)
		goto fail;
	if (world->size_max > f->info->ep_attr->max_msg_size) {
		snprintf(why, why_size, "it takes at most %zu bytes an op (max_msg_size), and not %zu",
			 f->info->ep_attr->max_msg_size, world->size_max);
		rc = -FI_EMSGSIZE;
		goto undo;
	}
	rc = open_objects(f, world, &step);
	if (rc)
		goto fail;
	step = "registering memory";
	f->span = world->span;
	rc = memory_open(f);
	if (rc)
		goto fail;
	f->keys = world->keys;
	fi_freeinfo(hints);
	*out = f;
	return 0;

fail:
	snprintf(why, why_size, "%s: %s", step, fi_strerror(-rc));
undo:
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
		fprintf(stderr, "fi_close: %s\n", fi_strerror(-rc));
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
	for (unsigned i = 0; i < f->peers_count; i++) {
		if (f->peers[i].mapped)
			(void)fi_mr_unmap_key(f->domain, f->peers[i].key);
	}
	if (f->mr)
		close_fid(&f->mr->fid);
	if (f->av)
		close_fid(&f->av->fid);
	if (f->cntr)
		close_fid(&f->cntr->fid);
	if (f->tx_cntr)
		close_fid(&f->tx_cntr->fid);
	if (f->cq)
		close_fid(&f->cq->fid);
	if (f->domain)
		close_fid(&f->domain->fid);
	if (f->fabric)
		close_fid(&f->fabric->fid);
	if (f->info)
		fi_freeinfo(f->info);
	free(f->contexts);
	free(f->free_contexts);
	free(f->peers);
	free(f->memory);
	free(f);
}

static int raw_key(struct fabric *f, struct fabric_card *card)
{
	size_t size = sizeof(card->raw_key);
	int rc = fi_mr_raw_attr(f->mr, &card->base, card->raw_key, &size, 0);

	card->raw_size = size;
	return rc;
}

int fabric_card(struct fabric *f, struct fabric_card *card)
{
	size_t size = sizeof(card->name);
	int rc = fi_getname(&f->ep->fid, card->name, &size);

	if (rc)
		return rc;
	card->name_size = size;
	card->base = f->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)f->memory : 0;
	card->raw_size = 0;
	if (f->info->domain_attr->mr_mode & FI_MR_RAW)
		return raw_key(f, card);
	card->key = fi_mr_key(f->mr);
	return 0;
}

int fabric_meet(struct fabric *f, const struct fabric_card *card)
{
	struct fabric_peer *peers = realloc(f->peers, (f->peers_count + 1) * sizeof(*peers));
	struct fabric_peer *peer;
	uint8_t key[FABRIC_RAW_KEY_MAX];
	int rc;

	if (!peers)
		return -FI_ENOMEM;
	f->peers = peers;
	peer = &peers[f->peers_count];
	*peer = (struct fabric_peer){ .base = card->base, .key = card->key };
	if (card->raw_size) {
		memcpy(key, card->raw_key, sizeof(key));
		rc = fi_mr_map_raw(f->domain, card->base, key, card->raw_size, &peer->key, 0);
		if (rc)
			return rc;
		peer->mapped = true;
	}
	if (fi_av_insert(f->av, card->name, 1, &peer->addr, 0, NULL) != 1) {
		if (peer->mapped)
			(void)fi_mr_unmap_key(f->domain, peer->key);
		return -FI_EINVAL;
	}
	fabric_turn(f, f->peers_count++);
	return 0;
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

uint64_t fabric_draw_key(struct fabric *f)
{
	f->drawn = f->drawn * 6364136223846793005u + 1442695040888963407u;
	return nth_key((f->drawn >> 33) % f->keys);
}

int fabric_register_once(struct fabric *f, void *memory, size_t size)
{
	struct fid_mr *mr;
	int rc = fi_mr_reg(f->domain, memory, size, region_access, 0, ONCE_KEY, 0, &mr, NULL);

	if (rc)
		return rc;
	rc = region_bind(f, mr);
	if (rc) {
		(void)fi_close(&mr->fid);
		return rc;
	}
	return fi_close(&mr->fid);
}
