/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_info.c - infos of kfabric in libfabric's, and back: their attributes by kemu_attr.c, and names and addresses. */
#include "emu/kfi/provider/kemu_info.h"

#include <kfi_errno.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_personality.h"
#include "emu/kfi/provider/kemu_refuse.h"

_Static_assert((int)KFI_SOCKADDR == (int)FI_SOCKADDR && (int)KFI_SOCKADDR_IN == (int)FI_SOCKADDR_IN &&
		       (int)KFI_SOCKADDR_IN6 == (int)FI_SOCKADDR_IN6,
	       "formats of socket addresses");

const char kemu_fi_provider[] = "emu";

/* Version 1.17 has mr_mode by bits, regions without a byte, and all that kfabric 1.7 has. */
uint32_t kemu_fi_version(void)
{
	uint32_t library = fi_version(), wanted = FI_VERSION(1, 17);

	return library < wanted ? library : wanted;
}

/* --- names --- */

/* The number behind the prefix, or -1. */
static long name_number(const char *prefix, const char *name)
{
	size_t length = strlen(prefix);
	char *end;
	long number;

	if (strncmp(name, prefix, length) != 0 || name[length] < '0' || name[length] > '9')
		return -1;
	number = strtol(name + length, &end, 10);
	return *end || number > UINT16_MAX ? -1 : number;
}

static int name_to_fi(const char *prefix, bool fabric, const char *kfi, char *fi, size_t size)
{
	struct kemu_interface interface;
	long number;

	if (!prefix) {
		snprintf(fi, size, "%s", kfi);
		return 0;
	}
	number = name_number(prefix, kfi);
	if (number < 0 || kemu_interface_at((unsigned int)number, &interface))
		return -KFI_ENODATA;
	snprintf(fi, size, "%s", fabric ? interface.fabric : interface.domain);
	return 0;
}

int kemu_fabric_name_to_fi(const struct kemu_personality *personality, const char *kfi, char *fi, size_t size)
{
	return name_to_fi(personality->fabric_prefix, true, kfi, fi, size);
}

static bool names_to_fi(const struct kemu_personality *personality, const struct kfi_info *kfi, struct fi_info *fi,
			const char **why)
{
	char name[KFI_PATH_MAX];

	fi->fabric_attr->prov_name = strdup(kemu_fi_provider);
	*why = "fabric_attr->name";
	if (kfi->fabric_attr && kfi->fabric_attr->name) {
		if (kemu_fabric_name_to_fi(personality, kfi->fabric_attr->name, name, sizeof(name)))
			return false;
		fi->fabric_attr->name = strdup(name);
	}
	*why = "domain_attr->name";
	if (kfi->domain_attr && kfi->domain_attr->name) {
		if (name_to_fi(personality->domain_prefix, false, kfi->domain_attr->name, name, sizeof(name)))
			return false;
		fi->domain_attr->name = strdup(name);
	}
	return true;
}

/* --- addresses --- */

static bool address_to_fi(const struct kemu_personality *personality, const void *kfi, size_t length, void **fi, size_t *fi_length,
			  const char **why)
{
	struct sockaddr_in in;
	struct kcxi_addr cxi;

	if (!kfi)
		return true;
	if (personality->cxi_addresses) {
		if (length != sizeof(cxi))
			return false;
		memcpy(&cxi, kfi, sizeof(cxi));
		if (kemu_addr_to_socket(&cxi, &in))
			return false;
		kfi = &in;
		length = sizeof(in);
	}
	*fi = malloc(length);
	if (!*fi) {
		*why = NULL;
		return false;
	}
	memcpy(*fi, kfi, length);
	*fi_length = length;
	return true;
}

static bool addresses_to_fi(const struct kemu_personality *personality, const struct kfi_info *kfi, struct fi_info *fi,
			    const char **why)
{
	*why = "addr_format";
	if (kfi->addr_format > KFI_SOCKADDR_IN6 && !(personality->cxi_addresses && kfi->addr_format == KFI_ADDR_CXI))
		return false;
	if (personality->cxi_addresses && kfi->addr_format != KFI_FORMAT_UNSPEC && kfi->addr_format != KFI_ADDR_CXI)
		return false;
	fi->addr_format = personality->cxi_addresses ? FI_SOCKADDR_IN : kfi->addr_format;
	*why = "src_addr";
	if (!address_to_fi(personality, kfi->src_addr, kfi->src_addrlen, &fi->src_addr, &fi->src_addrlen, why))
		return false;
	*why = "dest_addr";
	return address_to_fi(personality, kfi->dest_addr, kfi->dest_addrlen, &fi->dest_addr, &fi->dest_addrlen, why);
}

/* --- infos --- */

