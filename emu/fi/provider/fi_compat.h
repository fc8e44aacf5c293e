/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_compat.h - the differences of libfabric's headers from 1.17 on, so that one source compiles with all of them and
 * one library serves them all.
 *
 * Names that newer headers deprecated or dropped get private aliases. Fields newer than the headers are reached through
 * the layouts below. Before a field of a program's structure is touched, its API version must say that the program
 * knows it (emu_domain.api, emu_cq.api). Everything here is asserted where the headers have it. */
#ifndef EMU_FI_COMPAT_H
#define EMU_FI_COMPAT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#define COMPAT_HEADERS FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION)

/* Legacy registration modes (S86-S89), mode bit and bind flag: since 2.0 each use of the real names warns. */
#define COMPAT_MR_UNSPEC 0
#define COMPAT_MR_BASIC (1 << 0)
#define COMPAT_MR_SCALABLE (1 << 1)
#define COMPAT_LOCAL_MR (1ull << 55)
#define COMPAT_REG_MR (1ull << 59)

/* Formats of tags since 2.0; before, such numbers are fields. */
enum { COMPAT_TAG_MPI = 1, COMPAT_TAG_CCL = 2 };

/* Registration flag since 2.0. */
#define COMPAT_MR_SINGLE_USE (1ull << 41)
/* Capabilities since 2.0: before, these bits meant something else. */
#define COMPAT_TAGGED_DIRECTED_RECV (1ull << 45)
#define COMPAT_TAGGED_MULTI_RECV (1ull << 46)
#define COMPAT_EXACT_DIRECTED_RECV (1ull << 48)
/* Authorization keys in address vectors: 1.20. */
#define COMPAT_AV_AUTH_KEY SIZE_MAX
#define COMPAT_AUTH_KEY (1ull << 57)
#define COMPAT_MR_DMABUF (1ull << 40) /* 1.20 */

/* getinfo: flags that libfabric's core adds when a layered provider asks (internal to it since 1.5 and stable). */
#define COMPAT_CORE_ONLY (1ull << 59)
#define COMPAT_INTERNAL_FLAGS (0x7full << 57) /* 57 to 63: core sets them; a program never does */
/* Registration: a layered provider's wish to the cache of the provider below (internal since 1.9 and stable). */
#define COMPAT_MR_NOCACHE (1ull << 60)
#define COMPAT_RESCAN (1ull << 35) /* 2.2 */

/* Insertion into an address vector, and the error of an op to such an address: 2.2. */
#define COMPAT_FIREWALL_ADDR (1ull << 42)
#define COMPAT_EFIREWALLADDR 271

/* Address format since 2.3, IPv4 or IPv6: for programs whose library has it. */
#define COMPAT_SOCKADDR_IP 17u
#define COMPAT_SOCKADDR_IP_SINCE FI_VERSION(2, 3)

/* libfabric's core keeps this in fi_provider.context (internal to it, the same from 1.17 on). A provider whose endpoints
 * need no help asks not to be layered upon unless a program names both, "emu;ofi_rxm": core itself does that for the
 * names that it knows. */
struct compat_prov_context {
	int type;
	bool disable_logging;
	bool disable_layering;
};

/* Progress value since 2.0: control progress is driven together with data progress. */
#define COMPAT_PROGRESS_CONTROL_UNIFIED 3

#define COMPAT_CNTR_EVENTS_BYTES 1 /* 1.21 */
#define COMPAT_CNTR_VALUE_SINCE FI_VERSION(2, 5)

/* Endpoint options since 1.18, 2.0 and, the last one, 2.2. */
enum compat_opt {
	COMPAT_OPT_CUDA_API_PERMITTED = 10,
	COMPAT_OPT_MAX_MSG_SIZE = 12,
	COMPAT_OPT_MAX_TAGGED_SIZE,
	COMPAT_OPT_MAX_RMA_SIZE,
	COMPAT_OPT_MAX_ATOMIC_SIZE,
	COMPAT_OPT_INJECT_MSG_SIZE,
	COMPAT_OPT_INJECT_TAGGED_SIZE,
	COMPAT_OPT_INJECT_RMA_SIZE,
	COMPAT_OPT_INJECT_ATOMIC_SIZE,
	COMPAT_OPT_FIREWALL_ADDR,
};

/* struct fi_mr_dmabuf of 1.20: mr_iov points to it with FI_MR_DMABUF. */
struct compat_mr_dmabuf {
	int fd;
	uint64_t offset;
	size_t len;
	void *base_addr;
};

