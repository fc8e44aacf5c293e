/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ctl_place.c - the folder of this user's control sockets. tools/ctl/ctl_find.c looks in the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/fi/ctl/fi_ctl.h"
#include "emu/fi/ctl/fi_ctl_process.h"
#include "emu/fi/info/fi_settings.h"

const char *ctl_folder(const struct settings *settings, char folder[CTL_PATH])
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");
	int length;

	ctl_process_note(settings);
	if (settings->ctl && !*settings->ctl)
		return NULL;
	if (settings->ctl)
		length = snprintf(folder, CTL_PATH, "%s", settings->ctl);
	else
		length = snprintf(folder, CTL_PATH, "%s/emu-%u", runtime && *runtime == '/' ? runtime : "/tmp",
				  (unsigned)geteuid());
	return length > 0 && length < CTL_PATH ? folder : NULL;
}
