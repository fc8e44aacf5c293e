/* SPDX-License-Identifier: BSD-2-Clause */
/* auth_keys.c - authorization keys of domains, endpoints and regions: S124, S156 to S159. */
#include "tests/rules/harness/message.h"
#include "tests/rules/harness/newest.h"
#include "tests/rules/harness/third.h"

#define KEY_A "job-key-a"
#define KEY_B "job-key-b"
#define KEY_C "Job-key-a"

enum { LEN = 256 };

/* Domain of key A, or one without whose endpoint has A. */
static const struct peer_want wants[] = {
	{ .auth = KEY_A },
	{ .auth = KEY_A, .mr_mode = FI_MR_BASIC_BITS },
	{ .auth = KEY_A, .mr_mode = FI_MR_RAW },
	{ .auth = KEY_A, .mr_mode = FI_MR_ENDPOINT | FI_MR_LOCAL },
	{ .auth = KEY_B, .ep_auth = KEY_A },
};

static struct target third;

#define AUTH_TEST(name)                                                           \
	static void name##_body(struct pair *p);                                  \
	LONE_TEST(rules, name)                                                    \
	{                                                                         \
		target_start(&third);                                             \
		pair_each_of(wants, sizeof(wants) / sizeof(*wants), name##_body); \
		target_stop(&third);                                              \
	}                                                                         \
	static void name##_body(struct pair *p)

static struct remote *reg(struct pair *p, const char *key)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE };

	strcpy(want.auth, key);
	return remote_reg_as(p, &want);
}

static void deny_both(struct pair *p, struct remote *r)
{
	deny(p, RMA_WRITE, remote_addr(r, 0), r->key, LEN, "S158");
	deny(p, RMA_READ, remote_addr(r, 0), r->key, LEN, "S158");
	deny(p, RMA_WRITE, remote_addr(r, 0), r->key, 0, "S158");
}

static bool domain_has_a(const struct pair *p)
{
	return !strcmp(p->peer.want.auth, KEY_A);
}

/* S157: no key of its own means the domain's. S158: only a peer that shows the region's key comes in, and one byte off is off. */
AUTH_TEST(S157_S158_regions_open_for_their_key)
{
	struct remote *own, *same, *other, *cased;

	if (!domain_has_a(p))
		NOT_IN_THIS_MODE("the domain's key is not the endpoint's");
	own = reg(p, "");
	same = reg(p, KEY_A);
	other = reg(p, KEY_B);
	cased = reg(p, KEY_C);
	ok_write(p, own, 0, LEN);
	ok_read(p, own, 0, LEN);
	ok_write(p, same, 0, LEN);
	ok_read(p, same, 0, LEN);
	deny_both(p, other);
	deny_both(p, cased);
}

/* S157, S158: the endpoint's key is what it shows, whatever its domain's. */
AUTH_TEST(S157_S158_endpoints_show_their_own_key)
{
	struct region_want want = { .len = { LEN }, .access = ALL_REMOTE, .auth = KEY_A };
	struct outcome out;
	struct remote *r;

	if (domain_has_a(p))
		NOT_IN_THIS_MODE("the endpoint has the domain's key");
	r = remote_reg_as(p, &want);
	ok_write(p, r, 0, LEN);
	ok_read(p, r, 0, LEN);
	r = reg(p, "");
	out = pair_try(p, RMA_WRITE, remote_addr(r, 0), r->key, LEN);
	CHECK(out.err, "a write with key A to a region of key B succeeded (S157, S158)");
	remote_verify(p, r);
}

/* A second initiator, whose domain has another key or none. */
static void other_open(struct pair *p, const char *key)
{
	struct peer_want want = { .mr_mode = p->peer.want.mr_mode & ~(uint64_t)FI_MR_LOCAL };

	strcpy(want.auth, key);
	third_open(&third, p, &want);
}

/* S158: several initiators of one target: each reaches the regions of its own key alone. */
AUTH_TEST(S158_two_initiators_of_different_keys)
{
	static const char *const keys[] = { KEY_B, "" };
	struct remote *a, *b;
	size_t i;

	if (!domain_has_a(p) || peer_has(&p->peer, FI_MR_RAW))
		NOT_IN_THIS_MODE("keys are mapped in one domain, or the domain's key is not the endpoint's");
	a = reg(p, "");
	b = reg(p, KEY_B);
	for (i = 0; i < 2; i++) {
		struct outcome out;

		other_open(p, keys[i]);
		out = third_write(&third, remote_addr(a, 0), a->key, LEN);
		CHECK(out.err, "a write with key \"%s\" to a region of key A succeeded", keys[i]);
		CHECK(!peer_is_emu() || (out.err == FI_EACCES && cites(out.text, "S158")), "err %d: %s", out.err, out.text);
		remote_verify(p, a);
		out = third_write(&third, remote_addr(b, 0), b->key, LEN);
		CHECK(!out.err == !strcmp(keys[i], KEY_B), "a write with key \"%s\" to a region of key B: err %d", keys[i],
		      out.err);
		third_close(&third);
	}
	ok_write(p, a, 0, LEN);
}

