/* SPDX-License-Identifier: BSD-2-Clause */
/* mapped.c - the target's steps on its pages. */
#include "tests/rules/harness/mapped.h"

#include <sys/mman.h>

static uint8_t *pages;
static struct fid_mr *pages_mr;

struct span {
	size_t from, count;
	int fill;
};

struct opened {
	int rc;
	struct key_card card;
	uint64_t addr;
};

uint8_t *mapped_page(size_t page)
{
	return pages + page * PAGE;
}

static void renew(size_t page, size_t count)
{
	void *at = mapped_page(page);

	CHECK(mmap(at, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at,
	      "mmap of %zu pages failed", count);
}

static void step_open_pages(const void *arg, void *reply)
{
	const size_t *there = arg;
	struct opened *told = reply;
	struct iovec iov = { .iov_len = MAPPED_LEN };
	struct mr_args args = {
		.attr = { .mr_iov = &iov, .iov_count = 1, .access = ALL_REMOTE, .requested_key = region_fresh_key(&target_peer) }
	};

	pages = mmap(NULL, MAPPED_LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED, "mmap failed");
	if (*there) {
		renew(0, *there);
		memset(pages, 1, *there * PAGE);
	}
	iov.iov_base = pages;
	told->rc = mr_register(target_peer.domain, REG_ATTR, &args, 0, &pages_mr);
	if (told->rc) {
		pages_mr = NULL;
		return;
	}
	mr_ready(&target_peer, pages_mr, 0);
	key_show(&target_peer, pages_mr, &told->card);
	told->addr = peer_has(&target_peer, FI_MR_VIRT_ADDR) ? (uint64_t)(uintptr_t)pages : 0;
}

static void step_close_pages(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	if (pages_mr)
		CHECK_RC(0, fi_close(&pages_mr->fid));
	munmap(pages, MAPPED_LEN);
}

static void step_renew(const void *arg, void *reply)
{
	const struct span *span = arg;

	(void)reply;
	CHECK(!munmap(pages + span->from * PAGE, span->count * PAGE), "munmap failed");
	renew(span->from, span->count);
}

static void step_fill(const void *arg, void *reply)
{
	const struct span *span = arg;

	(void)reply;
	memset(pages + span->from * PAGE, span->fill, span->count * PAGE);
}

static void step_drop(const void *arg, void *reply)
{
	const struct span *span = arg;
	void *at = pages + span->from * PAGE;

	(void)reply;
	/* Keeps the place, so that nothing else comes to stand there. */
	CHECK(mmap(at, span->count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at, "mmap failed");
}

static void step_refresh(const void *arg, void *reply)
{
	const struct span *span = arg;
	struct iovec iov = { pages + span->from, span->count };

	*(int *)reply = fi_mr_refresh(pages_mr, span->count ? &iov : NULL, span->count ? 1 : 0, 0);
}

static void step_peek_pages(const void *arg, void *reply)
{
	const struct span *span = arg;

	memcpy(reply, pages + span->from, span->count);
}

int mapped_open(struct pair *p, size_t there, uint64_t *key, uint64_t *addr)
{
	struct opened told;

	target_do(&p->target, step_open_pages, &there, sizeof(there), &told, sizeof(told));
	if (told.rc)
		return told.rc;
	*key = key_learn(p, &told.card);
	*addr = told.addr;
	return 0;
}

void mapped_close(struct pair *p)
{
	target_do(&p->target, step_close_pages, NULL, 0, NULL, 0);
}

void mapped_renew(struct pair *p, size_t page, size_t count)
{
	target_do(&p->target, step_renew, &(struct span){ page, count, 0 }, sizeof(struct span), NULL, 0);
}

void mapped_fill(struct pair *p, size_t page, size_t count, int fill)
{
	target_do(&p->target, step_fill, &(struct span){ page, count, fill }, sizeof(struct span), NULL, 0);
}

void mapped_drop(struct pair *p, size_t page, size_t count)
{
	target_do(&p->target, step_drop, &(struct span){ page, count, 0 }, sizeof(struct span), NULL, 0);
}

int mapped_refresh(struct pair *p, size_t from, size_t length)
{
	int rc;

	target_do(&p->target, step_refresh, &(struct span){ from, length, 0 }, sizeof(struct span), &rc, sizeof(rc));
	return rc;
}

void mapped_holds(struct pair *p, size_t from, size_t length)
{
	static uint8_t there[MAPPED_LEN];

	target_do(&p->target, step_peek_pages, &(struct span){ from, length, 0 }, sizeof(struct span), there, length);
	CHECK(!memcmp(there, p->local.iov[0].iov_base, length), "the target's pages hold other bytes than were written");
}
