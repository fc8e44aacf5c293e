/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_memory.h - memory that is there: a program that gets none ends with a sentence and status 2. */
#ifndef EMU_TRACE_MEMORY_H
#define EMU_TRACE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

void *trace_alloc(size_t size); /* zeroed */
void *trace_realloc(void *memory, size_t size);
char *trace_words(const char *format, ...) __attribute__((format(printf, 1, 2))); /* a string of its own */
/* Room for one more at *array, of `count` now: *room grows. Returns the new one, zeroed. */
void *trace_grow(void *array, uint32_t *count, uint32_t *room, size_t size);
/* qsort(), which wants an array even where there is nothing to sort. */
void trace_sort(void *array, size_t count, size_t size, int (*compare)(const void *a, const void *b));

/* Numbers by 64-bit keys; equal keys are one after another, the last added first. */
struct trace_index {
	struct trace_index_node {
		uint64_t key;
		uint32_t value, next;
	} * nodes;
	uint32_t *buckets;
	uint32_t count, room, mask;
};
void index_add(struct trace_index *index, uint64_t key, uint32_t value);
/* The first node with that key, or after `from` (a node's place, from 1); 0: there is none. */
uint32_t index_find(const struct trace_index *index, uint64_t key);
uint32_t index_next(const struct trace_index *index, uint32_t from);
static inline uint32_t index_value(const struct trace_index *index, uint32_t at)
{
	return index->nodes[at].value;
}
void index_free(struct trace_index *index);
uint64_t mix(uint64_t a, uint64_t b); /* a key of two */
uint64_t mix_bytes(uint64_t key, const void *bytes, size_t length);

#endif
