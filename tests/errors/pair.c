/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.c - opens and closes the pair, and reads its completions. */
#include "tests/errors/pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FAR ((uintptr_t)1 << 45) /* an address where nothing else is */

long pair_must(const char *call, long result)
{
	if (result < 0) {
		printf("%s: %s\n", call, fi_strerror((int)-result));
		exit(1);
	}
	return result;
}

static struct fi_info *pair_info(const struct pair_want *want)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	if (!hints)
		exit(1);
	hints->caps = want->caps ? want->caps : FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = want->mr_mode ? want->mr_mode
						    : FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->mode = want->mode;
	hints->domain_attr->data_progress = want->progress;
	if (want->unmanaged)
		hints->domain_attr->resource_mgmt = FI_RM_DISABLED;
	MUST(fi_getinfo(want->api ? want->api : FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

struct fid_mr *pair_register(struct pair *pair, void *memory, size_t length, uint64_t access, uint64_t flags)
{
	static uint64_t asked = 1;
	struct fid_mr *mr;

	MUST(fi_mr_reg(pair->domain, memory, length, access, 0, asked++, flags, &mr, NULL));
	if (pair->info->domain_attr->mr_mode & FI_MR_ENDPOINT) {
		MUST(fi_mr_bind(mr, &pair->target.ep->fid, 0));
		MUST(fi_mr_enable(mr));
	}
	return mr;
}

static void side_open(struct pair *pair, struct side *side, uint64_t caps, const struct pair_want *want)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .size = want->queue ? want->queue : 64, .wait_obj = want->wait };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct fi_info *info = fi_dupinfo(pair->info);

	if (caps)
		info->caps = info->rx_attr->caps = info->tx_attr->caps = caps;
	MUST(fi_cq_open(pair->domain, &cq, &side->cq, NULL));
	MUST(fi_av_open(pair->domain, &av, &side->av, NULL));
	MUST(fi_endpoint(pair->domain, info, &side->ep, NULL));
	MUST(fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	MUST(fi_ep_bind(side->ep, &side->av->fid, 0));
	if (pair->info->caps & FI_COLLECTIVE) {
		MUST(fi_eq_open(pair->fabric, &(struct fi_eq_attr){ 0 }, &side->eq, NULL));
		MUST(fi_ep_bind(side->ep, &side->eq->fid, 0));
	}
	MUST(fi_enable(side->ep));
	/* What a program unmaps there stays a hole. */
	side->memory = mmap((void *)(side == &pair->target ? FAR + FAR / 2 : FAR), PAIR_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (side->memory == MAP_FAILED)
		exit(1);
	memset(side->memory, 'm', PAIR_BYTES);
	fi_freeinfo(info);
}

static void side_meet(struct side *side, struct side *other)
{
	char name[256];
	size_t size = sizeof(name);

	MUST(fi_getname(&other->ep->fid, name, &size));
	MUST(fi_av_insert(side->av, name, 1, &side->peer, 0, NULL));
}

void pair_meet(struct pair *pair, const void *address)
{
	MUST(fi_av_insert(pair->initiator.av, address, 1, &pair->initiator.peer, 0, NULL));
}

void pair_open(struct pair *pair, const struct pair_want *want)
{
	static const struct pair_want as_most;
	struct side *initiator = &pair->initiator, *target = &pair->target;
	uint64_t access;

	memset(pair, 0, sizeof(*pair));
	want = want ? want : &as_most;
	access = want->access ? want->access : FI_REMOTE_READ | FI_REMOTE_WRITE;
	pair->info = pair_info(want);
	MUST(fi_fabric(pair->info->fabric_attr, &pair->fabric, NULL));
	MUST(fi_domain(pair->fabric, pair->info, &pair->domain, NULL));
	side_open(pair, initiator, 0, want);
	side_open(pair, target, want->target, want);
	side_meet(initiator, target);
	side_meet(target, initiator);
	initiator->mr = pair_register(pair, initiator->memory, PAIR_BYTES, FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0);
	initiator->desc = fi_mr_desc(initiator->mr);
	target->mr = pair_register(pair, target->memory, PAIR_BYTES, access | FI_SEND | FI_RECV, want->flags);
	target->desc = fi_mr_desc(target->mr);
	pair->key = fi_mr_key(target->mr);
	pair->addr = pair->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR ? (uintptr_t)target->memory : 0;
}

/* A program may ask for an API that is newer than the headers it was built with; the entry of an error has grown since. */
struct longest_error {
	struct fi_cq_err_entry entry;
	char room[64];
};

/* 0, or the prov_errno of *error. */
static int side_next(struct side *side, struct fi_cq_err_entry *error)
{
	struct fi_cq_tagged_entry entry;
	ssize_t got;

	do
		got = fi_cq_read(side->cq, &entry, 1);
	while (got == -FI_EAGAIN);
	if (got != -FI_EAVAIL) {
		MUST(got);
		return 0;
	}
	MUST(fi_cq_readerr(side->cq, error, 0));
	return error->prov_errno;
}

int pair_wait(struct side *side)
{
	struct longest_error error = { 0 };
	int cause = side_next(side, &error.entry);

	if (cause)
		printf("%s\n", fi_cq_strerror(side->cq, cause, error.entry.err_data, NULL, 0));
	return cause;
}

void pair_arrived(struct side *side, uint64_t tag)
{
	struct fi_msg_tagged peek = { .addr = FI_ADDR_UNSPEC, .tag = tag };
	struct longest_error error = { 0 };

	do
		MUST(fi_trecvmsg(side->ep, &peek, FI_PEEK | FI_COMPLETION));
	while (side_next(side, &error.entry));
}

int pair_write(struct pair *pair, uint64_t addr, size_t length, uint64_t key)
{
	struct side *me = &pair->initiator;

	MUST(fi_write(me->ep, me->memory, length, me->desc, me->peer, addr, key, NULL));
	return pair_wait(me);
}

static void side_join(struct side *side, struct side *first, struct side *second)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL, .end_addr = FI_ADDR_NOTAVAIL };
	struct side *members[] = { first, second };
	struct fid_av_set *set;
	fi_addr_t address;

	MUST(fi_av_set(side->av, &attr, &set, NULL));
	for (size_t i = 0; i < 2; i++) {
		char name[256];
		size_t size = sizeof(name);

		MUST(fi_getname(&members[i]->ep->fid, name, &size));
		MUST(fi_av_insert(side->av, name, 1, &address, 0, NULL));
		MUST(fi_av_set_insert(set, address));
	}
	MUST(fi_av_set_addr(set, &address));
	MUST(fi_join_collective(side->ep, address, set, 0, &side->mc, NULL));
	MUST(fi_close(&set->fid));
}

void pair_join(struct pair *pair)
{
	struct side *sides[] = { &pair->initiator, &pair->target };
	struct fi_eq_entry entry;
	uint32_t event;
	ssize_t got;

	for (size_t i = 0; i < 2; i++)
		side_join(sides[i], &pair->initiator, &pair->target);
	for (size_t i = 0; i < 2; i++) {
		do
			got = fi_eq_read(sides[i]->eq, &event, &entry, sizeof(entry), 0);
		while (got == -FI_EAGAIN);
		MUST(got);
		sides[i]->group = fi_mc_addr(sides[i]->mc);
	}
}

static void close_one(void *object)
{
	struct fid *fid = object;

	if (fid)
		MUST(fi_close(fid));
}

static void side_close(struct side *side)
{
	close_one(side->mr);
	close_one(side->mc);
	close_one(side->ep);
	close_one(side->eq);
	close_one(side->cq);
	close_one(side->av);
}

int pair_close(struct pair *pair)
{
	side_close(&pair->initiator);
	side_close(&pair->target);
	close_one(pair->domain);
	close_one(pair->fabric);
	fi_freeinfo(pair->info);
	return 0;
}
