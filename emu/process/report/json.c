/* SPDX-License-Identifier: BSD-2-Clause */
/* json.c - lines of JSON. Room for the brackets that are still to come is always kept. */
#include "emu/process/report/json.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Puts bytes if they fit. */
static bool json_put(struct json *json, const char *bytes, size_t count)
{
	size_t kept = json->depth + 1; /* brackets, line feed */

	if (json->size - json->length < kept || json->size - json->length - kept < count)
		return false;
	memcpy(json->text + json->length, bytes, count);
	json->length += count;
	return true;
}

/* How many bytes the UTF-8 character at `at` has; 0: it is none. */
static size_t character(const unsigned char *at)
{
	size_t count = at[0] < 0x80 ? 1 : at[0] >= 0xc2 && at[0] < 0xe0 ? 2 : at[0] >= 0xe0 && at[0] < 0xf0 ? 3 : 0;

	if (at[0] >= 0xf0 && at[0] < 0xf5)
		count = 4;
	for (size_t i = 1; i < count; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) || (at[0] == 0xf0 && at[1] < 0x90) ||
	    (at[0] == 0xf4 && at[1] > 0x8f))
		return 0; /* too long for what it says, a surrogate, or past the last one */
	return count;
}

static bool put_string(struct json *json, const char *value)
{
	const unsigned char *at = (const unsigned char *)value;
	bool fits = json_put(json, "\"", 1);
	char escape[8];

	while (*at && fits) {
		size_t count = character(at);

		if (!count) {
			fits = json_put(json, "?", 1);
			count = 1;
		} else if (*at == '"' || *at == '\\') {
			fits = json_put(json, "\\", 1) && json_put(json, (const char *)at, 1);
		} else if (*at < 0x20 || *at == 0x7f) {
			snprintf(escape, sizeof(escape), "\\u%04x", *at);
			fits = json_put(json, escape, 6);
		} else {
			fits = json_put(json, (const char *)at, count);
		}
		at += count;
	}
	return fits && json_put(json, "\"", 1);
}

/* Writes the name that stands before a value. */
static bool put_name(struct json *json, const char *name)
{
	return (json->first || json_put(json, ",", 1)) && (!name || (put_string(json, name) && json_put(json, ":", 1)));
}

/* The member that began at `from` stands there, or nothing of it. */
static void json_settle(struct json *json, size_t from, bool fits)
{
	if (fits) {
		json->first = false;
		return;
	}
	json->length = from;
	json->cut = true;
}

static void plain(struct json *json, const char *name, const char *value, bool quoted)
{
	size_t from = json->length;

	if (json->skipped)
		return;
	json_settle(json, from, put_name(json, name) && (quoted ? put_string(json, value) : json_put(json, value, strlen(value))));
}

static void json_begin(struct json *json, const char *name, const char *brackets)
{
	size_t from = json->length;
	bool fits = !json->skipped;

	assert(json->depth < sizeof(json->ends));
	json->depth++; /* its end needs room, too */
	fits = fits && put_name(json, name) && json_put(json, brackets, 1);
	if (fits) {
		json->ends[json->depth - 1] = brackets[1];
		json->first = true;
		return;
	}
	json->depth--;
	json->skipped++;
	json->length = from;
	json->cut = true;
}

void json_open(struct json *json, char *text, size_t size)
{
	assert(size >= 64);
	*json = (struct json){ .text = text, .size = size, .first = true };
	json_begin(json, NULL, "{}");
}

void json_object(struct json *json, const char *name)
{
	json_begin(json, name, "{}");
}

void json_array(struct json *json, const char *name)
{
	json_begin(json, name, "[]");
}

void json_end(struct json *json)
{
	if (json->skipped) {
		json->skipped--;
		return;
	}
	assert(json->depth);
	json->text[json->length++] = json->ends[--json->depth];
	json->first = false;
}

size_t json_close(struct json *json)
{
	json->skipped = 0;
	while (json->depth)
		json_end(json);
	json->text[json->length++] = '\n';
	return json->length;
}

void json_string(struct json *json, const char *name, const char *value)
{
	if (value)
		plain(json, name, value, true);
}

void json_number(struct json *json, const char *name, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, value);
	plain(json, name, digits, false);
}

void json_hex(struct json *json, const char *name, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "0x%" PRIx64, value);
	plain(json, name, digits, true);
}

void json_bool(struct json *json, const char *name, bool value)
{
	plain(json, name, value ? "true" : "false", false);
}
