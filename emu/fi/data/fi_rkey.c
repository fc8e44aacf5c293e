/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_rkey.c - from a program's remote ranges to the device's. Under FI_MR_RAW a key is a handle of fi_mr_map_raw; a key
 * that is not mapped is refused here (S48, S53, S57). */
#include "emu/fi/data/fi_rkey.h"

#include <rdma/fi_errno.h>

#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/regions/key_map.h"

int rkey_map(struct emu_domain *domain, struct remote *remote, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct raw_key key;

		if (!key_map_find(pd_mappings(domain->pd), remote[i].key, &key))
			return REFUSE(EP_DATA, -FI_ENOKEY,
				      "key %#llx is not mapped: under FI_MR_RAW peers' keys come from "
				      "fi_mr_map_raw, until fi_mr_unmap_key (S53, S57).",
				      (unsigned long long)remote[i].key);
		remote[i].key = key.key;
		remote[i].key_tail = key.tail;
	}
	return 0;
}
