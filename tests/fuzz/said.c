/* SPDX-License-Identifier: BSD-2-Clause */
/* said.c - sentences about settings, which nobody hears here. */
#include <rdma/fi_errno.h>

#include "emu/fi/provider/fi_setting_say.h"

int setting_wrong(const char *name, const char *format, ...)
{
	(void)name;
	(void)format;
	return -FI_EINVAL;
}