/* struct fi_mr_attr as of 2.0. A program knows it up to auth_key before 1.9, up to device before 1.19. */
struct compat_mr_attr {
	const struct iovec *mr_iov;
	size_t iov_count;
	uint64_t access;
	uint64_t offset;
	uint64_t requested_key;
	void *context;
	size_t auth_key_size;
	uint8_t *auth_key;
	uint32_t iface;
	uint64_t device;
	void *hmem_data;              /* 1.19 */
	size_t page_size;             /* 1.22 */
	const struct fid_mr *base_mr; /* 2.0 */
	size_t sub_mr_cnt;            /* 2.0 */
};

/* struct fi_domain_attr as of 2.5. The running library says whether it is that long (fi_version()). */
struct compat_domain_attr {
	struct fi_domain_attr base; /* with newer headers the rest is in there */
#if COMPAT_HEADERS < FI_VERSION(1, 20)
	size_t max_ep_auth_key;
#endif
#if COMPAT_HEADERS < FI_VERSION(2, 0)
	uint32_t max_group_id;
#endif
#if COMPAT_HEADERS < COMPAT_CNTR_VALUE_SINCE
	uint64_t max_cntr_value;
	uint64_t max_err_cntr_value;
#endif
};

/* struct fi_mr_auth_key of 1.20: auth_key points to it if keys are in address vectors. */
struct compat_mr_auth_key {
	struct fid_av *av;
	fi_addr_t src_addr;
};

/* struct fi_ops_av as of 1.20. */
struct compat_ops_av {
	struct fi_ops_av base; /* with newer headers the rest is in there */
#if COMPAT_HEADERS < FI_VERSION(1, 20)
	int (*insert_auth_key)(struct fid_av *av, const void *key, size_t size, fi_addr_t *fi_addr, uint64_t flags);
	int (*lookup_auth_key)(struct fid_av *av, fi_addr_t fi_addr, void *key, size_t *size);
	int (*set_user_id)(struct fid_av *av, fi_addr_t fi_addr, fi_addr_t user_id, uint64_t flags);
#endif
};

/* Headers that have accelerators' calls (fi_xpu.h) make four of them through these tables without a look at their size, so that
 * each table ends in a function for it. COMPAT_XPU() finds the member. */
#if __has_include(<rdma/fi_xpu.h>)
#define COMPAT_HAS_XPU 1
#define COMPAT_XPU(member) base.member
#else
#define COMPAT_HAS_XPU 0
#define COMPAT_XPU(member) member
#endif

struct fi_xpu_attr;
struct fid_xpu_ctx;
struct fid_xpu_ep;
struct fid_xpu_cq;
struct fid_xpu_cntr;

struct compat_ops_domain {
	struct fi_ops_domain base; /* with newer headers the rest is in there: here and in the next three */
#if !COMPAT_HAS_XPU
	int (*xpu_ctx)(struct fid_domain *domain, struct fi_xpu_attr *attr, struct fid_xpu_ctx **ctx, void *context);
#endif
};

struct compat_ops_ep {
	struct fi_ops_ep base;
#if !COMPAT_HAS_XPU
	int (*export_xpu)(struct fid_ep *ep, uint64_t flags, struct fid_xpu_ep *xpu_ep);
#endif
};

struct compat_ops_cq {
	struct fi_ops_cq base;
#if !COMPAT_HAS_XPU
	int (*export_xpu)(struct fid_cq *cq, uint64_t flags, struct fid_xpu_cq *xpu_cq);
#endif
};

struct compat_ops_cntr {
	struct fi_ops_cntr base;
#if !COMPAT_HAS_XPU
	int (*export_xpu)(struct fid_cntr *cntr, uint64_t flags, struct fid_xpu_cntr *xpu_cntr);
#endif
};

/* struct fi_cq_err_entry as of 1.20. */
struct compat_cq_err_entry {
	struct compat_cq_err_entry_1_5 {
		void *op_context;
		uint64_t flags;
		size_t len;
		void *buf;
		uint64_t data;
		uint64_t tag;
		size_t olen;
		int err;
		int prov_errno;
		void *err_data;
		size_t err_data_size;
	} base;
	fi_addr_t src_addr; /* 1.20 */
};

static_assert(sizeof(struct compat_prov_context) <= sizeof(struct fi_context), "fits into fi_provider.context");
static_assert(offsetof(struct compat_mr_attr, auth_key) == offsetof(struct fi_mr_attr, auth_key), "fi_mr_attr of 1.8");
static_assert(offsetof(struct compat_mr_attr, iface) == offsetof(struct fi_mr_attr, iface), "fi_mr_attr of 1.9");
static_assert(offsetof(struct compat_mr_attr, device) == offsetof(struct fi_mr_attr, device), "fi_mr_attr of 1.9");
static_assert(offsetof(struct compat_cq_err_entry, base.err_data_size) == offsetof(struct fi_cq_err_entry, err_data_size),
	      "fi_cq_err_entry of 1.5");
