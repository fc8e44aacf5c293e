/* SPDX-License-Identifier: BSD-2-Clause */
/* av_auth_keys.c - authorization keys in address vectors (FI_AV_AUTH_KEY): S160 to S167. */
#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/newest.h"
#include "tests/rules/harness/third.h"

#define KEY_A "job-key-a"
#define KEY_B "job-key-b"
#define KEY_C "job-key-c"

enum { LEN = 256 };

static const struct peer_want wants[] = {
	{ .auth = KEY_A, .av_auth = true },
	{ .auth = KEY_A, .av_auth = true, .caps = FI_MSG | FI_RMA | FI_DIRECTED_RECV, .mr_mode = FI_MR_BASIC_BITS },
	{ .auth = KEY_A, .av_auth = true, .mr_mode = FI_MR_ENDPOINT },
};

static struct target third;

#define AV_AUTH_TEST(name)                                                        \
	static void name##_body(struct pair *p);                                  \
	LONE_TEST(rules, name)                                                    \
	{                                                                         \
		if (peer_api() < FI_VERSION(1, 20))                               \
			NOT_APPLICABLE("FI_AV_AUTH_KEY came with API 1.20");      \
		target_start(&third);                                             \
		pair_each_of(wants, sizeof(wants) / sizeof(*wants), name##_body); \
		target_stop(&third);                                              \
	}                                                                         \
	static void name##_body(struct pair *p)

/* A second initiator, of the same wishes but for its key. */
static void other_open(struct pair *p, const char *key)
{
	struct peer_want want = p->peer.want;

	strcpy(want.auth, key);
	third_open(&third, p, &want);
}

static void step_add_key(const void *arg, void *reply)
{
	fi_addr_t key;

	(void)reply;
	CHECK_RC(0, newest_insert_auth_key(target_peer.av, arg, strlen(arg), &key));
}

/* S164, S166: all keys that the AV held when the region was made, shown by any peer; no other. */
AV_AUTH_TEST(S164_S166_all_keys_of_the_address_vector)
{
	static const struct {
		const char *key;
		bool later;
	} rows[] = { { KEY_B, true }, { KEY_C, false } };
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };
	struct remote *before = remote_reg_as(p, &want), *after;
	char key[AUTH_TEXT_MAX] = KEY_B;
	size_t i;

	target_do(&p->target, step_add_key, key, sizeof(key), NULL, 0);
	after = remote_reg_as(p, &want);
	ok_write(p, before, 0, LEN);
	ok_write(p, after, 0, LEN);
	for (i = 0; i < 2; i++) {
		struct outcome out;

		other_open(p, rows[i].key);
		out = third_write(&third, remote_addr(before, 0), before->key, LEN);
		CHECK(out.err, "a write with %s to a region of %s succeeded", rows[i].key, KEY_A);
		remote_verify(p, before);
		out = third_write(&third, remote_addr(after, 0), after->key, LEN);
		CHECK(!out.err == rows[i].later, "a write with %s to a region of %s and %s: err %d", rows[i].key, KEY_A, KEY_B,
		      out.err);
		third_close(&third);
	}
}

static void step_enable(const void *arg, void *reply)
{
	(void)reply;
	mr_ready(&target_peer, target_region(*(const int *)arg)->mr, 0);
}

/* S164, fi_av(3): a region that has to be enabled takes the keys of that moment. */
AV_AUTH_TEST(S164_keys_as_of_the_enabling)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE, .by_hand = true };
	char key[AUTH_TEXT_MAX] = KEY_B;
	struct outcome out;
	struct remote *r;

	if (!peer_has(&p->peer, FI_MR_ENDPOINT))
		NOT_IN_THIS_MODE("regions are open as soon as they are registered");
	r = remote_reg_as(p, &want);
	target_do(&p->target, step_add_key, key, sizeof(key), NULL, 0);
	target_do(&p->target, step_enable, &r->slot, sizeof(r->slot), NULL, 0);
	memcpy(key, KEY_C, sizeof(KEY_C));
	target_do(&p->target, step_add_key, key, sizeof(key), NULL, 0);
	ok_write(p, r, 0, LEN);
	other_open(p, KEY_C);
	out = third_write(&third, remote_addr(r, 0), r->key, LEN);
	CHECK(out.err, "a write with a key that came after the enabling succeeded");
	third_close(&third);
	remote_verify(p, r);
	other_open(p, KEY_B);
	out = third_write(&third, remote_addr(r, 0), r->key, LEN);
	CHECK(!out.err, "a write with a key that came before the enabling: err %d, %s", out.err, out.text);
	third_close(&third);
}

