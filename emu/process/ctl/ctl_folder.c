/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_folder.c - the folder of this user's control sockets. tools/ctl/ctl_find.c looks in the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/process/ctl/ctl_commands.h"

const char *ctl_folder(const char *set, char folder[CTL_PATH])
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int length;

	if (set && !*set)
		return NULL;
	if (set)
		length = snprintf(folder, CTL_PATH, "%s", set);
	else
		length = snprintf(folder, CTL_PATH, "%s/emu-%u", runtime && *runtime == '/' ? runtime : "/tmp",
				  (unsigned)geteuid());
	return length > 0 && length < CTL_PATH ? folder : NULL;
}
