/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_group.c - ids are members of multicast groups (rdma_join_multicast()). Their queue pairs hear a group from the event of the
 * join on (ibv_attach_mcast()). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/cm_id.h"

enum { GROUP_QPN = 0xffffff };

/* Of one id. It waits for the end of its event, which is read, acknowledged or dropped. */
struct cm_group {
	struct cm_group *next;
	struct sockaddr_storage at;
	union ibv_gid gid;
	void *context;
	bool sends_only, left;
	bool told;               /* its event is not acknowledged yet */
	const struct ibv_qp *qp; /* that is attached; NULL: none is */
};

static bool is_group(const struct sockaddr *at)
{
	if (at->sa_family == AF_INET)
		return IN_MULTICAST(ntohl(((const struct sockaddr_in *)at)->sin_addr.s_addr));
	return at->sa_family == AF_INET6 && IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)at)->sin6_addr);
}

/* With cm_lock. */
static struct cm_group **place_of_group(struct cm_id *id, const struct sockaddr *at)
{
	struct cm_group **group = &id->groups;

	while (*group && !vb_ip_same(&(*group)->at, at))
		group = &(*group)->next;
	return group;
}

/* --- joining --- */

static int group_check(struct cm_id *id, const struct sockaddr *at)
{
	const char *call = "rdma_join_multicast";

	if (cm_check(id, 1 << ID_BOUND | 1 << ID_ADDRESSED, call,
		     "Join after rdma_bind_addr() or rdma_resolve_addr(), and before rdma_resolve_route()."))
		return EINVAL;
	if (!cm_is_ud(id))
		return vb_refuse(EINVAL, call, "the id is not for datagrams. Make it with RDMA_PS_UDP.");
	if (!id->id.verbs)
		return vb_refuse(EINVAL, call, "the id is bound to no device. Name one of its addresses to rdma_bind_addr().");
	if (!at || !is_group(at))
		return vb_refuse(EINVAL, call, "addr is no group: these are 224.0.0.0 to 239.255.255.255, and those in ff00::/8.");
	return 0;
}

/* With cm_lock. 0 or an errno. */
static int begin_joining(struct cm_id *id, const struct sockaddr *at, bool sends_only, void *context)
{
	int err = group_check(id, at);
	struct cm_group *group;

	if (err)
		return err;
	group = calloc(1, sizeof(*group));
	if (!group)
		return ENOMEM;
	vb_ip_copy(&group->at, at);
	vb_ip_gid(&group->at, &group->gid);
	group->context = context;
	group->sends_only = sends_only;
	err = cm_tell_group(id, group, &group->told);
	if (err) {
		free(group);
		return err;
	}
	group->next = id->groups;
	id->groups = group;
	return 0;
}

static int group_join(struct cm_id *id, const struct sockaddr *at, bool sends_only, void *context)
{
	int err = vb_cm_fault("rdma_join_multicast");

	if (err)
		return cm_result(err);
	cm_hold();
	err = begin_joining(id, at, sends_only, context);
	cm_let_go();
	return err ? cm_result(err) : cm_complete(id);
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *at, void *context)
{
	return group_join(cm_id_of(id), at, false, context);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	const uint32_t both = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (!attr || attr->comp_mask != both || attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return cm_refuse(
			EINVAL, "rdma_join_multicast_ex",
			"comp_mask names both the address and join_flags, and these are one of enum rdma_cm_mc_join_flags.");
	return group_join(cm_id_of(id), attr->addr, attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context);
}

/* --- joined --- */

bool cm_group_take(struct told_event *event)
{
	struct cm_group *group = event->group;
	struct rdma_ud_param *ud = &event->pub.param.ud;
	struct cm_id *id = event->id;
	int err = 0;

	if (group->left)
		return false;
	if (event->planned.replaced)
		err = -event->planned.status;
	else if (id->id.qp && !group->sends_only)
		err = ibv_attach_mcast(id->id.qp, &group->gid, 0);
	event->pub = (struct rdma_cm_event){
		.id = &id->id,
		.event = err ? RDMA_CM_EVENT_MULTICAST_ERROR : RDMA_CM_EVENT_MULTICAST_JOIN,
		.status = -err,
	};
	ud->private_data = group->context;
	if (err)
		return true;
	if (!group->sends_only)
		group->qp = id->id.qp;
	ud->qp_num = GROUP_QPN;
	ud->qkey = RDMA_UDP_QKEY;
	cm_fill_ah(id, &group->gid, &ud->ah_attr);
	return true;
}

void cm_group_acked(struct cm_group *group)
{
	group->told = false;
}

/* --- left --- */

static bool is_of_group(const struct vb_event *event, const void *group)
{
	return ((const struct told_event *)event)->group == group;
}

/* Of a queue pair that another join of the same group has attached, too, the last one detaches it. */
static void detach(const struct cm_id *id, const struct cm_group *group)
{
	const struct cm_group *other = id->groups;

	while (other && (other->qp != group->qp || memcmp(&other->gid, &group->gid, sizeof(group->gid)) != 0))
		other = other->next;
	if (group->qp && group->qp == id->id.qp && !other)
		(void)ibv_detach_mcast(id->id.qp, &group->gid, 0);
}

int rdma_leave_multicast(struct rdma_cm_id *pub, struct sockaddr *at)
{
	struct cm_id *id = cm_id_of(pub);
	struct cm_group **place, *group;
	struct told_event *late;
	struct vb_event *dropped;

	if (!id || !at)
		return cm_refuse(EINVAL, "rdma_leave_multicast", "id or addr is NULL.");
	if (id->sync && pub->event) { /* that of the join, perhaps */
		rdma_ack_cm_event(pub->event);
		pub->event = NULL;
	}
	cm_hold();
	place = place_of_group(id, at);
	group = *place;
	if (!group) {
		cm_let_go();
		return cm_refuse(EADDRNOTAVAIL, "rdma_leave_multicast", "the id is no member of the group at addr.");
	}
	*place = group->next;
	group->left = true;
	detach(id, group);
	pthread_mutex_lock(&told_lock);
	late = cm_late_drop(is_of_group, group);
	pthread_mutex_unlock(&told_lock);
	dropped = vb_events_drop(&id->channel->events, is_of_group, group);
	group->told &= !late && !dropped;
	free(late);
	vb_events_free(dropped);
	while (group->told)
		cm_await_ack();
	free(group);
	cm_let_go();
	return 0;
}

void cm_groups_free(struct cm_id *id)
{
	while (id->groups) {
		struct cm_group *group = id->groups;

		id->groups = group->next;
		free(group);
	}
}
