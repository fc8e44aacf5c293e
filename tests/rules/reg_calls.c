/* SPDX-License-Identifier: BSD-2-Clause */
/* reg_calls.c - the registration calls themselves: S1 to S18, S79. */
#include "tests/rules/harness/harness.h"

#include <sys/mman.h>

/* One buffer and the arguments that register it; a test changes what it wants to. */
struct call {
	uint8_t buf[256];
	struct iovec iov;
	struct mr_args args;
};

static void call_init(struct call *c, const struct peer *p)
{
	memset(c, 0, sizeof(*c));
	c->iov = (struct iovec){ c->buf, sizeof(c->buf) };
	c->args.attr = (struct fi_mr_attr){
		.mr_iov = &c->iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = region_fresh_key(p)
	};
}

/* Every call must answer `want` to these arguments and, where that is a refusal, leave no region behind. */
static void expect_all(struct peer *p, const struct call *c, uint64_t flags, int want)
{
	struct fid_mr *const untouched = (struct fid_mr *)(uintptr_t)0x5a5a;
	enum reg_call call;

	for (call = REG_ATTR; call < REG_CALLS; call++) {
		struct fid_mr *mr = untouched;
		int rc = mr_register(p->domain, call, &c->args, flags, &mr);

		CHECK(rc == want, "call %d with flags 0x%llx, access 0x%llx, len %zu, offset %llu: %d (%s), expected %d (%s)", call,
		      (unsigned long long)flags, (unsigned long long)c->args.attr.access, c->iov.iov_len,
		      (unsigned long long)c->args.attr.offset, rc, fi_strerror(-rc), want, fi_strerror(-want));
		if (!rc)
			CHECK_RC(0, fi_close(&mr->fid));
		else
			CHECK(!mr || mr == untouched, "a refused registration handed out a region (S13)");
	}
}

/* S1: memory that is not registered cannot be reached, whatever key is named. */
PAIR_TEST(rules, S1_unregistered_memory_is_out_of_reach)
{
	struct remote *known = remote_reg(p, 64, ALL_REMOTE);
	struct remote *page = remote_reg(p, PAGE, ALL_REMOTE);
	uint64_t addr = page->base[0] + 512, key = page->key; /* past `known`, whichever way it is addressed */

	CHECK_RC(0, remote_close(p, page));
	deny(p, RMA_WRITE, addr, 0, 64, "S1|S40");
	deny(p, RMA_WRITE, addr, 1, 64, "S1|S40");
	deny(p, RMA_READ, addr, 1, 64, "S1|S40");
	deny(p, RMA_WRITE, addr, known->key, 64, "S65");
	deny(p, RMA_READ, addr, known->key, 64, "S65");
	deny(p, RMA_WRITE, addr, key, 64, "S178");
	page = remote_reg(p, PAGE, ALL_REMOTE);
	ok_write(p, page, 512, 64);
	ok_read(p, page, 512, 64);
}

/* S2, S12: the calls differ in their parameters alone. */
PAIR_TEST(rules, S2_S12_all_calls_register_alike)
{
	enum reg_call call;

	for (call = REG_ATTR; call < REG_CALLS; call++) {
		struct region_want rw = { .len = { 256 }, .access = FI_REMOTE_WRITE, .call = call };
		struct region_want rr = { .len = { 256 }, .access = FI_REMOTE_READ, .call = call };
		struct remote *w = remote_reg_as(p, &rw), *r = remote_reg_as(p, &rr);

		ok_write(p, w, 0, 256);
		ok_read(p, r, 0, 256);
		deny(p, RMA_READ, w->base[0], w->key, 16, "S27");
		deny(p, RMA_WRITE, r->base[0], r->key, 16, "S29");
		deny(p, RMA_WRITE, w->base[0] + 250, w->key, 7, "S65");
		deny(p, RMA_READ, r->base[0] + 256, r->key, 1, "S65");
	}
}

