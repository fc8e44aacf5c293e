/* SPDX-License-Identifier: BSD-2-Clause */
/* freed.c - a set of what was allocated, by address. */
#include "tests/fuzz/freed.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"

enum { SLOTS = 1 << 20 };

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
int __real_vasprintf(char **text, const char *format, va_list args);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **text, const char *format, va_list args);
void __wrap_free(void *memory);

static bool noting;
static void *slots[SLOTS]; /* one behind the other where two have the same place; `gone`: one was taken out */
static uint32_t filled[SLOTS], count;
static void *const gone = &count;

static void *note(void *memory)
{
	size_t at = (uintptr_t)memory / 16 % SLOTS;

	if (!noting || !memory)
		return memory;
	while (slots[at] && slots[at] != gone)
		at = (at + 1) % SLOTS;
	if (!slots[at]) {
		FUZZ_CHECK(count < SLOTS / 2);
		filled[count++] = (uint32_t)at;
	}
	slots[at] = memory;
	return memory;
}

static void forget(const void *memory)
{
	size_t at = (uintptr_t)memory / 16 % SLOTS;

	while (noting && memory && slots[at] && slots[at] != memory)
		at = (at + 1) % SLOTS;
	if (noting && memory && slots[at])
		slots[at] = gone;
}

void *__wrap_malloc(size_t size)
{
	return note(__real_malloc(size));
}

void *__wrap_calloc(size_t members, size_t size)
{
	return note(__real_calloc(members, size));
}

void *__wrap_realloc(void *memory, size_t size)
{
	forget(memory);
	return note(__real_realloc(memory, size));
}

char *__wrap_strdup(const char *text)
{
	return note(__real_strdup(text));
}

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
	int length = __real_vasprintf(text, format, args);

	if (length >= 0)
		note(*text);
	return length;
}

void __wrap_free(void *memory)
{
	forget(memory);
	__real_free(memory);
}

void freed_begin(void)
{
	noting = true;
}

void freed_end(void)
{
	noting = false;
	for (uint32_t i = 0; i < count; i++) {
		if (slots[filled[i]] != gone)
			__real_free(slots[filled[i]]);
		slots[filled[i]] = NULL;
	}
	count = 0;
}
