/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_domain.h - domains, memory regions and address vectors: fi_domain(3), kfi_mr(3), fi_av(3). Lengths are in bytes. */
#ifndef EMU_KFI_DOMAIN_H
#define EMU_KFI_DOMAIN_H

#include <kfi_eq.h>
#include <linux/bvec.h>
#include <linux/scatterlist.h>
#include <linux/uio.h>

#define KFI_SYMMETRIC (1ULL << 59) /* kfi_av_attr.flags */
#define KFI_SYNC_ERR (1ULL << 58)  /* kfi_av_insert() */
#define KFI_REG_MR (1ULL << 59)    /* kfi_domain_bind() */

struct kfi_av_attr {
	enum kfi_av_type type;
	int rx_ctx_bits;
	size_t count;
	size_t ep_per_node;
	const char *name;
	void *map_addr;
	uint64_t flags;
};

struct kfi_ops_av {
	size_t size;
	int (*insert)(struct kfid_av *av, const void *addr, size_t count, kfi_addr_t *kfi_addr, uint64_t flags, void *context);
	int (*insertsvc)(struct kfid_av *av, const char *node, const char *service, kfi_addr_t *kfi_addr, uint64_t flags,
			 void *context);
	int (*insertsym)(struct kfid_av *av, const char *node, size_t nodecnt, const char *service, size_t svccnt,
			 kfi_addr_t *kfi_addr, uint64_t flags, void *context);
	int (*remove)(struct kfid_av *av, kfi_addr_t *kfi_addr, size_t count, uint64_t flags);
	int (*lookup)(struct kfid_av *av, kfi_addr_t kfi_addr, void *addr, size_t *addrlen);
	const char *(*straddr)(struct kfid_av *av, const void *addr, char *buf, size_t *len);
};

struct kfid_av {
	struct kfid fid;
	struct kfi_ops_av *ops;
};

struct kfid_mr {
	struct kfid fid;
	void *mem_desc;
	uint64_t key;
	uint64_t iova; /* the first address that a peer uses, or 0 where it counts from the region's begin */
};

/* The vector and the key are the caller's, and are read during the call. */
struct kfi_mr_attr {
	enum kfi_iov_type type;
	union {
		const struct kvec *mr_iov;
		const struct bio_vec *mr_biov;
		const struct scatterlist *mr_sgl; /* mapped (dma_map_sgtable()) */
	};
	size_t iov_count;
	uint64_t access;
	uint64_t offset;
	uint64_t requested_key;
	void *context;
	size_t auth_key_size;
	uint8_t *auth_key;
};

struct kfi_mr_modify {
	uint64_t flags;
	struct kfi_mr_attr attr;
};

enum kfi_datatype {
	KFI_INT8,
	KFI_UINT8,
	KFI_INT16,
	KFI_UINT16,
	KFI_INT32,
	KFI_UINT32,
	KFI_INT64,
	KFI_UINT64,
	KFI_FLOAT,
	KFI_DOUBLE,
	KFI_FLOAT_COMPLEX,
	KFI_DOUBLE_COMPLEX,
	KFI_LONG_DOUBLE,
	KFI_LONG_DOUBLE_COMPLEX,
	KFI_DATATYPE_LAST,
};

enum kfi_op {
	KFI_MIN,
	KFI_MAX,
	KFI_SUM,
	KFI_PROD,
	KFI_LOR,
	KFI_LAND,
	KFI_BOR,
	KFI_BAND,
	KFI_LXOR,
	KFI_BXOR,
	KFI_ATOMIC_READ,
	KFI_ATOMIC_WRITE,
	KFI_CSWAP,
	KFI_CSWAP_NE,
	KFI_CSWAP_LE,
	KFI_CSWAP_LT,
	KFI_CSWAP_GE,
	KFI_CSWAP_GT,
	KFI_MSWAP,
	KFI_ATOMIC_OP_LAST,
};

struct kfi_atomic_attr;

