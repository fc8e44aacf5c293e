/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_dmabuf.c - regions over a descriptor (FI_MR_DMABUF, S145 to S150): the provider maps the bytes for itself.
 *
 * Any descriptor that can be mapped will do: a DMA-buf, a memfd, a file. Peers and the program address the bytes from
 * base_addr + offset on (S62), wherever they lie here; the device adds the difference when it places an access.
 * Locally the region stands for the program's own mapping at base_addr: its buffers are read and written there, and with
 * base_addr NULL there are none. */
#include <rdma/fi_errno.h>
#include <unistd.h>

#include "emu/fi/mr/fi_mr.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/net/memory/dmabuf.h"

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

int mr_dmabuf_open(const struct compat_mr_dmabuf *given, uint64_t access, struct dmabuf **out)
{
	enum dmabuf_flaw flaw;
	int err = dmabuf_map(given->fd, given->offset, given->len, access & (FI_RECV | FI_READ | FI_REMOTE_WRITE), out, &flaw);

	switch (flaw) {
	case DMABUF_NO_FILE:
		EMU_WARN(MR, "fi_mr_regattr with FI_MR_DMABUF: descriptor %d: %s (S147)\n", given->fd, fi_strerror(-err));
		return err;
	case DMABUF_PAST_END:
		return mr_dmabuf_refuse("offset and len go past the end of the descriptor's bytes (S147)");
	case DMABUF_TOO_LONG:
		return mr_dmabuf_refuse("longer than the address space");
	case DMABUF_UNMAPPED:
		EMU_WARN(MR, "fi_mr_regattr with FI_MR_DMABUF: descriptor %d cannot be mapped for this access: %s\n", given->fd,
			 fi_strerror(-err));
		return err;
	default:
		return err;
	}
}
