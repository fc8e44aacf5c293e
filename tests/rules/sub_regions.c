/* SPDX-License-Identifier: BSD-2-Clause */
/* sub_regions.c - regions within regions (base_mr): S121 to S123, S125, S126, S128, S129. */
#include "tests/rules/harness/harness.h"

#include <string.h>

enum {
	SUBS_MAX = 8,
	NO_BASE = -1,
	/* Places in struct fi_mr_attr of 2.0, which headers may lack. */
	AT_IFACE = 64,
	AT_DEVICE = 72,
	AT_HMEM_DATA = 80,
	AT_PAGE_SIZE = 88,
	AT_BASE_MR = 96,
	AT_SUB_MR_CNT = 104,
};

static void need_field(void)
{
	if (peer_api() < FI_VERSION(2, 0))
		NOT_APPLICABLE("base_mr came with API 2.0");
}

/* One region within another, at the target. */
struct sub_arg {
	int slot;      /* whose memory is meant: a region of the harness */
	int base;      /* the sub-region that it lies within, or NO_BASE: the region itself */
	int number;    /* its own, below SUBS_MAX */
	int64_t at[2]; /* from each segment's begin, or from the first's where segs is 1 */
	size_t len[2], segs;
	uint64_t access, flags;
	bool garbage; /* in the fields that are inherited */
	bool by_hand;
};

struct sub_told {
	int rc;
	struct key_card card;
	uint64_t key, addr; /* how peers name its first byte */
};

static struct fid_mr *subs[SUBS_MAX];

static void set(struct mr_args *args, size_t at, uint64_t value, size_t size)
{
	memcpy((uint8_t *)args + at, &value, size);
}

static void step_sub(const void *arg, void *reply)
{
	const struct sub_arg *sub = arg;
	struct region *region = target_region(sub->slot);
	struct fid_mr *base = sub->base == NO_BASE ? region->mr : subs[sub->base];
	struct sub_told *told = reply;
	uint64_t flags = sub->flags | (peer_has(&target_peer, FI_MR_RMA_EVENT) ? FI_RMA_EVENT : 0);
	struct iovec iov[2];
	struct mr_args args = { .attr = { .mr_iov = iov,
					  .iov_count = sub->segs,
					  .access = sub->access,
					  .requested_key = region_fresh_key(&target_peer) } };
	size_t i;

	for (i = 0; i < sub->segs; i++)
		iov[i] = (struct iovec){ (uint8_t *)region->iov[i].iov_base + sub->at[i], sub->len[i] };
	set(&args, AT_BASE_MR, (uintptr_t)base, 8);
	if (sub->garbage) {
		set(&args, AT_IFACE, 99, 4);
		set(&args, AT_DEVICE, 12345, 8);
		set(&args, AT_HMEM_DATA, 0x5a5a, 8);
		set(&args, AT_PAGE_SIZE, 12345, 8);
	}
	told->rc = mr_register(target_peer.domain, REG_ATTR, &args, flags, &subs[sub->number]);
	if (told->rc)
		return;
	if (!sub->by_hand)
		mr_ready(&target_peer, subs[sub->number], flags);
	key_show(&target_peer, subs[sub->number], &told->card);
	told->addr = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uintptr_t)iov[0].iov_base : 0;
}

static struct sub_told sub_reg(struct pair *p, const struct sub_arg *arg)
{
	struct sub_told told;

	target_do(&p->target, step_sub, arg, sizeof(*arg), &told, sizeof(told));
	if (!told.rc)
		told.key = key_learn(p, &told.card);
	return told;
}

static void step_sub_close(const void *arg, void *reply)
{
	*(int *)reply = fi_close(&subs[*(const int *)arg]->fid);
}

static int sub_close(struct pair *p, int number)
{
	int rc;

	target_do(&p->target, step_sub_close, &number, sizeof(number), &rc, sizeof(rc));
	return rc;
}

