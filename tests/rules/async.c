/* SPDX-License-Identifier: BSD-2-Clause */
/* async.c - registration that ends later and says so by an event. */
#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/newest.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MANY = 100, EVENTS = 2000, BIG = 32 << 20 };

/* False where the provider registers synchronously alone. */
static bool bind_eq(struct peer *p)
{
	int rc = fi_domain_bind(p->domain, &p->eq->fid, PEER_REG_MR);

	CHECK(!rc || !peer_is_emu(), "fi_domain_bind with FI_REG_MR returned %d", rc);
	return !rc;
}

#define BIND_OR_END(p)                                                                   \
	do {                                                                             \
		if (!bind_eq(p)) {                                                       \
			NOT_APPLICABLE("the provider has no asynchronous registration"); \
			return;                                                          \
		}                                                                        \
	} while (0)

static void wait_event(struct peer *p, struct fi_eq_entry *entry)
{
	struct deadline guard = deadline_start();
	uint32_t event = 0;
	ssize_t rc;

	while ((rc = fi_eq_read(p->eq, &event, entry, sizeof(*entry), 0)) == -FI_EAGAIN)
		deadline_check(&guard, "the event of a registration");
	CHECK_RC(sizeof(*entry), rc);
	CHECK(event == FI_MR_COMPLETE, "event %u, expected FI_MR_COMPLETE", event);
}

static void expect_quiet(struct peer *p)
{
	struct fi_eq_entry entry;
	uint32_t event;

	CHECK_RC(-FI_EAGAIN, fi_eq_read(p->eq, &event, &entry, sizeof(entry), 0));
}

/* Under FI_MR_RAW there is never a plain one (S43). */
static bool has_key(const struct peer *p, struct fid_mr *mr)
{
	return peer_has(p, FI_MR_RAW) || fi_mr_key(mr) != FI_KEY_NOTAVAIL;
}

static int reg_with(struct peer *p, void *buf, size_t len, uint64_t key, struct fid_mr **mr, void *context)
{
	return fi_mr_reg(p->domain, buf, len, ALL_LOCAL | ALL_REMOTE, 0, key, 0, mr, context);
}

static int reg(struct peer *p, void *buf, size_t len, struct fid_mr **mr, void *context)
{
	return reg_with(p, buf, len, region_fresh_key(p), mr, context);
}

/* Registers one region and expects its event as the very next. */
static void expect_next_event(struct peer *p)
{
	struct fi_eq_entry entry;
	struct fid_mr *mr = NULL;
	char page[64];

	CHECK_RC(0, reg(p, page, sizeof(page), &mr, page));
	wait_event(p, &entry);
	CHECK(entry.fid == &mr->fid, "the event is about another object");
	CHECK(entry.context == page, "the event has another context");
	expect_quiet(p);
	CHECK_RC(0, fi_close(&mr->fid));
}

PEER_TEST(async, S168_S169_S173_an_event_tells_the_end)
{
	BIND_OR_END(p);
	expect_next_event(p);
	CHECK_REFUSED(fi_domain_bind(p->domain, &p->eq->fid, PEER_REG_MR));
}

PEER_TEST(async, S169_each_event_once)
{
	struct fid_mr *mr[MANY] = { NULL };
	int seen[MANY] = { 0 }, i;
	static char bytes[MANY][64];

	BIND_OR_END(p);
	for (i = 0; i < MANY; i++)
		CHECK_RC(0, reg(p, bytes[i], sizeof(bytes[i]), &mr[i], &seen[i]));
	for (i = 0; i < MANY; i++) {
		struct fi_eq_entry entry;
		ptrdiff_t which;

		wait_event(p, &entry);
		which = (int *)entry.context - seen;
		CHECK(which >= 0 && which < MANY, "an event with a context that nobody gave");
		CHECK(!seen[which]++, "two events for one registration");
		CHECK(entry.fid == &mr[which]->fid, "the event's object is not its context's");
	}
	expect_quiet(p);
	for (i = 0; i < MANY; i++)
		CHECK_RC(0, fi_close(&mr[i]->fid));
}

