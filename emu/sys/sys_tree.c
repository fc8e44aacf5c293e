/* SPDX-License-Identifier: BSD-2-Clause */
/* sys_tree.c - the files in sysfs and /dev by which programs look at an RDMA device. They are made by what libibverbs says of the
 * devices, in a folder of the user's for each set of settings and network, where they stay for the next process. */
#include <dirent.h>
#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/sys/sys_impl.h"

enum { PATH_BYTES = 512, GIDS = 64 };

/* What is asked of libibverbs.so.1, which emurun has loaded. */
struct verbs_calls {
	struct ibv_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct ibv_device **list);
	struct ibv_context *(*open_device)(struct ibv_device *device);
	int (*close_device)(struct ibv_context *context);
	__be64 (*get_device_guid)(struct ibv_device *device);
	ssize_t (*query_gid_table)(struct ibv_context *context, struct ibv_gid_entry *entries, size_t most, uint32_t flags,
				   size_t size);
	int (*read_sysfs_file)(const char *dir, const char *file, char *buf, size_t size);
};

static bool find_calls(struct verbs_calls *calls)
{
	*(void **)&calls->get_device_list = dlsym(RTLD_DEFAULT, "ibv_get_device_list");
	*(void **)&calls->free_device_list = dlsym(RTLD_DEFAULT, "ibv_free_device_list");
	*(void **)&calls->open_device = dlsym(RTLD_DEFAULT, "ibv_open_device");
	*(void **)&calls->close_device = dlsym(RTLD_DEFAULT, "ibv_close_device");
	*(void **)&calls->get_device_guid = dlsym(RTLD_DEFAULT, "ibv_get_device_guid");
	*(void **)&calls->query_gid_table = dlsym(RTLD_DEFAULT, "_ibv_query_gid_table");
	*(void **)&calls->read_sysfs_file = dlsym(RTLD_DEFAULT, "ibv_read_sysfs_file");
	return calls->read_sysfs_file && calls->get_device_list && calls->free_device_list && calls->open_device &&
	       calls->close_device && calls->get_device_guid && calls->query_gid_table;
}

static void make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
}

/* Writes one file whole, so that a reader never sees half of it. `path` and its folders are below `root`. */
__attribute__((format(printf, 3, 4))) static void put_file(const char *root, const char *path, const char *format, ...)
{
	char whole[PATH_BYTES], part[PATH_BYTES + 16];
	va_list args;
	FILE *file;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	make_folders(whole);
	snprintf(part, sizeof(part), "%s.%d", whole, getpid());
	file = fopen(part, "we");
	if (!file)
		return;
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	if (fclose(file) || rename(part, whole))
		unlink(part);
}

/* A character device, as UCX wants to see. */
static void put_node(const char *root, const char *name)
{
	char whole[PATH_BYTES];

	snprintf(whole, sizeof(whole), "%s/dev/infiniband/%s", root, name);
	make_folders(whole);
	(void)!symlink("/dev/null", whole); /* which fails if it is there */
}

/* A file of a device: its path below the device's folder, and its text. */
static void put_own(const char *root, const char *device, const char *path, const char *text)
{
	char whole[PATH_BYTES];

	snprintf(whole, sizeof(whole), "/sys/class/infiniband/%s/%s", device, path);
	put_file(root, whole, "%s\n", text);
}

static void put_guid(const char *root, const char *device, const char *path, uint64_t guid)
{
	char text[32];

	snprintf(text, sizeof(text), "%04x:%04x:%04x:%04x", (unsigned)(guid >> 48), (unsigned)(guid >> 32 & 0xffff),
		 (unsigned)(guid >> 16 & 0xffff), (unsigned)(guid & 0xffff));
	put_own(root, device, path, text);
}

static void put_gid(const char *root, const char *device, const struct ibv_gid_entry *entry)
{
	char path[64], text[48], interface[IF_NAMESIZE] = "";
	size_t length = 0;

	for (int i = 0; i < 16; i += 2)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%02x%02x", i ? ":" : "", entry->gid.raw[i],
					   entry->gid.raw[i + 1]);
	snprintf(path, sizeof(path), "ports/1/gids/%u", entry->gid_index);
	put_own(root, device, path, text);
	snprintf(path, sizeof(path), "ports/1/gid_attrs/types/%u", entry->gid_index);
	put_own(root, device, path, "RoCE v2");
	if (!if_indextoname(entry->ndev_ifindex, interface))
		return;
	snprintf(path, sizeof(path), "ports/1/gid_attrs/ndevs/%u", entry->gid_index);
	put_own(root, device, path, interface);
	snprintf(path, sizeof(path), "device/net/%s/dev_port", interface);
	put_own(root, device, path, "0");
}

/* The files of GIDs and interfaces that the device had, and has no more. `count` below 0: nobody knows, and all stay, as other
 * processes look at them, too. */
