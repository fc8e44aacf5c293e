/* SPDX-License-Identifier: BSD-2-Clause */
/* harness.c - the regions of a pair, and the verdicts. */
#include "tests/rules/harness/harness.h"

#include "tests/rules/harness/message.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS_MAX = 256, LOCAL_SEED = 0x10ca1, ARRIVAL_MS = 2000 };

/* ---- the target's side ---- */

struct told {
	int slot;
	struct key_card card;
	uint64_t base[REGION_SEGS_MAX], va[REGION_SEGS_MAX], at[REGION_SEGS_MAX];
	size_t map_len;
};

static struct region slots[SLOTS_MAX];

struct region *target_region(int slot)
{
	return &slots[slot];
}

struct reg_arg {
	struct region_want want;
	uint32_t seed;
};

static void step_reg(const void *arg, void *reply)
{
	const struct reg_arg *reg = arg;
	struct told *told = reply;
	struct region *region;
	size_t i;

	while (told->slot < SLOTS_MAX && slots[told->slot].map)
		told->slot++;
	CHECK(told->slot < SLOTS_MAX, "more than %d regions at the target", SLOTS_MAX);
	region = &slots[told->slot];
	region_open(region, &target_peer, &reg->want, reg->seed);
	key_show(&target_peer, region->mr, &told->card);
	told->map_len = region->map_len;
	for (i = 0; i < region->segs; i++) {
		told->base[i] = region_base(region, &target_peer, i);
		told->va[i] = (uint64_t)(uintptr_t)region->iov[i].iov_base;
		told->at[i] = (uint64_t)((uint8_t *)region->iov[i].iov_base - region->map);
	}
}

static void step_close_region(const void *arg, void *reply)
{
	struct region *region = &slots[*(const int *)arg];

	*(int *)reply = fi_close(&region->mr->fid);
	if (!*(int *)reply)
		region->mr = NULL;
}

static void step_forget(const void *arg, void *reply)
{
	(void)reply;
	region_close(&slots[*(const int *)arg]);
}

struct peek_arg {
	int slot;
	size_t at, len;
};

static void step_peek(const void *arg, void *reply)
{
	const struct peek_arg *peek = arg;

	memcpy(reply, slots[peek->slot].map + peek->at, peek->len);
}

static void step_quiet(const void *arg, void *reply)
{
	struct fi_eq_entry entry;
	uint32_t event;

	(void)arg;
	(void)reply;
	CHECK_RC(-FI_EAGAIN, fi_eq_read(target_peer.eq, &event, &entry, sizeof(entry), 0));
}

/* ---- the initiator's side ---- */

/* Opens the parts that a test needs with an endpoint of its own and with a shared one. */
static void open_rest(struct pair *p)
{
	static const struct region_want local = { .len = { PAIR_LOCAL_LEN }, .access = ALL_LOCAL };

	p->to = target_open(&p->target, &p->peer.want, &p->peer);
	p->seed = 1;
	p->learned_count = 0;
	memset(p->remotes, 0, sizeof(p->remotes));
	region_open(&p->local, &p->peer, &local, LOCAL_SEED);
	p->desc = peer_has(&p->peer, FI_MR_LOCAL) ? fi_mr_desc(p->local.mr) : NULL;
	message_open(p);
	p->control = remote_reg(p, 64, FI_REMOTE_WRITE | FI_REMOTE_READ);
}

void pair_open(struct pair *p, const struct peer_want *want, uint64_t level)
{
	peer_open(&p->peer, want);
	p->shared = false;
	p->level = level;
	open_rest(p);
}

void pair_open_beside(struct pair *p, const struct pair *host)
{
	p->peer = host->peer;
	p->shared = true;
	p->level = host->level;
	open_rest(p);
}

/* Gives the image back; the target's memory is its own affair. */
static void remote_free(struct pair *p, struct remote *r)
{
	size_t i;

	for (i = 0; i < PAIR_REMOTES_MAX; i++)
		if (p->remotes[i] == r)
			p->remotes[i] = NULL;
	free(r->image);
	free(r);
}

