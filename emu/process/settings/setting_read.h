/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_read.h - values of settings out of the environment, each of one kind. All return 0, or -EINVAL after a line of log that
 * names the variable; a value stays as it was if its setting is not set. Any thread. */
#ifndef EMU_PROCESS_SETTING_READ_H
#define EMU_PROCESS_SETTING_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The index of the value among `words` (NULL ends them). */
int setting_word(const char *name, const char *const *words, size_t *index);
/* A whole number, and nothing behind it. */
int setting_number(const char *name, uint64_t min, uint64_t max, uint64_t *value);
/* On or off. */
int setting_flag(const char *name, bool *flag);

#endif