/* S3: len must be more than 0, from API 1.9 on. */
PEER_TEST(rules, S3_zero_length_is_refused)
{
	struct iovec pair[2];
	struct fid_mr *mr;
	struct call c;

	if (FI_VERSION_LT(peer_api(), FI_VERSION(1, 9)))
		NOT_IN_THIS_MODE("the page sets no minimum before API 1.9");
	call_init(&c, p);
	c.iov.iov_len = 0;
	expect_all(p, &c, 0, -FI_EINVAL);
	call_init(&c, p);
	pair[0] = c.iov;
	pair[1] = (struct iovec){ c.buf, 0 };
	c.args.attr.mr_iov = pair;
	c.args.attr.iov_count = 2;
	CHECK_RC(-FI_EINVAL, mr_register(p->domain, REG_VEC, &c.args, 0, &mr));
	CHECK_RC(-FI_EINVAL, mr_register(p->domain, REG_ATTR, &c.args, 0, &mr));
}

/* S4: offset is reserved. */
PEER_TEST(rules, S4_offset_must_be_zero)
{
	static const uint64_t offsets[] = { 1, 8, 257, UINT64_MAX };
	struct call c;
	size_t i;

	call_init(&c, p);
	for (i = 0; i < sizeof(offsets) / sizeof(*offsets); i++) {
		c.args.attr.offset = offsets[i];
		expect_all(p, &c, 0, -FI_EINVAL);
	}
	c.args.attr.offset = 0;
	expect_all(p, &c, 0, 0);
}

/* Between libfabric's layers (OFI_MR_NOCACHE): a provider that others build upon gets it from them. */
enum { NOCACHE_BIT = 60 };

/* S5, S8: every flag that is undefined, or whose capability was not granted, is refused, and alike by all calls. */
PEER_TEST(rules, S5_S8_unsupported_flags_are_refused)
{
	struct call c;
	int bit;

	call_init(&c, p);
	for (bit = 0; bit < 64; bit++) {
		if (bit == NOCACHE_BIT)
			continue;
		if (bit == 41 && peer_api() >= FI_VERSION(2, 0))
			expect_all(p, &c, REGION_SINGLE_USE, 0); /* defined there, and needs no capability */
		else
			expect_all(p, &c, 1ULL << bit, p->info->caps & FI_RMA_EVENT & 1ULL << bit ? 0 : -FI_EBADFLAGS);
	}
	expect_all(p, &c, 0, 0);
}

/* S22: undefined access bits are refused; S22 choice: no access at all is a region. */
PEER_TEST(rules, S22_undefined_access_is_refused)
{
	struct call c;
	int bit;

	call_init(&c, p);
	for (bit = 0; bit < 64; bit++) {
		if ((ALL_LOCAL | ALL_REMOTE) & (1ULL << bit))
			continue;
		c.args.attr.access = ALL_REMOTE | (1ULL << bit);
		expect_all(p, &c, 0, -FI_EINVAL);
	}
	c.args.attr.access = 0;
	expect_all(p, &c, 0, 0);
}

/* S184: without the capability FI_COLLECTIVE its access bit is none, whatever stands beside it. */
PEER_TEST(rules, S184_collective_access_needs_the_capability)
{
	struct call c;

	if (p->info->caps & FI_COLLECTIVE)
		NOT_APPLICABLE("%s has collectives", peer_provider());
	call_init(&c, p);
	c.args.attr.access = FI_COLLECTIVE;
	expect_all(p, &c, 0, -FI_EINVAL);
	c.args.attr.access = FI_COLLECTIVE | FI_SEND | FI_RECV;
	expect_all(p, &c, 0, -FI_EINVAL);
}

/* S6: success is 0, and every refusal a negative errno that fi_strerror knows. */
PEER_TEST(rules, S6_refusals_are_fabric_errnos)
{
	struct fid_mr *mr;
	struct call c;

	call_init(&c, p);
	c.args.attr.offset = 8;
	CHECK_REFUSED(mr_register(p->domain, REG_ATTR, &c.args, 0, &mr));
	c.args.attr.offset = 0;
	CHECK_REFUSED(mr_register(p->domain, REG_ATTR, &c.args, 1ULL << 33, &mr));
	c.args.attr.access = 1;
	CHECK_REFUSED(mr_register(p->domain, REG_ATTR, &c.args, 0, &mr));
	c.args.attr.access = ALL_REMOTE;
	CHECK_RC(0, mr_register(p->domain, REG_ATTR, &c.args, 0, &mr));
	CHECK_RC(0, fi_close(&mr->fid));
}

