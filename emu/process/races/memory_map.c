/* SPDX-License-Identifier: BSD-2-Clause */
/* memory_map.c - reads /proc/self/maps by calls that are not trapped, into static memory. */
#include "emu/process/races/memory_map.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { MAPPINGS = 16384, TEXT = 32768 /* longer than any line */, OWN = 4 };

static struct {
	size_t count;
	struct memory_mapping mapping[MAPPINGS];
	char text[TEXT];
} known GUARDED_BY(watched_lock);
static atomic_bool stale = true, grew;

static struct {
	int count;
	uintptr_t start[OWN], end[OWN];
} own; /* constant after the start */

static int find_own_data(struct dl_phdr_info *info, size_t size, void *arg)
{
	const uintptr_t mask = WATCHED_PAGE - 1;
	bool ours = false;

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD &&
		    (uintptr_t)&own - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr < info->dlpi_phdr[i].p_memsz)
			ours = true;
	for (int i = 0; ours && i < info->dlpi_phnum && own.count < OWN; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD)
			continue;
		own.start[own.count] = start & ~mask;
		own.end[own.count++] = (start + segment->p_memsz + mask) & ~mask;
	}
	return ours;
}

void memory_map_start(void)
{
	own.count = 0;
	dl_iterate_phdr(find_own_data, NULL);
	memory_map_changed();
}

void memory_map_changed(void)
{
	atomic_store(&stale, true);
}

void memory_map_grew(void)
{
	atomic_store(&grew, true);
}

/* A number in hexadecimal, and the place behind it. */
static const char *take_number(const char *text, uintptr_t *number)
{
	*number = 0;
	for (;; text++) {
		if (*text >= '0' && *text <= '9')
			*number = *number << 4 | (uintptr_t)(*text - '0');
		else if (*text >= 'a' && *text <= 'f')
			*number = *number << 4 | (uintptr_t)(*text - 'a' + 10);
		else
			return text;
	}
}

static bool name_begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Memory of devices may not be what it seems, huge pages cannot be protected in part, and the first thread's stack is never. */
static bool name_is_memory(const char *name)
{
	if (name_begins(name, "/dev/"))
		return name_begins(name, "/dev/shm/") || name_begins(name, "/dev/zero");
	if (*name == '[')
		return name_begins(name, "[heap]") || name_begins(name, "[anon");
	return !name_begins(name, "anon_inode:") && !name_begins(name, "/anon_hugepage");
}

/* Has this mapping less protection since all its pages are protected by us? */
static bool mapping_is_watched(uintptr_t start, uintptr_t end) REQUIRES(watched_lock)
{
	if ((end - start) / WATCHED_PAGE > atomic_load(&watched.pages))
		return false;
	for (; start < end; start += WATCHED_PAGE) {
		const struct watched_page *page = watched_find(start);

		if (!page || page->before != (PROT_READ | PROT_WRITE) || atomic_load(&page->state) == WATCHED_GONE)
			return false;
	}
	return true;
}

/* start-end perms offset device inode path */
static void note_line(const char *line) REQUIRES(watched_lock)
{
	struct memory_mapping *mapping = &known.mapping[known.count];
	const char *perms, *name;

	if (known.count == MAPPINGS)
		return;
	perms = take_number(take_number(line, &mapping->start) + 1, &mapping->end) + 1;
	mapping->protection = (perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
			      (perms[2] == 'x' ? PROT_EXEC : 0);
	name = perms;
	for (int i = 0; i < 4 && name; i++) {
		name = strchr(name, ' ');
		if (name)
			name++;
	}
	while (name && *name == ' ')
		name++;
	if (mapping->protection != (PROT_READ | PROT_WRITE) && !(mapping->protection & PROT_EXEC) &&
	    mapping_is_watched(mapping->start, mapping->end))
		mapping->protection = PROT_READ | PROT_WRITE;
	mapping->watchable = mapping->protection == (PROT_READ | PROT_WRITE) && name && name_is_memory(name);
	known.count++;
}

static void read_maps(int fd) REQUIRES(watched_lock)
{
	size_t have = 0;
	long got;

	while ((got = exempt_call(SYS_read, fd, (long)(known.text + have), (long)(TEXT - 1 - have), 0, 0, 0)) > 0) {
		char *line = known.text, *end;

		have += (size_t)got;
		known.text[have] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			note_line(line);
		}
		have = strlen(line);
		memmove(known.text, line, have);
	}
}

static void read_anew(void) REQUIRES(watched_lock)
{
	int fd = (int)exempt_call(SYS_openat, AT_FDCWD, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0, 0, 0);

	known.count = 0;
	atomic_store(&stale, false);
	atomic_store(&grew, false);
	if (fd < 0)
		return;
	read_maps(fd);
	exempt_call(SYS_close, fd, 0, 0, 0, 0, 0);
}

static const struct memory_mapping *mapping_find(uintptr_t at) REQUIRES(watched_lock)
{
	/* A process has a limit of them, and protection makes more. */
	size_t from = 0, to = known.count < MAPPINGS ? known.count : 0;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (at >= known.mapping[middle].end)
			from = middle + 1;
		else
			to = middle;
	}
	return from < known.count && at >= known.mapping[from].start ? &known.mapping[from] : NULL;
}

const struct memory_mapping *memory_map_find(uintptr_t at)
{
	const struct memory_mapping *mapping;

	for (int i = 0; i < own.count; i++)
		if (at - own.start[i] < own.end[i] - own.start[i])
			return NULL;
	if (atomic_load(&stale))
		read_anew();
	mapping = mapping_find(at);
	if (mapping || !atomic_load(&grew))
		return mapping;
	read_anew();
	return mapping_find(at);
}
