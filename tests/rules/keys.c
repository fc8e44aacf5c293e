/* SPDX-License-Identifier: BSD-2-Clause */
/* keys.c - the choice of a key, and that nothing works without the right one: S33 to S41, S44. */
#include "tests/rules/harness/harness.h"

static struct region_want keyed(uint64_t key)
{
	return (struct region_want){ .len = { 256 }, .access = ALL_REMOTE, .key = key, .exact_key = true };
}

/* The largest key that mr_key_size has room for. All ones of 64 bits mean "no key" and are not one (S36). */
static uint64_t largest_key(const struct peer *p)
{
	size_t size = p->info->domain_attr->mr_key_size;

	return size >= 8 ? UINT64_MAX - 1 : (1ULL << (8 * size)) - 1;
}

/* S33, S39, S41: where the program chooses keys it gets exactly those, and peers reach the region with them. */
PAIR_TEST(rules, S33_S39_S41_the_programs_key_is_the_key)
{
	uint64_t state = 33, largest = largest_key(&p->peer), keys[] = { 0, 1, largest, 0, 0, 0, 0 };
	size_t i;

	if (peer_has(&p->peer, FI_MR_PROV_KEY))
		NOT_IN_THIS_MODE("the provider chooses the keys (S37)");
	for (i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		struct region_want want = keyed(i < 3 ? keys[i] : pattern_next(&state) & largest);
		struct remote *r = remote_reg_as(p, &want);

		if (peer_has(&p->peer, FI_MR_RAW))
			NOT_IN_THIS_MODE("keys are raw (S43)");
		CHECK(r->key == want.key, "fi_mr_key is 0x%llx, asked for 0x%llx", (unsigned long long)r->key,
		      (unsigned long long)want.key);
		ok_write(p, r, 0, 256);
		ok_read(p, r, 0, 256);
	}
}

/* S34: keys are of 8 bytes at most unless raw keys are asked for. */
PEER_TEST(rules, S34_keys_have_at_most_8_bytes)
{
	size_t size = p->info->domain_attr->mr_key_size;

	if (peer_has(p, FI_MR_RAW))
		NOT_IN_THIS_MODE("keys are raw (S51)");
	CHECK(size >= 1 && size <= 8, "mr_key_size is %zu without FI_MR_RAW", size);
}

static void expect_access(struct peer *p, uint64_t key, uint64_t access, int want_rc)
{
	struct region_want want = keyed(key);
	struct region region;
	enum reg_call call;

	want.access = access;
	for (call = REG_ATTR; call < REG_CALLS; call++) {
		int rc;

		want.call = call;
		region_map(&region, &want, 0);
		rc = region_reg(&region, p, &want);
		CHECK(rc == want_rc, "call %d with key 0x%llx: %d (%s), expected %d (%s)", call, (unsigned long long)key, rc,
		      fi_strerror(-rc), want_rc, fi_strerror(-want_rc));
		if (rc)
			region_unmap(&region);
		else
			region_close(&region);
	}
}

static void expect_key(struct peer *p, uint64_t key, int want_rc)
{
	expect_access(p, key, ALL_REMOTE, want_rc);
}

/* S35: a key in use is refused; the region that has it is not disturbed, and when it is closed the key is free
 * again. */
PAIR_TEST(rules, S35_a_key_in_use_is_refused)
{
	struct region_want want = keyed(0xbeef);
	struct region first, second;

	if (peer_has(&p->peer, FI_MR_PROV_KEY))
		NOT_IN_THIS_MODE("the provider chooses the keys (S37)");
	region_open(&first, &p->peer, &want, 1);
	expect_key(&p->peer, 0xbeef, -FI_ENOKEY);
	region_close(&first);
	region_open(&second, &p->peer, &want, 2);
	region_close(&second);
	live(p);
}

static void step_duplicate(const void *arg, void *reply)
{
	(void)reply;
	expect_key(&target_peer, *(const uint64_t *)arg, -FI_ENOKEY);
}

