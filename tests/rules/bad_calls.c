/* SPDX-License-Identifier: BSD-2-Clause */
/* bad_calls.c - the calls on regions, and those that map keys, with each argument wrong. */
#include "tests/rules/harness/harness.h"

enum { LEN = 256, FILL = 0xc3 };
static const uint64_t key_before = 0x1122334455667788;

static void open_one(struct peer *p, struct region *r)
{
	region_open(r, p, &(struct region_want){ .len = { LEN }, .access = ALL_REMOTE }, 1);
}

/* A refused fi_mr_raw_attr writes neither key nor base. */
static void raw_attr_refused(struct fid_mr *mr, int want, size_t *size, uint64_t flags)
{
	uint8_t raw[RAW_KEY_MAX], before[RAW_KEY_MAX];
	uint64_t base = key_before;

	memset(raw, FILL, sizeof(raw));
	memset(before, FILL, sizeof(before));
	CHECK_REFUSED_AS(want, fi_mr_raw_attr(mr, &base, raw, size, flags));
	CHECK(base == key_before && !memcmp(raw, before, sizeof(raw)), "a refused fi_mr_raw_attr wrote what it was given");
}

PEER_TEST(rules, S5_S6_S46_bad_arguments_of_fi_mr_raw_attr)
{
	size_t size = RAW_KEY_MAX;
	struct key_card card;
	struct region r;
	int bit;

	open_one(p, &r);
	for (bit = 0; bit < 64; bit++)
		raw_attr_refused(r.mr, -FI_EBADFLAGS, &size, 1ULL << bit);
	CHECK(size == RAW_KEY_MAX, "a refused fi_mr_raw_attr wrote the size");
	CHECK_REFUSED_AS(-FI_EINVAL, fi_mr_raw_attr(r.mr, NULL, NULL, &size, 0));
	raw_attr_refused(r.mr, -FI_EINVAL, NULL, 0);
	key_show(p, r.mr, &card);
	region_close(&r);
}

/* A refused fi_mr_map_raw writes no key. */
static void map_refused(struct peer *p, int want, uint8_t *raw, size_t size, uint64_t flags)
{
	uint64_t key = key_before;

	CHECK_REFUSED_AS(want, fi_mr_map_raw(p->domain, 0, raw, size, &key, flags));
	CHECK(key == key_before, "a refused fi_mr_map_raw wrote a key");
}

PEER_TEST(rules, S5_S6_S54_bad_arguments_of_fi_mr_map_raw)
{
	uint8_t raw[RAW_KEY_MAX];
	size_t size = sizeof(raw), wrong;
	struct region r;
	uint64_t base;
	int bit;

	if (!peer_is_emu() && !peer_has(p, FI_MR_RAW))
		NOT_IN_THIS_MODE("FI_MR_RAW is not asked for, and there may be no raw key to begin with");
	open_one(p, &r);
	CHECK_RC(0, fi_mr_raw_attr(r.mr, &base, raw, &size, 0));
	for (bit = 0; bit < 64; bit++)
		map_refused(p, -FI_EBADFLAGS, raw, size, 1ULL << bit);
	for (wrong = 0; wrong < RAW_KEY_MAX; wrong++)
		if (wrong != size && wrong != sizeof(uint64_t)) /* a short key is one, too */
			map_refused(p, -FI_EINVAL, raw, wrong, 0);
	map_refused(p, -FI_EINVAL, raw, SIZE_MAX, 0);
	map_refused(p, -FI_EINVAL, NULL, size, 0);
	CHECK_REFUSED_AS(-FI_EINVAL, fi_mr_map_raw(p->domain, base, raw, size, NULL, 0));
	region_close(&r);
}

PEER_TEST(rules, S6_S57_keys_that_are_not_mapped)
{
	static const uint64_t keys[] = { 0, 1, 0x8000000000000000, FI_KEY_NOTAVAIL };
	size_t i;

	if (!peer_has(p, FI_MR_RAW))
		NOT_IN_THIS_MODE("FI_MR_RAW is not asked for");
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		CHECK_REFUSED(fi_mr_unmap_key(p->domain, keys[i]));
}