/* S158, fi_endpoint(3): endpoints of different keys exchange no messages. */
AUTH_TEST(S158_messages_stay_within_a_key)
{
	struct outcome out;
	struct op op;

	if (!domain_has_a(p))
		NOT_IN_THIS_MODE("the domain's key is not the endpoint's");
	other_open(p, KEY_B);
	target_post_recv(p);
	out = third_send(&third, LEN);
	CHECK(out.err, "a message with key B came to an endpoint of key A");
	third_close(&third);
	pattern_fill(p->local.iov[0].iov_base, LEN / 2, 5);
	CHECK_RC(0, peer_send(&p->peer, p->to, p->local.iov[0].iov_base, LEN / 2, p->desc, &op));
	peer_wait(&p->peer, &op);
	CHECK(!op.err, "a message within key A failed: err %d, %s", op.err, p->peer.text);
	target_expect_message(p, LEN / 2, 5);
}

/* S159: a key of another size than the domain's, too long, or not there. */
AUTH_TEST(S159_sizes_that_do_not_fit)
{
	static uint8_t page[PAGE], key[PAGE];
	static const size_t sizes[] = { 1, sizeof(KEY_A) - 2, sizeof(KEY_A), 64, 65, PAGE, SIZE_MAX - 1, SIZE_MAX };
	struct iovec iov = { page, sizeof(page) };
	struct mr_args args = { .attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .auth_key = key } };
	struct fid_mr *mr = NULL;
	size_t i;

	args.attr.requested_key = region_fresh_key(&p->peer);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		args.attr.auth_key_size = sizes[i];
		CHECK_RC(-FI_EINVAL, mr_register(p->peer.domain, REG_ATTR, &args, 0, &mr));
		CHECK(!mr, "a registration that was refused wrote *mr");
	}
	args.attr.auth_key_size = sizeof(KEY_A) - 1;
	args.attr.auth_key = NULL;
	CHECK_RC(-FI_EINVAL, mr_register(p->peer.domain, REG_ATTR, &args, 0, &mr));
	CHECK(!mr, "a registration that was refused wrote *mr");
}

/* S156: of a program of API 1.4 the two fields are not looked at. */
LONE_TEST(rules, S156_old_programs_give_no_keys)
{
	struct peer_want want = { .api = FI_VERSION(1, 4), .mr_mode = PEER_MR_SCALABLE };
	static uint8_t page[PAGE];
	struct iovec iov = { page, sizeof(page) };
	struct mr_args args = { .attr = { .mr_iov = &iov,
					  .iov_count = 1,
					  .access = ALL_REMOTE,
					  .requested_key = 7,
					  .auth_key_size = 77,
					  .auth_key = (uint8_t *)8 } };
	struct fi_info *info;
	struct fid_mr *mr;
	struct peer peer;

	if (peer_getinfo(&want, &info))
		NOT_APPLICABLE("%s serves no programs of API 1.4 with FI_MR_SCALABLE", peer_provider());
	fi_freeinfo(info);
	peer_open(&peer, &want);
	CHECK_RC(0, mr_register(peer.domain, REG_ATTR, &args, 0, &mr));
	CHECK_RC(0, fi_close(&mr->fid));
	peer_close(&peer);
}

static struct fid_mr *sub;

static void step_sub(const void *arg, void *reply)
{
	struct region *base = target_region(*(const int *)arg);
	struct newest_attr attr = { .mr_iov = base->iov,
				    .iov_count = 1,
				    .access = ALL_REMOTE,
				    .base_mr = base->mr,
				    .requested_key = region_fresh_key(&target_peer),
				    .auth_key = (uint8_t *)(uintptr_t)KEY_B,
				    .auth_key_size = sizeof(KEY_B) - 1 };

	CHECK_RC(0, newest_reg(target_peer.domain, &attr, 0, &sub));
	mr_ready(&target_peer, sub, 0);
	key_show(&target_peer, sub, reply);
}

static void step_sub_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK_RC(0, fi_close(&sub->fid));
}

/* S124: a region within another has a key of its own. */
AUTH_TEST(S124_regions_within_regions_have_their_own_key)
{
	struct key_card card;
	struct remote *base;
	uint64_t key;

	if (peer_api() < FI_VERSION(2, 0))
		NOT_APPLICABLE("base_mr came with API 2.0");
	if (!domain_has_a(p))
		NOT_IN_THIS_MODE("the domain's key is not the endpoint's");
	base = reg(p, "");
	target_do(&p->target, step_sub, &base->slot, sizeof(base->slot), &card, sizeof(card));
	key = key_learn(p, &card);
	deny(p, RMA_WRITE, remote_addr(base, 0), key, LEN, "S158");
	ok_write(p, base, 0, LEN);
	target_do(&p->target, step_sub_close, NULL, 0, NULL, 0);
}
