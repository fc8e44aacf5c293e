/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_target.c - from a program's remote ranges to the device's. Under FI_MR_RAW a key is a handle of fi_mr_map_raw, and
 * what is not mapped is refused here (S48, S53, S57). */
#include "emu/fi/fi_target.h"

#include <rdma/fi_errno.h>

#include "emu/fi/fi_prov.h"
#include "emu/nic/key_map.h"

int target_map(struct emu_domain *domain, struct remote *remote, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct raw_key key;

		if (!key_map_find(pd_mappings(domain->pd), remote[i].key, &key)) {
			EMU_WARN(EP_DATA, "key %#llx is not mapped: under FI_MR_RAW peers' keys come from fi_mr_map_raw, "
				 "until fi_mr_unmap_key (S53, S57)\n", (unsigned long long)remote[i].key);
			return -FI_ENOKEY;
		}
		remote[i].key = key.key;
		remote[i].key_tail = key.tail;
	}
	return 0;
}
