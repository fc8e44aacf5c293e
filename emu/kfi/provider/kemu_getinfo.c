/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_getinfo.c - kfi_getinfo() of the provider: hints translated, libfabric's provider asked, its infos translated. */
#include <kfabric.h>
#include <kfi_errno.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/fabric.h>

#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_bits.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

struct getinfo {
	const struct kemu_personality *personality;
	const char *node, *service;
	uint64_t flags;
	const struct kfi_info *hints; /* the client's, or NULL */
	struct kfi_info *asked;       /* they with what the personality adds */
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

static int put_address(void **at, size_t *length, const struct kcxi_addr *cxi)
{
	kfree(*at);
	*at = kmemdup(cxi, sizeof(*cxi), GFP_KERNEL);
	*length = sizeof(*cxi);
	return *at ? 0 : -KFI_ENOMEM;
}

/* Node and service are the provider's to resolve where its addresses are not those of sockets. */
static int resolve(struct getinfo *get)
{
	bool source = get->flags & KFI_SOURCE;
	struct kcxi_addr cxi;
	int err;

	if (!get->personality->cxi_addresses || (!get->node && !get->service))
		return 0;
	err = kemu_addr_resolve(get->node, get->service, source, &cxi);
	if (err)
		return err;
	get->node = get->service = NULL;
	get->flags &= ~(uint64_t)KFI_SOURCE;
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
		end = &(*end)->next;
	}
	*info = first;
	return 0;
}

int kemu_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, struct kfi_info *hints,
		 struct kfi_info **info)
{
	struct getinfo get = {
		.personality = kemu_personality(), .node = node, .service = service, .flags = flags, .hints = hints
	};
	struct fi_info *list = NULL;
	int err;

	(void)version; /* nothing differs between kfabric's versions up to ours */
	EMU_KERNEL_SLEEPS("kfi_getinfo");
	if (!get.personality)
		return -KFI_EINVAL;
	if (flags & ~(uint64_t)(KFI_SOURCE | KFI_NUMERICHOST))
		return KEMU_REFUSE(-KFI_EBADFLAGS,
				   "kfi_getinfo: flags %#llx are not KFI_SOURCE, KFI_NUMERICHOST or KFI_PROV_ATTR_ONLY.",
				   (unsigned long long)flags);
	err = ask_for(&get);
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
