/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_av.c - address vectors. */
#include "emu/kfi/objects/kemu_open.h"

#include <kfi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

enum { KCXI_CONTEXT_BITS = 16 }; /* KCXI_EP_MAX_CTX_BITS */

static struct kemu_av *kemu_av_of(struct kfid_av *kfid)
{
	return container_of(kfid, struct kemu_av, kfid);
}

static bool has_cxi_addresses(const struct kemu_av *av)
{
	return av->domain->fabric->personality->cxi_addresses;
}

static bool names_by_index(const struct kemu_av *av)
{
	return av->domain->fabric->personality->own_index;
}

/* The entry that is meant: which context is named does not matter. */
static kfi_addr_t plain_address(const struct kemu_av *av, kfi_addr_t kfi_addr)
{
	return names_by_index(av) && av->rx_bits && kfi_addr != KFI_ADDR_UNSPEC ? kfi_addr << av->rx_bits >> av->rx_bits : kfi_addr;
}

static int take_av_flags(const char *call, uint64_t flags, uint64_t *fi)
{
	*fi = flags & (KFI_MORE | KFI_SYNC_ERR);
	return flags == *fi ? 0 : KEMU_REFUSE_FLAGS(call, flags & ~*fi, "");
}

/* One address without a name inserts nothing, as libfabric's providers do it: its number is KFI_ADDR_NOTAVAIL. */
static int insert_cxi(struct kemu_av *av, const void *addr, size_t count, kfi_addr_t *kfi_addr, uint64_t flags, void *context)
{
	struct sockaddr_in *sockets = calloc(count, sizeof(*sockets));
	struct kcxi_addr cxi;
	int rc;

	if (!sockets)
		return -KFI_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		memcpy(&cxi, (const char *)addr + i * sizeof(cxi), sizeof(cxi));
		if (cxi.pid == KEMU_PID_ANY || kemu_addr_to_socket(&cxi, &sockets[i]))
			KEMU_REFUSE(0, "kfi_av_insert: address %zu has pid %u, and pids are 0 to %d.", i, (unsigned int)cxi.pid,
				    KEMU_PIDS - 1); /* its family stays 0, which libfabric's provider refuses */
	}
	rc = fi_av_insert(av->fi, sockets, count, kfi_addr, flags, context);
	free(sockets);
	return rc;
}

