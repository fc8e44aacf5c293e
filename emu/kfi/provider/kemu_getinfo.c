/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_getinfo.c - kfi_getinfo() of the provider: hints translated, libfabric's provider asked, its infos translated. */
#include <kfabric.h>
#include <kfi_errno.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/fabric.h>
#include <stdlib.h>

#include "emu/kfi/objects/kemu_open.h"
#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_objects.h"
#include "emu/kfi/provider/kemu_personality.h"

struct getinfo {
	const struct kemu_personality *personality;
	const char *node, *service;
	uint64_t flags;
	const struct kfi_info *hints; /* the client's, or NULL */
	struct kfi_info *asked;       /* they with what the personality adds */
	int pid;                      /* of each interface's address in the answer; -1: as it comes */
};

/* A copy of the hints, where missing ones become those that leave all open. */
static int ask_for(struct getinfo *get)
{
	const struct kemu_personality *personality = get->personality;
	const struct kfi_info *hints = get->hints;

	get->asked = kfi_dupinfo(hints);
	if (!get->asked)
		return -KFI_ENOMEM;
	if (!get->asked->caps)
		get->asked->caps = personality->caps;
	if (get->asked->ep_attr && personality->contexts) {
		if (!get->asked->ep_attr->tx_ctx_cnt)
			get->asked->ep_attr->tx_ctx_cnt = personality->contexts;
		if (!get->asked->ep_attr->rx_ctx_cnt)
			get->asked->ep_attr->rx_ctx_cnt = personality->contexts;
	}
	if (hints && hints->mode & KFI_LOCAL_MR && get->asked->domain_attr)
		get->asked->domain_attr->mode |= KFI_LOCAL_MR;
	return 0;
}

/* An open object in the hints names the infos that are meant. A name beside it must be the object's. */
static int name_of_open(const char *what, char *name, char **asked)
{
	int err = 0;

	if (!name || (*asked && strcmp(*asked, name) != 0))
		err = KEMU_REFUSE(-KFI_ENODATA, "kfi_getinfo: hints->%s is not open%s.", what,
				  name ? " by the name beside it" : "");
	if (!err && !*asked)
		*asked = kstrdup(name, GFP_KERNEL);
	if (!err && !*asked)
		err = -KFI_ENOMEM;
	free(name);
	return err;
}

/* kfi_fabric(3), kfi_domain(3): an instance that is open restricts the answer to it. */
static int restrict_to_open(const struct getinfo *get)
{
	const struct kfid_fabric *fabric = get->asked->fabric_attr ? get->asked->fabric_attr->fabric : NULL;
	const struct kfid_domain *domain = get->asked->domain_attr ? get->asked->domain_attr->domain : NULL;
	int err = 0;

	if (fabric)
		err = name_of_open("fabric_attr->fabric", kemu_fabric_name(fabric), &get->asked->fabric_attr->name);
	if (!err && domain)
		err = name_of_open("domain_attr->domain", kemu_domain_name(domain, fabric), &get->asked->domain_attr->name);
	return err;
}

static int put_address(void **at, size_t *length, const struct kcxi_addr *cxi)
{
	kfree(*at);
	*at = kmemdup(cxi, sizeof(*cxi), GFP_KERNEL);
	*length = sizeof(*cxi);
	return *at ? 0 : -KFI_ENOMEM;
}

/* Node and service are the provider's to resolve where its addresses are not those of sockets. KFI_SOURCE without a node means the
 * address of each interface, as with HPE's provider (kcxi_getinfo()). */
static int resolve(struct getinfo *get)
{
	bool source = get->flags & KFI_SOURCE, each = source && !get->node;
	struct kcxi_addr cxi;
	int err;

	if (each && (!get->service || get->personality->cxi_addresses)) {
		get->flags &= ~(uint64_t)KFI_SOURCE;
		kfree(get->asked->src_addr); /* which KFI_SOURCE ignores */
		get->asked->src_addr = NULL;
		get->asked->src_addrlen = 0;
	}
	if (!get->personality->cxi_addresses || (!get->node && !get->service))
		return 0;
	err = kemu_addr_resolve(get->node, get->service, source, &cxi);
	if (err)
		return err;
	get->node = get->service = NULL;
	get->flags &= ~(uint64_t)KFI_SOURCE;
	if (each) {
		get->pid = cxi.pid;
		return 0;
	}
	if (source)
		return put_address(&get->asked->src_addr, &get->asked->src_addrlen, &cxi);
	return put_address(&get->asked->dest_addr, &get->asked->dest_addrlen, &cxi);
}

