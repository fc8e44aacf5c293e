/* SPDX-License-Identifier: BSD-2-Clause */
/* setting_say.c - sentences about variables, and guesses at misspelt names. */
#include "emu/process/settings/setting_say.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu/process/front/process_front.h"

#define PREFIX "FI_EMU_"
enum { NAME_MAX_BYTES = 64, TEXT_MAX = 1024, TOLD_BITS = 64 };

/* Has this name been reported before? Two that share a bit share the line. */
static bool told_before(const char *name)
{
	static atomic_uint_fast64_t told;
	uint64_t hash = 0, bit;

	while (*name)
		hash = hash * 31 + (unsigned char)*name++;
	bit = UINT64_C(1) << (hash % TOLD_BITS);
	return atomic_fetch_or(&told, bit) & bit;
}

/* With control characters, which a terminal would obey, as \xHH; the end may be cut off. */
static void copy_shown(char *to, size_t size, const char *from)
{
	size_t length = 0;

	*to = '\0';
	for (; *from && length < size - 1; from++)
		length += (size_t)snprintf(to + length, size - length,
					   (unsigned char)*from < ' ' || *from == 127 ? "\\x%02x" : "%c", (unsigned char)*from);
}

__attribute__((format(printf, 2, 0))) static void setting_log(const char *name, const char *format, va_list args)
{
	char said[TEXT_MAX], text[TEXT_MAX];

	vsnprintf(said, sizeof(said), format, args);
	copy_shown(text, sizeof(text), said);
	if (process_front.shows(PROCESS_WARN, PROCESS_ITSELF))
		process_front.log(PROCESS_WARN, PROCESS_ITSELF, text);
	else if (!told_before(name))
		fprintf(stderr, "emu: %s\n", text);
}

int setting_wrong(const char *name, const char *format, ...)
{
	char whole[TEXT_MAX], variable[NAME_MAX_BYTES] = PREFIX;
	size_t length = strlen(variable);
	va_list args;

	for (const char *at = name; *at && length < sizeof(variable) - 1; at++)
		variable[length++] = (char)toupper((unsigned char)*at);
	snprintf(whole, sizeof(whole), "setting %s: %s (%s)", name, format, variable);
	va_start(args, format);
	setting_log(name, whole, args);
	va_end(args);
	return -EINVAL;
}

__attribute__((format(printf, 2, 3))) static void say_name(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	setting_log(name, format, args);
	va_end(args);
}

/* The number of letters to insert, delete or replace. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_BYTES + 1], length = strnlen(b, NAME_MAX_BYTES);

	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t best = diagonal + (toupper((unsigned char)a[i - 1]) != toupper((unsigned char)b[j - 1]));

			diagonal = row[j];
			best = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			row[j] = row[j] + 1 < best ? row[j] + 1 : best;
		}
	}
	return row[length];
}

/* `variable` is a name without its prefix, of `length` bytes. */
static void check_one(const struct setting *const *lists, const char *variable, size_t length)
{
	char asked[NAME_MAX_BYTES], meant[NAME_MAX_BYTES] = "";
	size_t nearest = SIZE_MAX;

	snprintf(asked, sizeof(asked), "%.*s", (int)(length < sizeof(asked) ? length : sizeof(asked) - 1), variable);
	for (; *lists; lists++) {
		for (const struct setting *setting = *lists; setting->name; setting++) {
			size_t far = distance(asked, setting->name);

			if (far >= nearest)
				continue;
			nearest = far;
			snprintf(meant, sizeof(meant), "%s", setting->name);
		}
	}
	if (!nearest && length < sizeof(asked))
		return;
	for (char *at = meant; *at; at++)
		*at = (char)toupper((unsigned char)*at);
	if (nearest <= strlen(asked) / 3)
		say_name(asked, PREFIX "%s is no setting of emu, and does nothing. Is " PREFIX "%s meant?", asked, meant);
	else
		say_name(asked, PREFIX "%s is no setting of emu, and does nothing. %s", asked, process_front.settings_listed);
}

void setting_names_check(const struct setting *const *lists)
{
	static atomic_flag checked = ATOMIC_FLAG_INIT;

	if (atomic_flag_test_and_set(&checked))
		return;
	for (char **at = environ; at && *at; at++) {
		if (!strncmp(*at, PREFIX, strlen(PREFIX)))
			check_one(lists, *at + strlen(PREFIX), strcspn(*at + strlen(PREFIX), "="));
	}
}
