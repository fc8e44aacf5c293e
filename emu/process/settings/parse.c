/* SPDX-License-Identifier: BSD-2-Clause */
/* parse.c - numbers without anything behind them, which libc would ignore. */
#include "emu/process/settings/setting_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool parse_whole(const char *text, uint64_t *value)
{
	bool hex = !strncasecmp(text, "0x", 2);
	unsigned long long got;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	got = strtoull(text, &end, hex ? 16 : 10);
	if (errno || *end || end == text)
		return false;
	*value = got;
	return true;
}

bool parse_rate(const char *text, uint32_t *billionths)
{
	uint32_t unit = 1000000000, value;

	if (*text != '0' && *text != '1')
		return false;
	value = (uint32_t)(*text++ - '0') * unit;
	if (*text == '.' && text[1])
		for (text++; *text >= '0' && *text <= '9'; text++)
			value += (uint32_t)(*text - '0') * (unit /= 10);
	if (*text || value > 1000000000)
		return false;
	*billionths = value;
	return true;
}

bool parse_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	const uint64_t hour_ns = 3600 * UINT64_C(1000000000);
	size_t digits = strspn(text, "0123456789");
	char number[24];
	uint64_t value;

	if (digits >= sizeof(number))
		return false;
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (!parse_whole(number, &value))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text + digits, units[i].name) || value > hour_ns / units[i].ns)
			continue;
		*ns = value * units[i].ns;
		return true;
	}
	return false;
}

static bool is_word(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && !strncasecmp(text, word, length);
}

static bool parse_on_off(const char *text, bool *on)
{
	static const char *const words[2][4] = { { "0", "false", "no", "off" }, { "1", "true", "yes", "on" } };

	for (size_t i = 0; i < 4; i++)
		for (size_t value = 0; value < 2; value++)
			if (!strcasecmp(text, words[value][i])) {
				*on = value;
				return true;
			}
	return false;
}

static bool parse_check_word(const char *text, size_t length, struct check_setting *check)
{
	static const char seed[] = "seed=";
	char number[24];

	if (is_word(text, length, "races"))
		return check->races = true;
	if (is_word(text, length, "strict"))
		return check->strict = true;
	if (length <= strlen(seed) || strncmp(text, seed, strlen(seed)) || length - strlen(seed) >= sizeof(number))
		return false;
	memcpy(number, text + strlen(seed), length - strlen(seed));
	number[length - strlen(seed)] = '\0';
	return check->has_seed = parse_whole(number, &check->seed);
}

bool parse_check(const char *text, struct check_setting *check)
{
	struct check_setting read = { .on = true };
	size_t length;

	if (parse_on_off(text, &read.on)) {
		*check = read;
		return true;
	}
	for (;; text += length + 1) {
		length = strcspn(text, ",");
		if (!parse_check_word(text, length, &read))
			return false;
		if (!text[length])
			break;
	}
	if (!read.races)
		return false;
	*check = read;
	return true;
}
