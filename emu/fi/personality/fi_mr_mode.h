/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_mode.h - the registration rules that hold for a program, from the mode bits that it offers; including the API before
 * 1.5 and the legacy modes BASIC and SCALABLE (S67-S70, S86-S90). Pure. */
#ifndef EMU_FI_MR_MODE_H
#define EMU_FI_MR_MODE_H

#include <stdbool.h>
#include <stdint.h>

/* The answer of fi_getinfo. */
struct mr_grant {
	int mr_mode;   /* domain_attr->mr_mode */
	uint64_t mode; /* FI_LOCAL_MR or 0 */
};

/* Returns those bits of a personality that libfabric's layered providers (ofi_rxm, ofi_rxd) meet. They pass the others on in
 * fi_getinfo(), but have none of the calls on regions that the others need. */
int mr_mode_layered(int asked);

/* `asked`: the personality's bits; `caps` those granted; `offered` and `mode` from hints. Returns NULL and *grant, or
 * why nothing fits. */
const char *mr_mode_grant(uint32_t api, int asked, uint64_t caps, int offered, uint64_t mode, struct mr_grant *grant);

/* Without hints: the personality's own choice. */
void mr_mode_default(uint32_t api, int asked, uint64_t caps, struct mr_grant *grant);

/* The rules in force for a domain opened with this mr_mode and mode: FI_MR_LOCAL, VIRT_ADDR, ALLOCATED, PROV_KEY.
 * Returns -1 for a combination that fi_getinfo never grants. */
int mr_mode_rules(uint32_t api, int mr_mode, uint64_t mode);

/* Do these capabilities make an endpoint a target of remote reads or writes? */
bool caps_rma_target(uint64_t caps);

#endif
