/* SPDX-License-Identifier: BSD-2-Clause */
/* scarce.c - memory runs out. The linker leads the device's calls here (--wrap); the simulation is compiled to call the
 * real ones (tests/sim/CMakeLists.txt). */
#include <malloc.h>
#include <stdlib.h>

#include "emu/nic/device/secret_memory.h"
#include "emu/nic/queues/cq.h"
#include "tests/sim/harness/scarce.h"

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t align, size_t size);
void __wrap_free(void *memory);
void *__wrap_secret_memory_take(struct secret_memory *hidden);

static struct world *scarce_world; /* NULL: there is enough */
static uint64_t held;

void scarce_begin(struct world *world)
{
	if (world->weather.scarce_permille)
		scarce_world = world;
}

void scarce_end(void)
{
	scarce_world = NULL;
}

uint64_t scarce_held(void)
{
	return held;
}

/* Of error entries that find no memory a queue tells the number alone (cq.c): then the model does not know which. */
static bool is_error_entry(size_t size)
{
	return size >= sizeof(struct cq_error) && size <= sizeof(struct cq_error) + 4 * sizeof(void *);
}

static bool refused(size_t size)
{
	struct world *world = scarce_world;

	if (!world || !world->weather.scarce_left || is_error_entry(size) ||
	    rnd_below(&world->rnd, 1000) >= world->weather.scarce_permille)
		return false;
	world->weather.scarce_left--;
	world->refused_memory++;
	return true;
}

static void *holding(void *memory)
{
	held += malloc_usable_size(memory);
	return memory;
}

void *__wrap_malloc(size_t size)
{
	return refused(size) ? NULL : holding(malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return refused(count * size) ? NULL : holding(calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	size_t before = malloc_usable_size(old);
	void *memory = refused(size) ? NULL : realloc(old, size);

	if (memory)
		held += malloc_usable_size(memory) - before;
	return memory;
}

void *__wrap_aligned_alloc(size_t align, size_t size)
{
	return refused(size) ? NULL : holding(aligned_alloc(align, size));
}

void __wrap_free(void *memory)
{
	held -= malloc_usable_size(memory);
	free(memory);
}

void *__wrap_secret_memory_take(struct secret_memory *hidden)
{
	return refused(SECRET_MEMORY_CELL) ? NULL : secret_memory_take(hidden);
}
