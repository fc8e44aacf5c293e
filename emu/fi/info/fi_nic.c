/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_nic.c - the device is emu's own, with the name of the interface that it works over; the link is this interface's, as the
 * kernel tells in /sys: what it does not tell is 0. The bus is FI_BUS_UNKNOWN, since an emulated NIC is no PCI device: programs
 * look for such a device in the machine's topology, and MPICH ends if it is not there. */
#include "emu/fi/info/fi_info.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/address/fi_addr.h"

static const char *const link_names[] = { "FI_LINK_UNKNOWN", "FI_LINK_DOWN", "FI_LINK_UP" };

/* --- what the kernel tells --- */

/* A number of the interface; 0: there is none, or it is negative, as the speed of a virtual link is. */
static size_t link_number(const char *iface, const char *name)
{
	char path[64 + IF_NAMESIZE];
	long long value = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", iface, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (fscanf(file, "%lld", &value) != 1 || value < 0)
		value = 0;
	fclose(file);
	return (size_t)value;
}

static char *host_text(const struct sockaddr_storage *addr)
{
	char text[INET6_ADDRSTRLEN];
	const void *host = addr->ss_family == AF_INET ? (const void *)&((const struct sockaddr_in *)addr)->sin_addr
						      : (const void *)&((const struct sockaddr_in6 *)addr)->sin6_addr;

	return inet_ntop(addr->ss_family, host, text, sizeof(text)) ? strdup(text) : NULL;
}

/* --- the calls --- */

static int fi_nic_close(struct fid *fid)
{
	struct fid_nic *nic = (struct fid_nic *)fid;

	if (nic->device_attr) {
		free(nic->device_attr->name);
		free(nic->device_attr->device_id);
		free(nic->device_attr->device_version);
		free(nic->device_attr->vendor_id);
		free(nic->device_attr->driver);
		free(nic->device_attr->firmware);
	}
	if (nic->link_attr) {
		free(nic->link_attr->address);
		free(nic->link_attr->network_type);
	}
	free(nic->device_attr);
	free(nic->bus_attr);
	free(nic->link_attr);
	free(nic);
	return 0;
}

static bool nic_text(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

/* A NIC with these attributes; NULL: no memory. */
static struct fid_nic *nic_copy(const struct fid_nic *from)
{
	struct fid_nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return NULL;
	nic->fid = from->fid;
	nic->device_attr = calloc(1, sizeof(*nic->device_attr));
	nic->bus_attr = calloc(1, sizeof(*nic->bus_attr));
	nic->link_attr = calloc(1, sizeof(*nic->link_attr));
	if (nic->device_attr && nic->bus_attr && nic->link_attr) {
		struct fi_device_attr *device = nic->device_attr;

		*nic->bus_attr = *from->bus_attr;
		*nic->link_attr = *from->link_attr;
		nic->link_attr->address = nic->link_attr->network_type = NULL;
		if (nic_text(&device->name, from->device_attr->name) &&
		    nic_text(&device->device_id, from->device_attr->device_id) &&
		    nic_text(&device->device_version, from->device_attr->device_version) &&
		    nic_text(&device->vendor_id, from->device_attr->vendor_id) &&
		    nic_text(&device->driver, from->device_attr->driver) &&
		    nic_text(&device->firmware, from->device_attr->firmware) &&
		    nic_text(&nic->link_attr->address, from->link_attr->address) &&
		    nic_text(&nic->link_attr->network_type, from->link_attr->network_type))
			return nic;
	}
	fi_nic_close(&nic->fid);
	return NULL;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	struct fid_nic **copy = arg;

	if (command != FI_DUP)
		return -FI_ENOSYS;
	*copy = nic_copy((const struct fid_nic *)fid);
	return *copy ? 0 : -FI_ENOMEM;
}

/* Appends, and cuts off what has no room: `len` is all that libfabric promises of `buf`. */
__attribute__((format(printf, 3, 4))) static void nic_say(char *buf, size_t len, const char *format, ...)
{
	size_t at = strnlen(buf, len);
	va_list args;

	va_start(args, format);
	if (at < len)
		vsnprintf(buf + at, len - at, format, args);
	va_end(args);
}

static int nic_tostr(const struct fid *fid, char *buf, size_t len)
{
	const struct fid_nic *nic = (const struct fid_nic *)fid;
	const struct fi_device_attr *device = nic->device_attr;
	const struct fi_link_attr *link = nic->link_attr;

	nic_say(buf, len,
		"    nic:\n        fi_device_attr:\n            name: %s\n            device_id: %s\n"
		"            device_version: %s\n            vendor_id: %s\n            driver: %s\n            firmware: %s\n",
		device->name, device->device_id, device->device_version, device->vendor_id, device->driver, device->firmware);
	nic_say(buf, len,
		"        fi_bus_attr:\n            bus_type: FI_BUS_UNKNOWN\n        fi_link_attr:\n            address: %s\n"
		"            mtu: %zu\n            speed: %zu\n"
		"            state: %s\n            network_type: %s\n",
		link->address, link->mtu, link->speed, link->state <= FI_LINK_UP ? link_names[link->state] : "unknown",
		link->network_type);
	return 0;
}

static struct fi_ops nic_ops = {
	.size = sizeof(nic_ops),
	.close = fi_nic_close,
	.control = nic_control,
	.tostr = nic_tostr,
};

struct fid_nic *nic_make(const struct local_addr *local)
{
	static char driver[] = "emu", device_id[] = "emulated", version[] = EMU_VERSION, network[] = "Ethernet";
	struct local_addr interface = *local; /* a name that is not const, as the attributes' are not */
	struct fi_device_attr device = {
		.name = interface.iface,
		.device_id = device_id,
		.device_version = version,
		.vendor_id = driver,
		.driver = driver,
		.firmware = version,
	};
	struct fi_bus_attr bus = { .bus_type = FI_BUS_UNKNOWN };
	struct fi_link_attr link = {
		.address = host_text(&local->addr),
		.mtu = link_number(local->iface, "mtu"),
		.speed = link_number(local->iface, "speed") * 1000000, /* of megabits a second */
		.state = FI_LINK_UP,                                   /* addr_local() lists no others */
		.network_type = network,
	};
	struct fid_nic whole = {
		.fid = { .fclass = FI_CLASS_NIC, .ops = &nic_ops }, .device_attr = &device, .bus_attr = &bus, .link_attr = &link
	};
	struct fid_nic *nic;

	nic = nic_copy(&whole);
	free(link.address);
	return nic;
}
