/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_cache.h - the registration cache of a domain (FI_EMU_MR_CACHE; S188 to S194): a local buffer that is passed without a
 * descriptor is registered behind the program's back, as drivers do for adapters that need registration where the program has none.
 * To register is to find that the buffer could be pinned; the cache keeps this until the kernel tells of a change. */
#ifndef EMU_FI_MR_CACHE_H
#define EMU_FI_MR_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include <rdma/fi_domain.h>

struct emu_domain;
struct emu_mr_cache;

/* Defines FI_MR_CACHE_MERGE_REGIONS, which libfabric's core no longer has. Once, when the provider is loaded. */
void mr_cache_define(void);

/* For a domain that is being opened with FI_EMU_MR_CACHE=1: 0 and *cache, NULL after a line of log if it is to be off
 * (S191, S193, S194) or would be useless; -FI_EINVAL, logged, if a FI_MR_CACHE_* is invalid; -FI_ENOMEM. */
int mr_cache_start(const struct emu_domain *domain, struct emu_mr_cache **cache);
/* The domain is closed. NULL is allowed. Logs the cache's counts. */
void mr_cache_stop(const struct emu_domain *domain, struct emu_mr_cache *cache);

/* Registers a buffer of a domain with a cache, unless it is registered: 0; -FI_EFAULT after a line of log if there is no memory
 * that could be pinned; -FI_EAGAIN from a signal handler inside the device. Any thread. A miss takes as long as the kernel needs
 * to supply the memory. */
int mr_cache_register(const struct emu_domain *domain, const struct iovec *buffer, bool writable) __attribute__((noinline));
/* Likewise a buffer of a device, where the NIC reaches it. It is not kept if the monitor of its interface is switched off, or if
 * there is none (S195). */
int mr_cache_register_device(const struct emu_domain *domain, const struct iovec *reached, bool writable, uint32_t iface);

/* fi_ops.ops_open of domains: EMU_MR_CACHE_OPS. */
int mr_cache_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

#endif
