/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_cache.c - the registration cache of local buffers without descriptor and its settings: S188 to S194, S196. The
 * work of a cache cannot be seen through libfabric's own calls: emu shows it (include/emu/mr_cache.h). */
#include "tests/rules/harness/message.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/fi_ext.h>

#include "include/emu/mr_cache.h"
#include "tests/unit/nic/sandbox.h"

enum { OWN_PAGES = 64, OWN_LEN = OWN_PAGES * PAGE, LEN = 256 };

static const struct peer_want wants[] = { { .mr_mode = 0 }, { .mr_mode = FI_MR_BASIC_BITS } };

/* Buffers of the test's own, mapped for each mode anew. */
static uint8_t *own;

static struct emu_mr_cache_counts counts_of(struct peer *peer)
{
	struct emu_mr_cache_counts counts = { 0 };
	struct emu_mr_cache_ops *ops = NULL;

	CHECK_RC(0, fi_open_ops(&peer->domain->fid, EMU_MR_CACHE_OPS, 0, (void **)&ops, NULL));
	CHECK_RC(0, ops->counts(peer->domain, &counts));
	return counts;
}

/* Counts since `before`. */
static void expect_more(struct pair *p, const struct emu_mr_cache_counts *before, uint64_t hits, uint64_t misses, uint64_t changed)
{
	struct emu_mr_cache_counts now = counts_of(&p->peer);

	CHECK(now.hits - before->hits == hits, "%llu hits, expected %llu", (unsigned long long)(now.hits - before->hits),
	      (unsigned long long)hits);
	CHECK(now.misses - before->misses == misses, "%llu misses, expected %llu",
	      (unsigned long long)(now.misses - before->misses), (unsigned long long)misses);
	CHECK(now.changed - before->changed == changed, "%llu regions changed, expected %llu",
	      (unsigned long long)(now.changed - before->changed), (unsigned long long)changed);
}

static void map_own(void)
{
	void *at = mmap(own, OWN_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (own ? MAP_FIXED : 0), -1, 0);

	CHECK(at != MAP_FAILED, "no memory");
	own = at;
}

static void each_of(void (*body)(struct pair *p))
{
	if (!peer_is_emu())
		NOT_APPLICABLE("%s does not show what its cache does", peer_provider());
	pair_each_of(wants, sizeof(wants) / sizeof(*wants), body);
}

/* A body with the cache as it is set; on: it must be there, or the kernel's notices are not to be had. */
static void run(struct pair *p, bool on, void (*body)(struct pair *p))
{
	if (on && !sandbox_allows_userfaultfd())
		NOT_IN_THIS_MODE("there is no userfaultfd in user mode here, so the cache is off");
	CHECK(!on || counts_of(&p->peer).on, "the cache is off");
	map_own();
	body(p);
	munmap(own, OWN_LEN);
	own = NULL;
}

