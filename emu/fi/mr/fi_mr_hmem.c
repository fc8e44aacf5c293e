/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_hmem.c - the kind of memory that a region has: what the attributes say of it, and where the bytes of a device's are. */
#include <dirent.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <unistd.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/mr/fi_mr.h"
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

/* By number: the first API version that has the interface, and the one that has its member of `device`. */
static const struct {
	uint32_t since, device_since;
} ifaces[EMU_HMEM_IFACES] = {
	[FI_HMEM_SYSTEM] = { FI_VERSION(1, 9), FI_VERSION(1, 9) },
	[FI_HMEM_CUDA] = { FI_VERSION(1, 9), FI_VERSION(1, 9) },
	[FI_HMEM_ROCR] = { FI_VERSION(1, 11), FI_VERSION(2, 5) },
	[FI_HMEM_ZE] = { FI_VERSION(1, 11), FI_VERSION(1, 11) },
	[EMU_HMEM_NEURON] = { FI_VERSION(1, 15), FI_VERSION(1, 15) },
	[EMU_HMEM_SYNAPSEAI] = { FI_VERSION(1, 16), FI_VERSION(1, 16) },
};

/* S85, S138 to S140, S144. */
static int check_device(struct emu_domain *domain, const struct compat_mr_attr *attr, struct mr_request *req)
{
	const struct emu_hmem_ops *hmem = domain_find_hmem(domain);
	int device = *(const int *)&attr->device, count;

	if (attr->iface >= EMU_HMEM_IFACES || FI_VERSION_LT(domain->api, ifaces[attr->iface].since))
		return REFUSE(MR, -FI_ENOSYS, "fi_mr_regattr: iface %u is none of enum fi_hmem_iface (S85).", attr->iface);
	count = hmem ? hmem->devices(attr->iface) : 0;
	if (!count)
		return REFUSE(
			MR, -FI_ENOSYS,
			"fi_mr_regattr: iface %u: this process has no such device (S85). FI_EMU_HMEM emulates some, for programs "
			"that have loaded libemu-hmem.so.",
			attr->iface);
	req->iface = attr->iface;
	if (req->flags & FI_HMEM_HOST_ALLOC || FI_VERSION_LT(domain->api, ifaces[attr->iface].device_since))
		return 0;
	if (device < 0 || device >= count)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: device %d of %s, which has %d (S140).", device,
			      hmem->iface_name(attr->iface), count);
	req->device = device;
	return 0;
}

int mr_check_hmem(struct emu_domain *domain, const struct compat_mr_attr *attr, struct mr_request *req)
{
	int err = 0;

	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 9)) && (domain->caps & FI_HMEM) && attr->iface != FI_HMEM_SYSTEM)
		err = check_device(domain, attr, req);
	if (err || domain->hooked)
		return err;
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 19)) && attr->hmem_data)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: hmem_data is reserved and must be NULL (S142).");
	if (FI_VERSION_GE(domain->api, FI_VERSION(1, 22)) && attr->page_size && !page_size_exists(attr->page_size))
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: page_size %zu is none of this system's (S152).", attr->page_size);
	return 0;
}

/* Finds the device whose memory all segments are: 0 and *info, which is of the first one; FI_HMEM_SYSTEM: no device's. */
static int find_owner(const struct emu_hmem_ops *hmem, const struct mr_request *req, struct emu_hmem_info *owner)
{
	struct emu_hmem_info info;
	char why[HMEM_WHY_SIZE];

	for (size_t i = 0; i < req->count; i++) {
		const struct iovec *segment = &req->iov[i];
		int err = hmem->query(segment->iov_base, segment->iov_len, &info);

		if (err == -FI_EFAULT)
			return REFUSE(MR, err, "fi_mr_reg: %zu B at %p: %s.", segment->iov_len, segment->iov_base,
				      hmem_why(hmem, segment->iov_base, why));
		if (err)
			info = (struct emu_hmem_info){ .iface = FI_HMEM_SYSTEM, .device = EMU_HMEM_HOST };
		if (!i)
			*owner = info;
		else if (info.iface != owner->iface || info.device != owner->device)
			return REFUSE(MR, -FI_EINVAL, "fi_mr_reg: segments of memory of several kinds or devices. Register each.");
	}
	return 0;
}

/* Is it what the program names? S134, S140. */
static int check_owner(const struct emu_domain *domain, const struct emu_hmem_ops *hmem, const struct mr_request *req,
		       const struct emu_hmem_info *owner)
{
	const void *at = req->iov->iov_base;
	const char *name = hmem->iface_name(owner->iface);

	if (req->iface == FI_HMEM_SYSTEM && owner->device != EMU_HMEM_HOST && domain->rules & FI_MR_HMEM)
		return REFUSE(
			MR, -FI_EINVAL,
			"fi_mr_reg: %p is memory of %s:%d. Under FI_MR_HMEM it is registered by fi_mr_regattr with that iface and "
			"device (S134).",
			at, name, owner->device);
	if (req->iface != FI_HMEM_SYSTEM && req->iface != owner->iface)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: %p is memory of %s, and iface says %s.", at, name,
			      hmem->iface_name(req->iface));
	if (req->device != DEVICE_ANY && owner->device != EMU_HMEM_HOST && req->device != owner->device)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr: %p is memory of %s:%d, and device says %d (S140).", at, name,
			      owner->device, req->device);
	return 0;
}

int mr_find_device(struct emu_domain *domain, struct mr_request *req)
{
	const struct emu_hmem_ops *hmem = domain_find_hmem(domain);
	struct emu_hmem_info owner = { .iface = FI_HMEM_SYSTEM, .device = EMU_HMEM_HOST };
	int err = hmem ? find_owner(hmem, req, &owner) : 0;
	bool device = owner.device != EMU_HMEM_HOST;

	if (hmem && !err)
		err = check_owner(domain, hmem, req, &owner);
	if (err)
		return err;
	if (req->flags & FI_HMEM_DEVICE_ONLY && !device)
		return REFUSE(MR, -FI_EBADFLAGS, "fi_mr_reg: FI_HMEM_DEVICE_ONLY, and %p is no memory of a device (S143).",
			      req->iov->iov_base);
	if (req->flags & FI_HMEM_HOST_ALLOC && (device || owner.iface == FI_HMEM_SYSTEM))
		return REFUSE(
			MR, -FI_EBADFLAGS,
			"fi_mr_reg: FI_HMEM_HOST_ALLOC, and %p is no memory of the host that a device's interface has allocated "
			"(S144).",
			req->iov->iov_base);
	if (device)
		req->shift = (uintptr_t)owner.reach - (uintptr_t)req->iov->iov_base;
	return 0;
}
