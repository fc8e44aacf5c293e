/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_sysfs.c - what programs read of a device through rdma-core's helpers for sysfs. There is no sysfs of an emulated device, but a
 * few files that programs ask for by name are answered. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/verbs/start/vb_abi.h"

const char *ibv_get_sysfs_path(void)
{
	return "/sys";
}

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	static const struct {
		const char *file, *text;
	} files[] = { { "board_id", "EMU0000000001" }, { "fw_ver", EMU_VERSION }, { "hca_type", "emu" }, { "node_desc", "emu" } };

	(void)dir;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (strcmp(file, files[i].file) || strlen(files[i].text) >= size)
			continue;
		return snprintf(buf, size, "%s", files[i].text);
	}
	errno = ENOENT;
	return -1;
}
