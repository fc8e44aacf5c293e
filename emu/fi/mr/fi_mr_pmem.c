/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_pmem.c - FI_RMA_PMEM takes shared mappings of files, which msync makes durable (S132). */
#include <inttypes.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/net/os/worker.h"

struct maps_line {
	uintptr_t begin, end;
	bool shared;
	const char *path; /* "" if it has none */
};

/* One line of /proc/self/maps. */
static bool maps_line_parse(char *line, struct maps_line *mapping)
{
	uint64_t begin, end;
	char rights[5];
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %*s %n", &begin, &end, rights, &path) < 3 || !path)
		return false;
	line[strcspn(line, "\n")] = '\0';
	*mapping = (struct maps_line){ .begin = begin, .end = end, .shared = rights[3] == 's', .path = line + path };
	return true;
}

static const char *unfit(const struct maps_line *mapping)
{
	static const char *const anonymous[] = { "/dev/zero", "/memfd:", "/SYSV", "anon_inode:", "[" };

	if (!mapping->shared)
		return "a private mapping, whose bytes never reach a file";
	for (size_t i = 0; i < sizeof(anonymous) / sizeof(anonymous[0]); i++)
		if (!strncmp(mapping->path, anonymous[i], strlen(anonymous[i])))
			return "anonymous memory, which no file keeps";
	return mapping->path[0] == '/' ? NULL : "not the mapping of a file";
}

/* The file lists mappings by rising address. */
static const char *check_range(FILE *maps, uintptr_t at, size_t length)
{
	struct maps_line mapping;
	char line[4608];

	rewind(maps);
	while (length && fgets(line, sizeof(line), maps)) {
		const char *why;
		size_t here;

		if (!maps_line_parse(line, &mapping) || mapping.end <= at)
			continue;
		if (mapping.begin > at)
			break;
		why = unfit(&mapping);
		if (why)
			return why;
		here = mapping.end - at;
		at = mapping.end;
		length = here < length ? length - here : 0;
	}
	return length ? "not mapped" : NULL;
}

int mr_check_pmem(const struct iovec *iov, size_t count)
{
	FILE *maps = fopen("/proc/thread-self/maps", "re");
	const char *why = NULL;
	int err;

	if (!maps) {
		err = -errno;
		EMU_WARN(MR, "fi_mr_regattr: FI_RMA_PMEM is checked by /proc/self/maps, which cannot be read (S132)\n");
		return err;
	}
	for (size_t i = 0; i < count && !why; i++) {
		why = check_range(maps, (uintptr_t)iov[i].iov_base, iov[i].iov_len);
		if (why)
			EMU_WARN(MR,
				 "fi_mr_regattr: FI_RMA_PMEM is for shared mappings of files, and of %zu B at %p some are %s "
				 "(S132)\n",
				 iov[i].iov_len, iov[i].iov_base, why);
	}
	fclose(maps);
	if (why)
		return -FI_EINVAL;
	err = worker_start(); /* the worker will flush it */
	if (err)
		EMU_WARN(MR, "fi_mr_regattr: the worker thread cannot be started: %s\n", fi_strerror(-err));
	return err;
}