/* S52: nothing is to be had of a region whose registration did not end well, nor can anything be done to it. */
static void expect_unusable(struct peer *p, struct fid_mr *mr)
{
	struct iovec range = { mr, 1 };
	struct newest_attr within = {
		.mr_iov = &range, .iov_count = 1, .access = ALL_REMOTE, .base_mr = mr, .requested_key = region_fresh_key(p)
	};
	struct fid_mr *sub;
	uint8_t raw[RAW_KEY_MAX] = { 0 };
	size_t raw_len = sizeof(raw);
	uint64_t base = 5;

	CHECK(fi_mr_key(mr) == FI_KEY_NOTAVAIL, "a region that failed has a key");
	CHECK_REFUSED_AS(-FI_EOPBADSTATE, fi_mr_raw_attr(mr, &base, raw, &raw_len, 0));
	CHECK(raw_len == sizeof(raw) && base == 5 && !raw[0], "a refused fi_mr_raw_attr wrote something");
	if (!peer_is_emu())
		return;
	CHECK(!fi_mr_desc(mr), "a region that failed has a descriptor");
	if (peer_api() >= FI_VERSION(2, 0)) /* S121 */
		CHECK_RC(-FI_EINVAL, newest_reg(p->domain, &within, 0, &sub));
	CHECK_RC(-FI_EOPBADSTATE, fi_mr_enable(mr));
	CHECK_RC(-FI_EOPBADSTATE, fi_mr_bind(mr, &p->ep->fid, 0));
	if (!peer_has(p, FI_MR_ALLOCATED) || peer_has(p, FI_MR_MMU_NOTIFY))
		CHECK_RC(-FI_EOPBADSTATE, fi_mr_refresh(mr, &range, 1, 0));
}

/* Only what takes time can fail later: memory that is not there. */
PEER_TEST(async, S52_S169_failure_is_an_error_event)
{
	struct fi_eq_err_entry error = { 0 };
	struct deadline guard = deadline_start();
	struct fi_eq_entry entry;
	struct fid_mr *mr = NULL;
	uint32_t event;
	void *gone;
	ssize_t rc;

	BIND_OR_END(p);
	if (!peer_has(p, FI_MR_ALLOCATED))
		return;
	gone = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rc = reg(p, gone, PAGE, &mr, &error);
	if (rc) {
		CHECK(rc < 0, "registration returned %zd", rc); /* found at once: just as good */
		expect_next_event(p);
		return;
	}
	while ((rc = fi_eq_read(p->eq, &event, &entry, sizeof(entry), 0)) == -FI_EAGAIN)
		deadline_check(&guard, "the error event of a registration");
	CHECK_RC(-FI_EAVAIL, rc);
	CHECK_RC(sizeof(error), fi_eq_readerr(p->eq, &error, 0));
	CHECK(error.fid == &mr->fid, "the error event is about another object");
	CHECK(error.context == &error, "the error event has another context");
	CHECK(error.err == FI_EFAULT, "err %d, expected FI_EFAULT", error.err);
	expect_unusable(p, mr);
	expect_quiet(p);
	CHECK_RC(0, fi_close(&mr->fid));
	munmap(gone, PAGE);
	expect_next_event(p);
}

/* Ranges of one thread's array, as written by fi_mr_reg() and read by the thread that reads the events. */
struct reader {
	struct peer *p;
	struct fid_mr **mr;
};

static void *read_events(void *arg)
{
	struct reader *reader = arg;

	for (int i = 0; i < EVENTS; i++) {
		struct fi_eq_entry entry;
		struct fid_mr **mr;

		wait_event(reader->p, &entry);
		mr = entry.context;
		CHECK(*mr, "the event came before *mr was written");
		CHECK(&(*mr)->fid == entry.fid, "*mr is not the event's object");
		CHECK(has_key(reader->p, *mr), "the event came before the key");
		CHECK(fi_mr_desc(*mr), "the event came before the descriptor");
		CHECK_RC(0, fi_close(&(*mr)->fid));
	}
	return NULL;
}

PEER_TEST(async, S170_the_pointer_is_there_before_the_event)
{
	struct fid_mr **mr = calloc(EVENTS, sizeof(struct fid_mr *));
	struct reader reader = { .p = p, .mr = mr };
	static char bytes[64];
	pthread_t thread;

	BIND_OR_END(p);
	CHECK(mr, "no memory");
	CHECK(!pthread_create(&thread, NULL, read_events, &reader), "no thread");
	for (int i = 0; i < EVENTS; i++)
		CHECK_RC(0, reg(p, bytes, sizeof(bytes), &mr[i], &mr[i]));
	pthread_join(thread, NULL);
	expect_quiet(p);
	free(mr);
}

