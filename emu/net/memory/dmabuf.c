/* SPDX-License-Identifier: BSD-2-Clause */
/* dmabuf.c - mappings of descriptors, which are whole pages of theirs. */
#include "emu/net/memory/dmabuf.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The length of the descriptor's object; UINT64_MAX if it has none, as for a device. A DMA-buf's inode has it.
 * A seek to the end would move the offset that the program's reads use. */
static int dmabuf_size(int fd, uint64_t *size)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	*size = S_ISREG(stat.st_mode) || stat.st_size > 0 ? (uint64_t)stat.st_size : UINT64_MAX;
	return 0;
}

/* Offsets and lengths of its mappings are multiples of this: the huge page where it has such, as only whole ones are unmapped. */
static uint64_t dmabuf_page(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == HUGETLBFS_MAGIC ? (uint64_t)fs.f_bsize : (uint64_t)sysconf(_SC_PAGESIZE);
}

static int map_pages(int fd, uint64_t offset, size_t length, bool writes, struct dmabuf *dmabuf, enum dmabuf_flaw *flaw)
{
	uint64_t page = dmabuf_page(fd), skew = offset % page;

	if (length > SIZE_MAX - skew) {
		*flaw = DMABUF_TOO_LONG;
		return -EINVAL;
	}
	dmabuf->map_len = length + skew;
	if (dmabuf->map_len <= SIZE_MAX - page)
		dmabuf->map_len = (dmabuf->map_len + page - 1) / page * page;
	dmabuf->map = mmap(NULL, dmabuf->map_len, PROT_READ | (writes ? PROT_WRITE : 0), MAP_SHARED, fd, (off_t)(offset - skew));
	if (dmabuf->map == MAP_FAILED) {
		*flaw = DMABUF_UNMAPPED;
		return -errno;
	}
	dmabuf->bytes = (struct iovec){ (char *)dmabuf->map + skew, length };
	return 0;
}

int dmabuf_map(int fd, uint64_t offset, size_t length, bool writes, struct dmabuf **out, enum dmabuf_flaw *flaw)
{
	struct dmabuf *dmabuf;
	uint64_t size = 0;
	int err = dmabuf_size(fd, &size);

	*flaw = err ? DMABUF_NO_FILE : DMABUF_NONE;
	if (!err && (offset > size || length > size - offset)) {
		*flaw = DMABUF_PAST_END;
		err = -EINVAL;
	}
	if (err)
		return err;
	dmabuf = malloc(sizeof(*dmabuf));
	if (!dmabuf)
		return -ENOMEM;
	err = map_pages(fd, offset, length, writes, dmabuf, flaw);
	if (err)
		free(dmabuf);
	else
		*out = dmabuf;
	return err;
}

void dmabuf_unmap(struct dmabuf *dmabuf)
{
	if (!dmabuf)
		return;
	munmap(dmabuf->map, dmabuf->map_len);
	free(dmabuf);
}
