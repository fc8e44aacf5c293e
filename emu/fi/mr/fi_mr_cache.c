/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_cache.c - the cache's settings, its monitor, and the registration of a buffer. The table is guarded by uffd_lock():
 * nothing is allocated, freed or logged under it. */
#include "emu/fi/mr/fi_mr_cache.h"

#include <inttypes.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/net/memory/uffd.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/pagemap.h"
#include "emu/nic/regions/mr_cache.h"
#include "include/emu/hmem.h"
#include "include/emu/mr_cache.h"

enum { COUNT_DEFAULT = 1024 };

struct emu_mr_cache {
	struct uffd_client client; /* first */
	struct mr_cache *table;
	bool pagemap;                /* the kernel can tell which pages are there */
	bool keeps[EMU_HMEM_IFACES]; /* memory of devices of this interface */
};

void mr_cache_define(void)
{
	fi_param_define(NULL, "mr_cache_merge_regions", FI_PARAM_BOOL, "%s",
			"Combines overlapping and adjacent regions of a registration cache. Of libfabric up to 1.8 and of the "
			"emu provider (default: false)");
}

static int bad_value(const char *name)
{
	return REFUSE(MR, -FI_EINVAL, "setting %s of the registration cache: not a value that it can have; see fi_info -e.", name);
}

/* FI_MR_CACHE_*: variables of libfabric, not of the provider. 0, also if it is not set; else -FI_EINVAL, logged. */
static int read_own(const char *name, void *value)
{
	int err = fi_param_get(NULL, name, value);

	return !err || err == -FI_ENODATA || err == -FI_ENOENT ? 0 : bad_value(name);
}

/* libfabric reads a word that is no number as 0. */
static int read_size(const char *name, const char *variable, size_t *value)
{
	const char *text = getenv(variable);

	return text && (*text < '0' || *text > '9') ? bad_value(name) : read_own(name, value);
}

/* S189, S190, S192. A count of 0 stays one. */
static int read_limits(struct mr_cache_attr *attr)
{
	size_t bytes = SIZE_MAX, count = COUNT_DEFAULT;
	int merge = 0;

	if (read_size("mr_cache_max_size", "FI_MR_CACHE_MAX_SIZE", &bytes) ||
	    read_size("mr_cache_max_count", "FI_MR_CACHE_MAX_COUNT", &count) || read_own("mr_cache_merge_regions", &merge))
		return -FI_EINVAL;
	if (count > LIMIT_CACHED)
		EMU_INFO(MR, "registration cache: %zu regions are asked for, it holds at most %d\n", count, LIMIT_CACHED);
	attr->bytes_max = bytes;
	attr->count_max = count < LIMIT_CACHED ? (uint32_t)count : LIMIT_CACHED;
	attr->merge = merge;
	return 0;
}

/* S193, S194. *off: why the cache is off; NULL: it is on. */
static int read_monitor(const char **off)
{
	static const struct {
		const char *name, *off;
	} monitors[] = {
		{ "userfaultfd", NULL },
		{ "disabled", "FI_MR_CACHE_MONITOR=disabled (S194)" },
		{ "memhooks", "FI_MR_CACHE_MONITOR=memhooks is not to be had from this provider, which does not replace "
			      "the process's own calls; userfaultfd is (S193)" },
		{ "kdreg2", "FI_MR_CACHE_MONITOR=kdreg2 is not to be had from this provider, which uses no module of the "
			    "kernel; userfaultfd is (S193)" },
	};
	char *value = NULL;

	*off = NULL;
	if (read_own("mr_cache_monitor", &value))
		return -FI_EINVAL;
	if (!value)
		return 0;
	for (size_t i = 0; i < sizeof(monitors) / sizeof(*monitors); i++) {
		if (!strcmp(monitors[i].name, value)) {
			*off = monitors[i].off;
			return 0;
		}
	}
	return REFUSE(MR, -FI_EINVAL,
		      "setting FI_MR_CACHE_MONITOR: \"%s\" is none of userfaultfd, memhooks, kdreg2, disabled "
		      "(S193).",
		      value);
}

