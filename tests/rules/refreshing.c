/* SPDX-License-Identifier: BSD-2-Clause */
/* refreshing.c - ops that are shut out while a region is refreshed (S115 to S118), and regions within it (S113, S121). */
#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/newest.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

struct refresher {
	struct fid_mr *mr;
	atomic_bool stop;
	unsigned rounds;
	int rc;
};

static void *refresh_again_and_again(void *arg)
{
	struct refresher *refresher = arg;

	do {
		refresher->rc = fi_mr_refresh(refresher->mr, NULL, 0, 0);
		refresher->rounds++;
	} while (!refresher->rc && !atomic_load(&refresher->stop));
	return NULL;
}

/* S117: local use of a region that is being refreshed may fail. It does not, and moves the right bytes. */
PAIR_TEST(rules, S117_local_use_while_refreshing)
{
	struct refresher refresher = { .mr = p->local.mr, .rc = fi_mr_refresh(p->local.mr, NULL, 0, 0) };
	pthread_t thread;
	int i;

	if (refresher.rc == -FI_ENOSYS)
		NOT_IN_THIS_MODE("fi_mr_refresh is not offered (S110)");
	if (!peer_is_emu())
		NOT_IN_THIS_MODE("a provider may let local accesses fail");
	CHECK_RC(0, refresher.rc);
	CHECK(!pthread_create(&thread, NULL, refresh_again_and_again, &refresher), "no thread");
	for (i = 0; i < 200; i++) {
		ok_write(p, p->control, 0, 64);
		ok_read(p, p->control, 0, 64);
	}
	atomic_store(&refresher.stop, true);
	pthread_join(thread, NULL);
	CHECK_RC(0, refresher.rc);
	CHECK(refresher.rounds, "no refresh ran");
}

enum { WIDE = 64 << 20, ROUNDS = 50 };

static uint8_t *wide;
static struct fid_mr *wide_mr;

struct wide_told {
	uint64_t addr;
	struct key_card card;
};

static void step_wide_open(const void *arg, void *reply)
{
	struct wide_told *told = reply;
	struct iovec iov = { .iov_len = WIDE };
	struct mr_args args = {
		.attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = region_fresh_key(&target_peer) }
	};

	(void)arg;
	wide = mmap(NULL, WIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(wide != MAP_FAILED, "mmap failed");
	memset(wide, 0, PAGE);
	iov.iov_base = wide;
	CHECK_RC(0, mr_register(target_peer.domain, REG_ATTR, &args, 0, &wide_mr));
	mr_ready(&target_peer, wide_mr, 0);
	key_show(&target_peer, wide_mr, &told->card);
	told->addr = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)wide : 0;
}

/* All pages but the first are new each time, so that the refresh has something to do. */
static void step_wide_refresh(const void *arg, void *reply)
{
	(void)arg;
	CHECK(!madvise(wide + PAGE, WIDE - PAGE, MADV_DONTNEED), "madvise failed");
	*(int *)reply = fi_mr_refresh(wide_mr, NULL, 0, 0);
}

static void step_wide_peek(const void *arg, void *reply)
{
	(void)arg;
	memcpy(reply, wide, 64);
}

static void step_wide_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK_RC(0, fi_close(&wide_mr->fid));
	munmap(wide, WIDE);
}

/* Writes to the first page while a refresh runs. How many were refused; the others arrived whole. */
static unsigned write_meanwhile(struct pair *p, uint64_t key, uint64_t addr)
{
	uint8_t *local = p->local.iov[0].iov_base, there[64];
	unsigned refused = 0;
	int rc;

	target_begin(&p->target, step_wide_refresh, NULL, 0, sizeof(rc));
	do {
		struct outcome out;

		pattern_fill(local, 64, ++p->seed);
		out = pair_try(p, RMA_WRITE, addr, key, 64);
		CHECK(!out.rc, "posting failed: %zd", out.rc);
		CHECK(!out.err || !peer_is_emu() || cites(out.text, "S116"), "refused for another cause: %s", out.text);
		refused += out.err != 0;
	} while (!target_answered(&p->target));
	target_end(&p->target, &rc, sizeof(rc));
	CHECK_RC(0, rc);
	if (pair_try(p, RMA_WRITE, addr, key, 64).err)
		CHECK(false, "a write after the refresh failed: %s", p->peer.text);
	target_do(&p->target, step_wide_peek, NULL, 0, there, sizeof(there));
	CHECK(!memcmp(there, local, 64), "a write was torn");
	return refused;
}

