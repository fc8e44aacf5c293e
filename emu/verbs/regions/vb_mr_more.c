/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_mr_more.c - regions of descriptors, the null region, registration by attributes, and advice. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/net/memory/dmabuf.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/regions/mr.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/regions/vb_mr.h"
#include "emu/verbs/start/vb_refuse.h"

/* --- regions of a descriptor --- */

static struct ibv_mr *refuse_dmabuf(const char *call, int err, int fd, enum dmabuf_flaw flaw)
{
	static const char *const words[] = {
		[DMABUF_NONE] = "out of memory",
		[DMABUF_NO_FILE] = "it is no file that can be mapped",
		[DMABUF_PAST_END] = "offset and length go past the end of its bytes",
		[DMABUF_TOO_LONG] = "longer than the address space",
		[DMABUF_UNMAPPED] = "it cannot be mapped for this access",
	};

	vb_refuse(err, call, "descriptor %d: %s (%s).", fd, words[flaw], strerror(err));
	return NULL;
}

static struct ibv_mr *reg_dmabuf(const char *call, struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
				 int access)
{
	const int known = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
			  IBV_ACCESS_RELAXED_ORDERING;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct dmabuf *dmabuf;
	enum dmabuf_flaw flaw;
	struct ibv_mr *mr;
	int err;

	if (access & ~known)
		return vb_refuse_null(EINVAL, call, "access %#x: regions of a DMA-buf have no such flags.",
				      (unsigned)(access & ~known));
	if (!length || (offset ^ iova) % page)
		return vb_refuse_null(
			EINVAL, call,
			"%zu B at offset %#llx, iova %#llx: the length must be at least 1, and iova as far behind the "
			"beginning of a page, of %llu B, as offset.",
			length, (unsigned long long)offset, (unsigned long long)iova, (unsigned long long)page);
	err = -dmabuf_map(fd, offset, length, access & IBV_ACCESS_LOCAL_WRITE, &dmabuf, &flaw);
	if (err)
		return refuse_dmabuf(call, err, fd, flaw);
	mr = vb_mr_register(&(struct vb_mr_request){ .call = call,
						     .pd = vb_pd_of(pd),
						     .addr = dmabuf->bytes.iov_base,
						     .length = length,
						     .iova = iova,
						     .access = access,
						     .dmabuf = dmabuf });
	if (mr)
		mr->addr = (void *)(uintptr_t)offset;
	else
		dmabuf_unmap(dmabuf);
	return mr;
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	return reg_dmabuf("ibv_reg_dmabuf_mr", pd, offset, length, iova, fd, access);
}

/* --- registration by attributes, since v59 --- */

struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *given)
{
	const struct vb_mr_init_attr *attr = (const struct vb_mr_init_attr *)given;
	const uint64_t known = VB_MR_INIT_IOVA | VB_MR_INIT_ADDR | VB_MR_INIT_FD | VB_MR_INIT_FD_OFFSET;
	bool by_fd = attr->comp_mask & VB_MR_INIT_FD;
	uint64_t iova = attr->comp_mask & VB_MR_INIT_IOVA ? attr->iova : by_fd ? attr->fd_offset : (uintptr_t)attr->addr;

	if (attr->comp_mask & ~known)
		return vb_absent_null("ibv_reg_mr_ex", "comp_mask %#llx: there are no DMA handles and no buffers.",
				      (unsigned long long)attr->comp_mask);
	if (by_fd == !!(attr->comp_mask & VB_MR_INIT_ADDR) || (!by_fd && attr->comp_mask & VB_MR_INIT_FD_OFFSET))
		return vb_refuse_null(EINVAL, "ibv_reg_mr_ex",
				      "comp_mask is %#llx: it takes an address, or a descriptor and its offset.",
				      (unsigned long long)attr->comp_mask);
	if (by_fd)
		return reg_dmabuf("ibv_reg_mr_ex", pd, attr->comp_mask & VB_MR_INIT_FD_OFFSET ? attr->fd_offset : 0, attr->length,
				  iova, attr->fd, attr->access);
	return vb_mr_register(&(struct vb_mr_request){ .call = "ibv_reg_mr_ex",
						       .pd = vb_pd_of(pd),
						       .addr = attr->addr,
						       .length = attr->length,
						       .iova = attr->access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
						       .access = attr->access });
}

