/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_hmem.c - what the attributes say of the kind of memory: there is system memory alone (S85). */
#include <dirent.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <unistd.h>

#include "emu/fi/fi_domain.h"
#include "emu/fi/fi_mr_dmabuf.h"
#include "emu/fi/fi_prov.h"

/* The base page, and those that the kernel has huge ones of. */
static bool page_size_exists(size_t size)
{
	DIR *folder;
	const struct dirent *entry;
	bool found = size == (size_t)sysconf(_SC_PAGESIZE);

	folder = found ? NULL : opendir("/sys/kernel/mm/hugepages");
	while (folder && !found && (entry = readdir(folder))) {
		size_t kib;

		found = sscanf(entry->d_name, "hugepages-%zukB", &kib) == 1 && kib << 10 == size && size;
	}
	if (folder)
		closedir(folder);
	return found;
}

int mr_check_hmem(const struct emu_domain *domain, const struct compat_mr_attr *attr)
{
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 9)) && (domain->caps & FI_HMEM) && attr->iface != FI_HMEM_SYSTEM) {
		EMU_WARN(MR, "registration: iface %u: of device memory there is none, FI_HMEM is for FI_HMEM_SYSTEM (S85)\n",
			 attr->iface);
		return -FI_ENOSYS;
	}
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 19)) && attr->hmem_data) {
		EMU_WARN(MR, "registration: hmem_data is reserved and must be NULL (S142)\n");
		return -FI_EINVAL;
	}
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 22)) && attr->page_size && !page_size_exists(attr->page_size)) {
		EMU_WARN(MR, "registration: page_size %zu is none of this system's (S152)\n", attr->page_size);
		return -FI_EINVAL;
	}
	return 0;
}
