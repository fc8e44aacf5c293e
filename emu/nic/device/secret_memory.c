/* SPDX-License-Identifier: BSD-2-Clause */
/* secret_memory.c - chunks of memory that the kernel wipes and leaves out, cut into cells. */
#include "emu/nic/device/secret_memory.h"

#include <assert.h>
#include <sys/mman.h>

#include "wire/secret.h"

enum { CHUNK = 64 * 1024, CELLS = CHUNK / SECRET_MEMORY_CELL };

struct secret_memory_cell {
	struct secret_memory_cell *next; /* while it is free */
	char bytes[SECRET_MEMORY_CELL - sizeof(void *)];
};

/* The first cell of its memory. */
struct secret_memory_chunk {
	struct secret_memory_chunk *next;
};

static_assert(sizeof(struct secret_memory_cell) == SECRET_MEMORY_CELL && sizeof(struct secret_memory_chunk) <= SECRET_MEMORY_CELL,
	      "a cell is one piece");

static bool grow(struct secret_memory *memory)
{
	struct secret_memory_cell *cells = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct secret_memory_chunk *chunk = (struct secret_memory_chunk *)cells;

	if (cells == MAP_FAILED)
		return false;
	if (madvise(cells, CHUNK, MADV_WIPEONFORK) || madvise(cells, CHUNK, MADV_DONTDUMP)) {
		munmap(cells, CHUNK);
		return false;
	}
	chunk->next = memory->chunks;
	memory->chunks = chunk;
	for (int i = CELLS - 1; i > 0; i--) {
		cells[i].next = memory->free;
		memory->free = &cells[i];
	}
	return true;
}

void *secret_memory_take(struct secret_memory *memory)
{
	struct secret_memory_cell *cell;

	if (!memory->free && !grow(memory))
		return NULL;
	cell = memory->free;
	memory->free = cell->next;
	cell->next = NULL;
	return cell;
}

void secret_memory_give(struct secret_memory *memory, void *piece)
{
	struct secret_memory_cell *cell = piece;

	if (!cell)
		return;
	secret_wipe(cell, sizeof(*cell));
	cell->next = memory->free;
	memory->free = cell;
}

void secret_memory_fini(struct secret_memory *memory)
{
	struct secret_memory_chunk *chunk;

	while ((chunk = memory->chunks)) {
		memory->chunks = chunk->next;
		munmap(chunk, CHUNK);
	}
	memory->free = NULL;
}