/* S172: once the call has returned, the place that `mr` points to may go; S170 has it written by then. */
PEER_TEST(async, S172_the_pointer_is_not_needed_later)
{
	struct fid_mr **place = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *mr;
	struct fi_eq_entry entry;
	char page[64];

	BIND_OR_END(p);
	if (!peer_is_emu())
		NOT_IN_THIS_MODE("a provider may write *mr until the event");
	CHECK_RC(0, reg(p, page, sizeof(page), place, NULL));
	mr = *place;
	munmap(place, PAGE);
	wait_event(p, &entry);
	CHECK(entry.fid == &mr->fid, "the event is about another object");
	CHECK_RC(0, fi_close(&mr->fid));
}

PEER_TEST(async, S171_no_event_for_a_call_that_failed)
{
	struct fid_mr *first = NULL, *mr = (struct fid_mr *)1;
	uint64_t key = region_fresh_key(p);
	struct fi_eq_entry entry;
	char page[64];

	BIND_OR_END(p);
	CHECK_RC(0, reg_with(p, page, sizeof(page), key, &first, NULL));
	wait_event(p, &entry);
	if (!peer_has(p, FI_MR_PROV_KEY))
		CHECK_RC(-FI_ENOKEY, reg_with(p, page, sizeof(page), key, &mr, NULL));
	CHECK_REFUSED(fi_mr_reg(p->domain, page, sizeof(page), FI_SEND, 8, key + 1, 0, &mr, NULL));
	CHECK_REFUSED(fi_mr_reg(p->domain, page, sizeof(page), FI_SEND, 0, key + 1, 1ull << 33, &mr, NULL));
	CHECK_REFUSED(fi_mr_regv(p->domain, NULL, 1, FI_SEND, 0, key + 1, 0, &mr, NULL));
	if (peer_is_emu())
		CHECK(mr == (struct fid_mr *)1, "a failed call wrote *mr");
	expect_next_event(p);
	CHECK_RC(0, fi_close(&first->fid));
}

/* The large registration before it keeps the small one waiting, under FI_MR_ALLOCATED at least. */
PEER_TEST(async, S42_S52_S174_no_key_before_the_event)
{
	struct fid_mr *big = NULL, *small = NULL;
	struct fi_eq_entry entry;
	uint32_t event;
	char page[64];
	uint8_t raw[RAW_KEY_MAX];
	size_t raw_len = sizeof(raw);
	uint64_t key, base;
	int raw_rc;
	void *desc;
	char *bytes = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	BIND_OR_END(p);
	CHECK_RC(0, reg(p, bytes, BIG, &big, NULL));
	CHECK_RC(0, reg(p, page, sizeof(page), &small, NULL));
	key = __atomic_load_n(&small->key, __ATOMIC_RELAXED); /* fi_mr_key(), for the eyes of tsan */
	desc = __atomic_load_n(&small->mem_desc, __ATOMIC_RELAXED);
	raw_rc = fi_mr_raw_attr(small, &base, raw, &raw_len, 0);
	if (fi_eq_read(p->eq, &event, &entry, sizeof(entry), FI_PEEK) == -FI_EAGAIN) {
		CHECK(raw_rc, "a region has a raw key before its registration is complete");
		CHECK(key == FI_KEY_NOTAVAIL, "a region has a key before its registration is complete");
		CHECK(!peer_is_emu() || !desc, "a region has a descriptor before its registration is complete");
	}
	wait_event(p, &entry);
	wait_event(p, &entry);
	CHECK(has_key(p, big) && has_key(p, small), "no key after the event");
	CHECK_RC(0, fi_close(&big->fid));
	CHECK_RC(0, fi_close(&small->fid));
	munmap(bytes, BIG);
}

