/* SPDX-License-Identifier: BSD-2-Clause */
/* pages.c - struct page, alloc_pages() and vmalloc(), and further mappings of their pages (emu_pages.h).
 *
 * A section is an aligned GiB of addresses. Its pages are one array, mapped when the first of them is needed, and never unmapped:
 * the system gives memory to the parts that are touched. So address to page and page + 1 are plain arithmetic, for memory that
 * comes from anywhere.
 *
 * Memory of alloc_pages() and vmalloc() lies in one file without a name, so that it can be mapped a second time. Each block has
 * bytes of the file that no other had before it: the file is as long as a file may be, and has memory only where a page was
 * touched. */
#include "emu/kernel/kernel_impl.h"

#include <emu_pages.h>
#include <errno.h>
#include <fcntl.h>

#include <linux/list.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	SECTION_SHIFT = 30,
	SECTION_PAGES = 1 << (SECTION_SHIFT - PAGE_SHIFT),
	SECTIONS_MAX = 4096, /* a power of two; a process with memory in more GiBs is a BUG() */
};

#define FILE_LENGTH (1ULL << 62)

struct section {
	uintptr_t number;   /* address >> SECTION_SHIFT; 0: free. The first GiB has no memory of programs */
	struct page *pages; /* written before `number` */
};

/* A hash table with open addressing. Entries are added under the lock, and found without. */
static struct section sections[SECTIONS_MAX];
static pthread_mutex_t section_lock = PTHREAD_MUTEX_INITIALIZER;

static void *map(size_t size, int access)
{
	void *memory = mmap(NULL, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* --- the file --- */

static int file = -1;       /* written once, under file_lock */
static uint64_t file_given; /* bytes that belong to a block, or did; under file_lock */
static pthread_mutex_t file_lock = PTHREAD_MUTEX_INITIALIZER;

static bool file_open(void)
{
	if (file < 0) {
		file = memfd_create("emu_kernel_pages", MFD_CLOEXEC);
		if (file >= 0 && ftruncate(file, FILE_LENGTH)) {
			close(file);
			file = -1;
		}
	}
	return file >= 0;
}

/* Maps bytes of the file, which none had before, in the place of what is mapped at `memory`. */
static bool file_give(void *memory, size_t size, uint64_t *offset)
{
	bool given;

	pthread_mutex_lock(&file_lock);
	given = file_open() && size <= FILE_LENGTH - file_given;
	if (given) {
		*offset = file_given;
		file_given += size;
	}
	pthread_mutex_unlock(&file_lock);
	return given && mmap(memory, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)*offset) != MAP_FAILED;
}

/* Unmaps a block, and gives its memory back: a mapping that is left has zeros. */
static void file_take_back(void *memory, size_t size, size_t mapped, uint64_t offset)
{
	munmap(memory, mapped);
	fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)size);
}

/* --- sections --- */

/* The section, or the free place where it belongs. */
static struct section *section_place(uintptr_t number)
{
	for (uintptr_t i = 0; i < SECTIONS_MAX; i++) {
		struct section *at = &sections[(number + i) % SECTIONS_MAX];
		uintptr_t is = __atomic_load_n(&at->number, __ATOMIC_ACQUIRE);

		if (is == number || !is)
			return at;
	}
	BUG();
}

static struct page *section_make(uintptr_t number)
{
	struct section *place;

	pthread_mutex_lock(&section_lock);
	BUG_ON(sysconf(_SC_PAGESIZE) != (long)PAGE_SIZE);
	place = section_place(number);
	if (!place->number) {
		place->pages = map(SECTION_PAGES * sizeof(struct page), PROT_READ | PROT_WRITE);
		if (place->pages)
			__atomic_store_n(&place->number, number, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&section_lock);
	return place->pages;
}

/* NULL if no page of the section is known, and, to `make` one, without memory. */
static struct page *page_at(uintptr_t address, bool make)
{
	uintptr_t number = address >> SECTION_SHIFT;
	struct section *place = section_place(number);
	struct page *pages = NULL;

	if (__atomic_load_n(&place->number, __ATOMIC_ACQUIRE) == number)
		pages = place->pages;
	else if (make)
		pages = section_make(number);
	return pages ? pages + (address >> PAGE_SHIFT) % SECTION_PAGES : NULL;
}

static struct page *page_make(uintptr_t address)
{
	struct page *page = page_at(address, true);