struct kfi_ops_domain {
	size_t size;
	int (*av_open)(struct kfid_domain *domain, struct kfi_av_attr *attr, struct kfid_av **av, void *context);
	int (*cq_open)(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq, kfi_comp_handler comp_handler,
		       void *context);
	int (*endpoint)(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **ep, void *context);
	int (*scalable_ep)(struct kfid_domain *domain, struct kfi_info *info, struct kfid_ep **sep, void *context);
	int (*cntr_open)(struct kfid_domain *domain, struct kfi_cntr_attr *attr, struct kfid_cntr **cntr, void *context);
	int (*poll_open)(struct kfid_domain *domain, struct kfi_poll_attr *attr, struct kfid_poll **pollset);
	int (*stx_ctx)(struct kfid_domain *domain, struct kfi_tx_attr *attr, struct kfid_stx **stx, void *context);
	int (*srx_ctx)(struct kfid_domain *domain, struct kfi_rx_attr *attr, struct kfid_ep **rx_ep, void *context);
	int (*query_atomic)(struct kfid_domain *domain, enum kfi_datatype datatype, enum kfi_op op, struct kfi_atomic_attr *attr,
			    uint64_t flags);
};

/* regsgl came last to kfabric, and is behind regattr. */
struct kfi_ops_mr {
	size_t size;
	int (*reg)(struct kfid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t requested_key,
		   uint64_t flags, struct kfid_mr **mr, void *context);
	int (*regv)(struct kfid *fid, const struct kvec *iov, size_t count, uint64_t access, uint64_t offset,
		    uint64_t requested_key, uint64_t flags, struct kfid_mr **mr, void *context);
	int (*regbv)(struct kfid *fid, const struct bio_vec *biov, size_t count, uint64_t access, uint64_t offset,
		     uint64_t requested_key, uint64_t flags, struct kfid_mr **mr, void *context);
	int (*regattr)(struct kfid *fid, const struct kfi_mr_attr *attr, uint64_t flags, struct kfid_mr **mr);
	int (*regsgl)(struct kfid *fid, const struct scatterlist *sgl, size_t count, uint64_t access, uint64_t offset,
		      uint64_t requested_key, uint64_t flags, struct kfid_mr **mr, void *context);
};

struct kfid_domain {
	struct kfid fid;
	struct kfi_ops_domain *ops;
	struct kfi_ops_mr *mr;
};

/* Opens a domain of the fabric, as info describes it. kfi_close() ends it, after all that was opened from it. */
static inline int kfi_domain(struct kfid_fabric *fabric, struct kfi_info *info, struct kfid_domain **domain, void *context)
{
	return fabric->ops->domain(fabric, info, domain, context);
}

/* Binds an event queue; with KFI_REG_MR, registrations complete there by KFI_MR_COMPLETE (kfi_mr(3), asynchronous). */
static inline int kfi_domain_bind(struct kfid_domain *domain, struct kfid *fid, uint64_t flags)
{
	return domain->fid.ops->bind(&domain->fid, fid, flags);
}

/* Opens a completion queue. The handler, which may be NULL, is called with the context: see kfi_comp_handler. fi_cq(3) */
static inline int kfi_cq_open(struct kfid_domain *domain, struct kfi_cq_attr *attr, struct kfid_cq **cq,
			      kfi_comp_handler comp_handler, void *context)
{
	return domain->ops->cq_open(domain, attr, cq, comp_handler, context);
}

/* Opens a counter, at 0: fi_cntr(3). */
static inline int kfi_cntr_open(struct kfid_domain *domain, struct kfi_cntr_attr *attr, struct kfid_cntr **cntr, void *context)
{
	return domain->ops->cntr_open(domain, attr, cntr, context);
}

/* Opens a wait set, to be named in the attributes of queues and counters: fi_poll(3). */
static inline int kfi_wait_open(struct kfid_fabric *fabric, struct kfi_wait_attr *attr, struct kfid_wait **waitset)
{
	return fabric->ops->wait_open(fabric, attr, waitset);
}

/* Opens an empty poll set: fi_poll(3). */
static inline int kfi_poll_open(struct kfid_domain *domain, struct kfi_poll_attr *attr, struct kfid_poll **pollset)
{
	return domain->ops->poll_open(domain, attr, pollset);
}