void pair_close(struct pair *p)
{
	size_t i;

	for (i = 0; i < PAIR_REMOTES_MAX; i++)
		if (p->remotes[i])
			remote_forget(p, p->remotes[i]);
	message_close(p);
	target_close(&p->target);
	pair_close_killed(p);
}

void pair_close_killed(struct pair *p)
{
	size_t i;

	for (i = 0; i < PAIR_REMOTES_MAX; i++)
		if (p->remotes[i])
			remote_free(p, p->remotes[i]);
	while (p->learned_count)
		CHECK_RC(0, fi_mr_unmap_key(p->peer.domain, p->learned[--p->learned_count]));
	region_close(&p->local);
	if (!p->shared)
		peer_close(&p->peer);
}

uint64_t key_learn(struct pair *p, const struct key_card *card)
{
	struct key_card copy = *card;
	uint64_t key;

	if (!card->raw_len)
		return card->key;
	CHECK(p->learned_count < PAIR_LEARNED_MAX, "more than %d raw keys in a test", PAIR_LEARNED_MAX);
	CHECK_RC(0, fi_mr_map_raw(p->peer.domain, 0, copy.raw, copy.raw_len, &key, 0));
	p->learned[p->learned_count++] = key;
	return key;
}

struct remote *remote_reg_as(struct pair *p, const struct region_want *want)
{
	struct reg_arg reg = { .want = *want, .seed = p->seed };
	struct remote *r = calloc(1, sizeof(*r));
	struct told told;
	size_t i = 0;

	while (i < PAIR_REMOTES_MAX && p->remotes[i])
		i++;
	CHECK(r && i < PAIR_REMOTES_MAX, "more than %d regions in a test", PAIR_REMOTES_MAX);
	target_do(&p->target, step_reg, &reg, sizeof(reg), &told, sizeof(told));
	p->remotes[i] = r;
	r->slot = told.slot;
	r->key = key_learn(p, &told.card);
	r->segs = want->segs ? want->segs : 1;
	r->image_len = told.map_len;
	r->image = malloc(told.map_len);
	CHECK(r->image, "no memory for an image of %zu B", told.map_len);
	memset(r->image, REGION_GUARD_BYTE, told.map_len);
	for (i = 0; i < r->segs; i++) {
		r->base[i] = told.base[i];
		r->va[i] = told.va[i];
		r->len[i] = want->len[i];
		pattern_fill(r->image + told.at[i], want->len[i], p->seed + (uint32_t)i);
	}
	p->seed += REGION_SEGS_MAX;
	return r;
}

struct remote *remote_reg(struct pair *p, size_t len, uint64_t access)
{
	struct region_want want = { .len = { len }, .access = access };

	return remote_reg_as(p, &want);
}

int remote_close(struct pair *p, struct remote *r)
{
	int rc;

	target_do(&p->target, step_close_region, &r->slot, sizeof(r->slot), &rc, sizeof(rc));
	return rc;
}

void remote_forget(struct pair *p, struct remote *r)
{
	target_do(&p->target, step_forget, &r->slot, sizeof(r->slot), NULL, 0);
	remote_free(p, r);
}

/* Where the target's memory differs from the image, from `at` on; NULL: nowhere. `seen` is the byte there. */
static const uint8_t *first_difference(struct pair *p, const struct remote *r, uint8_t *seen)
{
	static uint8_t bytes[STEP_BYTES_MAX];
	size_t at, i;

	for (at = 0; at < r->image_len; at += STEP_BYTES_MAX) {
		struct peek_arg peek = { .slot = r->slot, .at = at, .len = r->image_len - at };

		if (peek.len > STEP_BYTES_MAX)
			peek.len = STEP_BYTES_MAX;
		target_do(&p->target, step_peek, &peek, sizeof(peek), bytes, peek.len);
		if (!memcmp(bytes, r->image + at, peek.len))
			continue;
		for (i = 0; bytes[i] == r->image[at + i]; i++)
			;
		*seen = bytes[i];
		return r->image + at + i;
	}
	return NULL;
}