static int kemu_av_insert(struct kfid_av *kfid, const void *addr, size_t count, kfi_addr_t *kfi_addr, uint64_t flags, void *context)
{
	struct kemu_av *av = kemu_av_of(kfid);
	uint64_t fi_flags;
	int err = take_av_flags("kfi_av_insert", flags, &fi_flags);

	if (err)
		return err;
	if (!addr && count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_av_insert: addr is NULL.");
	if (has_cxi_addresses(av) && count)
		return insert_cxi(av, addr, count, kfi_addr, fi_flags, context);
	return fi_av_insert(av->fi, addr, count, kfi_addr, fi_flags, context);
}

static int kemu_av_insertsvc(struct kfid_av *kfid, const char *node, const char *service, kfi_addr_t *kfi_addr, uint64_t flags,
			     void *context)
{
	struct kemu_av *av = kemu_av_of(kfid);
	struct kcxi_addr cxi;
	uint64_t fi_flags;
	int err = take_av_flags("kfi_av_insertsvc", flags, &fi_flags);

	EMU_KERNEL_SLEEPS("kfi_av_insertsvc");
	if (err)
		return err;
	if (!has_cxi_addresses(av))
		return fi_av_insertsvc(av->fi, node, service, kfi_addr, fi_flags, context);
	err = kemu_addr_resolve(node, service, false, &cxi);
	return err ? err : insert_cxi(av, &cxi, 1, kfi_addr, fi_flags, context);
}

static int kemu_av_insertsym(struct kfid_av *kfid, const char *node, size_t nodecnt, const char *service, size_t svccnt,
			     kfi_addr_t *kfi_addr, uint64_t flags, void *context)
{
	struct kemu_av *av = kemu_av_of(kfid);
	uint64_t fi_flags;
	int err = take_av_flags("kfi_av_insertsym", flags, &fi_flags);

	EMU_KERNEL_SLEEPS("kfi_av_insertsym");
	if (err)
		return err;
	if (has_cxi_addresses(av))
		return KEMU_REFUSE(-KFI_ENOSYS,
				   "kfi_av_insertsym: this provider does not have it. Call kfi_av_insertsvc() for each.");
	return fi_av_insertsym(av->fi, node, nodecnt, service, svccnt, kfi_addr, fi_flags, context);
}

static int kemu_av_remove(struct kfid_av *kfid, kfi_addr_t *kfi_addr, size_t count, uint64_t flags)
{
	if (!kfi_addr && count)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_av_remove: kfi_addr is NULL.");
	return fi_av_remove(kemu_av_of(kfid)->fi, kfi_addr, count, flags);
}

static int lookup_cxi(struct kemu_av *av, kfi_addr_t kfi_addr, void *addr, size_t *addrlen)
{
	struct sockaddr_in in;
	struct kcxi_addr cxi;
	size_t length = sizeof(in);
	int err = fi_av_lookup(av->fi, plain_address(av, kfi_addr), &in, &length);

	if (!err)
		err = kemu_addr_from_socket(&in, length, &cxi);
	if (err)
		return err;
	memcpy(addr, &cxi, *addrlen < sizeof(cxi) ? *addrlen : sizeof(cxi));
	*addrlen = sizeof(cxi);
	return 0;
}

static int kemu_av_lookup(struct kfid_av *kfid, kfi_addr_t kfi_addr, void *addr, size_t *addrlen)
{
	struct kemu_av *av = kemu_av_of(kfid);

	if (!addr || !addrlen)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_av_lookup: addr or addrlen is NULL.");
	return has_cxi_addresses(av) ? lookup_cxi(av, kfi_addr, addr, addrlen) : fi_av_lookup(av->fi, kfi_addr, addr, addrlen);
}

static const char *kemu_av_straddr(struct kfid_av *kfid, const void *addr, char *buf, size_t *len)
{
	struct kemu_av *av = kemu_av_of(kfid);
	struct kcxi_addr cxi;
	int size;

	if (!addr || !len || (!buf && *len))
		return NULL;
	if (!has_cxi_addresses(av))
		return fi_av_straddr(av->fi, addr, buf, len);
	memcpy(&cxi, addr, sizeof(cxi));
	size = snprintf(buf, *len, "kfi_addr_kcxi://nic=%#llx:pid=%u", (unsigned long long)cxi.nic, (unsigned int)cxi.pid);
	*len = (size_t)size + 1;
	return buf;
}

static struct kfi_ops_av av_ops = {
	.size = sizeof(struct kfi_ops_av),
	.insert = kemu_av_insert,
	.insertsvc = kemu_av_insertsvc,
	.insertsym = kemu_av_insertsym,
	.remove = kemu_av_remove,
	.lookup = kemu_av_lookup,
	.straddr = kemu_av_straddr,
};

static int kemu_av_bind(struct kfid *fid, struct kfid *bfid, uint64_t flags)
{
	struct kemu_av *av = container_of(fid, struct kemu_av, kfid.fid);
	struct kemu_eq *eq = kemu_eq_of(bfid, av->domain->fabric);
	int err;

	EMU_KERNEL_SLEEPS("kfi_av_bind");
	if (!eq)
		return KEMU_REFUSE(-KFI_EINVAL,
				   "kfi_av_bind: an address vector is bound to an event queue of its fabric, and to nothing else.");
	if (flags)
		return KEMU_REFUSE_FLAGS("kfi_av_bind", flags, "");
	if (av->object.bound)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_av_bind: the address vector has an event queue already.");
	err = fi_av_bind(av->fi, &eq->fi->fid, 0);
	if (!err)
		kemu_object_bind(&av->object, eq);
	return err;
}

static int kemu_av_close(struct kfid *fid)
{
	struct kemu_av *av = container_of(fid, struct kemu_av, kfid.fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = KEMU_REFUSE_USED(av->object.users, "endpoints to which the address vector is bound");
	return err ? err : kemu_object_close(&av->object, &av->fi->fid, av);
}

static struct kfi_ops av_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_av_close,
	.bind = kemu_av_bind,
	.control = kemu_no_control,
	.ops_open = kemu_no_ops_open,
};

static int open_av(struct kemu_av *av, struct kfi_av_attr *attr)
{
	struct fi_av_attr fi = { .type = (enum fi_av_type)attr->type,
				 .rx_ctx_bits = attr->rx_ctx_bits,
				 .count = attr->count,
				 .ep_per_node = attr->ep_per_node,
				 .name = attr->name,
				 .map_addr = attr->map_addr,
				 .flags = attr->flags };
	int err;

	if (attr->flags & ~(uint64_t)(KFI_EVENT | KFI_READ | KFI_SYMMETRIC))
		return KEMU_REFUSE_FLAGS("kfi_av_open", attr->flags & ~(uint64_t)(KFI_EVENT | KFI_READ | KFI_SYMMETRIC), "");
	if (has_cxi_addresses(av) && (attr->name || attr->flags & KFI_READ))
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_av_open: name or KFI_READ, and this provider shares no address vectors.");
	av->rx_bits = (unsigned int)attr->rx_ctx_bits;
	if (names_by_index(av) && attr->rx_ctx_bits >= 0 && attr->rx_ctx_bits <= KCXI_CONTEXT_BITS)
		fi.rx_ctx_bits = KEMU_CONTEXT_BITS;
	err = fi_av_open(av->domain->fi, &fi, &av->fi, av);
	if (err)
		return err;
	attr->type = (enum kfi_av_type)fi.type;
	attr->map_addr = fi.map_addr;
	return 0;
}

int kemu_av_open(struct kfid_domain *domain, struct kfi_av_attr *attr, struct kfid_av **out, void *context)
{
	struct kemu_av *av;
	int err;

	EMU_KERNEL_SLEEPS("kfi_av_open");
	if (!out || !attr)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_av_open: attr or av is NULL.");
	av = calloc(1, sizeof(*av));
	if (!av)
		return -KFI_ENOMEM;
	av->domain = kemu_domain(&domain->fid);
	av->kfid = (struct kfid_av){ .fid = { .fclass = KFI_CLASS_AV, .context = context, .ops = &av_fid_ops }, .ops = &av_ops };
	err = kemu_object_opened(&av->object, &av->domain->object.users, av, open_av(av, attr));
	if (!err)
		*out = &av->kfid;
	return err;
}
