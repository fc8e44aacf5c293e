/* SPDX-License-Identifier: BSD-2-Clause */
/* report_text.c - text that others wrote, made fit for terminals and files. */
#include "tools/report/report_out.h"

#include <ctype.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/report/report_model.h"

/* The character at `text` and its bytes; 0 bytes if it is none. */
static size_t utf8_next(const unsigned char *text, size_t size, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t bytes = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 : *text >> 3 == 30 ? 4 : 0, i;
	uint32_t code;

	if (!bytes || bytes > size)
		return 0;
	code = bytes == 1 ? *text : *text & (0x7fu >> bytes);
	for (i = 1; i < bytes; i++) {
		if (text[i] >> 6 != 2)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*out = code;
	return bytes;
}

void text_mend_utf8(char *text, size_t size)
{
	size_t at, bytes;
	uint32_t code;

	for (at = 0; at < size; at += bytes) {
		bytes = utf8_next((unsigned char *)text + at, size - at, &code);
		if (!bytes) {
			text[at] = '?';
			bytes = 1;
		}
	}
}

static bool is_obeyed(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200e && code <= 0x200f) ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || (code & 0xfffe) == 0xfffe;
}

static const char *xml_entity(uint32_t code)
{
	return code == '&' ? "&amp;" : code == '<' ? "&lt;" : code == '>' ? "&gt;" : code == '"' ? "&quot;" : NULL;
}

static const char *text_escape(const char *text, bool xml)
{
	size_t size = strlen(text), at, to = 0, bytes;
	char *out = malloc(10 * size + 1), *copy;
	const char *entity;
	uint32_t code = 0;

	if (!out)
		errx(REPORT_ERROR, "no memory for the report");

	for (at = 0; at < size; at += bytes) {
		bytes = utf8_next((const unsigned char *)text + at, size - at, &code);
		entity = bytes && xml ? xml_entity(code) : NULL;
		if (!bytes) {
			to += (size_t)sprintf(out + to, "\\x%02x", (unsigned char)text[at]);
			bytes = 1;
		} else if (code == '\n' || code == '\t') {
			to += (size_t)sprintf(out + to, "%s", code == '\n' ? "\\n" : "\\t");
		} else if (is_obeyed(code)) {
			to += (size_t)sprintf(out + to, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
		} else if (entity) {
			to += (size_t)sprintf(out + to, "%s", entity);
		} else {
			memcpy(out + to, text + at, bytes);
			to += bytes;
		}
	}
	out[to] = '\0';
	copy = report_copy(out);
	free(out);
	return copy;
}

const char *text_clean(const char *text)
{
	return text_escape(text, false);
}

const char *text_xml(const char *text)
{
	return text_escape(text, true);
}

/* Is the word a figure, or an address such as fe80::1? */
static bool is_figure(const char *word, size_t length)
{
	static const char digits[] = "0123456789";

	return isdigit((unsigned char)*word) ||
	       (length > 2 && memchr(word, ':', length - 1) && strspn(word, "0123456789abcdefABCDEF:") >= length &&
		strcspn(word, digits) < length);
}

const char *text_shape(const char *text)
{
	char *out = report_copy(text);
	size_t to = 0, length;

	while (*text) {
		for (length = 0; isalnum((unsigned char)text[length]) || (text[length] && strchr("._:", text[length])); length++)
			;
		if (length && is_figure(text, length)) {
			out[to++] = '#';
		} else {
			length += length == 0;
			memmove(out + to, text, length);
			to += length;
		}
		text += length;
	}
	out[to] = '\0';
	return out;
}

const char *text_number(double number)
{
	char digits[64], *out;
	int length = snprintf(digits, sizeof(digits), "%.0f", number < 1e18 ? number : 1e18), i, to = 0;

	out = report_alloc(2 * sizeof(digits));
	for (i = 0; i < length; i++) {
		out[to++] = digits[i];
		if ((length - i) % 3 == 1 && i + 1 < length && digits[i] != '-')
			out[to++] = ',';
	}
	return out;
}

const char *text_bytes(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	size_t unit = 0;

	for (; bytes >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		bytes /= 1024;
	return report_format(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}
