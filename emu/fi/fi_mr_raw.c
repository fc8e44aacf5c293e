/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_raw.c - raw keys of regions, and the peers' raw keys mapped in a domain. */
#include "emu/fi/fi_mr_raw.h"

#include <rdma/fi_errno.h>

#include "emu/fi/fi_prov.h"
#include "emu/nic/key_map.h"

/* With the role: the region may be ending. 0 and what it is known by, or -errno. */
static int look(const struct emu_mr *mr, struct raw_key *key, uint64_t *base)
{
	struct driver *driver = nic_driver(mr->domain->nic);
	int err = 0;

	if (!driver_enter(driver))
		return -FI_EAGAIN;
	if (mr->mr && mr_complete(mr)) {
		*key = (struct raw_key){ .key = mr->mr->key, .tail = mr->mr->key_tail };
		*base = mr->mr->virtual_addr ? (uintptr_t)mr_segments(mr->mr)->iov_base : 0;
	} else {
		EMU_WARN(MR, "fi_mr_raw_attr: registration is not complete (S52)\n");
		err = -FI_EOPBADSTATE;
	}
	driver_leave(driver);
	return err;
}

int mr_raw_attr(struct emu_mr *mr, struct fi_mr_raw_attr *attr)
{
	struct raw_key key;
	uint64_t base;
	size_t room;
	int err;

	if (!domain_usable(mr->domain))
		return -FI_ENODEV;
	if (!attr || !attr->key_size)
		return -FI_EINVAL;
	if (attr->flags)
		return -FI_EBADFLAGS;	/* S5 */
	err = look(mr, &key, &base);
	if (err)
		return err;
	room = *attr->key_size;
	*attr->key_size = raw_key_size(&key);	/* S50 */
	if (room < *attr->key_size)
		return -FI_ETOOSMALL;	/* S49 */
	if (!attr->raw_key)
		return -FI_EINVAL;
	raw_key_put(&key, attr->raw_key);
	if (attr->base_addr)
		*attr->base_addr = base;
	return 0;
}

int domain_map_raw(struct emu_domain *domain, const struct fi_mr_map_raw *map)
{
	bool raw = domain->rules & FI_MR_RAW;
	struct raw_key key;

	if (!domain_usable(domain))
		return -FI_ENODEV;
	if (!map || !map->raw_key || !map->key)
		return -FI_EINVAL;
	if (map->flags)
		return -FI_EBADFLAGS;	/* S5 */
	if (!raw_key_get(map->raw_key, map->key_size, &key)) {
		EMU_WARN(MR, "fi_mr_map_raw: these %zu B are not what fi_mr_raw_attr gave at the target (S54)\n",
			 map->key_size);
		return -FI_EINVAL;
	}
	if (key.tail && !raw) {
		EMU_WARN(MR, "fi_mr_map_raw: a key of %zu B needs FI_MR_RAW here, too (S48)\n", map->key_size);
		return -FI_EINVAL;
	}
	return key_map_add(pd_mappings(domain->pd), &key, !raw, map->key);
}

int domain_unmap_key(struct emu_domain *domain, uint64_t key)
{
	int err;

	if (!domain_usable(domain))
		return -FI_ENODEV;
	err = key_map_remove(pd_mappings(domain->pd), key);
	if (err)
		EMU_WARN(MR, "fi_mr_unmap_key: %#llx is not mapped (S57)\n", (unsigned long long)key);
	return err;
}
