/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_memory.c - memory, arrays and an index. */
#include "tools/trace/trace_memory.h"

#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_MEMORY = 2, INDEX_MIN = 1024 };

void *trace_alloc(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		errx(NO_MEMORY, "out of memory");
	return memory;
}

void *trace_realloc(void *memory, size_t size)
{
	memory = realloc(memory, size);
	if (!memory)
		errx(NO_MEMORY, "out of memory");
	return memory;
}

char *trace_words(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int length;

	va_start(args, format);
	length = vasprintf(&text, format, args);
	va_end(args);
	if (length < 0)
		errx(NO_MEMORY, "out of memory");
	return text;
}

void *trace_grow(void *array, uint32_t *count, uint32_t *room, size_t size)
{
	uint8_t **base = array;

	if (*count == *room) {
		if (*room > UINT32_MAX / 4)
			errx(NO_MEMORY, "there are too many events");
		*room = *room ? *room * 2 : 64;
		*base = trace_realloc(*base, *room * size);
	}
	memset(*base + *count * size, 0, size);
	return *base + (*count)++ * size;
}

void trace_sort(void *array, size_t count, size_t size, int (*compare)(const void *a, const void *b))
{
	if (count)
		qsort(array, count, size, compare);
}

uint64_t mix(uint64_t a, uint64_t b)
{
	uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) ^ (b + UINT64_C(0x7f4a7c159e3779b9));

	x ^= x >> 32;
	x *= UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 29;
}

uint64_t mix_bytes(uint64_t key, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < length; i += 8) {
		uint64_t word = 0;

		memcpy(&word, at + i, length - i < 8 ? length - i : 8);
		key = mix(key, word);
	}
	return key;
}

static void rehash(struct trace_index *index)
{
	index->mask = index->mask ? 2 * index->mask + 1 : INDEX_MIN - 1;
	free(index->buckets);
	index->buckets = trace_alloc(((size_t)index->mask + 1) * sizeof(*index->buckets));
	for (uint32_t i = 1; i < index->count; i++) {
		uint32_t *bucket = &index->buckets[mix(index->nodes[i].key, 0) & index->mask];

		index->nodes[i].next = *bucket;
		*bucket = i;
	}
}

void index_add(struct trace_index *index, uint64_t key, uint32_t value)
{
	struct trace_index_node *node;
	uint32_t *bucket;

	if (!index->count)
		trace_grow(&index->nodes, &index->count, &index->room, sizeof(*node)); /* place 0 stands for none */
	if (!index->buckets || index->count > index->mask)
		rehash(index);
	bucket = &index->buckets[mix(key, 0) & index->mask];
	node = trace_grow(&index->nodes, &index->count, &index->room, sizeof(*node));
	*node = (struct trace_index_node){ .key = key, .value = value, .next = *bucket };
	*bucket = index->count - 1;
}

uint32_t index_find(const struct trace_index *index, uint64_t key)
{
	uint32_t at = index->buckets ? index->buckets[mix(key, 0) & index->mask] : 0;

	while (at && index->nodes[at].key != key)
		at = index->nodes[at].next;
	return at;
}

uint32_t index_next(const struct trace_index *index, uint32_t from)
{
	uint64_t key = index->nodes[from].key;
	uint32_t at = index->nodes[from].next;

	while (at && index->nodes[at].key != key)
		at = index->nodes[at].next;
	return at;
}

void index_free(struct trace_index *index)
{
	free(index->nodes);
	free(index->buckets);
}
