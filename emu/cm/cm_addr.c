/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_addr.c - addresses and routes: which device of this host leads to a peer, and by which number this side is known. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/cm/cm_id.h"

static bool is_ip(const struct sockaddr *at)
{
	return at->sa_family == AF_INET || at->sa_family == AF_INET6;
}

/* 0; ENODEV, as with the kernel's where no port is InfiniBand's; or EINVAL. */
static int check_family(const struct sockaddr *at, const char *call, const char *name)
{
	if (at && at->sa_family == AF_IB)
		return vb_refuse(ENODEV, call, "%s is of AF_IB, and the port is Ethernet, where ids have addresses of IP.", name);
	if (!at || !is_ip(at))
		return vb_refuse(EINVAL, call, "%s is no address of IPv4 or IPv6.", name);
	return 0;
}

#define LINK_WITHOUT_SCOPE "the address is one of a link (fe80::/10), and sin6_scope_id names no interface."

/* As with the kernel. */
static bool is_link_without_scope(const struct sockaddr *at)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)at;

	return at->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) && !in6->sin6_scope_id;
}

static in_port_t *port_in(void *at)
{
	return &((struct sockaddr_in *)at)->sin_port; /* at one place in both families */
}

/* --- own addresses --- */

/* 0 or an errno: EADDRINUSE, another has it. */
static int take_new_number(struct ibv_context *context, const struct sockaddr_storage *at, struct cm_number **out)
{
	struct cm_number *number = calloc(1, sizeof(*number));
	uint16_t port = ntohs(((const struct sockaddr_in *)at)->sin_port);
	int err;

	if (!number)
		return ENOMEM;
	err = vb_cm_serve(context, at, &port, cm_number_told, number, &number->cm);
	if (err) {
		free(number);
		return err;
	}
	number->at = *at;
	*port_in(&number->at) = htons(port);
	cm_number_add(number);
	*out = number;
	return 0;
}

int cm_take_number(struct cm_id *id)
{
	struct ibv_context *context = vb_cm_device(0);
	struct sockaddr_storage where = id->id.route.addr.src_storage;
	struct cm_number *number;
	int err = context ? 0 : errno;

	if (where.ss_family == AF_INET6 && vb_ip_everywhere((struct sockaddr *)&where) && !id->afonly)
		where.ss_family = AF_UNSPEC; /* IPv4, too */
	number = cm_number_shared(&where, id);
	if (!err && !number)
		err = take_new_number(context, &where, &number);
	if (err)
		return err == EADDRINUSE && vb_ip_everywhere((struct sockaddr *)&id->id.route.addr.src_storage) ? EADDRNOTAVAIL
														: err; /* V202 */
	id->listener = cm_listener_new(number, id);
	*port_in(&id->id.route.addr.src_storage) = *port_in(&number->at);
	return id->listener ? 0 : ENOMEM;
}

/* With cm_lock. 0 or an errno, after a line of log. V201, V202. */
static int bind_to(struct cm_id *id, const struct sockaddr *at, const char *call)
{
	struct vb_gid own;
	int place = vb_ip_everywhere(at) ? 0 : vb_ip_place(at, &own), err;

	if (place < 0)
		return vb_refuse(EADDRNOTAVAIL, call,
				 "the address is of no device here. ibv_query_gid_table() lists those that there are.");
	vb_ip_copy(&id->id.route.addr.src_storage, at);
	err = id->reuse && *port_in((void *)(uintptr_t)at) ? 0 : cm_take_number(id); /* else the one that listens takes it */
	if (!err && !vb_ip_everywhere(at))
		err = cm_take_device(id, &own, (unsigned int)place);
	if (err) {
		if (id->listener)
			cm_listener_put(id->listener);
		id->listener = NULL;
		memset(&id->id.route.addr.src_storage, 0, sizeof(id->id.route.addr.src_storage));
		return vb_refuse(err, call, "number %u cannot be taken: %s.", ntohs(*port_in((void *)(uintptr_t)at)),
				 strerror(err == EADDRNOTAVAIL && vb_ip_everywhere(at) ? EADDRINUSE : err));
	}
	if (!vb_ip_everywhere(at))
		id->id.route.addr.addr.ibaddr.sgid = own.gid;
	cm_enter(id, ID_BOUND);
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *pub, struct sockaddr *at)
{
	struct cm_id *id = cm_id_of(pub);
	int err;

	err = check_family(at, "rdma_bind_addr", "addr");
	if (err)
		return cm_result(err);
	if (is_link_without_scope(at))
		return cm_refuse(EINVAL, "rdma_bind_addr", LINK_WITHOUT_SCOPE);
	err = vb_cm_fault("rdma_bind_addr");
	if (err)
		return cm_result(err);
	cm_hold();
	err = cm_check(id, 1 << ID_FRESH, "rdma_bind_addr", "It is bound once, before anything else.") ? EINVAL : 0; /* V200 */
	if (!err)
		err = bind_to(id, at, "rdma_bind_addr");
	cm_let_go();
	return cm_result(err);
}

