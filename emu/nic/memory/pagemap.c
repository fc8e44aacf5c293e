/* SPDX-License-Identifier: BSD-2-Clause */
/* pagemap.c - /proc/thread-self/pagemap, eight bytes a page. Any process may see bits 63 (present) and 62 (swapped). The file in
 * /proc/self has nothing once the process's first thread has ended. */
#include "emu/nic/memory/pagemap.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "emu/nic/base/nocancel_file.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int map_fd = -1; /* constant after once */

static void open_once(void)
{
	if (sysconf(_SC_PAGESIZE) == (long)PAGE_BYTES)
		map_fd = nocancel_open("/proc/thread-self/pagemap", O_RDONLY | O_CLOEXEC);
}

int pagemap_open(void)
{
	pthread_once(&once, open_once);
	return map_fd < 0 ? -ENOSYS : 0;
}

void pagemap_forked(void)
{
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	if (map_fd >= 0)
		nocancel_close(map_fd);
	map_fd = -1;
}

int pagemap_read(uint64_t first, size_t count, bool there[])
{
	uint64_t entries[PAGEMAP_AT_ONCE];
	size_t told;
	ssize_t n;

	assert(map_fd >= 0 && count <= PAGEMAP_AT_ONCE);
	n = nocancel_pread(map_fd, entries, count * sizeof(*entries), (off_t)(first * sizeof(*entries)));
	if (n < 0)
		return -EFAULT;
	told = (size_t)n / sizeof(*entries);
	for (size_t i = 0; i < told; i++)
		there[i] = entries[i] >> 62;
	for (size_t i = told; i < count; i++) /* past the end of the address space nothing is there */
		there[i] = false;
	return 0;
}

bool pagemap_all(uint64_t addr, uint64_t length)
{
	uint64_t page = addr >> PAGE_SHIFT, last;

	if (!length)
		return true;
	for (last = (addr + (length - 1)) >> PAGE_SHIFT; page <= last; page += PAGEMAP_AT_ONCE) {
		size_t count = last - page < PAGEMAP_AT_ONCE ? (size_t)(last - page) + 1 : PAGEMAP_AT_ONCE;
		bool there[PAGEMAP_AT_ONCE];

		if (pagemap_read(page, count, there))
			return false;
		for (size_t i = 0; i < count; i++)
			if (!there[i])
				return false;
	}
	return true;
}