/* S115, S116: under FI_MR_MMU_NOTIFY a region is closed to peers while it is refreshed, and open again afterwards. S118:
 * without it no access is refused. */
PAIR_TEST(rules, S115_S116_S118_access_while_refreshing)
{
	bool notify = peer_has(&p->peer, FI_MR_MMU_NOTIFY);
	struct wide_told told;
	unsigned refused = 0;
	uint64_t key;
	int round;

	if (peer_has(&p->peer, FI_MR_ALLOCATED))
		NOT_IN_THIS_MODE("FI_MR_ALLOCATED: no page may change");
	if (!notify && !peer_is_emu())
		NOT_IN_THIS_MODE("fi_mr_refresh need not be offered (S110)");
	target_do(&p->target, step_wide_open, NULL, 0, &told, sizeof(told));
	key = key_learn(p, &told.card);
	for (round = 0; round < (notify ? ROUNDS : 3) && !refused; round++)
		refused = write_meanwhile(p, key, told.addr);
	CHECK(notify == (refused > 0), "%u writes were refused while refreshing", refused);
	target_do(&p->target, step_wide_close, NULL, 0, NULL, 0);
	live(p);
}

/* ---- a region within ---- */

/* All but the first page, and not from a page's start. */
enum { WITHIN_AT = PAGE + 100, WITHIN_LEN = WIDE - PAGE - 200 };

static struct fid_mr *within_mr;

static void step_within_open(const void *arg, void *reply)
{
	struct iovec iov = { wide + WITHIN_AT, WITHIN_LEN };
	struct newest_attr attr = { .mr_iov = &iov,
				    .iov_count = 1,
				    .access = ALL_REMOTE,
				    .base_mr = wide_mr,
				    .requested_key = region_fresh_key(&target_peer) };
	struct wide_told *told = reply;

	(void)arg;
	CHECK_RC(0, newest_reg(target_peer.domain, &attr, 0, &within_mr));
	mr_ready(&target_peer, within_mr, 0);
	key_show(&target_peer, within_mr, &told->card);
	told->addr = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)iov.iov_base : 0;
}

static void step_within_close(const void *arg, void *reply)
{
	CHECK_RC(0, fi_close(&within_mr->fid));
	step_wide_close(arg, reply);
}

/* Refreshed is the region within as a whole, or the base's bytes from the second page on. */
enum { WITHIN, RANGE, WHO };

/* All pages but the first two are new each time. */
static void step_within_refresh(const void *arg, void *reply)
{
	struct iovec range = { wide + PAGE, WIDE - PAGE };

	CHECK(!madvise(wide + 2 * PAGE, WIDE - 2 * PAGE, MADV_DONTNEED), "madvise failed");
	if (*(const int *)arg == WITHIN)
		*(int *)reply = fi_mr_refresh(within_mr, NULL, 0, 0);
	else
		*(int *)reply = fi_mr_refresh(wide_mr, &range, 1, 0);
}

static bool reached(struct pair *p, uint64_t addr, uint64_t key)
{
	struct outcome out = pair_try(p, RMA_WRITE, addr, key, 64);

	CHECK(!out.rc, "posting failed: %zd", out.rc);
	return !out.err;
}

struct ways {
	uint64_t key, addr;     /* of the base: its first page, and the second one's bytes of the region within */
	uint64_t within, start; /* of the region within: the same bytes */
};