PEER_TEST(rules, S5_S6_S114_bad_arguments_of_fi_mr_refresh)
{
	bool able = peer_has(p, FI_MR_MMU_NOTIFY) || !peer_has(p, FI_MR_ALLOCATED);
	struct iovec whole, wraps, outside;
	struct region r;
	int bit;

	open_one(p, &r);
	whole = r.iov[0];
	wraps = (struct iovec){ whole.iov_base, SIZE_MAX };
	outside = (struct iovec){ (uint8_t *)whole.iov_base + 1, whole.iov_len };
	for (bit = 0; bit < 64; bit++)
		CHECK_REFUSED_AS(-FI_EBADFLAGS, fi_mr_refresh(r.mr, &whole, 1, 1ULL << bit));
	CHECK_REFUSED_AS(able ? -FI_EINVAL : -FI_ENOSYS, fi_mr_refresh(r.mr, NULL, 1, 0));
	CHECK_REFUSED_AS(able ? -FI_EINVAL : -FI_ENOSYS, fi_mr_refresh(r.mr, NULL, SIZE_MAX, 0));
	CHECK_REFUSED_AS(able ? -FI_EINVAL : -FI_ENOSYS, fi_mr_refresh(r.mr, &whole, SIZE_MAX, 0));
	CHECK_REFUSED_AS(able ? -FI_EINVAL : -FI_ENOSYS, fi_mr_refresh(r.mr, &wraps, 1, 0));
	CHECK_REFUSED_AS(able ? -FI_EINVAL : -FI_ENOSYS, fi_mr_refresh(r.mr, &outside, 1, 0));
	region_close(&r);
}

/* Binding to what a region cannot be bound to. */
PEER_TEST(rules, S6_bad_arguments_of_fi_mr_bind)
{
	struct region r;
	size_t i;

	open_one(p, &r);
	struct fid *const wrong[] = { NULL, &p->domain->fid, &p->fabric->fid, &p->av->fid, &p->cq->fid, &r.mr->fid };

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_REFUSED_AS(-FI_EINVAL, r.mr->fid.ops->bind(&r.mr->fid, wrong[i], 0));
	region_close(&r);
}

/* A domain takes an event queue for registrations, and nothing else (S168). */
PEER_TEST(rules, S6_S168_bad_arguments_of_fi_domain_bind)
{
	struct fid *const wrong[] = { NULL, &p->domain->fid, &p->fabric->fid, &p->av->fid, &p->cq->fid, &p->ep->fid };
	size_t i;
	int bit;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK_REFUSED(p->domain->fid.ops->bind(&p->domain->fid, wrong[i], PEER_REG_MR));
	for (bit = 0; bit < 64; bit++)
		if (1ULL << bit != PEER_REG_MR)
			CHECK_REFUSED(fi_domain_bind(p->domain, &p->eq->fid, 1ULL << bit));
}

/* All that can be said wrongly of a region, its key and its domain, in a row. */
static void step_say_it_all(const void *arg, void *reply)
{
	struct peer *p = &target_peer;
	struct region *r = target_region(*(const int *)arg);
	struct fid *const strange[] = { NULL, &p->domain->fid, &p->av->fid, &p->cq->fid, &p->eq->fid, &r->mr->fid };
	struct iovec outside = { (uint8_t *)r->iov[0].iov_base + 1, r->iov[0].iov_len };
	uint64_t key = fi_mr_key(r->mr), base;
	void *desc = fi_mr_desc(r->mr);
	uint8_t raw[RAW_KEY_MAX];
	size_t size = 0, i;
	int bit;

	(void)reply;
	for (i = 0; i < sizeof(strange) / sizeof(*strange); i++)
		CHECK_REFUSED(r->mr->fid.ops->bind(&r->mr->fid, strange[i], 0));
	for (bit = 0; bit < 64; bit++) {
		CHECK_REFUSED(fi_mr_bind(r->mr, &p->ep->fid, 1ULL << bit));
		CHECK_REFUSED(fi_mr_refresh(r->mr, &r->iov[0], 1, 1ULL << bit));
		CHECK_REFUSED(fi_mr_raw_attr(r->mr, &base, raw, &size, 1ULL << bit));
	}
	CHECK_REFUSED(fi_mr_enable(r->mr)); /* it is enabled, or never was disabled (S94) */
	CHECK_REFUSED(fi_mr_refresh(r->mr, &outside, 1, 0));
	CHECK_REFUSED(fi_mr_refresh(r->mr, &r->iov[0], SIZE_MAX, 0));
	CHECK_REFUSED(fi_mr_raw_attr(r->mr, &base, raw, &size, 0));
	CHECK_REFUSED(fi_mr_unmap_key(p->domain, key ^ 1));
	CHECK_REFUSED(fi_close(&p->domain->fid));
	CHECK(fi_mr_key(r->mr) == key && fi_mr_desc(r->mr) == desc, "a refused call changed key or descriptor");
}

/* S6: what was refused has changed nothing: peers reach the region as before. */
PAIR_TEST(rules, S6_S182_a_region_is_as_it_was)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };
	struct remote *r;

	if (!peer_is_emu())
		NOT_IN_THIS_MODE("calls that a provider does not offer may well crash it");
	r = remote_reg_as(p, &want);
	ok_write(p, r, 0, LEN);
	target_do(&p->target, step_say_it_all, &r->slot, sizeof(r->slot), NULL, 0);
	ok_write(p, r, 0, LEN);
	ok_read(p, r, 0, LEN);
	deny(p, RMA_READ, remote_addr(r, 1), r->key, LEN, "S65");
}