/* `name` is tested with the setting of the environment, and with the cache on or off because of it. */
#define CACHE_TEST(variable, value, on, name)      \
	static void name##_body(struct pair *p);   \
	static void name##_run(struct pair *p)     \
	{                                          \
		run(p, on, name##_body);           \
	}                                          \
	LONE_TEST(rules, name)                     \
	{                                          \
		setenv("FI_EMU_MR_CACHE", "1", 1); \
		setenv(variable, value, 1);        \
		each_of(name##_run);               \
	}                                          \
	static void name##_body(struct pair *p)

/* A write or read between `buffer` and the region's start, whose memory follows. */
static struct outcome move(struct pair *p, enum rma_dir dir, struct remote *r, uint8_t *buffer, size_t len)
{
	struct iovec local = p->local.iov[0];
	struct outcome out;

	p->local.iov[0].iov_base = buffer;
	out = pair_try(p, dir, r->base[0], r->key, len);
	p->local.iov[0] = local;
	if (!out.rc && !out.err && dir == RMA_WRITE)
		memcpy(r->image + REGION_GUARD, buffer, len);
	remote_verify(p, r);
	return out;
}

static void move_ok(struct pair *p, enum rma_dir dir, struct remote *r, uint8_t *buffer, size_t len)
{
	struct outcome out;

	if (dir == RMA_WRITE)
		pattern_fill(buffer, len, ++p->seed);
	out = move(p, dir, r, buffer, len);
	CHECK(!out.rc && !out.err, "a transfer failed: %zd, %s", out.rc, out.text ? out.text : "");
	CHECK(!memcmp(buffer, r->image + REGION_GUARD, len), "a transfer left other bytes than it should");
}

/* S188: it is off by default, and buffers work. */
static void off_body(struct pair *p)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts counts;

	move_ok(p, RMA_WRITE, r, own, LEN);
	move_ok(p, RMA_WRITE, r, own, LEN);
	counts = counts_of(&p->peer);
	CHECK(!counts.on && !counts.hits && !counts.misses && !counts.regions, "there is a cache");
}

static void off_run(struct pair *p)
{
	run(p, false, off_body);
}

LONE_TEST(rules, S188_there_is_none_by_default)
{
	unsetenv("FI_EMU_MR_CACHE");
	each_of(off_run);
}

/* S188: a buffer is registered when it is used first, by what the operation does to it, and serves until it changes. */
CACHE_TEST("FI_MR_CACHE_MONITOR", "userfaultfd", true, S188_S193_buffers_are_registered_once)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts before = counts_of(&p->peer);

	move_ok(p, RMA_WRITE, r, own, LEN);
	expect_more(p, &before, 0, 1, 0);
	move_ok(p, RMA_WRITE, r, own, LEN);
	move_ok(p, RMA_WRITE, r, own + 10, LEN - 20); /* some of it */
	expect_more(p, &before, 2, 1, 0);
	move_ok(p, RMA_WRITE, r, own + 1, LEN); /* a byte more */
	expect_more(p, &before, 2, 2, 0);
	move_ok(p, RMA_READ, r, own + 1, LEN); /* is written to */
	expect_more(p, &before, 2, 3, 0);
	move_ok(p, RMA_READ, r, own + 1, LEN);
	move_ok(p, RMA_WRITE, r, own + 1, LEN);
	expect_more(p, &before, 4, 3, 0);
}

static void step_counts(const void *arg, void *reply)
{
	struct emu_mr_cache_counts counts = counts_of(&target_peer);

	(void)arg;
	memcpy(reply, &counts, sizeof(counts));
}

/* S188: both sides of messages. */
CACHE_TEST("FI_MR_CACHE_MONITOR", "userfaultfd", true, S188_messages_too)
{
	struct emu_mr_cache_counts before = counts_of(&p->peer), there, later;

	for (int i = 0; i < 3; i++) {
		struct op op;

		target_post_recv(p);
		pattern_fill(own, LEN, ++p->seed);
		CHECK_RC(0, peer_send(&p->peer, p->to, own, LEN, p->desc, &op));
		peer_wait(&p->peer, &op);
		CHECK(!op.err, "a send failed: %s", p->peer.text);
		target_expect_message(p, LEN, p->seed);
		if (!i)
			target_do(&p->target, step_counts, NULL, 0, &there, sizeof(there));
	}
	expect_more(p, &before, 2, 1, 0);
	target_do(&p->target, step_counts, NULL, 0, &later, sizeof(later));
	CHECK(later.on && later.misses == there.misses && later.hits == there.hits + 2, "%llu hits at the target, expected %llu",
	      (unsigned long long)later.hits, (unsigned long long)there.hits + 2);
}

/* S188: injected bytes are copied and need no registration. */
CACHE_TEST("FI_MR_CACHE_MONITOR", "userfaultfd", true, S188_injected_bytes_are_not_registered)
{
	struct emu_mr_cache_counts before = counts_of(&p->peer);

	target_post_recv(p);
	pattern_fill(own, 16, ++p->seed);
	CHECK_RC(0, fi_inject(p->peer.ep, own, 16, p->to));
	target_expect_message(p, 16, p->seed);
	expect_more(p, &before, 0, 0, 0);
}

