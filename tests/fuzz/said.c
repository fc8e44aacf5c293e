/* SPDX-License-Identifier: BSD-2-Clause */
/* said.c - sentences about settings, which nobody hears here. */
#include <errno.h>

#include "emu/process/settings/setting_say.h"

int setting_wrong(const char *name, const char *format, ...)
{
	(void)name;
	(void)format;
	return -EINVAL;
}
