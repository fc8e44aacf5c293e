/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_device.c - the list of devices: EMU_DEVICES, which is their number or their names with commas between; one, emu0, if it is not
 * set. */
#include "emu/verbs/device/vb_device.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/net/os/fork.h"
#include "emu/nic/base/mutex.h"
#include "emu/verbs/start/vb_refuse.h"

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static struct vb_device *devices[VB_DEVICES_MAX] GUARDED_BY(lock);
static int count GUARDED_BY(lock) = -1; /* not made yet */

static void devices_forked(void)
{
	mutex_forked(&lock);
}

static struct fork_reset reset = { .in_child = devices_forked };

/* One for each machine, by its name: FNV-1a. With the bit of addresses that are assigned locally. */
static uint64_t machine_guid(void)
{
	char name[256] = "";
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	gethostname(name, sizeof(name) - 1);
	for (const char *at = name; *at; at++)
		hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
	return (hash & ~UINT64_C(0x03000000000000ff)) | UINT64_C(0x0200000000000000);
}

static int add_device(const char *name, size_t length) REQUIRES(lock)
{
	struct vb_device *device;

	if (count >= VB_DEVICES_MAX)
		return vb_refuse(EINVAL, "ibv_get_device_list", "EMU_DEVICES asks for more than %d devices. Ask for fewer.",
				 VB_DEVICES_MAX);
	if (!length || length >= sizeof(device->ibv.name) || memchr(name, '/', length))
		return vb_refuse(
			EINVAL, "ibv_get_device_list",
			"\"%.*s\" in EMU_DEVICES cannot be a device's name, which has 1 to %zu characters and no slash. Set a "
			"number of devices, or names with commas between, as in mlx5_0,mlx5_1.",
			(int)length, name, sizeof(device->ibv.name) - 1);
	device = calloc(1, sizeof(*device));
	if (!device)
		return ENOMEM;
	device->ibv.node_type = IBV_NODE_CA;
	device->ibv.transport_type = IBV_TRANSPORT_IB;
	memcpy(device->ibv.name, name, length);
	snprintf(device->ibv.dev_name, sizeof(device->ibv.dev_name), "uverbs%d", count);
	snprintf(device->ibv.dev_path, sizeof(device->ibv.dev_path), "/sys/class/infiniband_verbs/uverbs%d", count);
	snprintf(device->ibv.ibdev_path, sizeof(device->ibv.ibdev_path), "/sys/class/infiniband/%s", device->ibv.name);
	device->provider = &devices;
	device->guid = htobe64(machine_guid() + (uint64_t)count);
	device->index = count + 1;
	devices[count++] = device;
	return 0;
}

static int add_number(unsigned long number) REQUIRES(lock)
{
	char name[16];
	int err = 0;

	for (unsigned long i = 0; i < number && !err; i++)
		err = add_device(name, (size_t)snprintf(name, sizeof(name), "emu%lu", i));
	return err;
}

static int make_devices(void) REQUIRES(lock)
{
	const char *names = getenv("EMU_DEVICES");
	unsigned long number;
	char *end;
	int err = 0;

	count = 0;
	if (!names || !*names)
		return add_number(1);
	number = strtoul(names, &end, 10);
	if (!*end)
		return add_number(number);
	for (size_t length; !err; names += length + 1) {
		length = strcspn(names, ",");
		err = add_device(names, length);
		if (!names[length])
			break;
	}
	return err;
}

#undef ibv_get_device_list

struct ibv_device **ibv_get_device_list(int *number)
{
	struct ibv_device **list;
	int err = -fork_register(&reset);

	mutex_lock(&lock);
	if (!err && count < 0)
		err = make_devices();
	list = err ? NULL : calloc((size_t)count + 1, sizeof(*list));
	for (int i = 0; list && i < count; i++)
		list[i] = &devices[i]->ibv;
	if (number)
		*number = list ? count : 0;
	if (err)
		count = -1;
	mutex_unlock(&lock);
	if (!list)
		errno = err ? err : ENOMEM;
	return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
	return vb_device_of(device)->guid;
}

int ibv_get_device_index(struct ibv_device *device)
{
	return vb_device_of(device)->index;
}
