/* SPDX-License-Identifier: BSD-2-Clause */
/* report_model.c - memory, tables, and what the parts of emu_report share. */
#include "tools/report/report_model.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each block heads a list, so that a leak checker sees that the memory is meant to stay. */
struct report_block {
	struct report_block *next;
	_Alignas(max_align_t) char bytes[];
};

static struct report_block *report_blocks;

void report_init(struct report_run *run)
{
	*run = (struct report_run){ .status = -1 };
	run->processes_end = &run->processes;
	run->records_end = &run->records;
	run->findings_end = &run->findings;
	run->expectations_end = &run->expectations;
	run->losses_end = &run->losses;
}

void *report_alloc(size_t size)
{
	struct report_block *block = calloc(1, sizeof(*block) + size);

	if (!block)
		errx(REPORT_ERROR, "no memory for the report");
	block->next = report_blocks;
	report_blocks = block;
	return block->bytes;
}

char *report_copy(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(report_alloc(size), text, size);
}

char *report_format(const char *format, ...)
{
	char *text, *copy;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		errx(REPORT_ERROR, "no memory for the report");
	va_end(args);
	copy = report_copy(text);
	free(text);
	return copy;
}

void report_problem(struct report_run *run, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vwarnx(format, args);
	va_end(args);
	run->problems++;
}

const char *report_string(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

double report_number(const cJSON *object, const char *name)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

bool report_opened(const struct report_process *process)
{
	return process->opened || !process->in_vain;
}

const struct report_frame *report_stack_site(const struct report_stack *stack)
{
	unsigned i;

	for (i = 0; i < stack->count; i++)
		if (!stack->frames[i].below)
			return &stack->frames[i];
	return NULL;
}

/* FNV-1a. */
static size_t report_hash(const char *name)
{
	uint64_t hash = 14695981039346656037u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 1099511628211u;
	return hash ^ hash >> 32;
}

static struct report_slot *report_probe(const struct report_table *table, const char *name)
{
	size_t at = report_hash(name) & (table->size - 1);

	while (table->slots[at].name && strcmp(table->slots[at].name, name) != 0)
		at = (at + 1) & (table->size - 1);
	return &table->slots[at];
}

static void report_table_grow(struct report_table *table)
{
	struct report_table old = *table;
	size_t i;

	table->size = old.size ? 2 * old.size : 64;
	table->slots = report_alloc(table->size * sizeof(*table->slots));
	for (i = 0; i < old.size; i++)
		if (old.slots[i].name)
			*report_probe(table, old.slots[i].name) = old.slots[i];
}

void **report_slot(struct report_table *table, const char *name)
{
	struct report_slot *slot;

	if (2 * table->used >= table->size)
		report_table_grow(table);
	slot = report_probe(table, name);
	if (!slot->name) {
		slot->name = report_copy(name);
		table->used++;
	}
	return &slot->value;
}
