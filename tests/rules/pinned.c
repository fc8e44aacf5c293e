/* SPDX-License-Identifier: BSD-2-Clause */
/* pinned.c - a NIC that pins what is registered: when the program changes the mapping under a region, peers still reach
 * the old pages (S80, S81). The old pages are seen through a second mapping of the same memory. */
#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/logged.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK = PAIR_LOCAL_LEN, LEN = 6 * BLOCK, NEW_BYTE = 0x77 };
enum { PIECE = 4 << 20 };      /* what a provider may pin at once: the region lies across a border of it */
enum { LOCKED_MIN = 2 << 20 }; /* RLIMIT_MEMLOCK by which all of a test can be pinned */

static const struct peer_want wants[] = {
	{ .mr_mode = FI_MR_ALLOCATED },
	{ .mr_mode = FI_MR_BASIC_BITS },
	{ .mr_mode = FI_MR_LOCAL | FI_MR_BASIC_BITS },
};

static bool locks_enough(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_MEMLOCK, &limit) && (limit.rlim_cur >= LOCKED_MIN || !geteuid());
}

/* Where the kernel or the container forbids pinning, the rule has no meaning; the provider's answer then is tested
 * elsewhere. */
static void pin_or_end(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);

	if (!peer_is_emu())
		NOT_APPLICABLE("nothing tells whether %s pins, and S81 allows either", peer_provider());
	if (!locks_enough())
		NOT_APPLICABLE("FI_EMU_PINNED needs a higher RLIMIT_MEMLOCK than is set here");
	if (fd < 0)
		NOT_APPLICABLE("FI_EMU_PINNED needs io_uring, which is not to be had here: %s", strerror(errno));
	close(fd);
	setenv("FI_EMU_PINNED", "1", 1);
}

/* Only memory that may be taken for pinned is pinned: a personality that asks for nothing pins nothing. */
static bool pins(const struct pair *p)
{
	return peer_has(&p->peer, FI_MR_ALLOCATED);
}

static void (*chosen)(struct pair *p);

static void if_it_pins(struct pair *p)
{
	if (!pins(p))
		NOT_IN_THIS_MODE("FI_EMU_PINNED pins under FI_MR_ALLOCATED alone");
	chosen(p);
}

static void each(void (*body)(struct pair *p))
{
	pin_or_end();
	chosen = body;
	pair_each_of(wants, sizeof(wants) / sizeof(*wants), if_it_pins);
}

/* Likewise where the kernel reports no changes. */
static void hear_or_end(void)
{
	uint64_t needed = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
			  UFFD_FEATURE_EVENT_REMOVE;
	struct uffdio_api api = { .api = UFFD_API };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0)
		NOT_APPLICABLE("changed mappings are told by userfaultfd, which is not to be had here: %s", strerror(errno));
	if (ioctl(fd, UFFDIO_API, &api) || (~api.features & needed))
		NOT_APPLICABLE("changed mappings are told by userfaultfd, which this kernel has in part");
	close(fd);
}

#define PINNED_TEST(name)                        \
	static void name##_body(struct pair *p); \
	LONE_TEST(rules, name)                   \
	{                                        \
		each(name##_body);               \
	}                                        \
	static void name##_body(struct pair *p)

/* ---- the target's side ---- */

static struct {
	uint8_t *at;     /* what is registered */
	uint8_t *window; /* the same memory; NULL: it is private */
	uint8_t *moved;  /* where it is now */
	struct fid_mr *mr;
} held;

struct told {
	struct key_card card;
	uint64_t addr;
};

/* Reserves room for a mapping that lies across a border. */
static void *reserve(void)
{
	char *room = mmap(NULL, 3 * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uintptr_t border = ((uintptr_t)room + 2 * PIECE) & ~(uintptr_t)(PIECE - 1);

	CHECK(room != MAP_FAILED, "mmap: %s", strerror(errno));
	return (void *)(border - LEN / 2);
}

static void *map(void *at, int fd)
{
	int flags = (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED) | (at ? MAP_FIXED : 0);
	void *got = mmap(at, LEN, PROT_READ | PROT_WRITE, flags, fd, 0);

	CHECK(got != MAP_FAILED, "mmap: %s", strerror(errno));
	return got;
}

static void step_open_held(const void *arg, void *reply)
{
	struct told *told = reply;
	struct iovec iov = { .iov_len = LEN };
	struct mr_args args = {
		.attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = region_fresh_key(&target_peer) }
	};
	bool window = *(const bool *)arg;
	int fd = window ? memfd_create("emu_pinned", 0) : -1;

	CHECK(!window || (fd >= 0 && !ftruncate(fd, LEN)), "memfd: %s", strerror(errno));
	iov.iov_base = held.at = held.moved = map(reserve(), fd);
	held.window = window ? map(NULL, fd) : NULL;
	close(fd);
	CHECK_RC(0, mr_register(target_peer.domain, REG_ATTR, &args, 0, &held.mr));
	mr_ready(&target_peer, held.mr, 0);
	key_show(&target_peer, held.mr, &told->card);
	told->addr = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)held.at : 0;
}