static_assert(offsetof(struct compat_cq_err_entry, src_addr) == 80, "fi_cq_err_entry of 1.20");

#if COMPAT_HEADERS < FI_VERSION(1, 20)
static_assert(offsetof(struct compat_domain_attr, max_ep_auth_key) == 192, "fi_domain_attr of 1.20");
#endif
#if COMPAT_HEADERS < COMPAT_CNTR_VALUE_SINCE
static_assert(offsetof(struct compat_domain_attr, max_cntr_value) == 208, "fi_domain_attr of 2.5");
#else
static_assert(offsetof(struct fi_domain_attr, max_cntr_value) == 208, "fi_domain_attr of 2.5");
#endif
#if COMPAT_HEADERS >= FI_VERSION(2, 2)
static_assert(COMPAT_FIREWALL_ADDR == FI_FIREWALL_ADDR && COMPAT_EFIREWALLADDR == FI_EFIREWALLADDR, "firewalls");
#endif
#if COMPAT_HEADERS >= COMPAT_SOCKADDR_IP_SINCE
static_assert(COMPAT_SOCKADDR_IP == FI_SOCKADDR_IP, "address formats");
#endif
#if COMPAT_HEADERS < FI_VERSION(2, 0)
static_assert(COMPAT_MR_UNSPEC == FI_MR_UNSPEC && COMPAT_MR_BASIC == FI_MR_BASIC && COMPAT_MR_SCALABLE == FI_MR_SCALABLE,
	      "registration modes");
static_assert(COMPAT_LOCAL_MR == FI_LOCAL_MR && COMPAT_REG_MR == FI_REG_MR, "deprecated bits");
#else
static_assert((int)COMPAT_TAG_MPI == FI_TAG_MPI && (int)COMPAT_TAG_CCL == FI_TAG_CCL, "formats of tags");
static_assert(COMPAT_MR_SINGLE_USE == FI_MR_SINGLE_USE && COMPAT_MR_DMABUF == FI_MR_DMABUF, "registration flags");
static_assert(offsetof(struct compat_mr_dmabuf, base_addr) == offsetof(struct fi_mr_dmabuf, base_addr) &&
		      sizeof(struct compat_mr_dmabuf) == sizeof(struct fi_mr_dmabuf),
	      "fi_mr_dmabuf of 1.20");
static_assert(COMPAT_AV_AUTH_KEY == FI_AV_AUTH_KEY && COMPAT_AUTH_KEY == FI_AUTH_KEY &&
		      sizeof(struct compat_mr_auth_key) == sizeof(struct fi_mr_auth_key),
	      "authorization keys of 1.20");
static_assert(offsetof(struct fi_domain_attr, max_ep_auth_key) == 192, "fi_domain_attr of 1.20");
static_assert(COMPAT_TAGGED_DIRECTED_RECV == FI_TAGGED_DIRECTED_RECV && COMPAT_TAGGED_MULTI_RECV == FI_TAGGED_MULTI_RECV &&
		      COMPAT_EXACT_DIRECTED_RECV == FI_EXACT_DIRECTED_RECV,
	      "capabilities of 2.0");
static_assert(COMPAT_CNTR_EVENTS_BYTES == FI_CNTR_EVENTS_BYTES, "counters of 1.21");
static_assert(COMPAT_PROGRESS_CONTROL_UNIFIED == FI_PROGRESS_CONTROL_UNIFIED, "progress");
static_assert((int)COMPAT_OPT_MAX_MSG_SIZE == FI_OPT_MAX_MSG_SIZE &&
		      (int)COMPAT_OPT_INJECT_ATOMIC_SIZE == FI_OPT_INJECT_ATOMIC_SIZE &&
		      (int)COMPAT_OPT_CUDA_API_PERMITTED == FI_OPT_CUDA_API_PERMITTED,
	      "endpoint options");
static_assert(offsetof(struct compat_mr_attr, page_size) == offsetof(struct fi_mr_attr, page_size) &&
		      offsetof(struct compat_mr_attr, base_mr) == offsetof(struct fi_mr_attr, base_mr) &&
		      sizeof(struct compat_mr_attr) == sizeof(struct fi_mr_attr),
	      "fi_mr_attr of 2.0");
static_assert(offsetof(struct compat_cq_err_entry, src_addr) == offsetof(struct fi_cq_err_entry, src_addr),
	      "fi_cq_err_entry of 1.20");
#endif

#endif
