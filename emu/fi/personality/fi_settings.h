/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_settings.h - FI_EMU_*, as `fi_info -e` lists them. Read from the environment each time they are asked for. */
#ifndef EMU_FI_SETTINGS_H
#define EMU_FI_SETTINGS_H

#include <stdbool.h>

#include "emu/process/start/settings.h"

struct attr_table;
struct close_policy;

struct settings {
	struct process_settings process;
	const struct attr_table *attr;    /* FI_EMU_PERSONALITY */
	const struct close_policy *close; /* FI_EMU_MR_CLOSE */
	bool pinned;                      /* FI_EMU_PINNED */
	bool mr_cache;                    /* FI_EMU_MR_CACHE */
	bool fetch_reads;                 /* FI_EMU_FETCH_RIGHTS=both */
};

/* Tells libfabric the names and their help. Once, when the provider is loaded. */
void settings_define(void);
/* 0, or -FI_EINVAL after a line of log that names the variable. `iface`, `secret_file`, `fault` and `ctl` point into the
 * environment. */
int settings_read(struct settings *settings);

#endif