	if (page)
		__atomic_store_n(&page->emu_address, (void *)(address & PAGE_MASK), __ATOMIC_RELAXED);
	return page;
}

static uintptr_t memory_last_page(const void *memory, size_t size)
{
	return ((uintptr_t)memory + (size ? size - 1 : 0)) & PAGE_MASK;
}

bool pages_hold(const void *memory, size_t size)
{
	uintptr_t first = (uintptr_t)memory & PAGE_MASK, last = memory_last_page(memory, size);

	for (uintptr_t at = first; at <= last; at += PAGE_SIZE) {
		struct page *page = page_make(at);

		if (!page) {
			if (at > first)
				pages_let_go(memory, at - (uintptr_t)memory);
			return false;
		}
		__atomic_fetch_add(&page->emu_kmallocs, 1, __ATOMIC_RELAXED);
	}
	return true;
}

void pages_let_go(const void *memory, size_t size)
{
	for (uintptr_t at = (uintptr_t)memory & PAGE_MASK; at <= memory_last_page(memory, size); at += PAGE_SIZE)
		__atomic_fetch_sub(&page_at(at, false)->emu_kmallocs, 1, __ATOMIC_RELAXED);
}

/* --- blocks: pages of one mapping, which the first of them heads --- */

static void block_forget(void *memory, size_t count)
{
	for (size_t i = 0; i < count; i++)
		__atomic_store_n(&page_at((uintptr_t)memory + i * PAGE_SIZE, false)->emu_kind, EMU_PAGE_NONE, __ATOMIC_RELAXED);
}

static struct page *block_make(void *memory, size_t count, uint64_t offset, enum emu_page_kind kind)
{
	struct page *head = page_make((uintptr_t)memory);

	for (size_t i = 0; i < count; i++) {
		struct page *page = page_make((uintptr_t)memory + i * PAGE_SIZE);

		if (!page) {
			block_forget(memory, i);
			return NULL;
		}
		page->emu_head = head;
		page->private = page->index = 0;
		INIT_LIST_HEAD(&page->lru);
		__atomic_store_n(&page->emu_kind, kind, __ATOMIC_RELAXED);
	}
	head->emu_pages = (unsigned int)count;
	head->emu_offset = offset;
	__atomic_store_n(&head->emu_count, 1, __ATOMIC_RELAXED);
	return head;
}

static enum emu_page_kind kind_of(const struct page *page)
{
	return page ? __atomic_load_n(&page->emu_kind, __ATOMIC_RELAXED) : EMU_PAGE_NONE;
}

/* --- alloc_pages() --- */

static void *reserve_aligned(size_t size)
{
	char *memory = map(2 * size, PROT_NONE);
	size_t before;

	if (!memory)
		return NULL;
	before = -(uintptr_t)memory & (size - 1);
	if (before)
		munmap(memory, before);
	munmap(memory + before + size, size - before);
	return memory + before;
}

struct page *(alloc_pages)(gfp_t flags, unsigned int order)
{
	size_t size = PAGE_SIZE << order;
	struct page *head = NULL;
	uint64_t offset;
	void *memory;

	if (WARN_ON(order > MAX_ORDER))
		return NULL;
	memory = reserve_aligned(size);
	if (!memory)
		return NULL;
	if (file_give(memory, size, &offset))
		head = block_make(memory, 1U << order, offset, EMU_PAGE_FRAME);
	if (!head)
		munmap(memory, size);
	else if (!(flags & __GFP_ZERO))
		memset(memory, 0xa5, size); /* so that nothing relies on zeros */
	return head;
}

void get_page(struct page *page)
{
	BUG_ON(kind_of(page) != EMU_PAGE_FRAME);
	__atomic_fetch_add(&page->emu_head->emu_count, 1, __ATOMIC_RELAXED);
}

void put_page(struct page *page)
{
	struct page *head = page->emu_head;
	size_t count;
	void *memory;

	BUG_ON(kind_of(page) != EMU_PAGE_FRAME);
	count = head->emu_pages;
	memory = page_address(head);
	if (__atomic_sub_fetch(&head->emu_count, 1, __ATOMIC_ACQ_REL))
		return;
	block_forget(memory, count);
	file_take_back(memory, count * PAGE_SIZE, count * PAGE_SIZE, head->emu_offset);
}

int page_count(struct page *page)
{
	return kind_of(page) == EMU_PAGE_FRAME ? __atomic_load_n(&page->emu_head->emu_count, __ATOMIC_RELAXED) : 0;
}

void __free_pages(struct page *page, unsigned int order)
{
	BUG_ON(kind_of(page) != EMU_PAGE_FRAME || page != page->emu_head || page->emu_pages != 1U << order);
	put_page(page);
}

unsigned long emu_kernel_get_free_pages(gfp_t flags, unsigned int order)
{
	struct page *page = (alloc_pages)(flags, order);

	return page ? (unsigned long)page_address(page) : 0;
}

void free_pages(unsigned long address, unsigned int order)
{
	if (address)
		__free_pages(virt_to_page(address), order);
}

/* --- from address to page --- */

static bool is_direct(const struct page *page)
{
	return page && (kind_of(page) == EMU_PAGE_FRAME || __atomic_load_n(&page->emu_kmallocs, __ATOMIC_RELAXED));
}

bool(virt_addr_valid)(const void *address)
{
	return is_direct(page_at((uintptr_t)address, false));
}

struct page *(virt_to_page)(const void *address)
{
	struct page *page = page_at((uintptr_t)address, false);

