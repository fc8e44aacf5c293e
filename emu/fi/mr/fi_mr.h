/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr.h - the region object. The three registration calls narrow to one request (S2). Any thread; may wait one slice
 * of the driver role, and under FI_MR_ALLOCATED for the kernel to supply the memory. */
#ifndef EMU_FI_MR_H
#define EMU_FI_MR_H

#include <rdma/fi_domain.h>

#include "emu/fi/domain/fi_domain.h"

struct auth_set;
struct emu_av;
struct emu_eq;
struct compat_mr_attr;
struct mr_pages;
struct compat_mr_dmabuf;
struct mr_async;
struct mr_dmabuf;
struct pin;

/* Rarely used parts of a region; each may be NULL. */
struct mr_parts {
	struct mr_async *async;   /* registered asynchronously (S168) */
	struct emu_av *av;        /* the address vector whose keys it takes; it holds a reference */
	bool all_keys;            /* all keys that the vector holds when the region is enabled */
	struct mr_dmabuf *dmabuf; /* the bytes lie in this mapping, and not at the program's addresses */
	struct pin *pin;          /* FI_EMU_PINNED */
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
	struct mr_dmabuf *dmabuf;             /* its mapping, once it is mapped */
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

#endif
