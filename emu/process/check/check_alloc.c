/* SPDX-License-Identifier: BSD-2-Clause */
/* check_alloc.c - memory of checked mode: on pages of its own, since those of the program's heap may be watched (page_watch.h), and
 * each access to them would fault. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "emu/process/check/check.h"

enum { STEP = 256, CLASSES = 16, SLAB = 1 << 17 };

struct check_block {
	union {
		struct check_block *next; /* of the free ones */
		size_t class;
	};
	_Alignas(16) unsigned char bytes[];
};

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static struct check_block *unused[CLASSES] GUARDED_BY(lock);
static unsigned char *slab GUARDED_BY(lock);
static size_t left GUARDED_BY(lock);

static struct check_block *cut(size_t class) REQUIRES(lock)
{
	size_t length = (class + 1) * STEP;
	struct check_block *block;

	if (left < length) {
		void *more = mmap(NULL, SLAB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (more == MAP_FAILED)
			return NULL;
		slab = more;
		left = SLAB;
	}
	left -= length;
	block = (struct check_block *)(slab + left);
	return block;
}

void *check_alloc(size_t size)
{
	size_t class = (size + sizeof(struct check_block) - 1) / STEP;
	struct check_block *block;

	if (class >= CLASSES)
		return NULL;
	check_lock(&lock);
	block = unused[class];
	if (block)
		unused[class] = block->next;
	else
		block = cut(class);
	check_unlock(&lock);
	if (!block)
		return NULL;
	block->class = class;
	return memset(block->bytes, 0, size);
}

void check_free(void *bytes)
{
	struct check_block *block;
	size_t class;

	if (!bytes)
		return;
	block = (struct check_block *)((unsigned char *)bytes - offsetof(struct check_block, bytes));
	class = block->class;
	check_lock(&lock);
	block->next = unused[class];
	unused[class] = block;
	check_unlock(&lock);
}

void check_alloc_forked(void)
{
	mutex_forked(&lock);
}