/* S123: the memory of a region within another was looked after when the base was registered. */
PEER_TEST(async, S121_S123_S168_a_region_within_another)
{
	struct iovec iov = { NULL, PAGE };
	struct newest_attr attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = region_fresh_key(p) };
	struct fi_eq_entry entry;
	struct fid_mr *base = NULL, *sub = NULL;

	if (peer_api() < FI_VERSION(2, 0))
		NOT_IN_THIS_MODE("base_mr came with API 2.0");
	BIND_OR_END(p);
	iov.iov_base = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_RC(0, reg(p, iov.iov_base, PAGE, &base, NULL));
	wait_event(p, &entry);
	munmap(iov.iov_base, PAGE);
	attr.base_mr = base;
	CHECK_RC(0, newest_reg(p->domain, &attr, 0, &sub));
	wait_event(p, &entry);
	CHECK(entry.fid == &sub->fid && has_key(p, sub), "the region within is not registered");
	CHECK_RC(0, fi_close(&sub->fid));
	CHECK_RC(0, fi_close(&base->fid));
}

/* Cancelled or waited for: nothing is told of an object that is gone. */
PEER_TEST(async, S168_closing_before_the_end)
{
	char *bytes = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	BIND_OR_END(p);
	for (int i = 0; i < 200; i++) {
		struct fid_mr *first = NULL, *second = NULL;

		CHECK_RC(0, reg(p, bytes, i % 8 ? PAGE : BIG, &first, NULL));
		CHECK_RC(0, reg(p, bytes, PAGE, &second, NULL));
		CHECK_RC(0, fi_close(&second->fid)); /* queued behind the first */
		CHECK_RC(0, fi_close(&first->fid));
		if (peer_is_emu())
			expect_quiet(p);
	}
	expect_next_event(p);
	munmap(bytes, BIG);
}

static struct region remote_region;

static void step_bind(const void *arg, void *reply)
{
	(void)arg;
	*(int *)reply = fi_domain_bind(target_peer.domain, &target_peer.eq->fid, PEER_REG_MR);
}

struct told {
	uint64_t key; /* once it is learned */
	struct key_card card;
	uint64_t base;
};

static void reg_and_wait(struct told *told, const struct region_want *want)
{
	struct fi_eq_entry entry;

	CHECK_RC(0, region_reg(&remote_region, &target_peer, want));
	wait_event(&target_peer, &entry);
	key_show(&target_peer, remote_region.mr, &told->card);
	told->base = region_base(&remote_region, &target_peer, 0);
}

static void step_reg(const void *arg, void *reply)
{
	struct region_want want = { .len = { 4096 }, .access = ALL_REMOTE };

	region_map(&remote_region, &want, *(const uint32_t *)arg);
	reg_and_wait(reply, &want);
}

/* Its page comes after the registration. */
static void step_reg_before_its_page(const void *arg, void *reply)
{
	struct region_want want = { .len = { 2 * PAGE }, .access = ALL_REMOTE };
	uint8_t *page;

	(void)arg;
	region_map(&remote_region, &want, 1);
	page = (uint8_t *)remote_region.iov[0].iov_base + PAGE;
	page -= (uintptr_t)page % PAGE;
	remote_region.iov[0] = (struct iovec){ page, PAGE };
	CHECK(!madvise(page, PAGE, MADV_DONTNEED), "madvise failed");
	reg_and_wait(reply, &want);
	*page = 1;
}

static void step_close(const void *arg, void *reply)
{
	(void)arg;
	*(uint64_t *)reply = pattern_hash(remote_region.iov[0].iov_base, 4096);
	region_close(&remote_region);
}

PAIR_TEST(async, S168_the_region_is_as_any_other)
{
	uint32_t seed = 99;
	uint8_t expected[4096];
	struct told told;
	uint64_t hash;
	int rc;

	target_do(&p->target, step_bind, NULL, 0, &rc, sizeof(rc));
	if (rc) {
		NOT_APPLICABLE("the provider has no asynchronous registration");
		return;
	}
	target_do(&p->target, step_reg, &seed, sizeof(seed), &told, sizeof(told));
	told.key = key_learn(p, &told.card);
	pattern_fill(expected, sizeof(expected), 77);
	memcpy(p->local.iov[0].iov_base, expected, sizeof(expected));
	CHECK(!pair_try(p, RMA_WRITE, told.base, told.key, 4096).err, "a write failed: %s", p->peer.text);
	CHECK(!pair_try(p, RMA_READ, told.base, told.key, 4096).err, "a read failed: %s", p->peer.text);
	CHECK(!memcmp(p->local.iov[0].iov_base, expected, sizeof(expected)), "read back other bytes");
	CHECK(pair_try(p, RMA_READ, told.base + 1, told.key, 4096).err, "a read past the end succeeded");
	target_do(&p->target, step_close, NULL, 0, &hash, sizeof(hash));
	CHECK(hash == pattern_hash(expected, sizeof(expected)), "the target holds other bytes");
	CHECK(pair_try(p, RMA_READ, told.base, told.key, 8).err, "a closed region was read");
}

