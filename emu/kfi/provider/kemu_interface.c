/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_interface.c - this machine's interfaces, in the order in which libfabric's provider lists them. */
#include <kfabric.h>
#include <kfi_errno.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <string.h>

#include "emu/kfi/provider/kemu_addr.h"
#include "emu/kfi/provider/kemu_info.h"

/* One info for each IPv4 address. */
static int list_interfaces(struct fi_info **list)
{
	struct fi_info *hints = fi_allocinfo();
	int err = -KFI_ENOMEM;

	if (!hints)
		return err;
	hints->caps = FI_MSG;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->ep_attr->type = FI_EP_RDM;
	hints->domain_attr->mr_mode = FI_MR_ENDPOINT;
	hints->fabric_attr->prov_name = strdup(kemu_fi_provider);
	if (hints->fabric_attr->prov_name)
		err = fi_getinfo(kemu_fi_version(), NULL, NULL, 0, hints, list);
	fi_freeinfo(hints);
	return err == -KFI_ENODATA ? -KFI_ENODEV : err;
}

static uint32_t nic_of_info(const struct fi_info *info)
{
	const struct sockaddr_in *in = info->src_addr;

	return in && info->src_addrlen >= sizeof(*in) ? ntohl(in->sin_addr.s_addr) : 0;
}

int kemu_interface_at(unsigned int index, struct kemu_interface *interface)
{
	struct fi_info *list = NULL, *at;
	int err = list_interfaces(&list);

	if (err)
		return err;
	for (at = list; at && index > 0; index--)
		at = at->next;
	if (at) {
		interface->nic = nic_of_info(at);
		snprintf(interface->fabric, sizeof(interface->fabric), "%s", at->fabric_attr->name);
		snprintf(interface->domain, sizeof(interface->domain), "%s", at->domain_attr->name);
	}
	fi_freeinfo(list);
	return at ? 0 : -KFI_ENODEV;
}

int kemu_interface_of(uint32_t nic)
{
	struct fi_info *list = NULL;
	int index = 0, err = list_interfaces(&list);

	if (err)
		return err;
	for (const struct fi_info *at = list; at; at = at->next, index++)
		if (nic_of_info(at) == nic)
			break;
		else if (!at->next)
			index = -KFI_ENODEV - 1;
	fi_freeinfo(list);
	return index;
}
