/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr.h - the region object, and its parts. Any thread. */
#ifndef EMU_FI_MR_H
#define EMU_FI_MR_H

#include <rdma/fi_domain.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_compat.h"

struct auth_set;
struct compat_mr_attr;
struct compat_mr_dmabuf;
struct emu_av;
struct emu_domain;
struct emu_eq;
struct mr_async;
struct dmabuf;
struct mr_pages;
struct mr_request;
struct pin;

/* --- The region object. The three registration calls narrow to one request (S2). Any thread; may wait one slice of the driver
 * role, and under FI_MR_ALLOCATED for the kernel to supply the memory. --- */

/* Rarely used parts of a region; each may be NULL. */
struct mr_parts {
	struct mr_async *async; /* registered asynchronously (S168) */
	struct emu_av *av;      /* the address vector whose keys it takes; it holds a reference */
	bool all_keys;          /* all keys that the vector holds when the region is enabled */
	struct dmabuf *dmabuf;  /* the bytes lie in this mapping, and not at the program's addresses */
	struct pin *pin;        /* FI_EMU_PINNED */
};

struct emu_mr {
	struct fid_mr fid; /* key FI_KEY_NOTAVAIL, mem_desc NULL: registration is not complete (S42, S174) */
	struct emu_domain *domain;
	struct mr *mr;          /* the device's; with the driver role only. NULL: asynchronous registration failed */
	struct mr_parts *parts; /* NULL: it has none of them, which is common */
};

static inline struct emu_mr *emu_mr(struct fid *fid)
{
	return (struct emu_mr *)fid;
}

enum { DEVICE_ANY = -1 };

/* The arguments of all three calls; fields that the program's API version lacks are zero. */
struct mr_request {
	const struct iovec *iov;
	size_t count;
	uint64_t access, offset, key, flags;
	void *context;
	struct emu_av *av;                    /* FI_AV_AUTH_KEY: peers may show keys of this vector, those in `auths` */
	struct auth_set *auths;               /* else both NULL */
	bool all_keys;                        /* `auths` are all keys of the vector */
	uint64_t auth;                        /* proof of the key that peers are to show (S158) */
	const void *base;                     /* descriptor of the region that it is to lie within (S121), or NULL */
	const struct compat_mr_dmabuf *given; /* FI_MR_DMABUF: the descriptor; `iov` has the addresses that peers use (S62) */
	struct dmabuf *dmabuf;                /* its mapping, once it is mapped */
	uint32_t iface;                       /* FI_HMEM: the interface that the program names, else FI_HMEM_SYSTEM; */
	int device;                           /* and the device, or DEVICE_ANY */
	uint64_t shift;                       /* from the addresses of `iov` to where the bytes are: struct mr */
};

/* fi_mr_attr.c */
int emu_mr_reg(struct fid *domain, const void *buf, size_t len, uint64_t access, uint64_t offset, uint64_t requested_key,
	       uint64_t flags, struct fid_mr **mr, void *context);
int emu_mr_regv(struct fid *domain, const struct iovec *iov, size_t count, uint64_t access, uint64_t offset, uint64_t requested_key,
		uint64_t flags, struct fid_mr **mr, void *context);
int emu_mr_regattr(struct fid *domain, const struct fi_mr_attr *attr, uint64_t flags, struct fid_mr **mr);

/* fi_mr.c: does a copy of this begin a region object of this provider's? */
bool mr_is_ours(const struct fid *fid);
/* fi_mr.c: registers a checked request. 0 and *mr, which owns the mapping then; or -errno with *mr as it was (S13). */
int mr_register(struct emu_domain *domain, const struct mr_request *req, struct fid_mr **mr);
/* The results of mr_back() for a region's memory; each is NULL if the rules do not ask for it. */
struct mr_backing {
	struct mr_pages *pages;
	struct pin *pin;
};
struct mr_memory {
	const struct iovec *iov;
	size_t count;
	uint64_t shift; /* not 0: the bytes lie so much further on, where the program cannot map anything else */
	uint64_t access;
	const atomic_bool *stop; /* once it is true, the result is not wanted; may be NULL */
};
/* Populates or pins the memory, the last step after all checks; may sleep. 0 and *backing, which mr_unback() frees; -FI_EFAULT,
 * -FI_ENOMEM after a line of log; -FI_ECANCELED if it was stopped. */
int mr_back(const struct emu_domain *domain, const struct mr_memory *memory, struct mr_backing *backing);
void mr_unback(struct mr_backing *backing);
/* [role] From now on the program may use the region, its key, its descriptor. */
void mr_publish(struct emu_mr *mr);
bool mr_complete(const struct fid_mr *mr);

/* fi_mr_auth.c: the peers that the attributes let in (S156 to S167). 0, or -FI_EINVAL after a line of log. */
int mr_take_auth(const struct emu_domain *domain, const struct compat_mr_attr *attr, struct mr_request *req);
/* [role] A region that is being enabled takes the keys that its vector holds by then (S164). 0 or -FI_ENOMEM. */
int mr_retake_keys(struct emu_mr *mr);

