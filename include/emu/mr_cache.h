/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_cache.h - counts of the registration cache (FI_EMU_MR_CACHE=1), for programs that want to see its hits. Reached through
 * libfabric; there is nothing to link:
 *
 *	struct emu_mr_cache_ops *ops;
 *	struct emu_mr_cache_counts counts;
 *
 *	if (!fi_open_ops(&domain->fid, EMU_MR_CACHE_OPS, 0, (void **)&ops, NULL))
 *		ops->counts(domain, &counts); */
#ifndef EMU_MR_CACHE_H
#define EMU_MR_CACHE_H

#include <stddef.h>
#include <stdint.h>

struct fid_domain;

/* The name for fi_open_ops() of a domain; its flags are 0. */
#define EMU_MR_CACHE_OPS "emu_mr_cache"

/* The counts of one domain since it was opened. */
struct emu_mr_cache_counts {
	uint32_t on;      /* 0: no cache, and the rest is 0; a line of the log says why */
	uint32_t regions; /* in the cache */
	uint64_t bytes;   /* in these regions */
	uint64_t hits;    /* buffers that lay in a region */
	uint64_t misses;  /* buffers that were examined, page by page */
	uint64_t evicted; /* regions dropped to keep FI_MR_CACHE_MAX_COUNT and _SIZE, or since a new one overlaps them */
	uint64_t merged;  /* regions merged into another (FI_MR_CACHE_MERGE_REGIONS) */
	uint64_t changed; /* regions dropped as the program unmapped, moved or dropped their memory */
};

struct emu_mr_cache_ops {
	size_t size; /* of this structure, as the provider knows it */
	/* Any thread, but no signal handler. 0, -FI_EINVAL, or -FI_ENODEV in a fork's child. */
	int (*counts)(struct fid_domain *domain, struct emu_mr_cache_counts *counts);
};

#endif