/* S9: a vectored registration is one region, and every segment of it can be reached with the one key. */
PAIR_TEST(rules, S9_vectored_region_is_one_region)
{
	struct region_want want = { .len = { 256, 256, 256 }, .segs = 3, .access = ALL_REMOTE };
	enum reg_call calls[] = { REG_VEC, REG_ATTR };
	size_t i, seg;

	if (p->peer.info->domain_attr->mr_iov_limit < want.segs)
		want.segs = p->peer.info->domain_attr->mr_iov_limit;
	for (i = 0; i < 2; i++) {
		struct remote *r;

		want.call = calls[i];
		r = remote_reg_as(p, &want);
		for (seg = 0; seg < want.segs; seg++) {
			ok_write(p, r, seg * 256, 256);
			ok_read(p, r, seg * 256 + 17, 33);
		}
		CHECK_RC(0, remote_close(p, r));
		deny(p, RMA_WRITE, r->base[want.segs - 1], r->key, 8, "S178");
	}
}

/* S10: mr_iov_limit buffers register, one more does not. */
PEER_TEST(rules, S10_iov_limit_is_enforced)
{
	size_t limit = p->info->domain_attr->mr_iov_limit, i;
	static struct iovec iov[257];
	static uint8_t bytes[257][16];
	struct fid_mr *mr;
	struct call c;

	CHECK(limit >= 1 && limit <= 256, "mr_iov_limit is %zu", limit);
	call_init(&c, p);
	for (i = 0; i <= limit; i++)
		iov[i] = (struct iovec){ bytes[i], 16 };
	c.args.attr.mr_iov = iov;
	for (i = 0; i < 2; i++) {
		enum reg_call call = i ? REG_VEC : REG_ATTR;

		c.args.attr.iov_count = limit;
		CHECK_RC(0, mr_register(p->domain, call, &c.args, 0, &mr));
		CHECK_RC(0, fi_close(&mr->fid));
		c.args.attr.iov_count = limit + 1;
		CHECK_RC(-FI_EINVAL, mr_register(p->domain, call, &c.args, 0, &mr));
		c.args.attr.iov_count = SIZE_MAX;
		CHECK_RC(-FI_EINVAL, mr_register(p->domain, call, &c.args, 0, &mr));
	}
}

/* S11: entries past iov_count are not read, and no entry is no region. */
PEER_TEST(rules, S11_only_iov_count_entries_are_read)
{
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec *last = (struct iovec *)(void *)(pages + PAGE) - 1; /* the next entry would lie on the closed page */
	struct fid_mr *mr;
	struct call c;
	size_t i;

	CHECK(pages != MAP_FAILED && !mprotect(pages + PAGE, PAGE, PROT_NONE), "no memory");
	call_init(&c, p);
	*last = c.iov;
	c.args.attr.mr_iov = last;
	for (i = 0; i < 2; i++) {
		enum reg_call call = i ? REG_VEC : REG_ATTR;

		c.args.attr.iov_count = 1;
		CHECK_RC(0, mr_register(p->domain, call, &c.args, 0, &mr));
		CHECK_RC(0, fi_close(&mr->fid));
		c.args.attr.iov_count = 0;
		CHECK_RC(-FI_EINVAL, mr_register(p->domain, call, &c.args, 0, &mr));
	}
	munmap(pages, 2 * PAGE);
}

/* S13: the region comes back through `mr`, with its class and context. S173: the context is never looked into. */
PEER_TEST(rules, S13_S173_region_object_is_returned)
{
	enum reg_call call;
	struct call c;

	call_init(&c, p);
	c.args.attr.context = (void *)(uintptr_t)1;
	for (call = REG_ATTR; call < REG_CALLS; call++) {
		struct fid_mr *mr = NULL;

		CHECK_RC(0, mr_register(p->domain, call, &c.args, 0, &mr));
		CHECK(mr && mr->fid.fclass == FI_CLASS_MR, "no object of class FI_CLASS_MR");
		CHECK(mr->fid.context == (void *)(uintptr_t)1, "context is %p", mr->fid.context);
		CHECK_RC(0, fi_close(&mr->fid));
	}
}

