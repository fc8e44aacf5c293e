/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_mode.h - which registration rules a program is held to, from what it offered; the API before 1.5 and the legacy
 * modes BASIC and SCALABLE included (S67-S70, S86-S90). Pure. */
#ifndef EMU_FI_MR_MODE_H
#define EMU_FI_MR_MODE_H

#include <stdbool.h>
#include <stdint.h>

/* What fi_getinfo answers. */
struct mr_grant {
	int      mr_mode;	/* domain_attr->mr_mode */
	uint64_t mode;		/* FI_LOCAL_MR or 0 */
};

/* `asked`: the personality's bits; `caps` those granted; `offered` and `mode` from hints. Returns NULL and *grant, or
 * why nothing fits. */
const char *mr_mode_grant(uint32_t api, int asked, uint64_t caps, int offered, uint64_t mode, struct mr_grant *grant);

/* Without hints: the personality's own wish. */
void mr_mode_default(uint32_t api, int asked, uint64_t caps, struct mr_grant *grant);

/* The rules in force for a domain opened with this mr_mode and mode: FI_MR_LOCAL, VIRT_ADDR, ALLOCATED, PROV_KEY.
 * Returns -1 for a combination that fi_getinfo never gives. */
int mr_mode_rules(uint32_t api, int mr_mode, uint64_t mode);

/* Do these capabilities make an endpoint a target of remote reads or writes? */
bool caps_rma_target(uint64_t caps);

#endif