/* --- the null region: reads give zeros, writes go nowhere --- */

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static void *zeros GUARDED_BY(lock), *sink GUARDED_BY(lock);

/* One of each for the process, as long as a message can be. Zeros cost no memory; a sink costs as much as its longest message. */
static int make_null(struct vb_key *key)
{
	mutex_lock(&lock);
	if (!zeros) {
		zeros = mmap(NULL, VB_MAX_MSG, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		sink = mmap(NULL, VB_MAX_MSG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	}
	key->shift = (uintptr_t)zeros;
	key->sink = (uintptr_t)sink;
	if (zeros == MAP_FAILED || sink == MAP_FAILED)
		zeros = NULL;
	mutex_unlock(&lock);
	return key->shift == (uintptr_t)MAP_FAILED || key->sink == (uintptr_t)MAP_FAILED ? ENOMEM : 0;
}

struct ibv_mr *vb_alloc_null_mr(struct ibv_pd *pd)
{
	struct vb_key key = {
		.root = vb_pd_of(pd)->root, .length = SIZE_MAX, .discards = true, .access = MR_SEND | MR_WRITE | MR_RECV | MR_READ
	};
	struct vb_mr *mr;
	int err;

	if (vb_pd_check(pd, "ibv_alloc_null_mr"))
		return NULL;
	mr = calloc(1, sizeof(*mr));
	err = mr ? make_null(&key) : ENOMEM;
	if (!err)
		err = vb_key_open(&key, 0, &mr->ibv.lkey);
	if (err) {
		free(mr);
		return vb_refuse_null(err, "ibv_alloc_null_mr", "%s.", strerror(err));
	}
	mr->pd = vb_pd_of(pd);
	mr->ibv.context = pd->context;
	mr->ibv.pd = pd;
	mr->ibv.length = SIZE_MAX;
	vb_pd_get(mr->pd);
	return &mr->ibv;
}

/* --- advice --- */

/* 0, or why one range cannot be prefetched, after a line of log. Nothing is done for pages that are there. */
static int advise(const struct vb_pd *pd, const struct ibv_sge *sge, enum ibv_advise_mr_advice advice)
{
	bool writes = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	static const int errors[] = {
		/* as of mlx5 */
		[VB_KEY_UNKNOWN] = ENOENT, [VB_KEY_CLOSED] = ENOENT, [VB_KEY_OTHER_PD] = EPERM,
		[VB_KEY_OUTSIDE] = EFAULT, [VB_KEY_RIGHT] = EPERM,
	};
	struct vb_buffer buffer;
	char text[VB_KEY_WORDS];
	enum vb_key_flaw flaw = vb_key_find(pd, sge->lkey, sge->addr, sge->length, VB_KEY_ON_DEMAND, &buffer);

	if (flaw == VB_KEY_RIGHT)
		return vb_refuse(ENOENT, "ibv_advise_mr", "lkey %#x is of a region without IBV_ACCESS_ON_DEMAND.", sge->lkey);
	if (!flaw && writes)
		flaw = vb_key_find(pd, sge->lkey, sge->addr, sge->length, MR_RECV, &buffer);
	if (flaw)
		return vb_refuse(errors[flaw], "ibv_advise_mr", "%s", vb_key_words(flaw, sge->lkey, sge->addr, sge->length, text));
	if (advice != IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT && guard_populate(buffer.at, sge->length, writes))
		return vb_refuse(
			EFAULT, "ibv_advise_mr",
			"%u B at %#llx cannot be made present: no memory is mapped there, or none that this access allows.",
			sge->length, (unsigned long long)sge->addr);
	return 0;
}

int vb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *list, uint32_t count)
{
	const struct vb_pd *own = vb_pd_of(pd);
	int err = 0;

	if (pd->handle != own->handle)
		return vb_refuse(EINVAL, "ibv_advise_mr", "handle %u is no open PD: its memory was overwritten.", pd->handle);
	if ((unsigned)advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return vb_absent("ibv_advise_mr", "advice %u: the device knows those of prefetching.", (unsigned)advice);
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH || !list || !count)
		return vb_refuse(
			EINVAL, "ibv_advise_mr",
			"flags %#x with a list of %u ranges: flags are 0 or IBV_ADVISE_MR_FLAG_FLUSH, and the list has one at "
			"least.",
			flags, count);
	for (uint32_t i = 0; i < count && !err; i++)
		err = advise(own, &list[i], advice);
	return err;
}
