/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_vain.h - processes that looked for a NIC and found none: which of these fail the run, and why no process opened one.
 * One thread; nothing fails.
 */
#ifndef REPORT_VAIN_H
#define REPORT_VAIN_H

#include "tools/report/report_model.h"

enum vain {
	VAIN_NOT,
	VAIN_NO_INFO,  /* fi_getinfo of the provider found nothing */
	VAIN_UNASKED,  /* libfabric loaded the provider and never asked it */
	VAIN_FILTERED, /* likewise, since FI_PROVIDER names others */
};

enum vain vain_cause(const char *cause);

/* Does such a finding fail? Programs ask for more than they need, and then for less; others list providers, or go without. */
bool vain_fails(const struct report_run *run, const struct report_result *finding);

/* Sets run->none and run->why_none. */
void vain_judge(struct report_run *run);

#endif