/* Registers len bytes for what access allows (KFI_SEND to KFI_REMOTE_WRITE); offset must be 0. kfi_close() ends it. -KFI_ENOKEY:
 * the key is taken; -KFI_EKEYREJECTED: it is out of range; -KFI_EBADFLAGS; -KFI_EINVAL. kfi_mr(3) */
static inline int kfi_mr_reg(struct kfid_domain *domain, const void *buf, size_t len, uint64_t access, uint64_t offset,
			     uint64_t requested_key, uint64_t flags, struct kfid_mr **mr, void *context)
{
	return domain->mr->reg(&domain->fid, buf, len, access, offset, requested_key, flags, mr, context);
}

/* Registers count buffers as one region: kfi_mr(3). The vector is read during the call. */
static inline int kfi_mr_regv(struct kfid_domain *domain, const struct kvec *iov, size_t count, uint64_t access, uint64_t offset,
			      uint64_t requested_key, uint64_t flags, struct kfid_mr **mr, void *context)
{
	return domain->mr->regv(&domain->fid, iov, count, access, offset, requested_key, flags, mr, context);
}

/* Registers count parts of pages as one region: kfi_mr(3). */
static inline int kfi_mr_regbv(struct kfid_domain *domain, const struct bio_vec *biov, size_t count, uint64_t access,
			       uint64_t offset, uint64_t requested_key, uint64_t flags, struct kfid_mr **mr, void *context)
{
	return domain->mr->regbv(&domain->fid, biov, count, access, offset, requested_key, flags, mr, context);
}

/* Registers count entries of a scatterlist as one region: kfi_mr(3). The list must be mapped (dma_map_sgtable()). */
static inline int kfi_mr_regsgl(struct kfid_domain *domain, const struct scatterlist *sgl, size_t count, uint64_t access,
				uint64_t offset, uint64_t requested_key, uint64_t flags, struct kfid_mr **mr, void *context)
{
	return domain->mr->regsgl(&domain->fid, sgl, count, access, offset, requested_key, flags, mr, context);
}

/* Registers what the attribute describes, by any of the three vectors: kfi_mr(3). */
static inline int kfi_mr_regattr(struct kfid_domain *domain, const struct kfi_mr_attr *attr, uint64_t flags, struct kfid_mr **mr)
{
	return domain->mr->regattr(&domain->fid, attr, flags, mr);
}

/* Gives the descriptor that local operations name under KFI_LOCAL_MR: kfi_mr(3). The region owns it. */
static inline void *kfi_mr_desc(struct kfid_mr *mr)
{
	return mr->mem_desc;
}

/* Gives the key that peers name, or KFI_KEY_NOTAVAIL where it is a raw key: kfi_mr(3). */
static inline uint64_t kfi_mr_key(struct kfid_mr *mr)
{
	return mr->key;
}

/* Writes the base address and the raw key, of *key_size bytes at most: fi_mr(3). -KFI_ETOOSMALL: *key_size says what is needed. */
static inline int kfi_mr_raw_attr(struct kfid_mr *mr, uint64_t *base_addr, uint8_t *raw_key, size_t *key_size, uint64_t flags)
{
	struct kfi_mr_raw_attr attr = { .flags = flags, .base_addr = base_addr, .raw_key = raw_key, .key_size = key_size };

	return mr->fid.ops->control(&mr->fid, KFI_GET_RAW_MR, &attr);
}

/* Gives the key of 64 bits that stands for a peer's raw key in operations, until kfi_mr_unmap_key(): fi_mr(3). */
static inline int kfi_mr_map_raw(struct kfid_domain *domain, uint64_t base_addr, uint8_t *raw_key, size_t key_size, uint64_t *key,
				 uint64_t flags)
{
	struct kfi_mr_map_raw map = {
		.flags = flags, .base_addr = base_addr, .raw_key = raw_key, .key_size = key_size, .key = key
	};

	return domain->fid.ops->control(&domain->fid, KFI_MAP_RAW_MR, &map);
}

/* Ends a key of kfi_mr_map_raw(): fi_mr(3). */
static inline int kfi_mr_unmap_key(struct kfid_domain *domain, uint64_t key)
{
	return domain->fid.ops->control(&domain->fid, KFI_UNMAP_KEY, &key);
}

