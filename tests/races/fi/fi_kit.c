/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_kit.c - opening and closing, posts, and waiting for completions. */
#include "tests/races/fi/fi_kit.h"

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 64, WORD = 8 };

uint8_t kit_area[AREA] __attribute__((aligned(KIT_PAGE)));
struct kit_end kit_ends[KIT_ENDPOINTS];
struct fid_cntr *kit_counter, *kit_events;
struct fid_mr *kit_mr;
fi_addr_t kit_address[RACE_SIDES][KIT_ENDPOINTS];
_Thread_local unsigned kit_by;

const struct race_set *const race_sets[] = { &fi_conflicts, &fi_orders,   &fi_sources,      &fi_receives,
					     &fi_targets,   &fi_patterns, &fi_thread_cases, NULL };

static const struct kit_want *want;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_av *av;

static unsigned ends(void)
{
	return want->endpoints ? want->endpoints : 1;
}

/* To ask for no order would be to ask for all that there is: one that no case is about is asked for. */
static void info_open(void)
{
	struct fi_info *hints = fi_allocinfo();

	NEED(hints);
	hints->fabric_attr->prov_name = strdup("emu");
	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | want->caps;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = want->order ? want->order : FI_ORDER_ATOMIC_RAR;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | (want->told ? FI_MR_RMA_EVENT : 0);
	hints->domain_attr->threading = FI_THREAD_SAFE;
	NEED(!fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
}

static void cntr_open(struct fid_cntr **cntr)
{
	NEED(!fi_cntr_open(domain, &(struct fi_cntr_attr){ .wait_obj = FI_WAIT_UNSPEC }, cntr, NULL));
}

static void end_open(struct kit_end *end)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_UNSPEC };

	NEED(!fi_endpoint(domain, info, &end->ep, NULL));
	NEED(!fi_cq_open(domain, &attr, &end->sent, NULL));
	NEED(!fi_cq_open(domain, &attr, &end->came, NULL));
	NEED(!fi_ep_bind(end->ep, &av->fid, 0));
	NEED(!fi_ep_bind(end->ep, &end->sent->fid, FI_TRANSMIT));
	NEED(!fi_ep_bind(end->ep, &end->came->fid, FI_RECV));
	if (want->counted && end == kit_ends)
		NEED(!fi_ep_bind(end->ep, &kit_counter->fid, FI_SEND | FI_WRITE | FI_READ));
	NEED(!fi_enable(end->ep));
}

static void region_open(void)
{
	uint64_t access = FI_SEND | FI_RECV | FI_WRITE | FI_READ | FI_REMOTE_WRITE | FI_REMOTE_READ;

	NEED(!fi_mr_reg(domain, kit_area, AREA, access, 0, KIT_KEY, want->told ? FI_RMA_EVENT : 0, &kit_mr, NULL));
	if (!want->told)
		return;
	NEED(!fi_mr_bind(kit_mr, &kit_events->fid, FI_REMOTE_WRITE));
	NEED(!fi_mr_enable(kit_mr));
}

static void peers_find(void)
{
	char mine[KIT_ENDPOINTS][NAME] = { "" }, all[RACE_SIDES][KIT_ENDPOINTS][NAME];
	size_t size;

	for (unsigned e = 0; e < ends(); e++) {
		size = NAME;
		NEED(!fi_getname(&kit_ends[e].ep->fid, mine[e], &size));
	}
	race_swap(mine, all, sizeof(mine));
	for (unsigned side = 0; side < race_this->sides; side++)
		for (unsigned e = 0; e < ends(); e++)
			NEED(fi_av_insert(av, all[side][e], 1, &kit_address[side][e], 0, NULL) == 1);
}

/* Writes to all from each endpoint, and waits. */
static void peers_reach(uint64_t flags)
{
	for (kit_by = ends(); kit_by-- > 0;) {
		for (unsigned side = 0; side < race_this->sides; side++)
			kit_put(side, SPARE + KIT_SLOT, SPARE + (race_self * KIT_ENDPOINTS + kit_by) * WORD, WORD, flags);
		kit_sent(race_this->sides);
	}
	kit_by = 0;
}