/* S165: what a region is limited to. */
enum limit { BY_ADDRESS, BY_KEY, BY_BARE_ADDRESS, LIMITS };

struct limited {
	struct key_card card;
	uint64_t base;
};

static struct region limited_region;

/* The tester's address once more, without a key. */
static fi_addr_t bare_tester(void)
{
	uint8_t name[PEER_ADDR_MAX];
	size_t len = sizeof(name);
	fi_addr_t bare;

	CHECK_RC(0, fi_av_lookup(target_peer.av, target_tester, name, &len));
	CHECK_RC(1, fi_av_insert(target_peer.av, name, 1, &bare, 0, NULL));
	return bare;
}

static void step_limit(const void *arg, void *reply)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };
	enum limit by = *(const enum limit *)arg;
	struct newest_mr_auth_key from = { target_peer.av, by == BY_ADDRESS ? target_tester
							   : by == BY_KEY   ? target_peer.av_key
									    : bare_tester() };
	struct newest_attr attr = { .mr_iov = limited_region.iov,
				    .iov_count = 1,
				    .access = ALL_REMOTE,
				    .requested_key = region_fresh_key(&target_peer),
				    .auth_key = (uint8_t *)&from,
				    .auth_key_size = sizeof(from) };
	struct limited *told = reply;

	region_map(&limited_region, &want, 1);
	CHECK_RC(0, newest_reg(target_peer.domain, &attr, by == BY_KEY ? NEWEST_AUTH_KEY : 0, &limited_region.mr));
	mr_ready(&target_peer, limited_region.mr, 0);
	key_show(&target_peer, limited_region.mr, &told->card);
	told->base = region_base(&limited_region, &target_peer, 0);
}

static void step_limit_end(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	region_close(&limited_region);
}

/* A write of the tester's to the target's address with another key, which the region's AV holds, too. */
static struct outcome try_with_key_b(struct pair *p, const struct limited *told)
{
	fi_addr_t usual = p->to, with_b;
	uint8_t name[PEER_ADDR_MAX];
	size_t len = sizeof(name);
	struct outcome out;

	CHECK_RC(0, fi_av_lookup(p->peer.av, p->to, name, &len));
	CHECK_RC(0, newest_insert_auth_key(p->peer.av, KEY_B, strlen(KEY_B), &with_b));
	CHECK_RC(1, fi_av_insert(p->peer.av, name, 1, &with_b, NEWEST_AUTH_KEY, NULL));
	p->to = with_b;
	out = pair_try(p, RMA_WRITE, told->base, told->card.key, LEN);
	p->to = usual;
	return out;
}

/* S165: under FI_DIRECTED_RECV src_addr limits a region to one address, or to one key (S167). */
AV_AUTH_TEST(S165_S167_one_peer_or_one_key)
{
	static const char *const names[] = { "address", "key", "address without a key" };
	char key[AUTH_TEXT_MAX] = KEY_B;
	enum limit by;

	if (!(p->peer.info->caps & FI_DIRECTED_RECV))
		NOT_IN_THIS_MODE("FI_DIRECTED_RECV is not asked for");
	target_do(&p->target, step_add_key, key, sizeof(key), NULL, 0);
	for (by = 0; by < LIMITS; by++) {
		struct limited told;
		struct outcome out;

		target_do(&p->target, step_limit, &by, sizeof(by), &told, sizeof(told));
		out = pair_try(p, RMA_WRITE, told.base, told.card.key, LEN);
		CHECK(!out.rc && !out.err, "the peer that is meant by its %s is refused: err %d, %s", names[by], out.err, out.text);
		out = try_with_key_b(p, &told);
		CHECK(!out.err == (by == BY_BARE_ADDRESS), "the peer that is meant, with another key, limited by %s: err %d, %s",
		      names[by], out.err, out.text);
		other_open(p, KEY_A);
		out = third_write(&third, told.base, told.card.key, LEN);
		CHECK(!out.err == (by == BY_KEY), "another peer with the same key, limited by %s: err %d, %s", names[by], out.err,
		      out.text);
		third_close(&third);
		target_do(&p->target, step_limit_end, NULL, 0, NULL, 0);
	}
}