/* Binds an endpoint under KFI_MR_ENDPOINT, or a counter of accesses (KFI_REMOTE_WRITE): kfi_mr(3). -KFI_ENOSYS: not offered. */
static inline int kfi_mr_bind(struct kfid_mr *mr, struct kfid *bfid, uint64_t flags)
{
	return mr->fid.ops->bind(&mr->fid, bfid, flags);
}

/* Tells that the pages behind these buffers of the region changed: fi_mr(3). The type of the attribute stays 0. */
static inline int kfi_mr_refresh(struct kfid_mr *mr, const struct kvec *iov, size_t count, uint64_t flags)
{
	struct kfi_mr_modify modify = { .flags = flags, .attr = { .mr_iov = iov, .iov_count = count } };

	return mr->fid.ops->control(&mr->fid, KFI_REFRESH, &modify);
}

/* Lets peers access a bound region (KFI_MR_ENDPOINT): fi_mr(3). Under KFI_REG_MR the result follows at the event queue. */
static inline int kfi_mr_enable(struct kfid_mr *mr)
{
	return mr->fid.ops->control(&mr->fid, KFI_ENABLE, NULL);
}

/* Opens an address vector: fi_av(3). kfi_close() ends it. */
static inline int kfi_av_open(struct kfid_domain *domain, struct kfi_av_attr *attr, struct kfid_av **av, void *context)
{
	return domain->ops->av_open(domain, attr, av, context);
}

/* Binds an event queue, at which insertions complete by KFI_AV_COMPLETE: fi_av(3). */
static inline int kfi_av_bind(struct kfid_av *av, struct kfid *fid, uint64_t flags)
{
	return av->fid.ops->bind(&av->fid, fid, flags);
}

/* Inserts count addresses, writes their numbers, and gives how many it inserted; a failed one is KFI_ADDR_NOTAVAIL: fi_av(3). */
static inline int kfi_av_insert(struct kfid_av *av, const void *addr, size_t count, kfi_addr_t *kfi_addr, uint64_t flags,
				void *context)
{
	return av->ops->insert(av, addr, count, kfi_addr, flags, context);
}

/* Resolves a node and a service, and inserts their address: fi_av(3). Gives 1. */
static inline int kfi_av_insertsvc(struct kfid_av *av, const char *node, const char *service, kfi_addr_t *kfi_addr, uint64_t flags,
				   void *context)
{
	return av->ops->insertsvc(av, node, service, kfi_addr, flags, context);
}

/* Inserts nodecnt nodes from this one on, with svccnt services each: fi_av(3). Gives how many addresses it inserted. */
static inline int kfi_av_insertsym(struct kfid_av *av, const char *node, size_t nodecnt, const char *service, size_t svccnt,
				   kfi_addr_t *kfi_addr, uint64_t flags, void *context)
{
	return av->ops->insertsym(av, node, nodecnt, service, svccnt, kfi_addr, flags, context);
}

/* Removes count addresses, which no operation uses: fi_av(3). */
static inline int kfi_av_remove(struct kfid_av *av, kfi_addr_t *kfi_addr, size_t count, uint64_t flags)
{
	return av->ops->remove(av, kfi_addr, count, flags);
}

/* Writes *addrlen bytes at most of the address behind a number, and its length: fi_av(3). */
static inline int kfi_av_lookup(struct kfid_av *av, kfi_addr_t kfi_addr, void *addr, size_t *addrlen)
{
	return av->ops->lookup(av, kfi_addr, addr, addrlen);
}

/* Writes an address as text into *len bytes, and gives buf; *len is then what the text needs: fi_av(3). */
static inline const char *kfi_av_straddr(struct kfid_av *av, const void *addr, char *buf, size_t *len)
{
	return av->ops->straddr(av, addr, buf, len);
}

/* Gives the number of one receive context of an address, whose vector has rx_ctx_bits of 1 to 63: fi_av(3). */
static inline kfi_addr_t kfi_rx_addr(kfi_addr_t kfi_addr, int rx_index, int rx_ctx_bits)
{
	return kfi_addr | (uint64_t)rx_index << (64 - rx_ctx_bits);
}

#endif