/* S195. The pages name no monitor of the other interfaces. */
static int read_device_monitors(bool keeps[EMU_HMEM_IFACES])
{
	static const struct {
		unsigned int iface;
		const char *name;
	} monitors[] = {
		{ EMU_HMEM_CUDA, "mr_cuda_cache_monitor_enabled" },
		{ EMU_HMEM_ROCR, "mr_rocr_cache_monitor_enabled" },
		{ EMU_HMEM_ZE, "mr_ze_cache_monitor_enabled" },
	};

	for (size_t i = 0; i < sizeof(monitors) / sizeof(*monitors); i++) {
		int enabled = 1;

		if (read_own(monitors[i].name, &enabled))
			return -FI_EINVAL;
		keeps[monitors[i].iface] = enabled;
	}
	return 0;
}

static void fi_mr_cache_changed(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	mr_cache_drop(((struct emu_mr_cache *)client)->table, addr, length);
}

static bool fi_mr_cache_overlaps(struct uffd_client *client, uint64_t addr, uint64_t length)
{
	return mr_cache_holds(((struct emu_mr_cache *)client)->table, addr, length);
}

static void forgot(void *arg, uint64_t addr, uint64_t length) REQUIRES(uffd_mutex)
{
	(void)arg;
	uffd_unwatch(addr, length);
}

static int fi_mr_cache_new(struct emu_mr_cache **out, const struct mr_cache_attr *attr, const bool keeps[EMU_HMEM_IFACES])
{
	struct emu_mr_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -FI_ENOMEM;
	if (mr_cache_open(&cache->table, attr)) {
		free(cache);
		return -FI_ENOMEM;
	}
	cache->client.changed = fi_mr_cache_changed;
	cache->client.holds = fi_mr_cache_overlaps;
	cache->pagemap = !pagemap_open();
	memcpy(cache->keeps, keeps, sizeof(cache->keeps));
	uffd_add(&cache->client);
	*out = cache;
	return 0;
}

int mr_cache_start(const struct emu_domain *domain, struct emu_mr_cache **out)
{
	struct mr_cache_attr attr = { .forgot = forgot };
	bool keeps[EMU_HMEM_IFACES] = { false };
	const char *off = NULL;
	int err;

	*out = NULL;
	err = read_limits(&attr);
	if (!err)
		err = read_monitor(&off);
	if (!err)
		err = read_device_monitors(keeps);
	if (err)
		return err;
	if (!attr.count_max)
		off = "FI_MR_CACHE_MAX_COUNT=0 (S191)";
	else if (domain->rules & FI_MR_LOCAL)
		off = "under FI_MR_LOCAL the program registers its buffers itself";
	else if (!off)
		uffd_start(&off);
	if (!off)
		return fi_mr_cache_new(out, &attr, keeps);
	EMU_WARN(MR, "the registration cache is off: %s\n", off);
	return 0;
}

/* In a fork's child, and after the provider's cleanup, the memory stays: uffd's thread may use it, or its lock may be taken. */
void mr_cache_stop(const struct emu_domain *domain, struct emu_mr_cache *cache)
{
	struct mr_cache_counts counts;

	if (!cache || !domain_usable(domain))
		return;
	uffd_lock();
	mr_cache_count(cache->table, &counts);
	mr_cache_drop(cache->table, 0, UINT64_MAX);
	uffd_unlock();
	uffd_remove(&cache->client);
	EMU_INFO(MR,
		 "registration cache: %" PRIu64 " hits, %" PRIu64 " misses, %" PRIu64 " regions evicted, %" PRIu64
		 " merged, %" PRIu64 " changed; at the end %u regions of %" PRIu64 " B\n",
		 counts.hits, counts.misses, counts.evicted, counts.merged, counts.changed, counts.regions, counts.bytes);
	mr_cache_close(cache->table);
	free(cache);
}