/* Where a client says nothing of the domain, it takes any mr_mode. */
static int any_mr_mode(const struct getinfo *get)
{
	int mr_mode;

	kemu_fi_mr_mode(get->personality->mr_mode, &mr_mode);
	return mr_mode;
}

static int ask_libfabric(struct getinfo *get, struct fi_info **list)
{
	struct fi_info *fi = NULL;
	int err = kemu_info_to_fi(get->personality, "kfi_getinfo", get->asked, &fi);

	if (err)
		return err == -KFI_EINVAL ? -KFI_ENODATA : err;
	if (!get->hints || !get->hints->domain_attr)
		fi->domain_attr->mr_mode = any_mr_mode(get);
	err = fi_getinfo(kemu_fi_version(), get->node, get->service, get->flags, fi, list);
	fi_freeinfo(fi);
	return err;
}

/* What the info says of objects that the client has open: the one that it named, else the first by the name. */
static void tell_open(const struct getinfo *get, struct kfi_info *info)
{
	struct kfid_fabric *fabric = get->asked->fabric_attr ? get->asked->fabric_attr->fabric : NULL;
	struct kfid_domain *domain = get->asked->domain_attr ? get->asked->domain_attr->domain : NULL;

	if (domain)
		fabric = &kemu_domain(&domain->fid)->fabric->kfid;
	info->fabric_attr->fabric = fabric ? fabric : kemu_fabric_named(info->fabric_attr->name);
	info->domain_attr->domain = domain ? domain : kemu_domain_named(info->domain_attr->name, info->fabric_attr->fabric);
}

static void tell_pid(const struct getinfo *get, struct kfi_info *info)
{
	struct kcxi_addr cxi;

	if (get->pid < 0 || !info->src_addr)
		return;
	memcpy(&cxi, info->src_addr, sizeof(cxi));
	cxi.pid = (uint16_t)get->pid;
	memcpy(info->src_addr, &cxi, sizeof(cxi));
}

static int translate(const struct getinfo *get, const struct fi_info *list, struct kfi_info **info)
{
	bool local_mr = get->asked->domain_attr && get->asked->domain_attr->mode & KFI_LOCAL_MR;
	struct kfi_info *first = NULL, **end = &first;

	for (; list; list = list->next) {
		*end = kemu_info_from_fi(get->personality, list);
		if (!*end) {
			kfi_freeinfo(first);
			return -KFI_ENOMEM;
		}
		if (local_mr && (*end)->domain_attr->mr_mode & KFI_MR_LOCAL) {
			(*end)->mode |= KFI_LOCAL_MR;
			(*end)->domain_attr->mode |= KFI_LOCAL_MR;
		}
		tell_open(get, *end);
		tell_pid(get, *end);
		end = &(*end)->next;
	}
	*info = first;
	return 0;
}

int kemu_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
		 struct kfi_info **info)
{
	struct getinfo get = {
		.personality = kemu_personality(), .node = node, .service = service, .flags = flags, .hints = hints, .pid = -1
	};
	struct fi_info *list = NULL;
	int err;

	(void)version; /* nothing differs between kfabric's versions up to ours */
	EMU_KERNEL_SLEEPS("kfi_getinfo");
	if (!get.personality)
		return -KFI_EINVAL;
	if (flags & ~(uint64_t)(KFI_SOURCE | KFI_NUMERICHOST))
		return KEMU_REFUSE_FLAGS("kfi_getinfo", flags & ~(uint64_t)(KFI_SOURCE | KFI_NUMERICHOST), "");
	err = ask_for(&get);
	if (!err)
		err = restrict_to_open(&get);
	if (!err)
		err = resolve(&get);
	if (!err)
		err = ask_libfabric(&get, &list);
	if (!err)
		err = translate(&get, list, info);
	fi_freeinfo(list);
	kfi_freeinfo(get.asked);
	return err;
}