/* S14, S15: a region of local rights alone has a descriptor, the same at every call, that transfers take. */
PAIR_TEST(rules, S14_S15_descriptor_serves_transfers)
{
	struct region_want want = { .len = { 128 }, .access = ALL_LOCAL };
	struct remote *r = remote_reg(p, 128, ALL_REMOTE);
	struct region mine, old = p->local;
	void *old_desc = p->desc;

	region_open(&mine, &p->peer, &want, 99);
	p->local = mine;
	p->desc = fi_mr_desc(mine.mr);
	CHECK(p->desc == fi_mr_desc(mine.mr), "fi_mr_desc changed its mind");
	ok_write(p, r, 0, 128);
	ok_read(p, r, 3, 77);
	p->local = old;
	p->desc = old_desc;
	region_close(&mine);
}

/* S16: registration is complete when the call returns: the peer's first write is good, a thousand times. */
PAIR_TEST(rules, S16_registration_is_synchronous)
{
	int i;

	for (i = 0; i < 200; i++) {
		struct remote *r = remote_reg(p, 32, ALL_REMOTE);

		ok_write(p, r, 0, 32);
		remote_forget(p, r);
	}
}

/* ---- memory that is not there ---- */

struct hole {
	uint8_t *at; /* two pages: one of no rights, then one unmapped; registered as a whole */
	struct fid_mr *mr;
};
static struct hole hole;

struct hole_told {
	int rc;
	uint64_t key; /* once it is learned */
	struct key_card card;
	uint64_t addr;
};

static void step_reg_hole(const void *arg, void *reply)
{
	struct hole_told *told = reply;
	struct iovec iov = { .iov_len = 2 * PAGE };
	struct mr_args args = { .attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE } };

	(void)arg;
	hole.at = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(hole.at != MAP_FAILED && !munmap(hole.at + PAGE, PAGE), "no address space");
	iov.iov_base = hole.at;
	args.attr.requested_key = region_fresh_key(&target_peer);
	hole.mr = NULL;
	told->rc = mr_register(target_peer.domain, REG_ATTR, &args, 0, &hole.mr);
	if (told->rc)
		return;
	mr_ready(&target_peer, hole.mr, 0);
	key_show(&target_peer, hole.mr, &told->card);
	told->addr = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)hole.at : 0;
}

