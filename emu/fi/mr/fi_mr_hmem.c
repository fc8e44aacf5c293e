/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_hmem.c - the attributes for the kind of memory: there is system memory alone (S85). */
#include <dirent.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <unistd.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/mr/fi_mr_dmabuf.h"
#include "emu/fi/provider/fi_refuse.h"

/* The base page's size, and the kernel's sizes of huge pages. */
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
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 9)) && (domain->caps & FI_HMEM) && attr->iface != FI_HMEM_SYSTEM)
		return REFUSE(MR, -FI_ENOSYS,
			      "fi_mr_regattr: iface %u: there is no device memory, FI_HMEM is for "
			      "FI_HMEM_SYSTEM (S85).",
			      attr->iface);
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 19)) && attr->hmem_data)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: hmem_data is reserved and must be NULL (S142).");
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 22)) && attr->page_size && !page_size_exists(attr->page_size))
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: page_size %zu is none of this system's (S152).", attr->page_size);
	return 0;
}
