/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_rma.h - reads and writes of a peer's memory: fi_rma(3). For buffers, contexts and results see kfi_endpoint.h.
 * addr counts from the region's iova (KFI_MR_VIRT_ADDR: it is the virtual address). A refused access is an error at the
 * initiator's completion queue. */
#ifndef EMU_KFI_RMA_H
#define EMU_KFI_RMA_H

#include <kfi_endpoint.h>

struct kfi_rma_iov {
	uint64_t addr;
	size_t len;
	uint64_t key;
};

struct kfi_msg_rma {
	enum kfi_iov_type type;
	union {
		const struct kvec *msg_iov;
		const struct bio_vec *msg_biov;
		const struct scatterlist *msg_sgl;
	};
	void **desc;
	size_t iov_count;
	kfi_addr_t addr;
	const struct kfi_rma_iov *rma_iov;
	size_t rma_iov_count;
	void *context;
	uint64_t data;
};

struct kfi_ops_rma {
	size_t size;
	ssize_t (*read)(struct kfid_ep *ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, uint64_t addr, uint64_t key,
			void *context);
	ssize_t (*readv)(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr, uint64_t addr,
			 uint64_t key, void *context);
	ssize_t (*readbv)(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr,
			  uint64_t addr, uint64_t key, void *context);
	ssize_t (*readmsg)(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags);
	ssize_t (*write)(struct kfid_ep *ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, uint64_t addr,
			 uint64_t key, void *context);
	ssize_t (*writev)(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr,
			  uint64_t addr, uint64_t key, void *context);
	ssize_t (*writebv)(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr,
			   uint64_t addr, uint64_t key, void *context);
	ssize_t (*writemsg)(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags);
	ssize_t (*inject)(struct kfid_ep *ep, const void *buf, size_t len, kfi_addr_t dest_addr, uint64_t addr, uint64_t key);
	ssize_t (*writedata)(struct kfid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data, kfi_addr_t dest_addr,
			     uint64_t addr, uint64_t key, void *context);
	ssize_t (*injectdata)(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr, uint64_t addr,
			      uint64_t key);
	ssize_t (*readsgl)(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr,
			   uint64_t addr, uint64_t key, void *context);
	ssize_t (*writesgl)(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t dest_addr,
			    uint64_t addr, uint64_t key, void *context);
};

/* Reads len bytes at addr of the peer's region into buf: fi_rma(3). */
static inline ssize_t kfi_read(struct kfid_ep *ep, void *buf, size_t len, void *desc, kfi_addr_t src_addr, uint64_t addr,
			       uint64_t key, void *context)
{
	return ep->rma->read(ep, buf, len, desc, src_addr, addr, key, context);
}

/* Reads as kfi_read(), into count buffers. */
static inline ssize_t kfi_readv(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t src_addr,
				uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->readv(ep, iov, desc, count, src_addr, addr, key, context);
}

/* Reads as kfi_read(), into count parts of pages. */
static inline ssize_t kfi_readbv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t src_addr,
				 uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->readbv(ep, biov, desc, count, src_addr, addr, key, context);
}

/* Reads as kfi_read(), into count entries of a mapped scatterlist. */
static inline ssize_t kfi_readsgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count, kfi_addr_t src_addr,
				  uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->readsgl(ep, sgl, desc, count, src_addr, addr, key, context);
}

/* Reads what the message describes; flags stand in the place of the endpoint's. With KFI_TAGGED the key is the tag of a tagged
 * receive of the peer, which the access uses up (KFI_TAGGED_RMA). */
static inline ssize_t kfi_readmsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return ep->rma->readmsg(ep, msg, flags);
}

/* Writes len bytes of buf to addr of the peer's region: fi_rma(3). */
static inline ssize_t kfi_write(struct kfid_ep *ep, const void *buf, size_t len, void *desc, kfi_addr_t dest_addr, uint64_t addr,
				uint64_t key, void *context)
{
	return ep->rma->write(ep, buf, len, desc, dest_addr, addr, key, context);
}

/* Writes as kfi_write(), from count buffers. */
static inline ssize_t kfi_writev(struct kfid_ep *ep, const struct kvec *iov, void **desc, size_t count, kfi_addr_t dest_addr,
				 uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->writev(ep, iov, desc, count, dest_addr, addr, key, context);
}

/* Writes as kfi_write(), from count parts of pages. */
static inline ssize_t kfi_writebv(struct kfid_ep *ep, const struct bio_vec *biov, void **desc, size_t count, kfi_addr_t dest_addr,
				  uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->writebv(ep, biov, desc, count, dest_addr, addr, key, context);
}

/* Writes as kfi_write(), from count entries of a mapped scatterlist. */
static inline ssize_t kfi_writesgl(struct kfid_ep *ep, const struct scatterlist *sgl, void **desc, size_t count,
				   kfi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->writesgl(ep, sgl, desc, count, dest_addr, addr, key, context);
}

/* Writes what the message describes; flags as in kfi_readmsg(). */
static inline ssize_t kfi_writemsg(struct kfid_ep *ep, const struct kfi_msg_rma *msg, uint64_t flags)
{
	return ep->rma->writemsg(ep, msg, flags);
}

/* Writes at most inject_size bytes. The buffer is the caller's at once, and no completion follows. */
static inline ssize_t kfi_inject_write(struct kfid_ep *ep, const void *buf, size_t len, kfi_addr_t dest_addr, uint64_t addr,
				       uint64_t key)
{
	return ep->rma->inject(ep, buf, len, dest_addr, addr, key);
}

/* Writes with data for a completion at the target, of which cq_data_size bytes count. */
static inline ssize_t kfi_writedata(struct kfid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
				    kfi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	return ep->rma->writedata(ep, buf, len, desc, data, dest_addr, addr, key, context);
}

/* Writes as kfi_inject_write(), with the data of kfi_writedata(). */
static inline ssize_t kfi_inject_writedata(struct kfid_ep *ep, const void *buf, size_t len, uint64_t data, kfi_addr_t dest_addr,
					   uint64_t addr, uint64_t key)
{
	return ep->rma->injectdata(ep, buf, len, data, dest_addr, addr, key);
}

#endif
