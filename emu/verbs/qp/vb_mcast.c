/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_mcast.c - UD queue pairs are attached to groups. */
#include <errno.h>
#include <string.h>

#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/qp/vb_ah.h"
#include "emu/verbs/qp/vb_qp.h"
#include "emu/verbs/qp/vb_qp_kind.h"
#include "emu/verbs/start/vb_refuse.h"

/* The interfaces that have a GID. */
static size_t find_interfaces(uint32_t interfaces[VB_GIDS])
{
	struct vb_gid entry;
	size_t count = 0;

	for (unsigned int i = 0; i < VB_GIDS; i++) {
		size_t at = 0;

		if (!vb_gid_get(i, &entry))
			continue;
		while (at < count && interfaces[at] != entry.ifindex)
			at++;
		interfaces[at] = entry.ifindex;
		count += at == count;
	}
	return count;
}

static int mcast_check(struct vb_qp *qp, const union ibv_gid *gid, const char *call)
{
	int err = vb_qp_check_handle(qp, call);

	if (err)
		return err;
	if (!qp->kind->datagrams) /* V155 */
		return vb_refuse(EINVAL, call, "groups are of UD queue pairs, and this is one of type %s.", qp->kind->name);
	if (!vb_gid_is_group(gid))
		return vb_refuse(EINVAL, call,
				 "gid is no group: these begin with ff, or are ::ffff:224.0.0.0 to ::ffff:239.255.255.255.");
	return 0;
}

int ibv_attach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	static const char call[] = "ibv_attach_mcast";
	struct vb_qp *qp = vb_qp_of(ibv);
	uint32_t interfaces[VB_GIDS];
	int err = mcast_check(qp, gid, call);

	(void)lid; /* of Ethernet there is none */
	if (err)
		return err;
	err = vb_context_enter(qp->context, call);
	if (err)
		return err;
	err = ep_attach(qp->ep, gid->raw, interfaces, find_interfaces(interfaces));
	vb_context_leave(qp->context);
	return err ? vb_refuse(-err, call,
			       "no interface with a GID takes the group (%s). The system bounds groups of a socket: "
			       "net.ipv4.igmp_max_memberships, net.core.optmem_max.",
			       strerror(-err))
		   : 0;
}

int ibv_detach_mcast(struct ibv_qp *ibv, const union ibv_gid *gid, uint16_t lid)
{
	static const char call[] = "ibv_detach_mcast";
	struct vb_qp *qp = vb_qp_of(ibv);
	int err = mcast_check(qp, gid, call);

	(void)lid;
	if (err)
		return err;
	err = vb_context_enter(qp->context, call);
	if (err)
		return err;
	err = ep_detach(qp->ep, gid->raw);
	vb_context_leave(qp->context);
	return err ? vb_refuse(-err, call, "the queue pair is not attached to the group.") : 0;
}
