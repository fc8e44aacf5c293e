/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_raw.c - raw keys of regions, and the peers' raw keys mapped in a domain. */
#include "emu/fi/mr/fi_mr.h"

#include <rdma/fi_errno.h>

#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_front_end.h"
#include "emu/nic/regions/key_map.h"

/* Takes the role, as the region may be ending. 0, its key and base; or -errno. */
static int mr_raw_lookup(const struct emu_mr *mr, struct raw_key *key, uint64_t *base)
{
	struct driver *driver = nic_driver(mr->domain->nic);
	int err = 0;

	if (!driver_enter(driver))
		return -FI_EAGAIN;
	if (mr->mr && mr_complete(&mr->fid)) {
		*key = (struct raw_key){ .key = mr->mr->key, .tail = mr->mr->key_tail };
		*base = mr->mr->virtual_addr ? (uintptr_t)mr_segments(mr->mr)->iov_base : 0;
	} else {
		err = REFUSE(MR, -FI_EOPBADSTATE,
			     "fi_mr_raw_attr: registration is not complete (S52). Read its FI_MR_COMPLETE "
			     "event first.");
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
		return refuse_inherited("fi_mr_raw_attr");
	if (!attr || !attr->key_size)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_raw_attr: key_size is NULL.");
	if (attr->flags)
		return REFUSE_FLAGS(MR, "fi_mr_raw_attr", attr->flags); /* S5 */
	err = mr_raw_lookup(mr, &key, &base);
	if (err)
		return err;
	room = *attr->key_size;
	*attr->key_size = raw_key_size(&key); /* S50 */
	if (room < *attr->key_size)
		return REFUSE(MR, -FI_ETOOSMALL,
			      "fi_mr_raw_attr: %zu B of room, and the key has %zu (S49). "
			      "domain_attr->mr_key_size is enough.",
			      room, *attr->key_size); /* S49 */
	if (!attr->raw_key)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_raw_attr: raw_key is NULL.");
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
		return refuse_inherited("fi_mr_map_raw");
	if (!map || !map->raw_key || !map->key)
		return REFUSE(MR, -FI_EINVAL, "fi_mr_map_raw: raw_key or key is NULL.");
	if (map->flags)
		return REFUSE_FLAGS(MR, "fi_mr_map_raw", map->flags); /* S5 */
	if (!raw_key_get(map->raw_key, map->key_size, &key))
		return REFUSE(MR, -FI_EINVAL,
			      "fi_mr_map_raw: these %zu B are not what fi_mr_raw_attr gave at the target (S54). "
			      "Send all bytes of the key, and their number.",
			      map->key_size);
	if (key.tail && !raw)
		return REFUSE(MR, -FI_EINVAL,
			      "fi_mr_map_raw: a key of %zu B needs FI_MR_RAW here, too (S48). Set it in this "
			      "side's hints->domain_attr->mr_mode.",
			      map->key_size);
	return key_map_add(pd_mappings(domain->pd), &key, !raw, map->key);
}

int domain_unmap_key(struct emu_domain *domain, uint64_t key)
{
	int err;

	if (!domain_usable(domain))
		return refuse_inherited("fi_mr_unmap_key");
	err = (int)status_of(key_map_remove(pd_mappings(domain->pd), key));
	return err ? REFUSE(MR, err, "fi_mr_unmap_key: %#llx is not mapped (S57).", (unsigned long long)key) : 0;
}
