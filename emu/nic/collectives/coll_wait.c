/* SPDX-License-Identifier: BSD-2-Clause */
/* coll_wait.c - members that are waited for long. */
#include "emu/nic/collectives/coll_impl.h"

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"

/* A receive that waits at so many looks has waited for the time between two. */
enum { LOOKS = 2 };

void coll_look_later(struct nic *nic)
{
	nic_role(nic);
	nic->coll_look_ns = time_coarse(nic_now(nic) + TIME_COLL_LOOK_NS);
	nic_arm_timer(nic, nic->coll_look_ns);
}

/* False: not all could be told. */
static bool tell_awaited(const struct coll *coll)
{
	bool told = true;

	for (uint32_t slot = 0; slot < COLL_FAN; slot++)
		if (coll->awaited[slot])
			told &= coll_say(coll->group, coll->round.receive[slot].rank, coll->call | WIRE_COLL_WAIT);
	return told;
}

/* True: it is to be looked at again. */
static bool look_at(struct coll *coll)
{
	bool waits = false;

	for (uint32_t slot = 0; slot < COLL_FAN; slot++)
		waits |= coll->awaited[slot] != NULL;
	if (!waits || coll->looks == LOOKS)
		return false;
	if (coll->looks + 1 == LOOKS && !tell_awaited(coll))
		return true;
	return ++coll->looks < LOOKS;
}

uint64_t coll_look(struct nic *nic)
{
	bool again = false;

	nic_role(nic);
	if (nic->coll_look_ns > nic_now(nic))
		return nic->coll_look_ns;
	if (!nic->coll_look_ns)
		return UINT64_MAX;
	nic->coll_look_ns = 0;
	for (struct ep *ep = nic->eps; ep; ep = ep->next)
		for (struct coll *coll = ep->collectives ? ep->collectives->running : NULL; coll; coll = coll->next)
			again |= look_at(coll);
	if (again)
		nic->coll_look_ns = time_coarse(nic_now(nic) + TIME_COLL_LOOK_NS);
	return again ? nic->coll_look_ns : UINT64_MAX;
}