/* fi_mr_bind.c: fi_mr_bind() and fi_mr_enable(). */
int emu_mr_bind(struct fid *fid, struct fid *bfid, uint64_t flags);
int mr_enable(struct emu_mr *mr);

/* fi_mr_pmem.c: may this be registered with FI_RMA_PMEM? 0, or -FI_EINVAL after a line of log (S132). */
int mr_check_pmem(const struct iovec *iov, size_t count);

/* fi_mr_async.c: registration that ends on the worker thread, with an event (S168). Until then the region is in the table,
 * closed to peers. mr_async_open() comes before the table: 0 or -errno. mr_async_begin() comes when *mr is written (S170);
 * `fault` is 0, or the -errno that a fault plan demands. mr_async_close() takes the job back or waits for it, and withdraws
 * the event: none comes later. */
int mr_async_open(struct emu_mr *mr, struct emu_eq *eq);
void mr_async_begin(struct emu_mr *mr, const struct mr_request *req, int fault);
void mr_async_close(struct emu_mr *mr);

/* --- Raw keys: the target gives them to its peers (S46 to S52), which map them (S53 to S58). Any thread. --- */

/* FI_GET_RAW_MR of a region. 0; -FI_ETOOSMALL with the size needed; -FI_EOPBADSTATE before registration is complete. */
int mr_raw_attr(struct emu_mr *mr, struct fi_mr_raw_attr *attr);
/* FI_MAP_RAW_MR, FI_UNMAP_KEY of a domain. 0; -FI_EINVAL: no key of a region; -FI_ENOKEY: not mapped; -FI_ENOMEM. */
int domain_map_raw(struct emu_domain *domain, const struct fi_mr_map_raw *map);
int domain_unmap_key(struct emu_domain *domain, uint64_t key);

/* --- Pages that came after the registration (S106 to S120). Any thread; takes as long as the kernel needs to supply the
 * memory, without the driver role. --- */

/* Under FI_MR_MMU_NOTIFY a table of the pages of these segments that are there; else NULL. 0 or -errno after a line of log. */
int mr_pages_now(const struct emu_domain *domain, const struct iovec *segments, size_t count, struct mr_pages **pages);

/* FI_REFRESH. 0; -FI_EINVAL: a range outside the region, or that no memory can back; -FI_EBADFLAGS; -FI_ENOSYS where
 * the program has promised that nothing changes (FI_MR_ALLOCATED alone). */
int mr_refresh(struct emu_mr *mr, const struct fi_mr_modify *modify);

/* --- Registration by descriptor, and the attributes for the kind of memory. Any thread; makes system calls, so not with the
 * driver role. Errors come after a line of log. --- */

/* fi_mr_dmabuf.c: checks the structure itself: 0 or -FI_EINVAL. */
int mr_check_dmabuf(const struct compat_mr_dmabuf *given, size_t count, const struct compat_mr_attr *attr, uint32_t api);
/* 0 and *dmabuf, which exists before the region is in the table, until no byte is touched any more. -FI_EBADF, -FI_EINVAL past the
 * end of the descriptor's bytes, or mmap's error. */
int mr_dmabuf_open(const struct compat_mr_dmabuf *given, uint64_t access, struct dmabuf **dmabuf);

/* fi_mr_hmem.c: iface (S85, S138), device (S140), hmem_data (S142), page_size (S152). 0 and the request's two; -FI_ENOSYS or
 * -FI_EINVAL. */
int mr_check_hmem(struct emu_domain *domain, const struct compat_mr_attr *attr, struct mr_request *req);
/* Likewise: finds where the bytes of the request's segments are if these are memory of a device, which is to be the one that the
 * program names, if it must name one (S134, S135), and of the kind that the flags say (S143, S144). 0; -FI_EINVAL, -FI_EBADFLAGS;
 * -FI_EFAULT: it has been freed, or is of several allocations. */
int mr_find_device(struct emu_domain *domain, struct mr_request *req);

/* --- FI_EMU_PINNED: the NIC uses the pages that were there at registration, as a NIC that pins them does (S81). Any thread;
 * makes system calls, so not with the driver role. Errors come after a line of log. --- */

/* Are regions under these rules (mr_mode) pinned, if the setting is on? Under FI_MR_ALLOCATED they are, but not with
 * FI_MR_MMU_NOTIFY: then the program tells of changes, and the NIC follows. */
bool mr_pin_rules(int rules);
/* Before the first domain that pins. If changes of mappings cannot be watched, only a line of log says so. 0, or
 * -FI_EOPNOTSUPP: the kernel or the container forbids pinning by io_uring. */
int mr_pin_start(void);
/* Pins memory that is backed already. 0 and *pin, ended by uring_unpin(); -FI_ENOMEM: RLIMIT_MEMLOCK, or too many pieces;
 * -FI_EFAULT: a kind of memory that io_uring does not pin. */
int mr_pin(const struct iovec *segments, size_t count, struct pin **pin);

#endif