static void drop_gone(const char *root, const char *device, const struct ibv_gid_entry *gids, ssize_t count)
{
	static const char *const folders[] = { "gids", "gid_attrs/types", "gid_attrs/ndevs" };
	char path[PATH_BYTES], port[PATH_BYTES];
	struct dirent *entry;
	uint64_t there = 0;
	DIR *dir;

	if (count < 0)
		return;
	for (ssize_t i = 0; i < count; i++)
		there |= UINT64_C(1) << gids[i].gid_index;
	for (unsigned int i = 0; i < GIDS * 3; i++) {
		snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/ports/1/%s/%u", root, device, folders[i % 3], i / 3);
		if (!(there >> i / 3 & 1))
			unlink(path);
	}
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/%s/device/net", root, device);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		unsigned int index = if_nametoindex(entry->d_name);
		ssize_t i = 0;

		while (i < count && gids[i].ndev_ifindex != index)
			i++;
		if (i < count || *entry->d_name == '.' ||
		    snprintf(port, sizeof(port), "%s/%s/dev_port", path, entry->d_name) >= (int)sizeof(port))
			continue;
		unlink(port);
		*strrchr(port, '/') = '\0';
		rmdir(port);
	}
	if (dir)
		closedir(dir);
}

static void put_device(const char *root, const struct verbs_calls *calls, struct ibv_device *device, int number)
{
	static const struct {
		const char *path, *text;
	} files[] = {
		{ "node_type", "1: CA" },
		{ "device/numa_node", "-1" },
		{ "ports/1/state", "4: ACTIVE" },
		{ "ports/1/phys_state", "5: LinkUp" },
		{ "ports/1/link_layer", "Ethernet" },
		{ "ports/1/rate", "100 Gb/sec (4X EDR)" },
		{ "ports/1/lid", "0x0" },
		{ "ports/1/pkeys/0", "0xffff" },
	};
	static const char *const asked[] = { "node_desc", "fw_ver", "hca_type", "board_id" };
	struct ibv_gid_entry gids[GIDS];
	struct ibv_context *context = calls->open_device(device);
	ssize_t count = context ? calls->query_gid_table(context, gids, GIDS, 0, sizeof(gids[0])) : -1;
	uint64_t guid = be64toh(calls->get_device_guid(device));
	char path[PATH_BYTES];

	if (context)
		calls->close_device(context);
	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (calls->read_sysfs_file(device->ibdev_path, asked[i], path, sizeof(path)) > 0)
			put_own(root, device->name, asked[i], path);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		put_own(root, device->name, files[i].path, files[i].text);
	put_guid(root, device->name, "node_guid", guid);
	put_guid(root, device->name, "sys_image_guid", guid);
	drop_gone(root, device->name, gids, count);
	for (ssize_t i = 0; i < count; i++)
		put_gid(root, device->name, &gids[i]);
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/ibdev", device->dev_name);
	put_file(root, path, "%s\n", device->name);
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/abi_version", device->dev_name);
	put_file(root, path, "1\n");
	snprintf(path, sizeof(path), "/sys/class/infiniband_verbs/%s/dev", device->dev_name);
	put_file(root, path, "231:%d\n", 192 + number);
	put_node(root, device->dev_name);
}

bool sys_tree_make(const char *root)
{
	struct verbs_calls calls;
	struct ibv_device **list;
	int count = 0;

	if (!find_calls(&calls))
		return false;
	list = calls.get_device_list(&count);
	if (!list)
		return false;
	for (int i = 0; i < count; i++)
		put_device(root, &calls, list[i], i);
	put_file(root, "/sys/class/infiniband_verbs/abi_version", "6\n");
	put_node(root, "rdma_cm");
	calls.free_device_list(list);
	return true;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (hash ^ 1) * UINT64_C(0x100000001b3);
}

/* The user's own folder, which nobody else can write. */
static bool folder_is_ours(const char *path)
{
	struct stat found;

	mkdir(path, 0700);
	return !lstat(path, &found) && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
	       !(found.st_mode & (S_IWGRP | S_IWOTH));
}

bool sys_tree_root(char *root, size_t size)
{
	static const char *const settings[] = { "EMU_DEVICES", "FI_EMU_IFACE", "FI_EMU_ADVERTISE" };
	const char *folder = getenv("XDG_RUNTIME_DIR");
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	struct stat network = { .st_ino = 0 };
	int length;

	stat("/proc/self/ns/net", &network);
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		hash = hash_text(hash, getenv(settings[i]));
	hash ^= (uint64_t)network.st_ino;
	length = snprintf(root, size, "%s/emu-%u", folder && *folder == '/' ? folder : "/tmp", (unsigned)geteuid());
	if (length < 0 || (size_t)length >= size || !folder_is_ours(root))
		return false;
	length += snprintf(root + length, size - (size_t)length, "/sys-%016llx", (unsigned long long)hash);
	return (size_t)length < size && folder_is_ours(root);
}
