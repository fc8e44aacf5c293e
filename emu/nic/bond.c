/* SPDX-License-Identifier: BSD-2-Clause */
/* bond.c - bonds stand in two lists: their region's, which is short, and their other end's, which may be long. */
#include "emu/nic/bond.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/ep.h"
#include "emu/nic/mr.h"

struct bond {
	struct mr *mr;
	struct bond_end *end;
	struct bond *next_of_mr;
	struct bond *next, **at;	/* among those of the end */
};

bool bond_there(const struct mr *mr, const struct bond_end *end)
{
	for (const struct bond *bond = mr->bonds; bond; bond = bond->next_of_mr)
		if (bond->end == end)
			return true;
	return false;
}

bool bond_to_endpoint(const struct mr *mr)
{
	for (const struct bond *bond = mr->bonds; bond; bond = bond->next_of_mr)
		if (!bond->end->cntr)
			return true;
	return false;
}

int bond_make(struct mr *mr, struct bond_end *end)
{
	struct bond **last = &mr->bonds, *bond;
	int count = 0;

	if (bond_there(mr, end))
		return -EINVAL;
	for (; *last; last = &(*last)->next_of_mr)
		count++;
	bond = count < LIMIT_BONDS ? malloc(sizeof(*bond)) : NULL;
	if (!bond)
		return -ENOMEM;
	*bond = (struct bond){ .mr = mr, .end = end, .next = end->first, .at = &end->first };
	if (bond->next)
		bond->next->at = &bond->next;
	end->first = bond;
	*last = bond;
	return 0;
}

static void bond_free(struct bond *bond)
{
	*bond->at = bond->next;
	if (bond->next)
		bond->next->at = bond->at;
	free(bond);
}

void bond_end_region(struct mr *mr)
{
	struct bond *bond;

	while ((bond = mr->bonds)) {
		mr->bonds = bond->next_of_mr;
		bond_free(bond);
	}
}

bool bond_end_slice(struct bond_end *end)
{
	struct bond *bond, **at;

	for (int i = 0; i < SLICE_BONDS && (bond = end->first); i++) {
		for (at = &bond->mr->bonds; *at != bond; at = &(*at)->next_of_mr)
			;
		*at = bond->next_of_mr;
		bond_free(bond);
	}
	return end->first;
}

void bond_count(const struct mr *mr, const struct ep *ep, uint64_t length)
{
	if (!(ep->attr.caps & EP_RMA_EVENT))
		return;
	for (const struct bond *bond = mr->bonds; bond; bond = bond->next_of_mr)
		if (bond->end->cntr)
			cntr_event(bond->end->cntr, length);
}
