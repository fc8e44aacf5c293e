/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_ah.c - address handles are made, by a program's words or by a message that came. */
#include "emu/verbs/qp/vb_ah.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/device/nic.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/device/vb_device.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/regions/vb_pd.h"
#include "emu/verbs/start/vb_refuse.h"
#include "wire/gid.h"

enum { FLOW_BITS = 20, FLOW_MASK = (1 << FLOW_BITS) - 1, SL_MASK = 15, IPV4_AT = 20, NEXT_UDP = 17 };

struct vb_ah {
	struct ibv_ah ibv;
	struct vb_pd *pd;
	struct datagram_to to; /* without numbers of the receiver */
	struct check_record *check;
};

static atomic_uint open_ahs; /* of the process */

bool vb_gid_is_group(const union ibv_gid *gid)
{
	return gid->raw[0] == 0xff || (wire_gid_is_ipv4(gid->raw) && gid->raw[12] >> 4 == 14);
}

const struct datagram_to *vb_ah_to(const struct ibv_ah *ibv, const struct vb_pd **pd)
{
	const struct vb_ah *ah = (const struct vb_ah *)ibv;

	*pd = ah->pd;
	return &ah->to;
}

int vb_ah_addresses(const char *call, const struct ibv_ah_attr *path, struct vb_gid *own, struct sockaddr_storage *peer)
{
	if (!vb_gid_get(path->grh.sgid_index, own))
		return vb_refuse(
			EINVAL, call,
			"the port has no GID at ah_attr.grh.sgid_index %u. ibv_query_gid_table() lists those that there are.",
			path->grh.sgid_index);
	vb_gid_address(&path->grh.dgid, own->ifindex, peer);
	if (vb_gid_is_group(&path->grh.dgid))
		return 0;
	if (own->at.ss_family != peer->ss_family)
		return vb_refuse(
			EINVAL, call,
			"ah_attr.grh.dgid and the GID of sgid_index %u are of different families (IPv4, IPv6). Use the GID of "
			"the peer's interface in the same network.",
			path->grh.sgid_index);
	vb_gid_check_route(call, path->grh.sgid_index, own, peer);
	return 0;
}

static bool is_mapped_index(unsigned int index)
{
	struct vb_gid own;

	return vb_gid_get(index, &own) && wire_gid_is_ipv4(own.gid.raw);
}

/* What the path of an address handle could not mean. */
static int ah_check(const char *call, const struct ibv_ah_attr *path)
{
	static const union ibv_gid none;

	if (path->port_num < 1 || path->port_num > VB_PORTS)
		return vb_refuse(EINVAL, call, "port_num is %u, and the device has one port, 1.", path->port_num);
	if (!path->is_global) /* V150 */
		return vb_refuse(EINVAL, call,
				 "is_global is 0: a port of link layer Ethernet needs a GRH with the receiver's GID.");
	if (!memcmp(&path->grh.dgid, &none, sizeof(none)))
		return vb_refuse(EINVAL, call, "grh.dgid is zero, and no receiver's GID.");
	if (path->grh.dgid.raw[0] != 0xff && vb_gid_is_group(&path->grh.dgid) && !is_mapped_index(path->grh.sgid_index))
		return vb_refuse(EINVAL, call, "grh.dgid is a group of IPv4, and the GID of sgid_index %u an address of IPv6.",
				 path->grh.sgid_index);
	return 0;
}

static int ah_fill(struct vb_ah *ah, struct ibv_pd *pd, const struct ibv_ah_attr *path, const char *call)
{
	struct vb_gid own;
	int err = ah_check(call, path);

	if (!err)
		err = vb_ah_addresses(call, path, &own, &ah->to.at);
	if (err)
		return err;
	ah->pd = vb_pd_of(pd);
	ah->ibv.context = pd->context;
	ah->ibv.pd = pd;
	memcpy(ah->to.sgid, own.gid.raw, sizeof(ah->to.sgid));
	memcpy(ah->to.dgid, path->grh.dgid.raw, sizeof(ah->to.dgid));
	ah->to.flow_label = path->grh.flow_label & FLOW_MASK; /* as drivers do: UCX sets more */
	ah->to.interface = own.ifindex;
	ah->to.traffic_class = path->grh.traffic_class;
	ah->to.hop_limit = path->grh.hop_limit;
	ah->to.sl = path->sl & SL_MASK;
	return 0;
}

static struct ibv_ah *ah_open(struct ibv_pd *pd, const struct ibv_ah_attr *path, const char *call)
{
	static atomic_uint handles;
	struct vb_ah *ah;
	int err;