/* Could the buffer be pinned (S79)? */
static bool backed(const struct emu_mr_cache *cache, const struct iovec *buffer, bool writable)
{
	return !guard_populate(buffer->iov_base, buffer->iov_len, writable) &&
	       (!cache->pagemap || pagemap_all((uintptr_t)buffer->iov_base, buffer->iov_len));
}

/* Could the buffer be pinned? The memory is watched first, then examined, and cached only if no change was told meanwhile. */
static bool lookup(struct emu_mr_cache *cache, const struct iovec *buffer, bool writable)
{
	uint64_t addr = (uintptr_t)buffer->iov_base, length = buffer->iov_len, ticket;
	bool watched = !uffd_watch(addr, length, &ticket), good = backed(cache, buffer, writable);

	if (watched) {
		uffd_lock();
		if (!good || !uffd_unchanged(ticket) || !mr_cache_add(cache->table, addr, length, writable))
			uffd_unwatch(addr, length);
		uffd_unlock();
	}
	return good;
}

__attribute__((cold)) static int refuse_unbacked(const struct iovec *buffer, bool writable)
{
	return REFUSE(EP_DATA, -FI_EFAULT,
		      "local buffer %p, %zu B: not backed by memory that could be %s, so it cannot be "
		      "registered (S79, S188).",
		      buffer->iov_base, buffer->iov_len, writable ? "written" : "read");
}

int mr_cache_register_device(const struct emu_domain *domain, const struct iovec *reached, bool writable, uint32_t iface)
{
	if (domain->cache->keeps[iface])
		return mr_cache_register(domain, reached, writable);
	return backed(domain->cache, reached, writable) ? 0 : refuse_unbacked(reached, writable);
}

int mr_cache_register(const struct emu_domain *domain, const struct iovec *buffer, bool writable)
{
	struct emu_mr_cache *cache = domain->cache;
	uint64_t addr = (uintptr_t)buffer->iov_base, length = buffer->iov_len;
	bool wraps = addr > UINT64_MAX - (length - 1), hit = false;

	if (driver_mine(nic_driver(domain->nic)))
		return -FI_EAGAIN; /* the device may have the lock */
	if (!wraps) {
		uffd_lock();
		hit = mr_cache_find(cache->table, addr, length, writable);
		uffd_unlock();
	}
	if (hit || (!wraps && lookup(cache, buffer, writable)))
		return 0;
	return refuse_unbacked(buffer, writable);
}

static int read_counts(struct fid_domain *fid, struct emu_mr_cache_counts *out)
{
	const struct emu_domain *domain = emu_domain(fid);
	struct mr_cache_counts counts = { 0 };

	if (!fid || !out)
		return -FI_EINVAL;
	if (!domain_usable(domain))
		return -FI_ENODEV;
	if (domain->cache) {
		uffd_lock();
		mr_cache_count(domain->cache->table, &counts);
		uffd_unlock();
	}
	*out = (struct emu_mr_cache_counts){
		.on = !!domain->cache,
		.regions = counts.regions,
		.bytes = counts.bytes,
		.hits = counts.hits,
		.misses = counts.misses,
		.evicted = counts.evicted,
		.merged = counts.merged,
		.changed = counts.changed,
	};
	return 0;
}

static struct emu_mr_cache_ops ops_table = { .size = sizeof(struct emu_mr_cache_ops), .counts = read_counts };

int mr_cache_ops_open(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid;
	(void)context;
	if (!name || !ops)
		return REFUSE(DOMAIN, -FI_EINVAL, "fi_open_ops: name or ops is NULL.");
	if (flags)
		return REFUSE_FLAGS(DOMAIN, "fi_open_ops", flags);
	if (strcmp(name, EMU_MR_CACHE_OPS))
		return refuse_probe("fi_open_ops");
	*ops = &ops_table;
	return 0;
}
