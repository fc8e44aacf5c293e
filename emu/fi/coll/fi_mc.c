/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mc.c - groups: joined and left. */
#include "emu/fi/coll/fi_coll.h"

#include <rdma/fi_errno.h>
#include <stdlib.h>

#include "emu/fi/av/fi_av.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/ep/fi_ep_calls.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/nic/collectives/collective.h"

/* The sentence goes along as err_data. */
static void on_joined(void *owner, const struct refusal *why)
{
	struct emu_mc *mc = owner;
	char text[LIMIT_CM_DATA];
	size_t length;

	if (!why) {
		(void)emu_eq_push(mc->ep->eq, FI_JOIN_COMPLETE, &mc->fid.fid, mc->fid.fid.context, 0);
		return;
	}
	length = refusal_text(&emu_front_end, why, NULL, text, sizeof(text));
	(void)emu_eq_push_refused(mc->ep->eq, &mc->fid.fid, (int)status_of(refusal_errno(why->cause)), text, length + 1);
}

struct emu_mc *mc_find(const struct emu_ep *ep, fi_addr_t address)
{
	struct emu_mc *mc = ep->groups;

	while (mc && mc->fid.fi_addr != address)
		mc = mc->next;
	return mc;
}

static int mc_close(struct fid *fid)
{
	struct emu_mc *mc = (struct emu_mc *)fid;
	struct emu_ep *ep = mc->ep;
	struct emu_mc **at = &ep->groups;

	if (domain_usable(ep->domain)) {
		if (!driver_enter(nic_driver(ep->domain->nic)))
			return -FI_EAGAIN;
		coll_leave(mc->group);
		while (*at != mc)
			at = &(*at)->next;
		*at = mc->next;
		driver_leave(nic_driver(ep->domain->nic));
		emu_eq_withdraw(ep->eq, fid);
	}
	free(mc);
	return 0;
}

static struct fi_ops mc_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = mc_close,
	.bind = stub_bind,
	.control = stub_control,
	STUB_FID_OPS,
};

static int join_refuse_ep(const struct emu_ep *ep)
{
	if (!domain_usable(ep->domain))
		return refuse_inherited("fi_join_collective");
	if (ep->scalable)
		return REFUSE(EP_CTRL, -FI_EOPNOTSUPP, "fi_join_collective: a context of a scalable endpoint is in no group.");
	if (!(ep->caps & FI_COLLECTIVE))
		return REFUSE(EP_CTRL, -FI_EOPNOTSUPP,
			      "fi_join_collective: the endpoint was opened without FI_COLLECTIVE. Ask for it in hints->caps.");
	if (!ep->dev)
		return REFUSE(EP_CTRL, -FI_EOPBADSTATE, "fi_join_collective: the endpoint is not enabled. Call fi_enable first.");
	if (!ep->eq)
		return REFUSE(
			EP_CTRL, -FI_ENOEQ,
			"fi_join_collective: the endpoint has no event queue, which is told of the end of a join. Bind one by "
			"fi_ep_bind.");
	return 0;
}

static int check_join(const struct emu_ep *ep, const struct fi_collective_addr *addr, uint64_t flags, struct fid_mc **mc)
{
	const struct emu_av_set *set;
	int err = join_refuse_ep(ep);

	if (err)
		return err;
	if (flags & ~(FI_COLLECTIVE | FI_SEND | FI_RECV))
		return REFUSE_FLAGS(EP_CTRL, "fi_join_collective", flags & ~(FI_COLLECTIVE | FI_SEND | FI_RECV));
	if (!(flags & FI_SEND) != !(flags & FI_RECV))
		return REFUSE(EP_CTRL, -FI_EINVAL,
			      "fi_join_collective: a member both sends and receives. Pass both flags or neither.");
	if (!addr || !mc || !addr->set || addr->set->fid.fclass != FI_CLASS_AV_SET)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_join_collective: mc is NULL, or set is no address vector set.");
	set = (const struct emu_av_set *)addr->set;
	if (set->av != ep->av)
		return REFUSE(EP_CTRL, -FI_EINVAL, "fi_join_collective: the set is of another address vector than the endpoint's.");
	return 0;
}