void remote_verify(struct pair *p, struct remote *r)
{
	uint64_t end_ms = check_now_ms() + ARRIVAL_MS;
	const uint8_t *differs;
	uint8_t seen;

	/* Where a completion promises no more than that the bytes have left, they get the time to arrive. */
	while ((differs = first_difference(p, r, &seen)) && !peer_is_emu() && !p->level && check_now_ms() < end_ms)
		peer_progress(&p->peer);
	if (!differs)
		return;
	CHECK(false, "the region of %zu B at the target holds 0x%02x at %zd, expected 0x%02x%s", r->len[0], seen,
	      (ssize_t)(differs - r->image) - REGION_GUARD, *differs, differs - r->image < REGION_GUARD ? " (guard bytes)" : "");
}

uint64_t remote_addr(const struct remote *r, uint64_t off)
{
	size_t seg = 0;

	while (seg + 1 < r->segs && off >= r->len[seg])
		off -= r->len[seg++];
	return r->base[seg] + off;
}

/* The image's byte `off`, segments counted one after the other. */
static uint8_t *image_at(struct remote *r, uint64_t off)
{
	size_t seg = 0, at = REGION_GUARD;

	while (seg + 1 < r->segs && off >= r->len[seg]) {
		off -= r->len[seg];
		at += r->len[seg++] + REGION_GUARD;
	}
	return r->image + at + off;
}

void remote_image(struct remote *r, uint64_t off, void *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		((uint8_t *)bytes)[i] = *image_at(r, off + i);
}

void remote_image_set(struct remote *r, uint64_t off, const void *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		*image_at(r, off + i) = ((const uint8_t *)bytes)[i];
}

void all_verify(struct pair *p)
{
	size_t i;

	for (i = 0; i < PAIR_REMOTES_MAX; i++)
		if (p->remotes[i])
			remote_verify(p, p->remotes[i]);
}

ssize_t pair_post(struct pair *p, enum rma_dir dir, void *local, size_t len, uint64_t addr, uint64_t key, struct op *op)
{
	struct iovec iov = { local, len };
	struct fi_rma_iov rma = { .addr = addr, .len = len, .key = key };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &p->desc, .iov_count = 1, .addr = p->to, .rma_iov = &rma, .rma_iov_count = 1
	};

	return peer_rma(&p->peer, dir, &msg, p->level, op);
}

struct outcome pair_try(struct pair *p, enum rma_dir dir, uint64_t addr, uint64_t key, size_t len)
{
	struct outcome out = { 0 };
	struct op op;

	out.rc = pair_post(p, dir, p->local.iov[0].iov_base, len, addr, key, &op);
	if (out.rc)
		return out;
	peer_wait(&p->peer, &op);
	out.err = op.err;
	out.prov_errno = op.prov_errno;
	out.text = op.err ? p->peer.text : "";
	return out;
}

static const char *dir_name(enum rma_dir dir)
{
	return dir == RMA_WRITE ? "write" : "read";
}

static void check_success(const struct outcome *out, enum rma_dir dir, uint64_t addr, size_t len)
{
	CHECK(!out->rc, "posting a %s of %zu B returned %zd (%s)", dir_name(dir), len, out->rc, fi_strerror((int)-out->rc));
	CHECK(!out->err, "a good %s of %zu B at 0x%llx failed: err %d, %s", dir_name(dir), len, (unsigned long long)addr, out->err,
	      out->text);
}

void ok_write_at(struct pair *p, struct remote *r, uint64_t addr, uint64_t off, size_t len)
{
	uint8_t *local = p->local.iov[0].iov_base;
	struct outcome out;
	size_t i;

	CHECK(len <= PAIR_LOCAL_LEN, "%zu B do not fit the local buffer", len);
	pattern_fill(local, len, ++p->seed);
	out = pair_try(p, RMA_WRITE, addr, r->key, len);
	check_success(&out, RMA_WRITE, addr, len);
	for (i = 0; i < len; i++)
		*image_at(r, off + i) = local[i];
	remote_verify(p, r);
}

