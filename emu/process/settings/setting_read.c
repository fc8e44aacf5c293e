/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_read.c - words, numbers and flags. */
#include "emu/process/settings/setting_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emu/process/front/process_front.h"
#include "emu/process/settings/setting_say.h"

int setting_word(const char *name, const char *const *words, size_t *index)
{
	const char *value = process_front.setting(name);
	char list[128] = ""; /* the words are few and short */
	size_t length = 0;

	if (!value)
		return 0;
	for (size_t i = 0; words[i]; i++) {
		if (!strcmp(words[i], value)) {
			*index = i;
			return 0;
		}
	}
	for (size_t i = 0; words[i]; i++)
		length += (size_t)snprintf(list + length, sizeof(list) - length, "%s%s", i ? ", " : "", words[i]);
	return setting_wrong(name, "\"%.64s\" is none of its values, which are %s", value, list);
}

int setting_number(const char *name, uint64_t min, uint64_t max, uint64_t *value)
{
	const char *text = process_front.setting(name);
	uint64_t number;

	if (!text)
		return 0;
	if (!parse_whole(text, &number) || number < min || number > max)
		return setting_wrong(name, "\"%.64s\" is not a number from %" PRIu64 " to %" PRIu64, text, min, max);
	*value = number;
	return 0;
}

int setting_flag(const char *name, bool *flag)
{
	int err = process_front.flag(name, flag);

	return err == -EINVAL ? setting_wrong(name, "neither 0 nor 1 (no, yes)") : 0;
}
