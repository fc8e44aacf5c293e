/* SPDX-License-Identifier: BSD-2-Clause */
/* hidden.c - chunks of memory that the kernel wipes and leaves out, cut into cells. */
#include "emu/nic/hidden.h"

#include <assert.h>
#include <sys/mman.h>

#include "wire/secret.h"

enum { CHUNK = 64 * 1024, CELLS = CHUNK / HIDDEN_CELL };

struct hidden_cell {
	struct hidden_cell *next;	/* while it is free */
	char bytes[HIDDEN_CELL - sizeof(void *)];
};

/* The first cell of its memory. */
struct hidden_chunk {
	struct hidden_chunk *next;
};

static_assert(sizeof(struct hidden_cell) == HIDDEN_CELL && sizeof(struct hidden_chunk) <= HIDDEN_CELL, "a cell is one piece");

static bool grow(struct hidden *hidden)
{
	struct hidden_cell *cells = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct hidden_chunk *chunk = (struct hidden_chunk *)cells;

	if (cells == MAP_FAILED)
		return false;
	if (madvise(cells, CHUNK, MADV_WIPEONFORK) || madvise(cells, CHUNK, MADV_DONTDUMP)) {
		munmap(cells, CHUNK);
		return false;
	}
	chunk->next = hidden->chunks;
	hidden->chunks = chunk;
	for (int i = CELLS - 1; i > 0; i--) {
		cells[i].next = hidden->free;
		hidden->free = &cells[i];
	}
	return true;
}

void *hidden_take(struct hidden *hidden)
{
	struct hidden_cell *cell;

	if (!hidden->free && !grow(hidden))
		return NULL;
	cell = hidden->free;
	hidden->free = cell->next;
	cell->next = NULL;
	return cell;
}

void hidden_give(struct hidden *hidden, void *piece)
{
	struct hidden_cell *cell = piece;

	if (!cell)
		return;
	secret_wipe(cell, sizeof(*cell));
	cell->next = hidden->free;
	hidden->free = cell;
}

void hidden_fini(struct hidden *hidden)
{
	struct hidden_chunk *chunk;

	while ((chunk = hidden->chunks)) {
		hidden->chunks = chunk->next;
		munmap(chunk, CHUNK);
	}
	hidden->free = NULL;
}
