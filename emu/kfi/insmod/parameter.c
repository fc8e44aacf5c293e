/* SPDX-License-Identifier: BSD-2-Clause */
/* parameter.c - "name=value" into the variable of module_param(). Numbers begin with 0x (hexadecimal), 0 (octal), or neither. */
#include "emu/kfi/insmod/insmod.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 4096 };

/* What a type takes, in words for a refusal, and its bounds. */
static const struct {
	const char *words;
	size_t size;
	long long least;
	unsigned long long most;
} types[] = {
	[EMU_MODULE_TYPE_int] = { "an int", sizeof(int), INT_MIN, INT_MAX },
	[EMU_MODULE_TYPE_uint] = { "an unsigned int", sizeof(int), 0, UINT_MAX },
	[EMU_MODULE_TYPE_long] = { "a long", sizeof(long), LONG_MIN, LONG_MAX },
	[EMU_MODULE_TYPE_ulong] = { "an unsigned long", sizeof(long), 0, ULONG_MAX },
	[EMU_MODULE_TYPE_short] = { "a short", sizeof(short), SHRT_MIN, SHRT_MAX },
	[EMU_MODULE_TYPE_ushort] = { "an unsigned short", sizeof(short), 0, USHRT_MAX },
	[EMU_MODULE_TYPE_bool] = { "a bool (1, 0, y, n)", sizeof(bool), 0, 0 },
	[EMU_MODULE_TYPE_charp] = { "a text", sizeof(char *), 0, 0 },
	[EMU_MODULE_TYPE_string] = { "a shorter text", sizeof(char), 0, 0 },
};

/* All integers have two's complement, so the low bytes are the value in any width. */
static bool parse_number(enum emu_module_type type, const char *text, uint64_t *value)
{
	char *end;

	errno = 0;
	if (*text == '-') {
		long long number = strtoll(text, &end, 0);

		*value = (uint64_t)number;
		return !errno && end > text && !*end && number >= types[type].least;
	}
	*value = strtoull(text, &end, 0);
	return !errno && end > text && !*end && *value <= types[type].most;
}

static bool parse_bool(const char *text, uint64_t *value)
{
	*value = strchr("yY1", *text) != NULL;
	return *text && strchr("yYnN01", *text) && !text[1];
}

/* One element. `text` is kept for a charp: the argument of the program that it lies in lives as long as the module. */
static bool set_element(enum emu_module_type type, char *at, const char *text)
{
	uint64_t value;

	switch (type) {
	case EMU_MODULE_TYPE_charp:
		memcpy(at, &text, sizeof(text));
		return true;
	case EMU_MODULE_TYPE_bool:
		if (!parse_bool(text, &value))
			return false;
		*(bool *)at = value;
		return true;
	default:
		if (!parse_number(type, text, &value))
			return false;
		memcpy(at, &value, types[type].size); /* little-endian */
		return true;
	}
}

/* Elements stand between commas. They are set in a copy first, so that a wrong one changes nothing. */
static bool set_array(const struct emu_module_entry *entry, const char *text)
{
	size_t size = types[entry->type].size, count = 0;
	char *copy = malloc(entry->max * size), *words = strdup(text), *next = words, *word;
	bool good = copy && words;

	while (good && (word = strsep(&next, ",")))
		good = count < entry->max && set_element(entry->type, copy + count++ * size, word);
	if (good) {
		memcpy(entry->value, copy, count * size);
		if (entry->count)
			*entry->count = (unsigned int)count;
	}
	free(copy);
	if (!good || entry->type != EMU_MODULE_TYPE_charp) /* else the elements lie in it */
		free(words);
	return good;
}

static bool set_string(const struct emu_module_entry *entry, const char *text)
{
	if (strlen(text) >= entry->max)
		return false;
	strcpy(entry->value, text);
	return true;
}

static void tell_parameters(const struct loaded *module)
{
	for (const struct emu_module_entry *const *at = module->bounds->begin; at < module->bounds->end; at++) {
		const struct emu_module_entry *text = NULL;

		if ((*at)->kind != EMU_MODULE_PARAM)
			continue;
		text = loaded_entry(module, EMU_MODULE_PARAM_DESC, (*at)->name);
		fprintf(stderr, "  %s=%s%s%s\n", (*at)->name, types[(*at)->type].words, text ? ": " : "", text ? text->text : "");
	}
}

bool loaded_set(const struct loaded *module, const char *assignment)
{
	const char *value = strchr(assignment, '=');
	char name[TEXT_MAX];
	const struct emu_module_entry *entry;
	bool good;

	snprintf(name, sizeof(name), "%.*s", (int)(value ? value - assignment : (long)strlen(assignment)), assignment);
	entry = loaded_entry(module, EMU_MODULE_PARAM, name);
	if (!entry) {
		fprintf(stderr, "emu_insmod: %s has no parameter `%s`. It has:\n", module->path, name);
		tell_parameters(module);
		return false;
	}
	if (!value && entry->type == EMU_MODULE_TYPE_bool)
		value = "=1";
	if (!value) {
		fprintf(stderr, "emu_insmod: %s: the parameter `%s` has no value: %s=%s.\n", module->path, name, name,
			types[entry->type].words);
		return false;
	}
	value++;
	if (entry->type == EMU_MODULE_TYPE_string)
		good = set_string(entry, value);
	else if (entry->max > 1)
		good = set_array(entry, value);
	else
		good = set_element(entry->type, entry->value, value);
	if (!good)
		fprintf(stderr, "emu_insmod: %s: `%s` is not %s%s, as the parameter `%s` takes.\n", module->path, value,
			types[entry->type].words, entry->max > 1 && entry->type != EMU_MODULE_TYPE_string ? " or several" : "",
			name);
	return good;
}