/* Both regions open, all pages known. */
static void ways_open(struct pair *p, struct ways *ways)
{
	struct wide_told told, within;
	int who = WITHIN, rc;

	target_do(&p->target, step_wide_open, NULL, 0, &told, sizeof(told));
	target_do(&p->target, step_within_open, NULL, 0, &within, sizeof(within));
	*ways = (struct ways){ key_learn(p, &told.card), told.addr, key_learn(p, &within.card), within.addr };
	target_do(&p->target, step_within_refresh, &who, sizeof(who), &rc, sizeof(rc));
	CHECK_RC(0, rc);
}

/* Refreshes, and writes meanwhile by each way: how often each was refused. */
static void refuse_meanwhile(struct pair *p, const struct ways *ways, int who, unsigned refused[3])
{
	int rc;

	target_begin(&p->target, step_within_refresh, &who, sizeof(who), sizeof(rc));
	do {
		refused[0] += !reached(p, ways->addr, ways->key);
		refused[1] += !reached(p, ways->addr + WITHIN_AT, ways->key);
		refused[2] += !reached(p, ways->start, ways->within);
	} while (!target_answered(&p->target));
	target_end(&p->target, &rc, sizeof(rc));
	CHECK_RC(0, rc);
}

/* S113, S121: its pages are those of its base, whichever of the two is refreshed. */
PAIR_TEST(rules, S113_S121_pages_of_a_region_within)
{
	struct ways ways;

	if (peer_api() < FI_VERSION(2, 0))
		NOT_APPLICABLE("base_mr came with API 2.0");
	if (!peer_has(&p->peer, FI_MR_MMU_NOTIFY))
		NOT_IN_THIS_MODE("FI_MR_MMU_NOTIFY is not asked for");
	ways_open(p, &ways);
	CHECK(reached(p, ways.addr, ways.key), "a page of the base that nobody changed: %s", p->peer.text);
	CHECK(reached(p, ways.addr + WITHIN_AT, ways.key), "a refreshed page, by the base's key: %s", p->peer.text);
	CHECK(reached(p, ways.addr + WIDE - 164, ways.key), "the last one: %s", p->peer.text);
	CHECK(reached(p, ways.start, ways.within), "by its own key: %s", p->peer.text);
	CHECK(reached(p, ways.start + WITHIN_LEN - 64, ways.within), "its end: %s", p->peer.text);
	target_do(&p->target, step_within_close, NULL, 0, NULL, 0);
	live(p);
}

/* S115: of a region that is refreshed the ranges are shut, by its own key alone. */
PAIR_TEST(rules, S115_S116_S121_others_stay_open)
{
	unsigned refused[WHO][3] = { 0 };
	struct ways ways;
	int round;

	if (peer_api() < FI_VERSION(2, 0))
		NOT_APPLICABLE("base_mr came with API 2.0");
	if (!peer_has(&p->peer, FI_MR_MMU_NOTIFY))
		NOT_IN_THIS_MODE("FI_MR_MMU_NOTIFY is not asked for");
	if (!peer_is_emu())
		NOT_IN_THIS_MODE("a provider may shut out more");
	ways_open(p, &ways);
	for (round = 0; round < ROUNDS && !(refused[WITHIN][2] && refused[RANGE][1]); round++) {
		refuse_meanwhile(p, &ways, WITHIN, refused[WITHIN]);
		refuse_meanwhile(p, &ways, RANGE, refused[RANGE]);
	}
	CHECK(!refused[WITHIN][0] && !refused[WITHIN][1], "a refresh of the region within shut out its base");
	CHECK(refused[WITHIN][2], "nobody was shut out of the region within");
	CHECK(!refused[RANGE][0], "a refresh of some of the base's bytes shut out the others");
	CHECK(!refused[RANGE][2], "a refresh of the base shut out the region within");
	CHECK(refused[RANGE][1], "nobody was shut out of the base's bytes");
	target_do(&p->target, step_within_close, NULL, 0, NULL, 0);
	live(p);
}
