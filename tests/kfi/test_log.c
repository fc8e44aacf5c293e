/* SPDX-License-Identifier: BSD-2-Clause */
/* test_log.c - lines of kfi_log.h: level, module, place. */
#include "tests/kernel/said.h"
#include <criterion/criterion.h>
#include <kfi_log.h>
#include <linux/kernel.h>

Test(kfi_log, a_line_names_its_module)
{
	said_begin();
	LOG_INFO("plain");
	LOG_NOTICE("%d and %s", 7, "text");
	cr_assert_eq(said_times("KFI: plain\n"), 1, "%s", said());
	cr_assert_eq(said_times("KFI: 7 and text\n"), 1, "%s", said());
}

#undef MODULE_NAME
#define MODULE_NAME "client"

/* The name is that of the place where the line is printed from. */
Test(kfi_log, warnings_and_errors_name_their_place)
{
	char place[128];
	int line = __LINE__ + 3;

	said_begin();
	LOG_WARN("high %d", 1);
	scnprintf(place, sizeof(place), "client - %s:%d: high 1\n", __func__, line);
	cr_assert_eq(said_times(place), 1, "%s", said());
	LOG_ERR("high 2");
	LOG_CRIT("high 3");
	LOG_ALERT("high 4");
	LOG_EMERG("high 5");
	LOG_DEBUG("not built in");
	for (int i = 0; i < 20; i++)
		LOG_ERR_RL("limited");
	scnprintf(place, sizeof(place), "client - %s:", __func__);
	cr_assert_eq(said_times(place), 5 + 10, "%s", said());
}