/* OK for `len` bytes of the region's memory from `off` on, by the sub-region's key and address. */
static void ok_sub_write(struct pair *p, const struct remote *base, const struct sub_told *sub, uint64_t addr, uint64_t off,
			 size_t len)
{
	struct remote r = *base;

	r.key = sub->key;
	ok_write_at(p, &r, addr, off, len);
}

static void ok_sub_read(struct pair *p, const struct remote *base, const struct sub_told *sub, uint64_t addr, uint64_t off,
			size_t len)
{
	struct remote r = *base;

	r.key = sub->key;
	ok_read_at(p, &r, addr, off, len);
}

/* A page at the target, and the sub-region of it that arg describes, for the test that asks for it. */
static struct remote *sub_in_a_page(struct pair *p, struct sub_arg *arg, struct sub_told *sub)
{
	struct remote *base;

	need_field();
	base = remote_reg(p, PAGE, ALL_REMOTE);
	arg->slot = base->slot;
	*sub = sub_reg(p, arg);
	CHECK_RC(0, sub->rc);
	return base;
}

/* S121: a region within a region is one, with a key, a range and an address of its own. */
PAIR_TEST(rules, S121_a_region_within_a_region)
{
	struct remote *base;
	struct sub_arg arg = { .base = NO_BASE, .at = { 100 }, .len = { 16 }, .segs = 1, .access = ALL_REMOTE };
	struct sub_told sub;

	base = sub_in_a_page(p, &arg, &sub);
	CHECK(sub.key != base->key, "the sub-region has the base's key");
	ok_sub_write(p, base, &sub, sub.addr, 100, 16);
	ok_sub_read(p, base, &sub, sub.addr + 4, 104, 12);
	deny(p, RMA_WRITE, sub.addr + 8, sub.key, 9, "S65");
	deny(p, RMA_READ, sub.addr - 1, sub.key, 4, "S65");
	deny(p, RMA_WRITE, sub.addr + 16, sub.key, 1, "S65");
	ok_write(p, base, 90, 40);
	CHECK_RC(0, sub_close(p, 0));
	deny(p, RMA_WRITE, sub.addr, sub.key, 16, "S178");
	ok_write(p, base, 100, 16);
}

/* S122: it lies fully inside. */
PAIR_TEST(rules, S122_not_fully_inside_is_refused)
{
	static const struct {
		int64_t at;
		size_t len;
	} outside[] = {
		{ -1, 16 }, { -16, 16 }, { PAGE - 15, 16 }, { PAGE, 1 }, { 0, PAGE + 1 }, { -1, PAGE + 2 }, { 0, SIZE_MAX / 2 },
	};
	struct region_want two = { .len = { 256, 256 }, .segs = 2, .access = ALL_REMOTE };
	struct remote *base, *gap;
	struct sub_arg arg = { .base = NO_BASE, .segs = 1, .access = ALL_REMOTE };
	struct sub_told sub;
	size_t i;

	need_field();
	base = remote_reg(p, PAGE, ALL_REMOTE);
	arg.slot = base->slot;
	for (i = 0; i < sizeof(outside) / sizeof(*outside); i++) {
		arg.at[0] = outside[i].at;
		arg.len[0] = outside[i].len;
		sub = sub_reg(p, &arg);
		CHECK(sub.rc == -FI_EINVAL, "%zu B at %lld of a page registered within it: %d", outside[i].len,
		      (long long)outside[i].at, sub.rc);
	}
	if (p->peer.info->domain_attr->mr_iov_limit < 2)
		return;
	gap = remote_reg_as(p, &two);
	arg = (struct sub_arg){ .slot = gap->slot, .base = NO_BASE, .segs = 1, .access = ALL_REMOTE, .at = { 250 }, .len = { 7 } };
	CHECK_REFUSED_AS(-FI_EINVAL, sub_reg(p, &arg).rc); /* into the gap */
	arg.len[0] = 256 + REGION_GUARD;
	CHECK_REFUSED_AS(-FI_EINVAL, sub_reg(p, &arg).rc); /* over it */
	arg = (struct sub_arg){
		.slot = gap->slot, .base = NO_BASE, .segs = 2, .access = ALL_REMOTE, .at = { 16, 241 }, .len = { 16, 16 }
	};
	CHECK_REFUSED_AS(-FI_EINVAL, sub_reg(p, &arg).rc); /* the second segment sticks out */
	arg.at[1] = 240;
	sub = sub_reg(p, &arg);
	CHECK_RC(0, sub.rc);
	ok_sub_write(p, gap, &sub, sub.addr, 16, 16);
	if (!peer_has(&p->peer, FI_MR_VIRT_ADDR))
		ok_sub_write(p, gap, &sub, 16, 256 + 240, 16);
	CHECK_RC(0, sub_close(p, 0));
	CHECK_RC(0, remote_close(p, gap));
}