enum change { UNMAP, REMAP, MOVE, DROP, CHANGES };

static void step_change(const void *arg, void *reply)
{
	enum change how = *(const enum change *)arg;

	(void)reply;
	switch (how) {
	case UNMAP:
	case REMAP:
		CHECK(!munmap(held.at, LEN), "munmap: %s", strerror(errno));
		if (how == REMAP)
			memset(map(held.at, -1), NEW_BYTE, LEN);
		break;
	case MOVE: /* it cannot grow where it is */
		held.moved = mremap(held.at, LEN, LEN + PAGE, MREMAP_MAYMOVE);
		CHECK(held.moved != MAP_FAILED && held.moved != held.at, "mremap: %s", strerror(errno));
		break;
	default:
		CHECK(!madvise(held.at + PAGE, PAGE, MADV_DONTNEED), "madvise: %s", strerror(errno));
	}
}

static void step_new_is_untouched(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	for (size_t i = 0; i < LEN; i++)
		CHECK(held.at[i] == NEW_BYTE, "byte %zu of the new mapping was written", i);
}

static void step_window_hash(const void *arg, void *reply)
{
	(void)arg;
	*(uint64_t *)reply = pattern_hash(held.window, LEN);
}

static void step_close_window(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK(!munmap(held.window, LEN), "munmap: %s", strerror(errno));
}

static void step_close_held(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	CHECK_RC(0, fi_close(&held.mr->fid));
}

static void step_unmap(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	munmap(held.moved, LEN);
}

/* ---- the initiator's ---- */

static uint8_t image[LEN]; /* of the old pages */

struct pinned {
	struct pair *p;
	uint64_t key, addr;
};

static void pinned_open(struct pinned *d, struct pair *p, bool window)
{
	struct told told;

	target_do(&p->target, step_open_held, &window, sizeof(window), &told, sizeof(told));
	d->p = p;
	d->key = key_learn(p, &told.card);
	d->addr = told.addr;
	memset(image, 0, LEN);
}

static void change(struct pinned *d, enum change how)
{
	target_do(&d->p->target, step_change, &how, sizeof(how), NULL, 0);
}

static void write_at(struct pinned *d, size_t off, size_t len)
{
	struct outcome out;

	pattern_fill(d->p->local.iov[0].iov_base, len, ++d->p->seed);
	out = pair_try(d->p, RMA_WRITE, d->addr + off, d->key, len);
	CHECK(!out.rc && !out.err, "a write of %zu B at %zu failed: %s", len, off, out.text ? out.text : "");
	memcpy(image + off, d->p->local.iov[0].iov_base, len);
}

static void read_at(struct pinned *d, size_t off, size_t len)
{
	struct outcome out;

	memset(d->p->local.iov[0].iov_base, 0, len);
	out = pair_try(d->p, RMA_READ, d->addr + off, d->key, len);
	CHECK(!out.rc && !out.err, "a read of %zu B at %zu failed: %s", len, off, out.text ? out.text : "");
	CHECK(!memcmp(image + off, d->p->local.iov[0].iov_base, len), "a read of %zu B at %zu gave other bytes", len, off);
}

/* Small and large, in the middle of pages and across them. */
static void use(struct pinned *d)
{
	size_t off;

	write_at(d, 0, 8);
	write_at(d, PAGE - 3, 7);
	write_at(d, LEN - 1, 1);
	for (off = 33; off + BLOCK <= LEN; off += BLOCK)
		write_at(d, off, BLOCK);
	for (off = 11; off + BLOCK <= LEN; off += BLOCK)
		read_at(d, off, BLOCK);
	read_at(d, LEN - 100, 100);
	read_at(d, PAGE - 1, 2);
}

