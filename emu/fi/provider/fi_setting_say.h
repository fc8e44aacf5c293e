/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_setting_say.h - errors in FI_EMU_* variables, reported where the user sees them: in libfabric's log or, if that shows no
 * warnings, which is the default, on standard error, once per process and variable. Any thread. */
#ifndef EMU_FI_SETTING_SAY_H
#define EMU_FI_SETTING_SAY_H

#include <stddef.h>

/* -FI_EINVAL. `name` as fi_info -e lists it: "local" of FI_EMU_LOCAL. */
int setting_wrong(const char *name, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* Searches the environment for variables FI_EMU_* that are none of these `count` settings, whose names stand `stride` bytes apart,
 * and suggests the nearest one. Once a process. */
void setting_names_check(const char *const *names, size_t count, size_t stride);

#endif
