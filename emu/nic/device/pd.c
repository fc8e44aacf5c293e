/* SPDX-License-Identifier: BSD-2-Clause */
/* pd.c - protection domains: the regions and their keys. */
#include <errno.h>
#include <stdlib.h>

#include "emu/nic/device/nic_impl.h"
#include "emu/nic/regions/key_map.h"

static void pd_random(void *arg, void *bytes, size_t length)
{
	struct nic *nic = arg;

	nic->link.random(nic->link_arg, bytes, length);
}

/* The number is one more than that of the domain before it, so that the list is in order. */
static void pd_enlist(struct pd *pd)
{
	struct nic *nic = pd->nic;

	pd->next = atomic_load_explicit(&nic->pds, memory_order_acquire);
	do
		pd->number = pd->next ? pd->next->number + 1 : 1;
	while (!atomic_compare_exchange_weak_explicit(&nic->pds, &pd->next, pd, memory_order_release, memory_order_acquire));
}

/* Others may be opened meanwhile, in front of all. */
static void pd_delist(struct pd *pd)
{
	struct pd *first = pd, *before;

	if (atomic_compare_exchange_strong(&pd->nic->pds, &first, pd->next))
		return;
	for (before = first; before->next != pd; before = before->next)
		;
	before->next = pd->next;
}

int pd_open(struct nic *nic, struct pd **out)
{
	struct pd *pd = calloc(1, sizeof(*pd));
	uint64_t secret[2];

	if (!pd)
		return -ENOMEM;
	pd->nic = nic;
	pd_random(nic, secret, sizeof(secret));
	if (key_map_open(&pd->mappings, secret))
		goto free_pd;
	if (mr_table_open(&pd->regions, pd_random, nic))
		goto close_mappings;
	pd_enlist(pd);
	*out = pd;
	return 0;

close_mappings:
	key_map_close(pd->mappings);
free_pd:
	free(pd);
	return -ENOMEM;
}

int pd_close(struct pd *pd)
{
	nic_role(pd->nic);
	if (pd->users || mr_count(pd->regions) || pd->windows.names.count || key_map_count(pd->mappings))
		return -EBUSY;
	pd_delist(pd);
	mr_table_close(pd->regions);
	mr_windows_fini(&pd->windows);
	key_map_close(pd->mappings);
	free(pd);
	return 0;
}

struct key_map *pd_mappings(struct pd *pd)
{
	return pd->mappings;
}

struct mr_table *pd_regions(struct pd *pd)
{
	return pd->regions;
}

const struct mr_windows *pd_windows(const struct pd *pd)
{
	return &pd->windows;
}
