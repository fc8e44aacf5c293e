/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_mr_raw.c - raw keys, and kfi_mr_refresh(). */
#include <kfi_errno.h>

#include "emu/kfi/mr/kemu_mr.h"
#include "emu/kfi/provider/kemu_info.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

static int raw_flags(const char *call, uint64_t flags, uint64_t *fi_flags)
{
	if (kemu_fi_flags(flags, fi_flags))
		return 0;
	return KEMU_REFUSE_FLAGS(call, flags & ~*fi_flags, " (S5)");
}

int kemu_mr_raw_attr(struct kemu_mr *mr, const struct kfi_mr_raw_attr *attr)
{
	uint64_t flags;
	int err;

	if (!attr)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_mr_raw_attr: the attribute is NULL (S7).");
	err = raw_flags("kfi_mr_raw_attr", attr->flags, &flags);
	return err ? err : fi_mr_raw_attr(mr->fi, attr->base_addr, attr->raw_key, attr->key_size, flags);
}

/* The runs stand for the client's buffers; in a window they have its addresses. */
int kemu_mr_refresh(struct kemu_mr *mr, const struct kfi_mr_modify *modify)
{
	struct kemu_vector vector = { .call = "kfi_mr_refresh", .type = KFI_KVEC };
	struct kemu_memory memory;
	uint64_t flags;
	int err;

	if (!modify)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_mr_refresh: the attribute is NULL (S7).");
	err = raw_flags("kfi_mr_refresh", modify->flags, &flags);
	if (err)
		return err;
	if (modify->attr.type)
		vector.type = modify->attr.type;
	vector.entries = modify->attr.mr_iov;
	vector.count = modify->attr.iov_count;
	vector.within = mr->window;
	err = kemu_memory_take(&memory, &vector);
	if (err)
		return err;
	err = fi_mr_refresh(mr->fi, memory.run, memory.count, flags);
	kemu_window_free(memory.window);
	return err;
}

int kemu_mr_domain_control(struct kfid *fid, int command, void *arg)
{
	struct kemu_domain *domain = kemu_domain(fid);
	const struct kfi_mr_map_raw *map = arg;
	uint64_t flags;
	int err;

	EMU_KERNEL_SLEEPS("kfi_control");
	if (command != KFI_MAP_RAW_MR && command != KFI_UNMAP_KEY)
		return kemu_mr_unknown_command("a domain", command);
	if (!domain->fabric->personality->raw_keys)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_control: provider %s has no raw keys.",
				   domain->fabric->personality->prov_name);
	if (!arg)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_control: the argument is NULL (S7).");
	if (command == KFI_UNMAP_KEY)
		return fi_mr_unmap_key(domain->fi, *(const uint64_t *)arg);
	err = raw_flags("kfi_mr_map_raw", map->flags, &flags);
	return err ? err : fi_mr_map_raw(domain->fi, map->base_addr, map->raw_key, map->key_size, map->key, flags);
}