/* S123: its rights are its own: fewer than the base's, or more. */
PAIR_TEST(rules, S123_rights_are_its_own)
{
	struct remote *all, *none;
	struct sub_arg arg = { .base = NO_BASE, .at = { 0 }, .len = { 256 }, .segs = 1 };
	struct sub_told reader, writer;

	need_field();
	all = remote_reg(p, 256, ALL_REMOTE);
	none = remote_reg(p, 256, ALL_LOCAL);
	arg.slot = all->slot;
	arg.access = FI_REMOTE_READ;
	reader = sub_reg(p, &arg);
	arg.slot = none->slot;
	arg.access = FI_REMOTE_WRITE;
	arg.number = 1;
	writer = sub_reg(p, &arg);
	CHECK_RC(0, reader.rc);
	CHECK_RC(0, writer.rc);
	deny(p, RMA_WRITE, reader.addr, reader.key, 64, "S29");
	ok_sub_read(p, all, &reader, reader.addr, 0, 64);
	ok_write(p, all, 0, 64);
	ok_sub_write(p, none, &writer, writer.addr, 0, 64);
	deny(p, RMA_READ, writer.addr, writer.key, 64, "S27");
	deny(p, RMA_WRITE, none->base[0], none->key, 64, "S29|S31");
	CHECK_RC(0, sub_close(p, 0));
	CHECK_RC(0, sub_close(p, 1));
}

/* S125: iface, device, hmem_data and page_size are the base's, whatever is given. */
PAIR_TEST(rules, S125_inherited_fields_are_not_looked_at)
{
	struct remote *base;
	struct sub_arg arg = { .base = NO_BASE, .at = { 64 }, .len = { 64 }, .segs = 1, .access = ALL_REMOTE, .garbage = true };
	struct sub_told sub;

	base = sub_in_a_page(p, &arg, &sub);
	ok_sub_write(p, base, &sub, sub.addr, 64, 64);
	CHECK_RC(0, sub_close(p, 0));
}

/* S126: the base does not close before. S128: a base may lie within another; then level by level. */
PAIR_TEST(rules, S126_S128_bases_close_last)
{
	struct remote *base;
	struct sub_arg arg = { .base = NO_BASE, .at = { 0 }, .len = { 1024 }, .segs = 1, .access = ALL_REMOTE };
	struct sub_told sub;
	int level;

	need_field();
	base = remote_reg(p, PAGE, ALL_REMOTE);
	arg.slot = base->slot;
	for (level = 0; level < 3; level++) {
		arg.base = level ? level - 1 : NO_BASE;
		arg.number = level;
		arg.len[0] = (size_t)1024 >> level;
		sub = sub_reg(p, &arg);
		CHECK_RC(0, sub.rc);
		ok_sub_write(p, base, &sub, sub.addr, 0, arg.len[0]);
	}
	arg.number = 3;
	arg.len[0] = 257; /* inside the region, not inside the innermost */
	arg.base = 2;
	CHECK_REFUSED_AS(-FI_EINVAL, sub_reg(p, &arg).rc);
	CHECK_REFUSED_AS(-FI_EBUSY, remote_close(p, base));
	CHECK_REFUSED_AS(-FI_EBUSY, sub_close(p, 0));
	CHECK_REFUSED_AS(-FI_EBUSY, sub_close(p, 1));
	ok_write(p, base, 0, PAGE);
	ok_sub_write(p, base, &sub, sub.addr, 0, 256);
	for (level = 2; level >= 0; level--) {
		CHECK_RC(0, sub_close(p, level));
		if (level)
			CHECK_REFUSED_AS(-FI_EBUSY, remote_close(p, base));
	}
	CHECK_RC(0, remote_close(p, base));
	deny(p, RMA_WRITE, base->base[0], base->key, 64, "S178");
}

