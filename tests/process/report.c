/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - the harness's checks end Criterion's tests. */
#include <criterion/criterion.h>

#include "tests/rules/harness/check.h"

static void report(enum check_end end, const char *text)
{
	if (end != CHECK_FAILED)
		cr_skip_test("%s", text);
	cr_assert_fail("%s", text);
}

__attribute__((constructor)) static void set_report(void)
{
	check_report = report;
}