PAIR_TEST(rules, S35_the_first_holder_of_a_key_stays_usable)
{
	struct region_want want = keyed(0xf00d);
	struct remote *r;

	if (peer_has(&p->peer, FI_MR_PROV_KEY))
		NOT_IN_THIS_MODE("the provider chooses the keys (S37)");
	r = remote_reg_as(p, &want);
	target_do(&p->target, step_duplicate, &want.key, sizeof(want.key), NULL, 0);
	ok_write(p, r, 0, 256);
	ok_read(p, r, 0, 256);
}

/* May a key be ignored where no peer can use it (S35, S36)? The page of libfabric 2.6 says so; those before do not. */
static bool local_keys_count(void)
{
	return FI_VERSION_LT(peer_api(), FI_VERSION(2, 6));
}

/* S35: a key is in use whatever the rights of its holder are, and of no two regions is it the same. */
PEER_TEST(rules, S33_S35_a_key_in_use_by_a_region_without_remote_rights)
{
	struct region_want want = keyed(0xcafe);
	struct region local, remote;

	if (peer_has(p, FI_MR_PROV_KEY))
		NOT_IN_THIS_MODE("the provider chooses the keys (S37)");
	if (peer_has(p, FI_MR_RAW))
		NOT_IN_THIS_MODE("keys are raw (S43)");
	want.access = ALL_LOCAL;
	region_open(&local, p, &want, 1);
	if (local_keys_count())
		CHECK(fi_mr_key(local.mr) == 0xcafe, "fi_mr_key is %#llx", (unsigned long long)fi_mr_key(local.mr));
	expect_access(p, 0xcafe, ALL_LOCAL, local_keys_count() ? -FI_ENOKEY : 0);
	expect_access(p, 0xcafe, ALL_REMOTE, local_keys_count() ? -FI_ENOKEY : 0);
	want = keyed(0xf00d);
	region_open(&remote, p, &want, 2);
	expect_access(p, 0xf00d, ALL_LOCAL, local_keys_count() ? -FI_ENOKEY : 0);
	CHECK(fi_mr_key(local.mr) != fi_mr_key(remote.mr), "two regions have the key %#llx",
	      (unsigned long long)fi_mr_key(local.mr));
	region_close(&local);
	expect_access(p, 0xcafe, ALL_REMOTE, 0);
	region_close(&remote);
}

/* S36: a key that does not fit mr_key_size, and the one that means "no key", are refused. */
PEER_TEST(rules, S36_impossible_keys_are_refused)
{
	size_t size = p->info->domain_attr->mr_key_size;

	if (peer_has(p, FI_MR_PROV_KEY))
		NOT_IN_THIS_MODE("the provider chooses the keys (S37)");
	expect_key(p, FI_KEY_NOTAVAIL, -FI_EKEYREJECTED);
	if (size < 8) {
		expect_key(p, 1ULL << (8 * size), -FI_EKEYREJECTED);
		expect_key(p, 1ULL << 63, -FI_EKEYREJECTED);
	}
	expect_key(p, largest_key(p), 0);
	expect_access(p, FI_KEY_NOTAVAIL, ALL_LOCAL, local_keys_count() ? -FI_EKEYREJECTED : 0);
}

/* S37: under FI_MR_PROV_KEY the key asked for is not looked at. */
PAIR_TEST(rules, S37_prov_key_ignores_the_key_asked_for)
{
	struct region_want want = keyed(7), absurd = keyed(FI_KEY_NOTAVAIL);
	struct remote *a, *b, *c;

	if (!peer_has(&p->peer, FI_MR_PROV_KEY))
		NOT_IN_THIS_MODE("the program chooses the keys (S33)");
	a = remote_reg_as(p, &want);
	b = remote_reg_as(p, &want);
	c = remote_reg_as(p, &absurd);
	CHECK(a->key != b->key && b->key != c->key && a->key != c->key, "two regions share a key");
	CHECK(a->key != FI_KEY_NOTAVAIL && b->key != FI_KEY_NOTAVAIL && c->key != FI_KEY_NOTAVAIL, "a region has no key");
	ok_write(p, a, 0, 256);
	ok_write(p, b, 0, 256);
	ok_write(p, c, 0, 256);
}

