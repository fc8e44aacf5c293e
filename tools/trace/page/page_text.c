/* SPDX-License-Identifier: BSD-2-Clause */
/* page_text.c - strings in the page's data */
#include "tools/trace/page/page_impl.h"

#include <stdlib.h>
#include <string.h>

static uint32_t text_hash(const char *text)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return hash;
}

/* The slot of a string, or the free one where it belongs. */
static uint32_t *slot_find(const struct text_table *table, const char *text)
{
	uint32_t at = text_hash(text) & (table->slot_count - 1);

	while (table->slots[at] && strcmp(table->texts[table->slots[at] - 1], text) != 0)
		at = (at + 1) & (table->slot_count - 1);
	return &table->slots[at];
}

static bool table_grow(struct text_table *table)
{
	uint32_t size = table->size ? 2 * table->size : 256;
	char **texts = realloc(table->texts, size * sizeof(*texts));
	uint32_t *slots;

	if (!texts)
		return false;
	table->texts = texts;
	slots = calloc((size_t)size * 4, sizeof(*slots));
	if (!slots)
		return false;
	free(table->slots);
	table->slots = slots;
	table->slot_count = size * 4;
	table->size = size;
	for (uint32_t i = 0; i < table->count; i++)
		*slot_find(table, table->texts[i]) = i + 1;
	return true;
}

void text_table_fini(struct text_table *table)
{
	for (uint32_t i = 0; i < table->count; i++)
		free(table->texts[i]);
	free(table->texts);
	free(table->slots);
}

uint32_t text_table_add(struct text_table *table, const char *text)
{
	uint32_t *slot;
	char *copy;

	if (table->count == table->size && !table_grow(table)) {
		table->failed = true;
		return 0;
	}
	slot = slot_find(table, text);
	if (*slot)
		return *slot - 1;
	copy = strdup(text);
	if (!copy) {
		table->failed = true;
		return 0;
	}
	table->texts[table->count++] = copy;
	*slot = table->count;
	return table->count - 1;
}

void text_table_write(const struct text_table *table, FILE *to)
{
	putc('[', to);
	for (uint32_t i = 0; i < table->count; i++) {
		if (i > 0)
			fputs(",\n", to);
		text_write(table->texts[i], to);
	}
	putc(']', to);
}

/* Bytes of the character at `s` by UTF-8's table of well-formed sequences; 0 if it is none. */
static unsigned char_length(const unsigned char *s)
{
	unsigned length = s[0] < 0x80                   ? 1
			  : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
			  : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
			  : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
							: 0;

	for (unsigned i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return length;
}

void text_write(const char *text, FILE *to)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', to);
	while (*s) {
		unsigned length = char_length(s);

		if (length == 0)
			fputs("\\ufffd", to);
		else if (*s == '"' || *s == '\\')
			fprintf(to, "\\%c", *s);
		else if (*s < 0x20 || *s == 0x7f || *s == '<')
			fprintf(to, "\\u%04x", *s);
		else if (length == 3 && s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9))
			fprintf(to, "\\u20%02x", s[2] - 0x80); /* separators of lines, which end a line of a script */
		else
			fwrite(s, 1, length, to);
		s += length ? length : 1;
	}
	putc('"', to);
}