/* --- the peer's --- */

/* Everywhere is this host. */
static void name_host(struct sockaddr_storage *at)
{
	if (!vb_ip_everywhere((struct sockaddr *)at))
		return;
	if (at->ss_family == AF_INET)
		((struct sockaddr_in *)at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	else
		((struct sockaddr_in6 *)at)->sin6_addr = in6addr_loopback;
}

/* The device, the own address, and the endpoint by whose port an id without a number is known. 0 or an errno, which is the event's
 * then. */
static int resolve_peer(struct cm_id *id, const struct sockaddr *to)
{
	struct rdma_addr *addr = &id->id.route.addr;
	struct sockaddr_storage from = { 0 };
	struct vb_gid own;
	uint16_t port;
	int place, err;

	vb_ip_copy(&addr->dst_storage, to);
	name_host(&addr->dst_storage);
	if (!id->id.verbs) {
		place = vb_ip_way(&addr->dst_addr, &from, &own);
		err = place < 0 ? -place : cm_take_device(id, &own, (unsigned int)place);
		if (err)
			return err;
		*port_in(&from) = *port_in(&addr->src_storage);
		addr->src_storage = from;
	}
	err = vb_cm_open(id->id.verbs, &id->own.at, cm_connection_told, id, &id->cm, &port);
	if (err)
		return err;
	if (!*port_in(&addr->src_storage))
		*port_in(&addr->src_storage) = htons(port);
	vb_ip_gid(&addr->dst_storage, &id->peer_gid);
	addr->addr.ibaddr.sgid = id->own.gid;
	addr->addr.ibaddr.dgid = id->peer_gid;
	addr->addr.ibaddr.pkey = htons(0xffff);
	return 0;
}

/* The source address that a program names along with the peer's, of an id that is not bound. Without a number none is taken. */
static int resolve_source(struct cm_id *id, const struct sockaddr *from)
{
	struct vb_gid own;
	int place, err;

	if (*port_in((void *)(uintptr_t)from))
		return bind_to(id, from, "rdma_resolve_addr");
	if (vb_ip_everywhere(from))
		return 0;
	place = vb_ip_place(from, &own);
	if (place < 0)
		return vb_refuse(EADDRNOTAVAIL, "rdma_resolve_addr", "src_addr is of no device here.");
	err = cm_take_device(id, &own, (unsigned int)place);
	if (!err)
		vb_ip_copy(&id->id.route.addr.src_storage, from);
	return err;
}

/* The id may try again, from another address unless it is bound to one. */
static void forget_source(struct cm_id *id, const struct sockaddr_storage *before)
{
	struct sockaddr_storage *source = &id->id.route.addr.src_storage;

	if (id->state == ID_BOUND && !vb_ip_everywhere((const struct sockaddr *)before))
		return;
	cm_give_device(id);
	if (id->state == ID_BOUND)
		*source = *before;
	else
		memset(source, 0, sizeof(*source));
}

static int begin_resolving(struct cm_id *id, const struct sockaddr *from, const struct sockaddr *to)
{
	const char *call = "rdma_resolve_addr";
	struct vb_cm_planned planned = { 0 };
	struct sockaddr_storage before;
	int err;

	err = check_family(to, call, "dst_addr");
	if (err)
		return err;
	if (is_link_without_scope(to))
		return vb_refuse(EINVAL, call, LINK_WITHOUT_SCOPE);
	if (cm_check(id, 1 << ID_FRESH | 1 << ID_BOUND, call, "An id resolves one peer's address, at first."))
		return EINVAL;
	if (id->state == ID_FRESH && from && from->sa_family != AF_UNSPEC) { /* an empty one is none */
		err = from->sa_family == to->sa_family
			      ? resolve_source(id, from)
			      : vb_refuse(EINVAL, call, "src_addr and dst_addr are of different families.");
		if (err)
			return err;
	}
	if (id->id.route.addr.src_addr.sa_family && id->id.route.addr.src_addr.sa_family != to->sa_family)
		return vb_refuse(EINVAL, call, "the own address and dst_addr are of different families.");
	before = id->id.route.addr.src_storage;
	err = resolve_peer(id, to);
	if (!err) {
		err = cm_plan_error(RDMA_CM_EVENT_ADDR_RESOLVED, &planned);
		if (err)
			vb_cm_close(id->cm);
		if (err)
			id->cm = NULL;
	}
	if (err)
		forget_source(id, &before);
	if (err)
		vb_inform(call, "%s (RDMA_CM_EVENT_ADDR_ERROR).",
			  err == ENODEV ? "the way to dst_addr begins at an address that no device has" : strerror(err));
	else
		cm_enter(id, ID_ADDRESSED);
	return cm_tell_planned(id, err ? RDMA_CM_EVENT_ADDR_ERROR : RDMA_CM_EVENT_ADDR_RESOLVED, -err, &planned);
}

int rdma_resolve_addr(struct rdma_cm_id *pub, struct sockaddr *from, struct sockaddr *to, int timeout_ms)
{
	struct cm_id *id = cm_id_of(pub);
	int err = vb_cm_fault("rdma_resolve_addr");

	(void)timeout_ms; /* the answer is there at once */
	if (err)
		return cm_result(err);
	cm_hold();
	err = begin_resolving(id, from, to);
	cm_let_go();
	return err ? cm_result(err) : cm_complete(id);
}

/* --- the route --- */

void cm_make_path(struct cm_id *id)
{
	id->path = (struct ibv_sa_path_rec){
		.dgid = id->peer_gid,
		.sgid = id->own.gid,
		.hop_limit = CM_HOPS,
		.traffic_class = id->tos,
		.reversible = 1,
		.numb_path = 1,
		.pkey = htons(0xffff),
		.mtu_selector = 2, /* exactly */
		.mtu = IBV_MTU_1024,
		.rate_selector = 2,
		.rate = IBV_RATE_10_GBPS,
		.packet_life_time_selector = 2,
		.packet_life_time = 18,
	};
	id->id.route.path_rec = &id->path;
	id->id.route.num_paths = 1;
}

/* The id has a path, unless the plan has it otherwise. 0 or ENOMEM. */
static int route_found(struct cm_id *id)
{
	struct vb_cm_planned planned = { 0 };
	int err = cm_plan_error(RDMA_CM_EVENT_ROUTE_RESOLVED, &planned);

	if (!err)
		cm_enter(id, ID_ROUTED);
	return cm_tell_planned(id, err ? RDMA_CM_EVENT_ROUTE_ERROR : RDMA_CM_EVENT_ROUTE_RESOLVED, -err, &planned);
}

/* A path of another P_Key, or to another place than dst_addr, has no way here. */
static int path_check(const struct cm_id *id, const struct ibv_path_record *path)
{
	const char *call = "rdma_set_option";

	if (memcmp(&path->dgid, &id->peer_gid, sizeof(path->dgid)) != 0 ||
	    memcmp(&path->sgid, &id->own.gid, sizeof(path->sgid)) != 0)
		return vb_refuse(
			EINVAL, call,
			"the path leads elsewhere: its GIDs are those of the addresses that rdma_resolve_addr() has resolved.");
	if ((ntohs(path->pkey) & 0x7fff) != 0x7fff)
		return vb_refuse(EINVAL, call, "the path's P_Key is 0x%x, and the port has 0xffff alone.", ntohs(path->pkey));
	return 0;
}

int cm_take_path(struct cm_id *id, const void *value, size_t length)
{
	const uint32_t wanted = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	const struct ibv_path_data *data = value;
	size_t left = length / sizeof(*data);
	const struct ibv_path_record *path;
	int err;

	while (left && data->flags != wanted) {
		data++;
		left--;
	}
	if (!left || length % sizeof(*data))
		return vb_refuse(
			EINVAL, "rdma_set_option",
			"RDMA_OPTION_IB_PATH is an array of struct ibv_path_data, one of which has the flags GMP, PRIMARY and "
			"BIDIRECTIONAL.");
	if (cm_check(id, 1 << ID_ADDRESSED, "rdma_set_option", "Set RDMA_OPTION_IB_PATH after rdma_resolve_addr()."))
		return EINVAL;
	path = &data->path;
	err = path_check(id, path);
	if (err)
		return err;
	id->tos = path->tclass;
	cm_make_path(id);
	id->path.flow_label = htonl(ntohl(path->flowlabel_hoplimit) >> 8 & 0xfffff);
	id->path.hop_limit = (uint8_t)ntohl(path->flowlabel_hoplimit);
	id->path.sl = ntohs(path->qosclass_sl) & 0xf;
	return route_found(id);
}

int rdma_resolve_route(struct rdma_cm_id *pub, int timeout_ms)
{
	struct cm_id *id = cm_id_of(pub);
	int err = vb_cm_fault("rdma_resolve_route");

	(void)timeout_ms;
	if (err)
		return cm_result(err);
	cm_hold();
	err = cm_check(id, 1 << ID_ADDRESSED, "rdma_resolve_route", "Call it once after rdma_resolve_addr().") ? EINVAL
													       : 0; /* V204 */
	if (!err) {
		cm_make_path(id);
		err = route_found(id);
	}
	cm_let_go();
	return err ? cm_result(err) : cm_complete(id);
}

uint16_t rdma_get_src_port(struct rdma_cm_id *id)
{
	return id ? *port_in(&id->route.addr.src_storage) : 0;
}

uint16_t rdma_get_dst_port(struct rdma_cm_id *id)
{
	return id ? *port_in(&id->route.addr.dst_storage) : 0;
}
