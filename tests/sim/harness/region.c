/* SPDX-License-Identifier: BSD-2-Clause */
/* region.c - a registered region and what its memory must hold. */
#include <assert.h>
#include <stdlib.h>

#include "tests/sim/harness/model.h"

enum { PAGE = 4096 };

static struct world *region_world(const struct region *region)
{
	return region->owner->model->world;
}

static void region_register(struct region *region)
{
	struct iovec named[LIMIT_IOV];
	struct mr_attr attr = {
		.iov = named,
		.iov_count = region->segs,
		.access = region->access,
		.key = region->key,
		.provider_key = region->provider_key,
		.key_bytes = 8,
		.virtual_addr = region->virtual_addr,
		.persistent = true,
		.single_use = region->single_use,
		.gated = region->gated,
		.by_endpoint = region->gated,
		.events = region->gated,
		.pin = region->pin ? &region->pin->pin : NULL,
	};
	int rc;

	for (size_t i = 0; i < region->segs; i++)
		named[i] = (struct iovec){ (char *)region->seg[i].iov_base + region->apart, region->seg[i].iov_len };
	node_enter(region->owner->node);
	rc = mr_add(pd_regions(region->owner->pd), &attr, &region->mr);
	WORLD_CHECK(region_world(region), !rc, "mr_add: %d", rc);
	region->closed = region->gated ? REFUSAL_DISABLED : REFUSAL_NONE;
	region->key = region->mr->key;
	node_leave(region->owner->node);
	region->life++;
}

struct region *region_open(struct party *owner, uint64_t length, size_t segs, uint32_t access, bool virtual_addr, uint64_t key)
{
	struct region *region = calloc(1, sizeof(*region));
	uint64_t piece = length / segs;

	assert(region && segs && segs <= LIMIT_IOV);
	*region = (struct region){
		.next = owner->model->regions,
		.owner = owner,
		.key = key,
		.access = access,
		.virtual_addr = virtual_addr,
		.provider_key = !key,
		.length = length,
		.segs = segs,
	};
	owner->model->regions = region;
	region->size = (length + (segs + 1) * REGION_GAP + PAGE - 1) / PAGE * PAGE;
	region->block = aligned_alloc(PAGE, region->size);
	region->shadow = malloc(region->size);
	region->kept = calloc(1, region->size);
	region->claimed = calloc(1, region->size / REGION_GRAIN + 1);
	assert(region->block && region->shadow && region->kept && region->claimed);
	rnd_fill(&region_world(region)->rnd, region->block, region->size);
	memcpy(region->shadow, region->block, region->size);
	for (size_t i = 0; i < segs; i++) {
		/* The first segment begins at the block, so that tests may poison whole pages of it. */
		region->seg[i].iov_base = region->block + i * (piece + REGION_GAP);
		region->seg[i].iov_len = i + 1 < segs ? piece : length - piece * (segs - 1);
	}
	region_register(region);
	return region;
}

/* The rights of peers change under the ops that are under way. */
static void region_loosen(struct region *region)
{
	struct model *model = region->owner->model;

	for (uint64_t id = 1; id <= model->jobs; id++) {
		struct job *job = model->job[id];

		if (job->region != region || job->done)
			continue;
		job->clean = false;
		job->may.good = true;
		job_may(job, REFUSAL_DISABLED);
		job_may(job, REFUSAL_OTHER_ENDPOINT);
	}
}

static void region_renew(struct region *region)
{
	region_end(region);
	region_again(region, region->access);
	region_loosen(region);
}

void region_make_single(struct region *region)
{
	region->single_use = true;
	region_renew(region);
}

void region_make_gated(struct region *region)
{
	region->gated = true;
	region_renew(region);
}

static bool pin_put(struct pin *base, void *at, const void *bytes, size_t length)
{
	struct region_pin *pin = (struct region_pin *)base;

	if (!pin->failing)
		memcpy((char *)at - pin->region->apart, bytes, length);
	pin->put += length;
	return !pin->failing;
}