static bool fill_fi(const struct kemu_personality *personality, const struct kfi_info *kfi, struct fi_info *fi, const char **why)
{
	static const struct kfi_ep_attr any_ep;
	static const struct kfi_domain_attr any_domain;

	fi->mode = kfi->mode & ~KFI_LOCAL_MR;
	if (!kemu_caps_to_fi(personality, kfi->caps, &fi->caps, why))
		return false;
	if (!kemu_ep_attr_to_fi(personality, kfi->ep_attr ? kfi->ep_attr : &any_ep, fi->ep_attr, why) ||
	    !kemu_domain_attr_to_fi(personality, kfi->domain_attr ? kfi->domain_attr : &any_domain, fi->domain_attr, why))
		return false;
	if (kfi->tx_attr && !kemu_tx_attr_to_fi(personality, kfi->tx_attr, fi->tx_attr, why))
		return false;
	if (kfi->rx_attr && !kemu_rx_attr_to_fi(personality, kfi->rx_attr, fi->rx_attr, why))
		return false;
	return names_to_fi(personality, kfi, fi, why) && addresses_to_fi(personality, kfi, fi, why);
}

int kemu_info_to_fi(const struct kemu_personality *personality, const char *call, const struct kfi_info *kfi, struct fi_info **fi)
{
	struct fi_info *made = fi_allocinfo();
	const char *why = NULL;

	if (made && fill_fi(personality, kfi, made, &why)) {
		*fi = made;
		return 0;
	}
	fi_freeinfo(made);
	return why ? KEMU_REFUSE(-KFI_EINVAL, "%s: %s is not what provider %s offers.", call, why, personality->prov_name)
		   : -KFI_ENOMEM;
}

static bool address_from_fi(const struct kemu_personality *personality, const void *fi, size_t length, void **kfi,
			    size_t *kfi_length)
{
	struct kcxi_addr cxi;

	if (!fi)
		return true;
	if (personality->cxi_addresses) {
		if (kemu_addr_from_socket(fi, length, &cxi))
			return true; /* the port of another program: it has no name here */
		fi = &cxi;
		length = sizeof(cxi);
	}
	*kfi = kmemdup(fi, length, GFP_KERNEL);
	*kfi_length = *kfi ? length : 0;
	return *kfi;
}

static char *name_from_fi(const char *prefix, const struct fi_info *info, const char *name)
{
	const struct sockaddr_in *in = info->src_addr;
	char text[KFI_NAME_MAX];
	int index;

	if (!prefix || !in || in->sin_family != AF_INET)
		return name ? kstrdup(name, GFP_KERNEL) : NULL;
	index = kemu_interface_of(ntohl(in->sin_addr.s_addr));
	snprintf(text, sizeof(text), "%s%d", prefix, index < 0 ? 0 : index);
	return kstrdup(text, GFP_KERNEL);
}

static bool fill_kfi(const struct kemu_personality *personality, const struct fi_info *fi, struct kfi_info *kfi)
{
	kfi->caps = kemu_caps_from_fi(personality, fi->caps);
	kfi->mode = fi->mode;
	kfi->addr_format = personality->cxi_addresses ? KFI_ADDR_CXI : fi->addr_format;
	kemu_tx_attr_from_fi(personality, fi->tx_attr, kfi->tx_attr);
	kemu_rx_attr_from_fi(personality, fi->rx_attr, kfi->rx_attr);
	if (!kemu_ep_attr_from_fi(personality, fi->ep_attr, kfi->ep_attr) ||
	    !kemu_domain_attr_from_fi(personality, fi->domain_attr, kfi->domain_attr))
		return false;
	kfi->fabric_attr->name = name_from_fi(personality->fabric_prefix, fi, fi->fabric_attr->name);
	kfi->fabric_attr->prov_name = kstrdup(personality->prov_name, GFP_KERNEL);
	kfi->domain_attr->name = name_from_fi(personality->domain_prefix, fi, fi->domain_attr->name);
	return kfi->fabric_attr->name && kfi->fabric_attr->prov_name && kfi->domain_attr->name &&
	       address_from_fi(personality, fi->src_addr, fi->src_addrlen, &kfi->src_addr, &kfi->src_addrlen) &&
	       address_from_fi(personality, fi->dest_addr, fi->dest_addrlen, &kfi->dest_addr, &kfi->dest_addrlen);
}

struct kfi_info *kemu_info_from_fi(const struct kemu_personality *personality, const struct fi_info *fi)
{
	struct kfi_info *kfi = kfi_allocinfo();

	if (kfi && !fill_kfi(personality, fi, kfi)) {
		kfi_freeinfo(kfi);
		kfi = NULL;
	}
	return kfi;
}
