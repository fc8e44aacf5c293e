/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_say.h - errors in FI_EMU_* variables, reported where the user sees them: in the front end's log or, if that shows no
 * warnings, which is the default, on standard error, once per process and variable. Any thread. */
#ifndef EMU_PROCESS_SETTING_SAY_H
#define EMU_PROCESS_SETTING_SAY_H

/* What a setting holds, for lists. Numbers are texts: a library would take the digits that begin one and ignore the rest. */
enum setting_type { SETTING_TEXT, SETTING_FLAG, SETTING_SIZE };

struct setting {
	const char *name; /* "ports" of FI_EMU_PORTS */
	enum setting_type type;
	const char *help;
};

/* -EINVAL. `name`: "local" of FI_EMU_LOCAL. */
int setting_wrong(const char *name, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* Searches the environment for variables FI_EMU_* that are in none of these lists, of which each ends with a setting without a
 * name and NULL ends all, and suggests the nearest name. Once a process. */
void setting_names_check(const struct setting *const *lists);

#endif