	if (vb_pd_check(pd, call) || vb_count_take(&open_ahs, VB_MAX_AH, call, "address handles", "max_ah"))
		return NULL;
	ah = calloc(1, sizeof(*ah));
	err = ah ? ah_fill(ah, pd, path, call) : ENOMEM;
	if (err) {
		free(ah);
		vb_count_give(&open_ahs);
		errno = err;
		return NULL;
	}
	ah->ibv.handle = atomic_fetch_add(&handles, 1);
	ah->check = check_opened(&(struct check_what){ .name = "address handle", .end = "ibv_destroy_ah" });
	vb_pd_get(ah->pd);
	return &ah->ibv;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	return ah_open(pd, attr, "ibv_create_ah");
}

int ibv_destroy_ah(struct ibv_ah *ibv)
{
	struct vb_ah *ah = (struct vb_ah *)ibv;

	check_closed(ah->check);
	vb_pd_put(ah->pd);
	vb_count_give(&open_ahs);
	free(ah);
	return 0;
}

/* --- by a message that came (V152) --- */

/* The sum of a header whose check is right is all ones (RFC 1071). */
static bool is_ipv4_header(const uint8_t *header)
{
	uint32_t sum = 0;

	if (header[0] != 0x45)
		return false;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16) == 0xffff;
}

/* What the 40 bytes say: the sender's GID into `route`, and the receiver's. False: they are no header that the device writes. */
static bool read_grh(const uint8_t *bytes, struct ibv_global_route *route, union ibv_gid *own)
{
	uint32_t first;

	if (is_ipv4_header(bytes + IPV4_AT)) {
		wire_gid_map(bytes + IPV4_AT + 12, route->dgid.raw);
		wire_gid_map(bytes + IPV4_AT + 16, own->raw);
		route->traffic_class = bytes[IPV4_AT + 1];
		route->hop_limit = bytes[IPV4_AT + 8];
		return true;
	}
	memcpy(&first, bytes, sizeof(first));
	first = be32toh(first);
	if (first >> 28 != 6 || bytes[6] != NEXT_UDP)
		return false;
	memcpy(route->dgid.raw, bytes + 8, sizeof(route->dgid.raw));
	memcpy(own->raw, bytes + 24, sizeof(own->raw));
	route->flow_label = first & FLOW_MASK;
	route->traffic_class = (uint8_t)(first >> FLOW_BITS);
	route->hop_limit = bytes[7];
	return true;
}

/* The index of the own GID; of a message to a group, that of an address in the sender's network. -1: none. */
static int find_own_gid(const union ibv_gid *own, const union ibv_gid *sender)
{
	struct vb_gid entry;
	int family = -1;

	for (unsigned int i = 0; i < VB_GIDS; i++) {
		if (!vb_gid_get(i, &entry))
			continue;
		if (!memcmp(&entry.gid, own, sizeof(*own)))
			return (int)i;
		if (vb_gid_is_group(own) && family < 0 && wire_gid_is_ipv4(entry.gid.raw) == wire_gid_is_ipv4(sender->raw) &&
		    entry.gid.raw[0] == sender->raw[0])
			family = (int)i;
	}
	return family;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port, struct ibv_wc *wc, struct ibv_grh *grh, struct ibv_ah_attr *attr)
{
	static const char call[] = "ibv_init_ah_from_wc";
	uint8_t bytes[sizeof(*grh)];
	union ibv_gid own;
	int index;

	(void)context;
	*attr = (struct ibv_ah_attr){ .dlid = wc->slid, .sl = wc->sl, .src_path_bits = wc->dlid_path_bits, .port_num = port };
	if (!(wc->wc_flags & IBV_WC_GRH))
		return 0;
	memcpy(bytes, grh, sizeof(bytes));
	attr->is_global = 1;
	if (!read_grh(bytes, &attr->grh, &own))
		return vb_refuse(EPROTONOSUPPORT, call,
				 "grh has neither an IPv6 header nor an IPv4 header at byte %d: it is to be the "
				 "first 40 bytes of the receive's buffer.",
				 IPV4_AT),
		       -1;
	index = find_own_gid(&own, &attr->grh.dgid);
	if (index < 0)
		return vb_refuse(ENOENT, call, "the port has no GID that is the receiver's in grh."), -1;
	attr->grh.sgid_index = (uint8_t)index;
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port)
{
	struct ibv_ah_attr attr;

	if (ibv_init_ah_from_wc(pd->context, port, wc, grh, &attr))
		return NULL;
	return ah_open(pd, &attr, "ibv_create_ah_from_wc");
}
