/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_gid_query.c - the GID table as programs ask for it. */
#include <errno.h>
#include <string.h>

#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/device/vb_gid.h"
#include "emu/verbs/start/vb_refuse.h"

static bool gid_may_be(const char *call, unsigned int port, unsigned int index)
{
	if (port >= 1 && port <= VB_PORTS && index < VB_GIDS)
		return true;
	vb_refuse(EINVAL, call, "port %u, index %u: there is one port, 1, and its table has the indexes 0 to %d.", port, index,
		  VB_GIDS - 1);
	return false;
}

/* An index without a GID has one of zeros, as in sysfs. */
int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
	struct vb_gid entry;

	if (vb_fault("ibv_query_gid", context, 0) || !gid_may_be("ibv_query_gid", port, (unsigned int)index))
		return -1;
	memset(gid, 0, sizeof(*gid));
	if (vb_gid_get((unsigned int)index, &entry))
		*gid = entry.gid;
	return 0;
}

static struct ibv_gid_entry gid_entry(const struct vb_gid *gid, unsigned int index)
{
	return (struct ibv_gid_entry){ .gid = gid->gid,
				       .gid_index = index,
				       .port_num = VB_PORTS,
				       .gid_type = IBV_GID_TYPE_ROCE_V2,
				       .ndev_ifindex = gid->ifindex };
}

/* The program's structure may be longer. */
static void give(void *to, size_t size, const struct ibv_gid_entry *entry)
{
	if (size > sizeof(*entry))
		memset((char *)to + sizeof(*entry), 0, size - sizeof(*entry));
	memcpy(to, entry, size < sizeof(*entry) ? size : sizeof(*entry));
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry, uint32_t flags,
		      size_t size)
{
	struct ibv_gid_entry found;
	struct vb_gid gid;
	int err = vb_fault("ibv_query_gid", context, 0);

	if (err)
		return err;
	if (flags)
		return vb_refuse(EINVAL, "ibv_query_gid_ex", "flags are %#x, and there are none.", flags);
	if (!gid_may_be("ibv_query_gid_ex", port, index))
		return EINVAL;
	if (!vb_gid_get(index, &gid))
		return ENODATA;
	found = gid_entry(&gid, index);
	give(entry, size, &found);
	return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most, uint32_t flags, size_t size)
{
	struct ibv_gid_entry found;
	struct vb_gid gid;
	size_t count = 0;
	int err = vb_fault("ibv_query_gid", context, 0);

	if (err)
		return -err;
	if (flags)
		return -vb_refuse(EINVAL, "ibv_query_gid_table", "flags are %#x, and there are none.", flags);
	for (unsigned int i = 0; i < VB_GIDS; i++) {
		if (!vb_gid_get(i, &gid))
			continue;
		if (count == most)
			return -vb_refuse(EINVAL, "ibv_query_gid_table", "entries has room for %zu, and the table has more.", most);
		found = gid_entry(&gid, i);
		give((char *)entries + count++ * size, size, &found);
	}
	return (ssize_t)count;
}

int vb_query_gid_type(struct ibv_context *context, uint8_t port, unsigned int index, enum vb_gid_type *type)
{
	(void)context;
	if (!gid_may_be("ibv_query_gid_type", port, index))
		return -1;
	*type = VB_GID_TYPE_ROCE_V2;
	return 0;
}