static void step_back_hole(const void *arg, void *reply)
{
	void *at = mmap(hole.at, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	(void)arg;
	(void)reply;
	CHECK(at == hole.at, "mapping the hole failed");
	memset(at, 0x77, 2 * PAGE);
}

static void step_peek_hole(const void *arg, void *reply)
{
	memcpy(reply, hole.at + *(const uint64_t *)arg, 64);
}

static void step_close_hole(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	if (hole.mr)
		CHECK_RC(0, fi_close(&hole.mr->fid));
	munmap(hole.at, 2 * PAGE);
}

/* Writes and reads 64 B there; both must end without error, with the right bytes. */
static void expect_backed(struct pair *p, const struct hole_told *told, uint64_t off)
{
	uint8_t *local = p->local.iov[0].iov_base, there[64];
	struct outcome out;

	pattern_fill(local, 64, ++p->seed);
	out = pair_try(p, RMA_WRITE, told->addr + off, told->key, 64);
	CHECK(!out.rc && !out.err, "a write to memory mapped after registration failed: %s", out.text);
	target_do(&p->target, step_peek_hole, &off, sizeof(off), there, sizeof(there));
	CHECK(!memcmp(there, local, 64), "the write did not land in the memory mapped after registration");
	memset(local, 0, 64);
	out = pair_try(p, RMA_READ, told->addr + off, told->key, 64);
	CHECK(!out.rc && !out.err && !memcmp(there, local, 64), "a read from memory mapped after registration failed: %s",
	      out.text);
}

/* S17, S18, S82: without FI_MR_ALLOCATED a range need not be backed to be registered, only to be reached; the target
 * survives. S79: with FI_MR_ALLOCATED it must be. */
PAIR_TEST(rules, S17_S18_S79_S82_unbacked_ranges)
{
	struct hole_told told;

	if (peer_has(&p->peer, FI_MR_MMU_NOTIFY) && !peer_has(&p->peer, FI_MR_ALLOCATED))
		NOT_IN_THIS_MODE("the program tells of new pages (S107)");
	target_do(&p->target, step_reg_hole, NULL, 0, &told, sizeof(told));
	if (peer_has(&p->peer, FI_MR_ALLOCATED)) {
		CHECK(told.rc == -FI_EFAULT, "an unbacked range registered: %d, expected -FI_EFAULT (S79)", told.rc);
	} else {
		struct outcome out;

		CHECK_RC(0, told.rc);
		told.key = key_learn(p, &told.card);
		out = deny(p, RMA_WRITE, told.addr, told.key, 64, "S18");
		CHECK(!peer_is_emu() || out.err == FI_EFAULT, "err %d, expected FI_EFAULT: %s", out.err, out.text);
		out = deny(p, RMA_READ, told.addr + PAGE, told.key, 64, "S18");
		CHECK(!peer_is_emu() || out.err == FI_EFAULT, "err %d, expected FI_EFAULT: %s", out.err, out.text);
		deny(p, RMA_WRITE, told.addr + PAGE - 32, told.key, 64, "S18");
		target_do(&p->target, step_back_hole, NULL, 0, NULL, 0);
		expect_backed(p, &told, 0);
		expect_backed(p, &told, PAGE - 32);
		expect_backed(p, &told, 2 * PAGE - 64);
	}
	target_do(&p->target, step_close_hole, NULL, 0, NULL, 0);
}

/* ---- the whole address space ---- */

static struct fid_mr *everything;

static void step_reg_everything(const void *arg, void *reply)
{
	struct iovec iov = { NULL, SIZE_MAX };
	struct mr_args args = { .attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = 77 } };

	(void)arg;
	CHECK_RC(0, mr_register(target_peer.domain, REG_ATTR, &args, 0, &everything));
	mr_ready(&target_peer, everything, 0);
	key_show(&target_peer, everything, reply);
}

static void step_close_everything(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK_RC(0, fi_close(&everything->fid));
}

/* S17: with mr_mode 0, (NULL, SIZE_MAX) is a region: offset and address are then the same. Page 0 is never backed. */
PAIR_TEST(rules, S17_the_whole_address_space_is_a_region)
{
	struct remote *r = remote_reg(p, PAGE, 0);
	struct key_card card;

	if (peer_has(&p->peer, FI_MR_BASIC_BITS) || peer_has(&p->peer, FI_MR_MMU_NOTIFY))
		NOT_IN_THIS_MODE("the memory must be there, or be told of");
	deny(p, RMA_WRITE, 0, r->key, 64, "S29|S31");
	target_do(&p->target, step_reg_everything, NULL, 0, &card, sizeof(card));
	r->key = key_learn(p, &card);
	ok_write_at(p, r, r->va[0] + 100, 100, 64);
	ok_read_at(p, r, r->va[0] + 100, 100, 64);
	deny(p, RMA_WRITE, 64, r->key, 64, "S18");
	deny(p, RMA_WRITE, UINT64_MAX - 31, r->key, 64, "S65");
	target_do(&p->target, step_close_everything, NULL, 0, NULL, 0);
	deny(p, RMA_WRITE, r->va[0], r->key, 64, "S178");
}

/* S65 at registration: a range that wraps round the address space is no region. */
PEER_TEST(rules, S65_ranges_that_wrap_do_not_register)
{
	struct call c;

	call_init(&c, p);
	c.iov = (struct iovec){ (void *)(uintptr_t)(UINTPTR_MAX - 15), 32 };
	expect_all(p, &c, 0, -FI_EINVAL);
	c.iov = (struct iovec){ c.buf, SIZE_MAX };
	expect_all(p, &c, 0, -FI_EINVAL);
}