/* S188: memory that the program unmapped, dropped or moved is looked at anew; what is then there is sent. */
CACHE_TEST("FI_MR_CACHE_MONITOR", "userfaultfd", true, S188_S193_changed_memory_is_registered_anew)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts before = counts_of(&p->peer);

	move_ok(p, RMA_WRITE, r, own, LEN);
	munmap(own, OWN_LEN);
	map_own();
	expect_more(p, &before, 0, 1, 1); /* told at once */
	move_ok(p, RMA_WRITE, r, own, LEN);
	expect_more(p, &before, 0, 2, 1);
	map_own(); /* over it */
	move_ok(p, RMA_READ, r, own, LEN);
	expect_more(p, &before, 0, 3, 2);
	madvise(own, PAGE, MADV_DONTNEED);
	move_ok(p, RMA_WRITE, r, own, LEN);
	expect_more(p, &before, 0, 4, 3);
	madvise(own + PAGE, PAGE, MADV_DONTNEED); /* another page */
	move_ok(p, RMA_WRITE, r, own, LEN);
	expect_more(p, &before, 1, 4, 3);
}

/* S188: what could not be pinned is refused at the post, as a registration is under FI_MR_ALLOCATED (S79). */
CACHE_TEST("FI_MR_CACHE_MONITOR", "userfaultfd", true, S188_S79_memory_that_is_not_there_is_refused)
{
	struct remote *r = remote_reg(p, 3 * PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts before = counts_of(&p->peer);
	size_t page;

	for (page = 0; page < 3; page++) {
		munmap(own + page * PAGE, PAGE);
		CHECK_RC(-FI_EFAULT, move(p, RMA_WRITE, r, own, 3 * PAGE).rc);
		CHECK_RC(-FI_EFAULT, move(p, RMA_READ, r, own, 3 * PAGE).rc);
		map_own();
	}
	expect_more(p, &before, 0, 6, 0);
	CHECK(counts_of(&p->peer).regions == before.regions, "what was refused is in the cache");
	mprotect(own, PAGE, PROT_READ);
	CHECK_RC(-FI_EFAULT, move(p, RMA_READ, r, own, LEN).rc); /* cannot be written */
	CHECK_RC(0, move(p, RMA_WRITE, r, own, LEN).rc);
	mprotect(own, PAGE, PROT_READ | PROT_WRITE);
	live(p);
}

/* S188, S80: a change that no monitor hears of leaves a stale region behind: the post finds it, and the transfer meets
 * what is there. Looked at anew, the buffer would have been refused. */
CACHE_TEST("FI_MR_CACHE_MONITOR", "userfaultfd", true, S188_S80_an_untold_change_leaves_a_stale_region)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts before = counts_of(&p->peer);
	struct outcome out;

	move_ok(p, RMA_READ, r, own, LEN);
	mprotect(own, PAGE, PROT_NONE); /* not told */
	out = move(p, RMA_READ, r, own, LEN);
	CHECK(!out.rc && out.err == FI_EFAULT, "%zd at the post, err %d", out.rc, out.err);
	expect_more(p, &before, 1, 1, 0);
	madvise(own, PAGE, MADV_DONTNEED); /* told */
	expect_more(p, &before, 1, 1, 1);
	CHECK_RC(-FI_EFAULT, move(p, RMA_READ, r, own, LEN).rc);
	mprotect(own, PAGE, PROT_READ | PROT_WRITE);
	move_ok(p, RMA_READ, r, own, LEN);
	expect_more(p, &before, 1, 3, 1);
	live(p);
}