void ok_read_at(struct pair *p, struct remote *r, uint64_t addr, uint64_t off, size_t len)
{
	uint8_t *local = p->local.iov[0].iov_base;
	struct outcome out;
	size_t i;

	CHECK(len <= PAIR_LOCAL_LEN, "%zu B do not fit the local buffer", len);
	for (i = 0; i < len; i++)
		local[i] = (uint8_t) ~*image_at(r, off + i);
	out = pair_try(p, RMA_READ, addr, r->key, len);
	check_success(&out, RMA_READ, addr, len);
	for (i = 0; i < len; i++)
		CHECK(local[i] == *image_at(r, off + i), "a read of %zu B at 0x%llx brought 0x%02x at %zu, expected 0x%02x", len,
		      (unsigned long long)addr, local[i], i, *image_at(r, off + i));
	remote_verify(p, r);
}

void ok_write(struct pair *p, struct remote *r, uint64_t off, size_t len)
{
	ok_write_at(p, r, remote_addr(r, off), off, len);
}

void ok_read(struct pair *p, struct remote *r, uint64_t off, size_t len)
{
	ok_read_at(p, r, remote_addr(r, off), off, len);
}

bool cites(const char *text, const char *rules)
{
	while (*rules) {
		size_t len = strcspn(rules, "|");
		const char *hit;

		for (hit = strchr(text, 'S'); hit; hit = strchr(hit + 1, 'S'))
			if (!strncmp(hit, rules, len) && !isdigit((unsigned char)hit[len]))
				return true;
		rules += len + (rules[len] == '|');
	}
	return false;
}

void check_denied(const struct pair *p, const struct outcome *out, const char *what, const char *rules)
{
	if (out->rc && peer_has(&p->peer, FI_MR_RAW))
		return; /* a key that is not mapped is refused at the post (S53) */
	CHECK(!out->rc, "posting %s returned %zd (%s), expected an error completion", what, out->rc, fi_strerror((int)-out->rc));
	CHECK(out->err, "%s succeeded, expected a refusal (%s)", what, rules);
	if (!peer_is_emu())
		return;
	CHECK(out->err == FI_EACCES || out->err == FI_EFAULT, "refused with err %d (%s): %s", out->err, fi_strerror(out->err),
	      out->text);
	CHECK(out->prov_errno, "refused without a prov_errno: %s", out->text);
	CHECK(cites(out->text, rules), "the refusal does not cite %s: %s", rules, out->text);
}

struct outcome deny_quick(struct pair *p, enum rma_dir dir, uint64_t addr, uint64_t key, size_t len, const char *rules)
{
	struct outcome out = pair_try(p, dir, addr, key, len);

	char what[96];

	snprintf(what, sizeof(what), "a %s of %zu B at 0x%llx with key 0x%llx", dir_name(dir), len, (unsigned long long)addr,
		 (unsigned long long)key);
	check_denied(p, &out, what, rules);
	return out;
}

struct outcome deny(struct pair *p, enum rma_dir dir, uint64_t addr, uint64_t key, size_t len, const char *rules)
{
	uint8_t *local = p->local.iov[0].iov_base;
	size_t shown = len < PAIR_LOCAL_LEN ? len : PAIR_LOCAL_LEN, i;
	struct outcome out;

	memset(local, 0x5A, shown);
	out = deny_quick(p, dir, addr, key, len, rules);
	for (i = 0; i < shown; i++)
		CHECK(local[i] == 0x5A, "a refused %s changed the initiator's buffer at %zu", dir_name(dir), i);
	all_verify(p);
	live(p);
	return out;
}

void live(struct pair *p)
{
	struct fi_eq_entry entry;
	static char text[PEER_TEXT_MAX];
	uint32_t event;

	memcpy(text, p->peer.text, sizeof(text));
	ok_write(p, p->control, 8, 32);
	CHECK_RC(-FI_EAGAIN, fi_eq_read(p->peer.eq, &event, &entry, sizeof(entry), 0));
	target_do(&p->target, step_quiet, NULL, 0, NULL, 0);
	memcpy(p->peer.text, text, sizeof(text));
}
