/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_raw.h - raw keys: the target gives them to its peers (S46 to S52), which map them (S53 to S58). Any
 * thread. */
#ifndef EMU_FI_MR_RAW_H
#define EMU_FI_MR_RAW_H

#include "emu/fi/mr/fi_mr.h"

/* FI_GET_RAW_MR of a region. 0; -FI_ETOOSMALL with the size needed; -FI_EOPBADSTATE before registration is complete. */
int mr_raw_attr(struct emu_mr *mr, struct fi_mr_raw_attr *attr);
/* FI_MAP_RAW_MR, FI_UNMAP_KEY of a domain. 0; -FI_EINVAL: no key of a region; -FI_ENOKEY: not mapped; -FI_ENOMEM. */
int domain_map_raw(struct emu_domain *domain, const struct fi_mr_map_raw *map);
int domain_unmap_key(struct emu_domain *domain, uint64_t key);

#endif
