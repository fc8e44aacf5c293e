/* SPDX-License-Identifier: BSD-2-Clause */
/* newest.h - what the newest headers say of registration, for those built with old ones. */
#ifndef TESTS_RULES_NEWEST_H
#define TESTS_RULES_NEWEST_H

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stddef.h>
#include <stdint.h>

#define NEWEST_MR_DMABUF (1ULL << 40) /* 1.20 */
#define NEWEST_MR_HMEM (1 << 10)      /* 1.9 */

#define NEWEST_AV_AUTH_KEY SIZE_MAX  /* 1.20 */
#define NEWEST_AUTH_KEY (1ULL << 57) /* 1.20 */

/* struct fi_mr_auth_key of 1.20. */
struct newest_mr_auth_key {
	struct fid_av *av;
	fi_addr_t src_addr;
};

/* struct fi_ops_av of 1.20. */
struct newest_ops_av {
	size_t size;
	void *older[7];
	int (*insert_auth_key)(struct fid_av *av, const void *key, size_t size, fi_addr_t *fi_addr, uint64_t flags);
	int (*lookup_auth_key)(struct fid_av *av, fi_addr_t fi_addr, void *key, size_t *size);
};

static inline int newest_insert_auth_key(struct fid_av *av, const void *key, size_t size, fi_addr_t *fi_addr)
{
	const struct newest_ops_av *ops = (const struct newest_ops_av *)(const void *)av->ops;

	return ops->size >= sizeof(*ops) ? ops->insert_auth_key(av, key, size, fi_addr, 0) : -FI_ENOSYS;
}

struct newest_dmabuf {
	int fd;
	uint64_t offset;
	size_t len;
	void *base_addr;
};

/* struct fi_mr_attr of 2.0, and room for what a later library may read. */
struct newest_attr {
	const void *mr_iov; /* or a struct newest_dmabuf */
	size_t iov_count;
	uint64_t access, offset, requested_key;
	void *context;
	size_t auth_key_size;
	uint8_t *auth_key;
	uint32_t iface;
	uint64_t device;
	void *hmem_data;        /* 1.19 */
	size_t page_size;       /* 1.22 */
	struct fid_mr *base_mr; /* 2.0 */
	size_t sub_mr_cnt;
	uint8_t newer[64];
};

static inline int newest_reg(struct fid_domain *domain, const struct newest_attr *attr, uint64_t flags, struct fid_mr **mr)
{
	return fi_mr_regattr(domain, (const struct fi_mr_attr *)(const void *)attr, flags, mr);
}

#endif