/* S160: the calls that have no room for it. S161, S162: size and pointer. S163: the vector. S167: the flag. */
AV_AUTH_TEST(S160_S161_S162_S163_registrations_that_are_refused)
{
	static uint8_t page[PAGE];
	struct iovec iov = { page, sizeof(page) };
	struct newest_mr_auth_key from = { p->peer.av, FI_ADDR_UNSPEC };
	struct newest_attr attr = { .mr_iov = &iov,
				    .iov_count = 1,
				    .access = ALL_REMOTE,
				    .requested_key = region_fresh_key(&p->peer),
				    .auth_key = (uint8_t *)&from };
	static const size_t sizes[] = { 0, 1, 8, sizeof(from) - 1, sizeof(from) + 1, 64, SIZE_MAX };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	struct fid_domain *stranger;
	struct fid_av *second;
	struct fid_mr *mr = NULL;
	size_t i;

	CHECK_REFUSED(fi_mr_reg(p->peer.domain, page, PAGE, ALL_REMOTE, 0, attr.requested_key, 0, &mr, NULL));
	CHECK_REFUSED(fi_mr_regv(p->peer.domain, &iov, 1, ALL_REMOTE, 0, attr.requested_key, 0, &mr, NULL));
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		attr.auth_key_size = sizes[i];
		CHECK_RC(-FI_EINVAL, newest_reg(p->peer.domain, &attr, 0, &mr));
	}
	attr.auth_key_size = sizeof(from);
	attr.auth_key = NULL;
	CHECK_RC(-FI_EINVAL, newest_reg(p->peer.domain, &attr, 0, &mr));
	attr.auth_key = (uint8_t *)&from;
	from.av = NULL;
	CHECK_RC(-FI_EINVAL, newest_reg(p->peer.domain, &attr, 0, &mr));
	from.av = (struct fid_av *)p->peer.domain;
	CHECK_REFUSED_AS(-FI_EINVAL, newest_reg(p->peer.domain, &attr, 0, &mr));
	CHECK_RC(0, fi_domain(p->peer.fabric, p->peer.info, &stranger, NULL));
	CHECK_RC(0, fi_av_open(stranger, &av, &second, NULL));
	from.av = second;
	CHECK_REFUSED_AS(-FI_EINVAL, newest_reg(p->peer.domain, &attr, 0, &mr));
	CHECK_RC(0, fi_close(&second->fid));
	CHECK_RC(0, fi_close(&stranger->fid));
	CHECK(!mr, "a registration that was refused wrote *mr");
	CHECK_RC(0, fi_av_open(p->peer.domain, &av, &second, NULL));
	from.av = second;
	CHECK_RC(0, newest_reg(p->peer.domain, &attr, 0, &mr));
	if (peer_has(&p->peer, FI_MR_ENDPOINT))
		CHECK_RC(-FI_EINVAL, fi_mr_bind(mr, &p->peer.ep->fid, 0));
	CHECK_RC(0, fi_close(&mr->fid));
	CHECK_RC(0, fi_close(&second->fid));
}

/* S167: elsewhere there are no such addresses. */
PEER_TEST(rules, S167_the_flag_needs_FI_AV_AUTH_KEY)
{
	static uint8_t page[PAGE];
	struct iovec iov = { page, sizeof(page) };
	struct mr_args args = {
		.attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = region_fresh_key(p) }
	};
	struct fid_mr *mr;

	CHECK_RC(-FI_EBADFLAGS, mr_register(p->domain, REG_ATTR, &args, NEWEST_AUTH_KEY, &mr));
}