/* Each place and each side has other bytes: a write changes those that it finds. */
static void area_fill(void)
{
	for (size_t i = 0; i < RESULT; i++)
		if (i < X + SIZE || i >= SOURCE)
			kit_area[i] = (uint8_t)(0x80 | (i + i / KIT_SLOT * 5 + race_self * 16));
}

void race_open(void)
{
	static const struct kit_want usual;

	want = race_this->want ? race_this->want : &usual;
	area_fill();
	info_open();
	NEED(!fi_fabric(info->fabric_attr, &fabric, NULL));
	NEED(!fi_domain(fabric, info, &domain, NULL));
	NEED(!fi_av_open(domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &av, NULL));
	if (want->counted)
		cntr_open(&kit_counter);
	if (want->told)
		cntr_open(&kit_events);
	for (unsigned e = 0; e < ends(); e++)
		end_open(&kit_ends[e]);
	region_open();
	peers_find();
	peers_reach(0); /* and is connected when the case begins */
}

void race_close(void)
{
	peers_reach(FI_FENCE); /* and nothing is under way to anybody's area */
	race_meet();
	for (unsigned e = 0; e < ends(); e++) {
		NEED(!fi_close(&kit_ends[e].ep->fid));
		NEED(!fi_close(&kit_ends[e].sent->fid));
		NEED(!fi_close(&kit_ends[e].came->fid));
	}
	NEED(!fi_close(&kit_mr->fid));
	if (kit_counter)
		NEED(!fi_close(&kit_counter->fid));
	if (kit_events)
		NEED(!fi_close(&kit_events->fid));
	NEED(!fi_close(&av->fid));
	NEED(!fi_close(&domain->fid));
	NEED(!fi_close(&fabric->fid));
	fi_freeinfo(info);
}

/* --- posts --- */

#define LEVELS (FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

/* Without a level of completion, the one that a case need not think of. */
static uint64_t leveled(uint64_t flags)
{
	return flags | FI_COMPLETION | (flags & LEVELS ? 0 : FI_DELIVERY_COMPLETE);
}

static struct fid_ep *by(void)
{
	return kit_ends[kit_by].ep;
}

void kit_put(unsigned to, size_t from, size_t at, size_t length, uint64_t flags)
{
	struct iovec near = { kit_area + from, length };
	struct fi_rma_iov far = { at, length, KIT_KEY };

	kit_putv(to, &near, 1, &far, 1, flags);
}

void kit_putv(unsigned to, const struct iovec *near, size_t nears, const struct fi_rma_iov *far, size_t fars, uint64_t flags)
{
	void *desc[KIT_VECTOR] = { fi_mr_desc(kit_mr), fi_mr_desc(kit_mr) };
	struct fi_msg_rma msg = { near, desc, nears, kit_address[to][0], far, fars, near->iov_base, race_self };

	KIT_POST(fi_writemsg(by(), &msg, leveled(flags)));
}

void kit_get(unsigned to, size_t into, size_t at, size_t length, uint64_t flags)
{
	struct iovec near = { kit_area + into, length };
	struct fi_rma_iov far = { at, length, KIT_KEY };
	void *desc = fi_mr_desc(kit_mr);
	struct fi_msg_rma msg = { &near, &desc, 1, kit_address[to][0], &far, 1, near.iov_base, 0 };

	KIT_POST(fi_readmsg(by(), &msg, flags | FI_COMPLETION));
}

void kit_atomic(unsigned to, enum fi_op op, enum fi_datatype type, size_t from, size_t into, size_t at, uint64_t flags)
{
	struct fi_ioc near = { kit_area + from, 1 }, result = { kit_area + (into == NOWHERE ? 0 : into), 1 };
	struct fi_rma_ioc far = { at, 1, KIT_KEY };
	void *desc = fi_mr_desc(kit_mr);
	struct fi_msg_atomic msg = { &near, &desc, 1, kit_address[to][0], &far, 1, type, op, near.addr, 0 };

	if (into == NOWHERE)
		KIT_POST(fi_atomicmsg(by(), &msg, leveled(flags)));
	else
		KIT_POST(fi_fetch_atomicmsg(by(), &msg, &result, &desc, 1, flags | FI_COMPLETION));
}

