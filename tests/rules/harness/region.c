/* SPDX-License-Identifier: BSD-2-Clause */
/* region.c - registered memory and the bytes in it. */
#include "tests/rules/harness/region.h"

#include "tests/rules/harness/newest.h"

#include "tests/rules/harness/check.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int mr_register(struct fid_domain *domain, enum reg_call call, const struct mr_args *args, uint64_t flags, struct fid_mr **mr)
{
	const struct fi_mr_attr *a = &args->attr;

	switch (call) {
	case REG_PLAIN:
		return fi_mr_reg(domain, a->mr_iov[0].iov_base, a->mr_iov[0].iov_len, a->access, a->offset, a->requested_key, flags,
				 mr, a->context);
	case REG_VEC:
		return fi_mr_regv(domain, a->mr_iov, a->iov_count, a->access, a->offset, a->requested_key, flags, mr, a->context);
	default:
		return fi_mr_regattr(domain, a, flags, mr);
	}
}

void mr_ready(struct peer *peer, struct fid_mr *mr, uint64_t flags)
{
	bool endpoint = peer_has(peer, FI_MR_ENDPOINT);

	if (endpoint)
		CHECK_RC(0, fi_mr_bind(mr, &peer->ep->fid, 0));
	if (endpoint || (peer_has(peer, FI_MR_RMA_EVENT) && flags & FI_RMA_EVENT))
		CHECK_RC(0, fi_mr_enable(mr));
}

uint64_t region_fresh_key(const struct peer *peer)
{
	static uint64_t made;
	size_t size = peer->info->domain_attr->mr_key_size;
	uint64_t key = (++made * 0x9E3779B97F4A7C15ULL) ^ ((uint64_t)getpid() << 20);

	return size >= 8 ? key & ~(1ULL << 63) : key & ((1ULL << (8 * size)) - 1);
}

void region_map(struct region *region, const struct region_want *want, uint32_t seed)
{
	size_t at = REGION_GUARD, i;

	memset(region, 0, sizeof(*region));
	region->segs = want->segs ? want->segs : 1;
	region->map_len = REGION_GUARD;
	for (i = 0; i < region->segs; i++)
		region->map_len += want->len[i] + REGION_GUARD;
	region->map = mmap(NULL, region->map_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(region->map != MAP_FAILED, "mmap of %zu B failed", region->map_len);
	memset(region->map, REGION_GUARD_BYTE, region->map_len);
	for (i = 0; i < region->segs; i++) {
		region->iov[i] = (struct iovec){ region->map + at, want->len[i] };
		pattern_fill(region->map + at, want->len[i], seed + (uint32_t)i);
		at += want->len[i] + REGION_GUARD;
	}
}

int region_reg(struct region *region, struct peer *peer, const struct region_want *want)
{
	struct mr_args args = { .attr = { .mr_iov = region->iov,
					  .iov_count = region->segs,
					  .access = want->access,
					  .requested_key = want->exact_key ? want->key : region_fresh_key(peer),
					  .auth_key = (uint8_t *)(uintptr_t)want->auth,
					  .auth_key_size = strlen(want->auth) } };
	struct newest_mr_auth_key all = { .av = peer->av, .src_addr = FI_ADDR_UNSPEC };
	uint64_t flags = want->flags;
	int rc;

	if (peer->want.av_auth) {
		args.attr.auth_key = (uint8_t *)&all;
		args.attr.auth_key_size = sizeof(all);
	}

	if (peer_has(peer, FI_MR_RMA_EVENT) && !want->by_hand)
		flags |= FI_RMA_EVENT;
	rc = mr_register(peer->domain, want->call, &args, flags, &region->mr);
	if (!rc && !want->by_hand)
		mr_ready(peer, region->mr, flags);
	return rc;
}

void region_open(struct region *region, struct peer *peer, const struct region_want *want, uint32_t seed)
{
	region_map(region, want, seed);
	CHECK_RC(0, region_reg(region, peer, want));
}

void region_unmap(struct region *region)
{
	munmap(region->map, region->map_len);
	region->map = NULL;
}

void region_close(struct region *region)
{
	if (region->mr)
		CHECK_RC(0, fi_close(&region->mr->fid));
	region->mr = NULL;
	region_unmap(region);
}

uint64_t region_base(const struct region *region, const struct peer *peer, size_t seg)
{
	uint64_t before = 0;
	size_t i;

	if (peer_has(peer, FI_MR_VIRT_ADDR))
		return (uint64_t)(uintptr_t)region->iov[seg].iov_base;
	for (i = 0; i < seg; i++)
		before += region->iov[i].iov_len;
	return before;
}

uint64_t pattern_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15ULL); /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
	return z ^ (z >> 31);
}

void pattern_fill(void *bytes, size_t len, uint32_t seed)
{
	uint64_t state = seed, word = 0;
	uint8_t *at = bytes;
	size_t i;

	for (i = 0; i < len; i += sizeof(word)) {
		word = pattern_next(&state);
		memcpy(at + i, &word, len - i < sizeof(word) ? len - i : sizeof(word));
	}
}

uint64_t pattern_hash(const void *bytes, size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ULL ^ len, word;
	const uint8_t *at = bytes;
	size_t i;

	for (i = 0; i < len; i += sizeof(word)) {
		word = 0;
		memcpy(&word, at + i, len - i < sizeof(word) ? len - i : sizeof(word));
		hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
		hash ^= hash >> 29;
	}
	return hash;
}

void key_show(struct peer *peer, struct fid_mr *mr, struct key_card *card)
{
	uint64_t base;

	*card = (struct key_card){ .key = fi_mr_key(mr) };
	if (!peer_has(peer, FI_MR_RAW))
		return;
	card->raw_len = sizeof(card->raw);
	CHECK_RC(0, fi_mr_raw_attr(mr, &base, card->raw, &card->raw_len, 0));
}