/* S189 */
CACHE_TEST("FI_MR_CACHE_MAX_SIZE", "65536", true, S189_bytes_are_limited)
{
	enum { PIECE = 16384 };
	struct remote *r = remote_reg(p, OWN_LEN, ALL_REMOTE);
	struct emu_mr_cache_counts before = counts_of(&p->peer), now;
	size_t at;

	for (at = 0; at < OWN_LEN; at += PIECE) {
		move_ok(p, RMA_WRITE, r, own + at, PIECE);
		CHECK(counts_of(&p->peer).bytes <= 65536, "%llu B are cached", (unsigned long long)counts_of(&p->peer).bytes);
	}
	now = counts_of(&p->peer);
	CHECK(now.evicted - before.evicted >= OWN_LEN / PIECE - 4, "%llu regions were evicted", (unsigned long long)now.evicted);
	before = now;
	move_ok(p, RMA_WRITE, r, own + OWN_LEN - PIECE, PIECE); /* among the last four */
	move_ok(p, RMA_WRITE, r, own, PIECE);
	expect_more(p, &before, 1, 1, 0);
	before = counts_of(&p->peer);
	move_ok(p, RMA_WRITE, r, own, 65537); /* fits never, works always */
	move_ok(p, RMA_WRITE, r, own, 65537);
	expect_more(p, &before, 0, 2, 0);
}

/* S190 */
CACHE_TEST("FI_MR_CACHE_MAX_COUNT", "3", true, S190_regions_are_limited)
{
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts before;
	size_t i;

	for (i = 0; i < 6; i++) {
		move_ok(p, RMA_WRITE, r, own + i * PAGE, LEN);
		CHECK(counts_of(&p->peer).regions <= 3, "%u regions are cached", counts_of(&p->peer).regions);
	}
	before = counts_of(&p->peer);
	move_ok(p, RMA_WRITE, r, own + 3 * PAGE, LEN); /* used longest ago, and used now */
	move_ok(p, RMA_WRITE, r, own, LEN);
	move_ok(p, RMA_WRITE, r, own + 3 * PAGE, LEN);
	move_ok(p, RMA_WRITE, r, own + 4 * PAGE, LEN);
	expect_more(p, &before, 2, 2, 0);
	CHECK(counts_of(&p->peer).evicted == before.evicted + 2, "two had to make room");
}

/* The cache is off, by a setting or since what it asks for is not to be had; all works without. */
static void expect_off(struct pair *p)
{
	off_body(p);
	live(p);
}

CACHE_TEST("FI_MR_CACHE_MAX_COUNT", "0", false, S191_no_regions_no_cache)
{
	expect_off(p);
}

static uint32_t regions_of_neighbours(struct pair *p)
{
	struct remote *r = remote_reg(p, 3 * PAGE, ALL_REMOTE);
	struct emu_mr_cache_counts before = counts_of(&p->peer);

	move_ok(p, RMA_WRITE, r, own, PAGE);
	move_ok(p, RMA_WRITE, r, own + PAGE, PAGE);
	return counts_of(&p->peer).regions - before.regions;
}

/* S192: only if it is asked for. */
CACHE_TEST("FI_MR_CACHE_MERGE_REGIONS", "yes", true, S192_neighbours_merge)
{
	struct emu_mr_cache_counts before;
	struct remote *r;

	CHECK(regions_of_neighbours(p) == 1, "neighbours did not merge");
	r = remote_reg(p, 3 * PAGE, ALL_REMOTE);
	before = counts_of(&p->peer);
	move_ok(p, RMA_WRITE, r, own + 10, PAGE + 20);  /* some of both */
	move_ok(p, RMA_WRITE, r, own + PAGE, 2 * PAGE); /* overlaps */
	expect_more(p, &before, 1, 1, 0);
	CHECK(counts_of(&p->peer).regions == before.regions && counts_of(&p->peer).merged == before.merged + 1,
	      "what overlaps did not merge");
}

CACHE_TEST("FI_MR_CACHE_MAX_COUNT", "9", true, S192_neighbours_stay_apart_by_default)
{
	CHECK(regions_of_neighbours(p) == 2, "neighbours merged");
}

/* S193: monitors that this provider has not turn the cache off. */
CACHE_TEST("FI_MR_CACHE_MONITOR", "memhooks", false, S193_no_memhooks_no_cache)
{
	expect_off(p);
}