/* S38: the provider's key works, and none of its neighbours does. */
PAIR_TEST(rules, S38_only_the_providers_key_works)
{
	struct remote *r;
	uint64_t i;

	if (!peer_has(&p->peer, FI_MR_PROV_KEY))
		NOT_IN_THIS_MODE("the program chooses the keys (S33)");
	r = remote_reg(p, 256, ALL_REMOTE);
	ok_write(p, r, 0, 256);
	for (i = 1; i <= 500; i++) {
		if (r->key + i != p->control->key)
			deny_quick(p, RMA_WRITE, r->base[0], r->key + i, 8, "S40|S178");
		if (r->key - i != p->control->key)
			deny_quick(p, RMA_READ, r->base[0], r->key - i, 8, "S40|S178");
	}
	deny(p, RMA_WRITE, r->base[0], 7, 8, "S40");
	ok_read(p, r, 0, 256);
}

static struct {
	struct fid_domain *domain;
	struct region region;
} elsewhere;

/* A second domain of the target's process, with one region. Answers its key. */
static void step_other_domain(const void *arg, void *reply)
{
	struct region_want want = { .len = { 256 }, .access = ALL_REMOTE, .by_hand = true };
	struct peer other = target_peer;

	(void)arg;
	CHECK_RC(0, fi_domain(target_peer.fabric, target_peer.info, &elsewhere.domain, NULL));
	other.domain = elsewhere.domain;
	region_open(&elsewhere.region, &other, &want, 5);
	*(uint64_t *)reply = fi_mr_key(elsewhere.region.mr);
}

static void step_close_other_domain(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	region_close(&elsewhere.region);
	CHECK_RC(0, fi_close(&elsewhere.domain->fid));
}

/* S40: remote access must name the region's key and no other. */
PAIR_TEST(rules, S40_wrong_keys_are_refused)
{
	struct remote *r = remote_reg(p, 256, ALL_REMOTE), *other = remote_reg(p, 256, FI_REMOTE_READ), *closed;
	uint64_t wrong[] = { r->key ^ 1, r->key + 1, 0, ~r->key, r->key << 32, r->key >> 32 }, foreign;
	size_t i;

	for (i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		deny(p, RMA_WRITE, r->base[0], wrong[i], 64, "S1|S40");
		deny(p, RMA_READ, r->base[0], wrong[i], 64, "S1|S40");
	}
	deny(p, RMA_WRITE, r->base[0], other->key, 64, peer_has(&p->peer, FI_MR_VIRT_ADDR) ? "S29|S65|S60" : "S29");
	closed = remote_reg(p, 256, ALL_REMOTE);
	CHECK_RC(0, remote_close(p, closed));
	deny(p, RMA_WRITE, r->base[0], closed->key, 64, "S178");
	target_do(&p->target, step_other_domain, NULL, 0, &foreign, sizeof(foreign));
	deny(p, RMA_WRITE, r->base[0], foreign, 64, "S40");
	deny(p, RMA_READ, r->base[0], foreign, 64, "S40");
	target_do(&p->target, step_close_other_domain, NULL, 0, NULL, 0);
	ok_write(p, r, 0, 256);
}

/* S44: a key that both sides know beforehand needs no exchange. */
PAIR_TEST(rules, S44_well_known_keys_need_no_exchange)
{
	struct region_want want = keyed(0x1234);
	struct remote *r;

	if (peer_has(&p->peer, FI_MR_PROV_KEY | FI_MR_VIRT_ADDR) || peer_has(&p->peer, FI_MR_RAW))
		NOT_IN_THIS_MODE("keys or addresses must be exchanged (S38, S60)");
	r = remote_reg_as(p, &want);
	r->key = 0x1234;
	ok_write_at(p, r, 0, 0, 256);
	ok_read_at(p, r, 16, 16, 32);
}
