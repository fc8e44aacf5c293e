/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_info.c - infos: made, copied with all that they own, and freed. */
#include <kfabric.h>
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

static void free_one(struct kfi_info *info)
{
	kfree(info->src_addr);
	kfree(info->dest_addr);
	kfree(info->tx_attr);
	kfree(info->rx_attr);
	if (info->ep_attr)
		kfree(info->ep_attr->auth_key);
	kfree(info->ep_attr);
	if (info->domain_attr) {
		kfree(info->domain_attr->name);
		kfree(info->domain_attr->auth_key);
	}
	kfree(info->domain_attr);
	if (info->fabric_attr) {
		kfree(info->fabric_attr->name);
		kfree(info->fabric_attr->prov_name);
	}
	kfree(info->fabric_attr);
	kfree(info);
}

void kfi_freeinfo(struct kfi_info *info)
{
	while (info) {
		struct kfi_info *next = info->next;

		free_one(info);
		info = next;
	}
}
EXPORT_SYMBOL(kfi_freeinfo);

struct kfi_info *kfi_allocinfo(void)
{
	struct kfi_info *info = kzalloc(sizeof(*info), GFP_KERNEL);

	if (!info)
		return NULL;
	info->tx_attr = kzalloc(sizeof(*info->tx_attr), GFP_KERNEL);
	info->rx_attr = kzalloc(sizeof(*info->rx_attr), GFP_KERNEL);
	info->ep_attr = kzalloc(sizeof(*info->ep_attr), GFP_KERNEL);
	info->domain_attr = kzalloc(sizeof(*info->domain_attr), GFP_KERNEL);
	info->fabric_attr = kzalloc(sizeof(*info->fabric_attr), GFP_KERNEL);
	if (info->tx_attr && info->rx_attr && info->ep_attr && info->domain_attr && info->fabric_attr)
		return info;
	kfi_freeinfo(info);
	return NULL;
}
EXPORT_SYMBOL(kfi_allocinfo);

/* A copy, or NULL for nothing; without memory *whole is false from then on. */
static void *copy_of(const void *from, size_t size, bool *whole)
{
	void *to;

	if (!from || !size)
		return NULL;
	to = kmemdup(from, size, GFP_KERNEL);
	*whole &= to != NULL;
	return to;
}

static char *copy_text(const char *from, bool *whole)
{
	return copy_of(from, from ? strlen(from) + 1 : 0, whole);
}

static struct kfi_ep_attr *copy_ep_attr(const struct kfi_ep_attr *from, bool *whole)
{
	struct kfi_ep_attr *to = copy_of(from, sizeof(*from), whole);

	if (to)
		to->auth_key = copy_of(from->auth_key, from->auth_key_size, whole);
	return to;
}

static struct kfi_domain_attr *copy_domain_attr(const struct kfi_domain_attr *from, bool *whole)
{
	struct kfi_domain_attr *to = copy_of(from, sizeof(*from), whole);

	if (to) {
		to->name = copy_text(from->name, whole);
		to->auth_key = copy_of(from->auth_key, from->auth_key_size, whole);
	}
	return to;
}

static struct kfi_fabric_attr *copy_fabric_attr(const struct kfi_fabric_attr *from, bool *whole)
{
	struct kfi_fabric_attr *to = copy_of(from, sizeof(*from), whole);

	if (to) {
		to->name = copy_text(from->name, whole);
		to->prov_name = copy_text(from->prov_name, whole);
	}
	return to;
}

/* Every pointer that a copy owns is replaced, also without memory: what is incomplete can be freed. */
struct kfi_info *kfi_dupinfo(const struct kfi_info *info)
{
	bool whole = true;
	struct kfi_info *to;

	if (!info)
		return kfi_allocinfo();
	to = copy_of(info, sizeof(*info), &whole);
	if (!to)
		return NULL;
	to->next = NULL;
	to->src_addr = copy_of(info->src_addr, info->src_addrlen, &whole);
	to->dest_addr = copy_of(info->dest_addr, info->dest_addrlen, &whole);
	to->tx_attr = copy_of(info->tx_attr, sizeof(*info->tx_attr), &whole);
	to->rx_attr = copy_of(info->rx_attr, sizeof(*info->rx_attr), &whole);
	to->ep_attr = copy_ep_attr(info->ep_attr, &whole);
	to->domain_attr = copy_domain_attr(info->domain_attr, &whole);
	to->fabric_attr = copy_fabric_attr(info->fabric_attr, &whole);
	if (whole)
		return to;
	kfi_freeinfo(to);
	return NULL;
}
EXPORT_SYMBOL(kfi_dupinfo);