	if (!is_direct(page))
		emu_kernel_bug(__FILE__, __LINE__,
			       kind_of(page) == EMU_PAGE_VMALLOC
				       ? "virt_to_page() of memory of vmalloc(): use vmalloc_to_page()"
				       : "virt_to_page() of memory neither of kmalloc() nor of alloc_pages(): a stack, or freed");
	return page;
}

bool is_vmalloc_addr(const void *address)
{
	return kind_of(page_at((uintptr_t)address, false)) == EMU_PAGE_VMALLOC;
}

struct page *vmalloc_to_page(const void *address)
{
	return is_vmalloc_addr(address) ? page_at((uintptr_t)address, false) : NULL;
}

/* --- vmalloc() --- */

void *(vzalloc)(unsigned long size)
{
	size_t count = size / PAGE_SIZE + !!(size % PAGE_SIZE);
	uint64_t offset;
	char *memory;

	if (!size || count >= UINT32_MAX)
		return NULL;
	memory = map((count + 1) * PAGE_SIZE, PROT_NONE);
	if (!memory)
		return NULL;
	if (!file_give(memory, count * PAGE_SIZE, &offset) || !block_make(memory, count, offset, EMU_PAGE_VMALLOC)) {
		munmap(memory, (count + 1) * PAGE_SIZE);
		return NULL;
	}
	return memory;
}

void *(vmalloc)(unsigned long size)
{
	void *memory = (vzalloc)(size);

	if (memory)
		memset(memory, 0xa5, size);
	return memory;
}

void vfree(const void *address)
{
	struct page *page;
	size_t count;

	if (!address)
		return;
	page = vmalloc_to_page(address);
	BUG_ON(!page || page != page->emu_head || offset_in_page(address));
	count = page->emu_pages;
	block_forget((void *)(uintptr_t)address, count);
	file_take_back((void *)(uintptr_t)address, count * PAGE_SIZE, (count + 1) * PAGE_SIZE, page->emu_offset);
}

/* --- for front ends --- */

bool emu_pages_live(const void *address, size_t length)
{
	for (uintptr_t at = (uintptr_t)address & PAGE_MASK; at <= memory_last_page(address, length); at += PAGE_SIZE) {
		const struct page *page = page_at(at, false);

		if (kind_of(page) == EMU_PAGE_NONE && !is_direct(page))
			return false;
	}
	return true;
}

bool emu_pages_can_map(const void *address, size_t length)
{
	for (uintptr_t at = (uintptr_t)address & PAGE_MASK; at <= memory_last_page(address, length); at += PAGE_SIZE)
		if (kind_of(page_at(at, false)) == EMU_PAGE_NONE)
			return false;
	return true;
}

/* Maps the pages from `from` to `end` at `to`, block by block. False: one of them is of no block, or without memory. */
static bool map_again(char *to, uintptr_t from, uintptr_t end)
{
	while (from < end) {
		const struct page *page = page_at(from, false), *head;
		size_t before, size;

		if (kind_of(page) == EMU_PAGE_NONE)
			return false;
		head = page->emu_head;
		before = from - (uintptr_t)page_address(head);
		size = min(head->emu_pages * PAGE_SIZE - before, (size_t)(end - from));
		if (mmap(to, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, (off_t)(head->emu_offset + before)) ==
		    MAP_FAILED)
			return false;
		to += size;
		from += size;
	}
	return true;
}

void *emu_pages_map(const struct iovec *part, size_t count, size_t *mapped)
{
	size_t size = 0;
	char *memory, *at;

	for (size_t i = 0; i < count; i++)
		size += memory_last_page(part[i].iov_base, part[i].iov_len) + PAGE_SIZE - ((uintptr_t)part[i].iov_base & PAGE_MASK);
	memory = at = map(size, PROT_NONE);
	if (!memory)
		return NULL;
	for (size_t i = 0; i < count; i++) {
		uintptr_t first = (uintptr_t)part[i].iov_base & PAGE_MASK;
		uintptr_t end = memory_last_page(part[i].iov_base, part[i].iov_len) + PAGE_SIZE;

		if (!map_again(at, first, end)) {
			munmap(memory, size);
			return NULL;
		}
		at += end - first;
	}
	*mapped = size;
	return memory;
}
