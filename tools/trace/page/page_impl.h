/* SPDX-License-Identifier: BSD-2-Clause */
/* page_impl.h - the parts of the page. */
#ifndef EMU_TRACE_PAGE_IMPL_H
#define EMU_TRACE_PAGE_IMPL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/trace/trace_model.h"

/* --- the files of the page as strings, made by embed.cmake. Constant: any thread may read them. --- */

extern const char page_html[], page_css[];
extern const char *const page_scripts[]; /* in the order in which they run; ends with NULL */

/* --- Strings in the page's data: JSON that may stand inside of a script element, and a table that has each one once.
 *
 * Owner: page_write(). One thread. A table that runs out of memory says so in `failed`, and goes on with empty strings. --- */

struct text_table {
	char **texts;
	uint32_t *slots; /* index + 1, or 0; their number is a power of two, more than twice the count */
	uint32_t count, size, slot_count;
	bool failed;
};

void text_table_fini(struct text_table *table);
/* Number of a string, which is copied. */
uint32_t text_table_add(struct text_table *table, const char *text);
void text_table_write(const struct text_table *table, FILE *to);

/* A string in quotes. Bytes that are not UTF-8 become U+FFFD; no `<` is left, which could end the script element. */
void text_write(const char *text, FILE *to);

/* --- A trace as the JSON that the page's scripts read (page_model.js).
 *
 * Owner: page_write(). One thread. --- */

/* 0 or -ENOMEM; the stream's own errors are left in it. */
int page_data_write(const struct trace *trace, FILE *to);

#endif