void kit_swap(unsigned to, size_t from, size_t into, size_t at)
{
	void *desc = fi_mr_desc(kit_mr), *compared = kit_area + from + WORD;

	KIT_POST(fi_compare_atomic(by(), kit_area + from, 1, desc, compared, desc, kit_area + into, desc, kit_address[to][0], at,
				   KIT_KEY, FI_UINT64, FI_CSWAP, kit_area + from));
}

void kit_send(unsigned to, size_t from, size_t length, uint64_t flags)
{
	struct iovec near = { kit_area + from, length };
	void *desc = fi_mr_desc(kit_mr);
	struct fi_msg msg = { &near, &desc, 1, kit_address[to][kit_by], near.iov_base, race_self };

	KIT_POST(fi_sendmsg(by(), &msg, flags | FI_COMPLETION));
}

void kit_receive(size_t into, size_t length)
{
	KIT_POST(fi_recv(by(), kit_area + into, length, fi_mr_desc(kit_mr), FI_ADDR_UNSPEC, kit_area + into));
}

void kit_do(enum kit_deed deed, unsigned slot, unsigned to, size_t at, uint64_t flags)
{
	size_t from = SOURCE + slot * KIT_SLOT, into = RESULT + slot * KIT_SLOT;

	if (deed == PUT)
		kit_put(to, from, at, SIZE, flags);
	else if (deed == GET)
		kit_get(to, into, at, SIZE, flags & ~FI_DELIVERY_COMPLETE);
	else if (deed == SUM || deed == SUM_32)
		kit_atomic(to, FI_SUM, deed == SUM ? FI_UINT64 : FI_UINT32, from, NOWHERE, at, flags);
	else if (deed == FETCH_SUM)
		kit_atomic(to, FI_SUM, FI_UINT64, from, into, at, flags);
	else if (deed == FETCH)
		kit_atomic(to, FI_ATOMIC_READ, FI_UINT64, from, into, at, flags);
	else if (deed == SET)
		kit_atomic(to, FI_ATOMIC_WRITE, FI_UINT64, from, NOWHERE, at, flags);
	else if (deed == SWAP)
		kit_swap(to, from, into, at);
}

/* --- completions --- */

/* Taken from a queue, and not asked for yet, by the slot of their local buffer; those of CQ data have the last one. */
static unsigned early[2][KIT_ENDPOINTS][AREA / KIT_SLOT + 1];

static size_t slot_of(const void *context)
{
	return context ? (size_t)((const uint8_t *)context - kit_area) / KIT_SLOT : AREA / KIT_SLOT;
}

static void entry_take(struct fid_cq *cq, struct fi_cq_tagged_entry *entry)
{
	struct fi_cq_err_entry error = { 0 };

	if (fi_cq_sread(cq, entry, 1, NULL, -1) == 1)
		return;
	NEED(fi_cq_readerr(cq, &error, 0) == 1);
	fprintf(stderr, "%s\n", fi_cq_strerror(cq, error.prov_errno, error.err_data, NULL, 0));
	NEED(!"a completion without an error");
}

static void await_some(struct fid_cq *cq, unsigned *left, unsigned count)
{
	struct fi_cq_tagged_entry entry;

	for (size_t i = 0; i <= AREA / KIT_SLOT; i++)
		for (; left[i] && count; left[i]--)
			count--;
	while (count--)
		entry_take(cq, &entry);
}

static void await_one(struct fid_cq *cq, unsigned *left, size_t offset)
{
	struct fi_cq_tagged_entry entry;

	while (!left[offset / KIT_SLOT]) {
		entry_take(cq, &entry);
		left[slot_of(entry.op_context)]++;
	}
	left[offset / KIT_SLOT]--;
}

void kit_sent(unsigned count)
{
	await_some(kit_ends[kit_by].sent, early[0][kit_by], count);
}

void kit_came(unsigned count)
{
	await_some(kit_ends[kit_by].came, early[1][kit_by], count);
}

void kit_sent_of(size_t offset)
{
	await_one(kit_ends[kit_by].sent, early[0][kit_by], offset);
}

void kit_came_of(size_t offset)
{
	await_one(kit_ends[kit_by].came, early[1][kit_by], offset);
}

const uint8_t *kit_came_where(bool *released)
{
	struct fi_cq_tagged_entry entry;

	entry_take(kit_ends[kit_by].came, &entry);
	*released = entry.flags & FI_MULTI_RECV;
	return entry.buf;
}