static bool pin_get(struct pin *base, const void *at, void *bytes, size_t length)
{
	struct region_pin *pin = (struct region_pin *)base;

	if (!pin->failing)
		memcpy(bytes, (const char *)at - pin->region->apart, length);
	pin->got += length;
	return !pin->failing;
}

static bool pin_changed(struct pin *base)
{
	struct region_pin *pin = (struct region_pin *)base;
	bool changed = pin->changed;

	pin->changed = false;
	return changed;
}

static const struct pin_ops pin_ops = { .put = pin_put, .get = pin_get, .changed = pin_changed };

void region_make_pinned(struct region *region)
{
	region->pin = calloc(1, sizeof(*region->pin));
	assert(region->pin);
	region->pin->pin.ops = &pin_ops;
	region->pin->region = region;
	region->apart = 1ull << 62; /* no address at all */
	region_renew(region);
}

void region_step(struct region *region)
{
	struct party *owner = region->owner;
	int rc = 0;

	assert(region->gated && region->mr);
	if (region->closed == REFUSAL_OTHER_ENDPOINT) {
		region_renew(region);
		return;
	}
	node_enter(owner->node);
	if (region->closed == REFUSAL_DISABLED) {
		rc = binding_add(region->mr, &owner->bindings);
		rc = rc ? rc : binding_add(region->mr, &owner->events);
		region->mr->enabled = true;
	} else {
		binding_drop_slice(&owner->bindings);
	}
	node_leave(owner->node);
	WORLD_CHECK(region_world(region), !rc, "binding_add: %d", rc);
	region->closed = region->closed ? REFUSAL_NONE : REFUSAL_OTHER_ENDPOINT;
	region_loosen(region);
}

void region_end(struct region *region)
{
	struct model *model = region->owner->model;

	assert(region->mr);
	for (uint64_t id = 1; id <= model->jobs; id++) {
		struct job *job = model->job[id];

		if (job->region != region || job->done)
			continue;
		job->clean = false;
		job_may(job, REFUSAL_CLOSED);
		job_may(job, REFUSAL_UNKNOWN_KEY);
		job_may(job, REFUSAL_RIGHT);
	}
	node_enter(region->owner->node);
	pd_remove_region(region->owner->pd, region->mr);
	region->mr = NULL;
	region->frozen = malloc(region->size);
	assert(region->frozen);
	memcpy(region->frozen, region->block, region->size);
	node_leave(region->owner->node);
}

void region_again(struct region *region, uint32_t access)
{
	assert(!region->mr);
	region_check(region);
	free(region->frozen);
	region->frozen = NULL;
	region->access = access;
	region_register(region);
}

/* The run of block bytes that begins at `offset` of the region, and how long it is. */
static size_t region_at(const struct region *region, uint64_t offset, uint64_t *run)
{
	for (size_t i = 0; i < region->segs; i++) {
		if (offset < region->seg[i].iov_len) {
			*run = region->seg[i].iov_len - offset;
			return (size_t)((uint8_t *)region->seg[i].iov_base - region->block) + offset;
		}
		offset -= region->seg[i].iov_len;
	}
	world_fail(region_world(region), "test: offset outside of the region");
}

uint64_t region_addr(const struct region *region, uint64_t offset)
{
	uint64_t run;

	if (!region->virtual_addr)
		return offset;
	return (uint64_t)(uintptr_t)(region->block + region_at(region, offset, &run)) + region->apart;
}

/* Calls `each` on the runs of block bytes that a range consists of; stops when it says false. */
static bool region_walk(struct region *region, uint64_t offset, uint64_t length,
			bool (*each)(struct region *region, size_t at, size_t n, uint8_t *flat), uint8_t *flat)
{
	while (length) {
		uint64_t run;
		size_t at = region_at(region, offset, &run);
		size_t n = run < length ? run : length;

		if (!each(region, at, n, flat))
			return false;
		flat = flat ? flat + n : NULL;
		offset += n;
		length -= n;
	}
	return true;
}