static void window_holds_image(struct pinned *d)
{
	uint64_t hash;

	target_do(&d->p->target, step_window_hash, NULL, 0, &hash, sizeof(hash));
	CHECK(hash == pattern_hash(image, LEN), "the old pages hold other bytes than were written");
}

/* The mapping that has come in the place of the old one sees nothing; the old pages get it all. */
PINNED_TEST(S81_writes_and_reads_go_to_the_old_pages)
{
	struct pinned d;

	pinned_open(&d, p, true);
	use(&d);
	window_holds_image(&d);
	change(&d, REMAP);
	use(&d);
	window_holds_image(&d);
	target_do(&p->target, step_new_is_untouched, NULL, 0, NULL, 0);
	target_do(&p->target, step_close_held, NULL, 0, NULL, 0);
	deny(p, RMA_WRITE, d.addr, d.key, 64, "S178");
	target_do(&p->target, step_new_is_untouched, NULL, 0, NULL, 0);
	window_holds_image(&d);
	target_do(&p->target, step_unmap, NULL, 0, NULL, 0);
	target_do(&p->target, step_close_window, NULL, 0, NULL, 0);
}

static void step_protect(const void *arg, void *reply)
{
	(void)reply;
	CHECK(!mprotect(held.at, LEN, *(const int *)arg), "mprotect: %s", strerror(errno));
}

/* Protection is the program's alone: the pages stay the same. */
PINNED_TEST(S81_protected_pages_are_reached)
{
	static const int rights[] = { PROT_READ, PROT_NONE, PROT_READ | PROT_WRITE };
	struct pinned d;

	pinned_open(&d, p, true);
	for (size_t i = 0; i < sizeof(rights) / sizeof(*rights); i++) {
		target_do(&p->target, step_protect, &rights[i], sizeof(rights[i]), NULL, 0);
		use(&d);
		window_holds_image(&d);
	}
	target_do(&p->target, step_close_held, NULL, 0, NULL, 0);
	target_do(&p->target, step_unmap, NULL, 0, NULL, 0);
	target_do(&p->target, step_close_window, NULL, 0, NULL, 0);
}

/* Nothing but the NIC holds the pages any more. */
PINNED_TEST(S81_pages_outlive_their_last_mapping)
{
	struct pinned d;

	pinned_open(&d, p, true);
	write_at(&d, 0, BLOCK);
	change(&d, UNMAP);
	target_do(&p->target, step_close_window, NULL, 0, NULL, 0);
	read_at(&d, 0, BLOCK);
	use(&d);
	target_do(&p->target, step_close_held, NULL, 0, NULL, 0);
	live(p);
}

/* How often the target's log has these words. */
static size_t reports(struct pair *p, const char *words)
{
	const char *at = logged_text(&p->target);
	size_t count = 0;

	for (; (at = strstr(at, words)); at++)
		count++;
	return count;
}

/* At the next access, once, with the access named. Memory that did not change is not reported. */
LONE_TEST(rules, S80_a_changed_mapping_is_reported)
{
	struct pair p = { 0 };
	struct pinned d;
	size_t reported = 0;
	bool pinning;

	pin_or_end();
	hear_or_end();
	logged_start(&p.target);
	pair_open(&p, &wants[0], 0);
	pinning = pins(&p);
	for (enum change how = 0; how < CHANGES && pinning; how++) {
		pinned_open(&d, &p, false);
		write_at(&d, 0, BLOCK);
		read_at(&d, 0, BLOCK);
		CHECK(reports(&p, "S80") == reported, "reported before it was changed: %s", logged_text(&p.target));
		change(&d, how);
		CHECK(reports(&p, "S80") == reported, "reported before an access");
		write_at(&d, 8, 4321);
		CHECK(reports(&p, "S80") == ++reported, "change %d was not reported: %s", how, logged_text(&p.target));
		CHECK(reports(&p, "remote write of 4321 B") == reported, "the report: %s", logged_text(&p.target));
		write_at(&d, 8, 4000);
		read_at(&d, 0, BLOCK);
		CHECK(reports(&p, "S80") == reported, "reported twice");
		target_do(&p.target, step_close_held, NULL, 0, NULL, 0);
		target_do(&p.target, step_unmap, NULL, 0, NULL, 0);
	}
	pair_close(&p);
	target_stop(&p.target);
	if (!pinning)
		NOT_APPLICABLE("FI_EMU_PINNED pins under FI_MR_ALLOCATED alone");
}