static void step_many(const void *arg, void *reply)
{
	struct iovec iov = { target_region(*(const int *)arg)->iov[0].iov_base, PAGE };
	struct mr_args args = { .attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE } };
	struct fid_mr *base, *sub[5];
	int i;

	(void)reply;
	set(&args, AT_SUB_MR_CNT, 1, 8);
	args.attr.requested_key = region_fresh_key(&target_peer);
	CHECK_RC(0, mr_register(target_peer.domain, REG_ATTR, &args, 0, &base));
	set(&args, AT_BASE_MR, (uintptr_t)base, 8);
	for (i = 0; i < 5; i++) {
		args.attr.requested_key = region_fresh_key(&target_peer);
		CHECK_RC(0, mr_register(target_peer.domain, REG_ATTR, &args, 0, &sub[i]));
	}
	for (i = 0; i < 5; i++) {
		CHECK_REFUSED_AS(-FI_EBUSY, fi_close(&base->fid));
		CHECK_RC(0, fi_close(&sub[i]->fid));
	}
	CHECK_RC(0, fi_close(&base->fid));
}

/* S129: sub_mr_cnt is a hint: more sub-regions than that are good. */
PAIR_TEST(rules, S129_the_expected_number_is_no_limit)
{
	struct remote *r;

	need_field();
	r = remote_reg(p, PAGE, ALL_REMOTE);
	target_do(&p->target, step_many, &r->slot, sizeof(r->slot), NULL, 0);
}

/* S121 and S130: flags are its own: a window for one operation into a region that stays open. */
PAIR_TEST(rules, S121_S130_a_single_use_window)
{
	struct remote *base;
	struct sub_arg arg = {
		.base = NO_BASE, .at = { 512 }, .len = { 64 }, .segs = 1, .access = ALL_REMOTE, .flags = REGION_SINGLE_USE
	};
	struct sub_told sub;

	base = sub_in_a_page(p, &arg, &sub);
	ok_sub_write(p, base, &sub, sub.addr, 512, 64);
	deny(p, RMA_WRITE, sub.addr, sub.key, 64, "S130");
	ok_write(p, base, 512, 64);
	CHECK_RC(0, sub_close(p, 0));
}

/* S101 and S121: it is disabled, bound and enabled by itself, whatever its base is. */
PAIR_TEST(rules, S101_S121_gates_are_its_own)
{
	struct remote *base;
	struct sub_arg arg = { .base = NO_BASE, .at = { 0 }, .len = { 64 }, .segs = 1, .access = ALL_REMOTE, .by_hand = true };
	struct sub_told sub;

	base = sub_in_a_page(p, &arg, &sub);
	if (peer_has(&p->peer, FI_MR_ENDPOINT) || peer_has(&p->peer, FI_MR_RMA_EVENT))
		deny(p, RMA_WRITE, sub.addr, sub.key, 64, "S92|S101");
	else
		ok_sub_write(p, base, &sub, sub.addr, 0, 64);
	ok_write(p, base, 0, 64);
	CHECK_RC(0, sub_close(p, 0));
}