static bool is_free(struct region *region, size_t at, size_t n, uint8_t *flat)
{
	(void)flat;
	for (size_t i = at / REGION_GRAIN; i <= (at + n - 1) / REGION_GRAIN; i++)
		if (region->claimed[i])
			return false;
	return true;
}

static bool claim(struct region *region, size_t at, size_t n, uint8_t *flat)
{
	(void)flat;
	memset(region->claimed + at / REGION_GRAIN, 1, (at + n - 1) / REGION_GRAIN - at / REGION_GRAIN + 1);
	return true;
}

static bool release(struct region *region, size_t at, size_t n, uint8_t *flat)
{
	(void)flat;
	memset(region->claimed + at / REGION_GRAIN, 0, (at + n - 1) / REGION_GRAIN - at / REGION_GRAIN + 1);
	return true;
}

static bool get(struct region *region, size_t at, size_t n, uint8_t *flat)
{
	memcpy(flat, region->block + at, n);
	return true;
}

static bool get_shadow(struct region *region, size_t at, size_t n, uint8_t *flat)
{
	memcpy(flat, region->shadow + at, n);
	return true;
}

static bool get_kept(struct region *region, size_t at, size_t n, uint8_t *flat)
{
	memcpy(flat, region->kept + at, n);
	return true;
}

static bool set_shadow(struct region *region, size_t at, size_t n, uint8_t *flat)
{
	memcpy(region->shadow + at, flat, n);
	return true;
}

bool region_claim(struct region *region, uint64_t offset, uint64_t length)
{
	if (!region_walk(region, offset, length, is_free, NULL))
		return false;
	return region_walk(region, offset, length, claim, NULL);
}

void region_release(struct region *region, uint64_t offset, uint64_t length)
{
	region_walk(region, offset, length, release, NULL);
}

void region_get(const struct region *region, uint64_t offset, uint8_t *to, uint64_t length)
{
	region_walk((struct region *)(uintptr_t)region, offset, length, get, to);
}

void region_get_shadow(const struct region *region, uint64_t offset, uint8_t *to, uint64_t length)
{
	region_walk((struct region *)(uintptr_t)region, offset, length, get_shadow, to);
}

void region_get_kept(const struct region *region, uint64_t offset, uint8_t *to, uint64_t length)
{
	region_walk((struct region *)(uintptr_t)region, offset, length, get_kept, to);
}

void region_keep(const struct region *region, const void *at, size_t length)
{
	const uint8_t *from = (const uint8_t *)at - region->apart;

	if (from >= region->block && from < region->block + region->size)
		memcpy(region->kept + (from - region->block), from, length);
}

void region_set_shadow(struct region *region, uint64_t offset, const uint8_t *from, uint64_t length)
{
	region_walk(region, offset, length, set_shadow, (uint8_t *)(uintptr_t)from);
}

void region_check(const struct region *region)
{
	const struct world *world = region_world(region);

	if (!memcmp(region->block, region->frozen ? region->frozen : region->shadow, region->size))
		return;
	if (region->frozen) {
		for (size_t i = 0; i < region->size; i++)
			WORLD_CHECK(world, region->block[i] == region->frozen[i], "byte %zu of a closed region of party %d changed",
				    i, region->owner->id);
		return;
	}
	for (size_t at = 0; at < region->size; at += REGION_GRAIN) {
		if (region->claimed[at / REGION_GRAIN] || !memcmp(region->block + at, region->shadow + at, REGION_GRAIN))
			continue;
		world_fail(world, "bytes at %zu of a region of party %d are not what they must be (length %llu, key %llx)", at,
			   region->owner->id, (unsigned long long)region->length, (unsigned long long)region->key);
	}
}

void region_free(struct region *region)
{
	free(region->block);
	free(region->shadow);
	free(region->kept);
	free(region->frozen);
	free(region->claimed);
	free(region->pin);
	free(region);
}
