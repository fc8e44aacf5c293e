/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_dmabuf.c - regions over a descriptor (FI_MR_DMABUF, S145 to S150): the provider maps the bytes for itself.
 *
 * Any descriptor that can be mapped will do: a DMA-buf, a memfd, a file. Peers and the program address the bytes from
 * base_addr + offset on (S62), wherever they lie here; the device adds the difference when it places an access.
 * Locally the region stands for the program's own mapping at base_addr: its buffers are read and written there, and with
 * base_addr NULL there are none. */
#include <fcntl.h>
#include <linux/magic.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/provider/fi_refuse.h"

static int mr_dmabuf_refuse(const char *what)
{
	return REFUSE(MR, -FI_EINVAL, "fi_mr_regattr with FI_MR_DMABUF: %s.", what);
}

int mr_check_dmabuf(const struct compat_mr_dmabuf *given, size_t count, const struct compat_mr_attr *attr, uint32_t api)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base;

	if (!given || count != 1)
		return mr_dmabuf_refuse("dmabuf must point to one struct fi_mr_dmabuf, and iov_count be 1 (S147)");
	if (FI_VERSION_GE(api, FI_VERSION(2, 0)) && attr->base_mr)
		return mr_dmabuf_refuse("base_mr must be NULL (S127)");
	base = (uintptr_t)given->base_addr;
	if (base % page)
		return mr_dmabuf_refuse("base_addr does not begin a page (S149)");
	if (given->offset > UINTPTR_MAX - base)
		return mr_dmabuf_refuse("base_addr and offset together go past the end of the address space");
	return 0;
}

/* The length of the descriptor's object; UINT64_MAX if it has none, as for a device. A DMA-buf's inode has it.
 * A seek to the end would move the offset that the program's reads use. */
static int size_of(int fd, uint64_t *size)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return -errno;
	*size = S_ISREG(stat.st_mode) || stat.st_size > 0 ? (uint64_t)stat.st_size : UINT64_MAX;
	return 0;
}

/* Offsets and lengths of its mappings are multiples of this: the huge page where it has such, as only whole ones are unmapped. */
static uint64_t page_of(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) && fs.f_type == HUGETLBFS_MAGIC ? (uint64_t)fs.f_bsize : (uint64_t)sysconf(_SC_PAGESIZE);
}

static int mr_dmabuf_map(const struct compat_mr_dmabuf *given, uint64_t access, struct mr_dmabuf *dmabuf)
{
	uint64_t page = page_of(given->fd), skew = given->offset % page;
	int prot = PROT_READ | (access & (FI_RECV | FI_READ | FI_REMOTE_WRITE) ? PROT_WRITE : 0);

	if (given->len > SIZE_MAX - skew)
		return mr_dmabuf_refuse("longer than the address space");
	dmabuf->map_len = given->len + skew;
	if (dmabuf->map_len <= SIZE_MAX - page)
		dmabuf->map_len = (dmabuf->map_len + page - 1) / page * page;
	dmabuf->map = mmap(NULL, dmabuf->map_len, prot, MAP_SHARED, given->fd, (off_t)(given->offset - skew));
	if (dmabuf->map == MAP_FAILED) {
		int err = -errno;

		EMU_WARN(MR, "fi_mr_regattr with FI_MR_DMABUF: descriptor %d cannot be mapped for this access: %s\n", given->fd,
			 fi_strerror(-err));
		return err;
	}
	dmabuf->bytes = (struct iovec){ (char *)dmabuf->map + skew, given->len };
	return 0;
}

int mr_dmabuf_open(const struct compat_mr_dmabuf *given, uint64_t access, struct mr_dmabuf **out)
{
	struct mr_dmabuf *dmabuf;
	uint64_t size = 0;
	int err = size_of(given->fd, &size);

	if (err) {
		EMU_WARN(MR, "fi_mr_regattr with FI_MR_DMABUF: descriptor %d: %s (S147)\n", given->fd, fi_strerror(-err));
		return err;
	}
	if (given->offset > size || given->len > size - given->offset)
		return mr_dmabuf_refuse("offset and len go past the end of the descriptor's bytes (S147)");
	dmabuf = malloc(sizeof(*dmabuf));
	if (!dmabuf)
		return -FI_ENOMEM;
	err = mr_dmabuf_map(given, access, dmabuf);
	if (err)
		free(dmabuf);
	else
		*out = dmabuf;
	return err;
}

void mr_dmabuf_close(struct mr_dmabuf *dmabuf)
{
	if (!dmabuf)
		return;
	munmap(dmabuf->map, dmabuf->map_len);
	free(dmabuf);
}