/* S107 where registration ends later: the pages known are those of its end. */
PAIR_TEST(async, S107_S168_pages_that_come_after_the_event)
{
	struct told told;
	uint64_t hash;
	int rc;

	if (!peer_has(&p->peer, FI_MR_MMU_NOTIFY) || peer_has(&p->peer, FI_MR_ALLOCATED))
		NOT_IN_THIS_MODE("no page may come later, or the NIC knows of none");
	target_do(&p->target, step_bind, NULL, 0, &rc, sizeof(rc));
	if (rc)
		NOT_IN_THIS_MODE("the provider has no asynchronous registration");
	target_do(&p->target, step_reg_before_its_page, NULL, 0, &told, sizeof(told));
	told.key = key_learn(p, &told.card);
	deny(p, RMA_READ, told.base, told.key, 8, "S107");
	target_do(&p->target, step_close, NULL, 0, &hash, sizeof(hash));
}

enum { HUGE_LEN = 128 << 20, GUESSED = 0x5151 };

static struct fid_mr *huge_mr;
static void *huge;

/* The small region waits behind a huge one. */
static void step_reg_slowly(const void *arg, void *reply)
{
	struct region_want want = { .len = { 4096 }, .access = ALL_REMOTE, .key = GUESSED, .exact_key = true };

	(void)arg;
	(void)reply;
	huge = mmap(NULL, HUGE_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_RC(0, reg(&target_peer, huge, HUGE_LEN, &huge_mr, NULL));
	region_map(&remote_region, &want, 1);
	CHECK_RC(0, region_reg(&remote_region, &target_peer, &want));
}

/* Whether any event was there, and a hash of the region. */
static void step_look(const void *arg, void *reply)
{
	struct fi_eq_entry entry;
	uint32_t event;

	(void)arg;
	((uint64_t *)reply)[0] = fi_eq_read(target_peer.eq, &event, &entry, sizeof(entry), FI_PEEK) != -FI_EAGAIN;
	((uint64_t *)reply)[1] = pattern_hash(remote_region.iov[0].iov_base, 4096);
}

static void step_close_both(const void *arg, void *reply)
{
	struct fi_eq_entry entry;

	(void)arg;
	(void)reply;
	wait_event(&target_peer, &entry);
	wait_event(&target_peer, &entry);
	CHECK_RC(0, fi_close(&huge_mr->fid));
	region_close(&remote_region);
	munmap(huge, HUGE_LEN);
}

LONE_TEST(async, S42_no_access_before_the_event)
{
	struct peer_want want = { .mr_mode = FI_MR_ALLOCATED };
	struct fi_info *info = NULL;
	uint64_t before[2], after[2];
	struct outcome out;
	struct pair p = { 0 };
	int rc;

	rc = peer_getinfo(&want, &info);
	fi_freeinfo(info);
	if (rc)
		NOT_APPLICABLE("no endpoint with FI_MR_ALLOCATED alone");
	target_start(&p.target);
	pair_open(&p, &want, 0);
	target_do(&p.target, step_bind, NULL, 0, &rc, sizeof(rc));
	if (rc || !peer_has(&p.peer, FI_MR_ALLOCATED)) {
		NOT_APPLICABLE("no asynchronous registration that takes time");
		return;
	}
	target_do(&p.target, step_reg_slowly, NULL, 0, NULL, 0);
	target_do(&p.target, step_look, NULL, 0, before, sizeof(before));
	out = pair_try(&p, RMA_WRITE, 0, GUESSED, 64);
	target_do(&p.target, step_look, NULL, 0, after, sizeof(after));
	if (!after[0]) { /* else the registration was too quick */
		CHECK(out.err, "a write reached a region before its registration was complete");
		CHECK(!peer_is_emu() || cites(out.text, "S42"), "the refusal does not cite S42: %s", out.text);
		CHECK(before[1] == after[1], "a refused write changed the region");
	}
	target_do(&p.target, step_close_both, NULL, 0, NULL, 0);
	pair_close(&p);
	target_stop(&p.target);
}