CACHE_TEST("FI_MR_CACHE_MONITOR", "kdreg2", false, S193_no_kdreg2_no_cache)
{
	expect_off(p);
}

CACHE_TEST("FI_MR_CACHE_MONITOR", "disabled", false, S194_disabled_is_no_cache)
{
	expect_off(p);
}

/* S189, S190, S192, S193: a setting with an invalid value opens no domain; where the cache is off, no setting is read. */
LONE_TEST(rules, S189_S190_S192_S193_settings_must_make_sense)
{
	static const char *const settings[] = {
		"FI_MR_CACHE_MAX_SIZE",
		"FI_MR_CACHE_MAX_COUNT",
		"FI_MR_CACHE_MERGE_REGIONS",
		"FI_MR_CACHE_MONITOR",
	};
	struct fid_domain *domain = NULL;
	struct peer peer;
	size_t i;

	if (!peer_is_emu())
		NOT_APPLICABLE("what %s does then is its own", peer_provider());
	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		setenv(settings[i], "nonsense", 1);
	unsetenv("FI_EMU_MR_CACHE");
	peer_open(&peer, &wants[0]);
	setenv("FI_EMU_MR_CACHE", "1", 1);
	CHECK_RC(-FI_EINVAL, fi_domain(peer.fabric, peer.info, &domain, NULL));
	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++)
		unsetenv(settings[i]);
	for (i = 0; i < sizeof(settings) / sizeof(*settings); i++) {
		setenv(settings[i], "nonsense", 1);
		CHECK_RC(-FI_EINVAL, fi_domain(peer.fabric, peer.info, &domain, NULL));
		unsetenv(settings[i]);
	}
	CHECK_RC(0, fi_domain(peer.fabric, peer.info, &domain, NULL));
	CHECK_RC(0, fi_close(&domain->fid));
	peer_close(&peer);
}

/* A program's monitor: it would be asked to watch what a cache takes in. */
static int monitor_start(struct fid_mem_monitor *monitor)
{
	(void)monitor;
	return 0;
}

static void monitor_stop(struct fid_mem_monitor *monitor)
{
	(void)monitor;
}

static size_t subscriptions;

static int monitor_subscribe(struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	(void)monitor;
	(void)addr;
	(void)len;
	subscriptions++;
	return 0;
}

static void monitor_unsubscribe(struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	(void)monitor;
	(void)addr;
	(void)len;
}

static bool monitor_valid(struct fid_mem_monitor *monitor, const void *addr, size_t len)
{
	(void)monitor;
	(void)addr;
	(void)len;
	return true;
}

/* S196: libfabric's own cache takes a program's monitor; emu's cache is another, and works beside it. */
CACHE_TEST("FI_MR_CACHE_MAX_COUNT", "8", false, S196_a_programs_monitor_goes_to_libfabrics_own_cache)
{
	static struct fi_ops_mem_monitor ops = {
		.size = sizeof(ops),
		.start = monitor_start,
		.stop = monitor_stop,
		.subscribe = monitor_subscribe,
		.unsubscribe = monitor_unsubscribe,
		.valid = monitor_valid,
	};
	static struct fi_ops monitor_fid_ops = { .size = sizeof(monitor_fid_ops) };
	static struct fid_mem_monitor monitor = {
		.fid = { .fclass = FI_CLASS_MEM_MONITOR, .ops = &monitor_fid_ops },
		.export_ops = &ops,
	};
	struct fid *cache = NULL;
	struct remote *r = remote_reg(p, PAGE, ALL_REMOTE);

	CHECK_RC(0, fi_open(FI_VERSION(1, 13), "mr_cache", NULL, 0, 0, &cache, NULL));
	CHECK_RC(0, fi_import_fid(cache, &monitor.fid, 0));
	move_ok(p, RMA_WRITE, r, own, LEN);
	CHECK(!subscriptions, "the program's monitor was asked");
	CHECK_RC(0, fi_close(&monitor.fid));
	CHECK_RC(0, fi_close(cache));
}