/* [role] coll_addr: the set's own address, none (the program has seen to the membership), or a group that has all the members. */
static int check_parent(const struct emu_ep *ep, const struct fi_collective_addr *addr, const struct coll_join *join)
	REQUIRES(driver_role)
{
	const struct emu_av_set *set = (const struct emu_av_set *)addr->set;
	const struct emu_mc *parent;

	if (addr->coll_addr == FI_ADDR_NOTAVAIL || addr->coll_addr == set->address)
		return 0;
	parent = mc_find(ep, addr->coll_addr);
	if (!parent || !coll_is_joined(parent->group))
		return REFUSE(
			EP_CTRL, -FI_EINVAL,
			"fi_join_collective: coll_addr %#llx is neither the set's (fi_av_set_addr), nor that of a group that the "
			"endpoint has joined (fi_mc_addr), nor FI_ADDR_NOTAVAIL.",
			(unsigned long long)addr->coll_addr);
	for (uint32_t i = 0; i < join->count; i++)
		if (coll_rank(parent->group, join->members[i]) == UINT32_MAX)
			return REFUSE(EP_CTRL, -FI_EINVAL,
				      "fi_join_collective: fi_addr_t %#llx of the set is no member of the group of coll_addr.",
				      (unsigned long long)join->members[i]);
	return 0;
}

static int join_as(struct emu_mc *mc, const struct fi_collective_addr *addr)
{
	struct emu_ep *ep = mc->ep;
	uint64_t members[LIMIT_MEMBERS];
	struct coll_join join = {
		.members = members,
		.count = (uint32_t)av_set_members((struct emu_av_set *)(uintptr_t)addr->set, members),
		.agreed = addr->coll_addr == FI_ADDR_NOTAVAIL,
		.joined = on_joined,
		.owner = mc,
	};
	int err;

	if (!driver_enter(nic_driver(ep->domain->nic)))
		return -FI_EAGAIN;
	err = check_parent(ep, addr, &join);
	if (!err) {
		err = coll_join(ep->dev, &join, &mc->group);
		if (err == -FI_EINVAL)
			REFUSE(EP_CTRL, err,
			       "fi_join_collective: the endpoint's own address is not in the set, or one of the set's is not "
			       "in the address "
			       "vector any more.");
	}
	if (!err) {
		mc->next = ep->groups;
		ep->groups = mc;
	}
	driver_leave(nic_driver(ep->domain->nic));
	return err;
}

int emu_ep_join(struct fid_ep *fid, const void *given, uint64_t flags, struct fid_mc **out, void *context)
{
	static atomic_uint_fast64_t joins;
	struct emu_ep *ep = emu_ep(fid)->primary;
	const struct fi_collective_addr *addr = given;
	struct fid_mc *before;
	struct emu_mc *mc;
	int err;

	if (!(flags & FI_COLLECTIVE))
		return refuse_missing("fi_join", "FI_MULTICAST is not offered, and fi_join_collective joins a group");
	err = check_join(ep, addr, flags, out);
	if (err)
		return err;
	mc = calloc(1, sizeof(*mc));
	if (!mc)
		return -FI_ENOMEM;
	mc->ep = ep;
	mc->fid.fid.fclass = FI_CLASS_MC;
	mc->fid.fid.context = context;
	mc->fid.fid.ops = &mc_fid_ops;
	mc->fid.fi_addr = COLL_ADDRESS_GROUP | (atomic_fetch_add(&joins, 1) & (COLL_ADDRESS_GROUP - 1));
	before = *out;
	*out = &mc->fid; /* the event may come before this returns */
	err = join_as(mc, addr);
	if (err) {
		*out = before;
		free(mc);
	}
	return err;
}
