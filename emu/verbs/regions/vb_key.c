/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_key.c - the table of lkeys. Its places are never freed, so that a post may read one while it ends: it copies, and looks again
 * whether the place had the same key all the time. */
#include "emu/verbs/regions/vb_key.h"

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/net/os/fork.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/regions/mr.h"
#include "emu/verbs/regions/vb_pd.h"

enum { TAG_BITS = 8, PART_BITS = 12, PART = 1 << PART_BITS, PARTS = 1 << (24 - PART_BITS) };

/* All relaxed, between an acquire and a fence of the reader. */
struct place_key {
	atomic_uint_fast32_t lkey; /* 0: nothing is here */
	_Atomic(const struct vb_pd *) root;
	atomic_uint_fast64_t addr, length, shift, sink;
	atomic_uint_fast32_t access; /* with DISCARDS */
	_Atomic(const void *) desc;
	/* With the lock: */
	uint32_t next;  /* free place; 0: none */
	uint32_t given; /* keys given out here, up to 256 */
	uint8_t tag;    /* of the last */
};

#define DISCARDS (UINT32_C(1) << 31)

static struct mutex lock = MUTEX_INITIALIZER; /* a leaf */
static struct place_key *_Atomic parts[PARTS];
static uint32_t used GUARDED_BY(lock) = 1; /* places so far; 0 is none, so that no lkey is small by chance */
static uint32_t free_first GUARDED_BY(lock), free_last GUARDED_BY(lock);

static void keys_forked(void)
{
	mutex_forked(&lock);
}

static struct fork_reset reset = { .in_child = keys_forked };

/* NULL: there is none. */
static struct place_key *key_place(uint32_t number)
{
	struct place_key *part = atomic_load_explicit(&parts[number >> PART_BITS], memory_order_acquire);

	return part ? &part[number & (PART - 1)] : NULL;
}

/* A place that was free longest, or a new one; 0: there is none. */
static uint32_t take_place(void) REQUIRES(lock)
{
	uint32_t number = free_first;
	struct place_key *part;

	if (number) {
		free_first = key_place(number)->next;
		return number;
	}
	if (used >> PART_BITS >= PARTS)
		return 0;
	if (!key_place(used)) {
		part = calloc(PART, sizeof(*part));
		if (!part)
			return 0;
		atomic_store_explicit(&parts[used >> PART_BITS], part, memory_order_release);
	}
	return used++;
}

static void key_write(struct place_key *place, const struct vb_key *key, uint32_t lkey)
{
	atomic_store_explicit(&place->root, key->root, memory_order_relaxed);
	atomic_store_explicit(&place->addr, key->addr, memory_order_relaxed);
	atomic_store_explicit(&place->length, key->length, memory_order_relaxed);
	atomic_store_explicit(&place->shift, key->shift, memory_order_relaxed);
	atomic_store_explicit(&place->sink, key->sink, memory_order_relaxed);
	atomic_store_explicit(&place->access, key->access | (key->discards ? DISCARDS : 0), memory_order_relaxed);
	atomic_store_explicit(&place->desc, key->desc, memory_order_relaxed);
	atomic_store_explicit(&place->lkey, lkey, memory_order_release);
}

int vb_key_open(const struct vb_key *key, uint32_t other, uint32_t *lkey)
{
	struct place_key *place;
	uint32_t number;

	if (fork_register(&reset))
		return ENOMEM;
	mutex_lock(&lock);
	number = take_place();
	place = number ? key_place(number) : NULL;
	if (place) {
		do
			*lkey = number << TAG_BITS | ++place->tag; /* V19 */
		while (*lkey == other);                            /* V20 */
		place->given += place->given < 1 << TAG_BITS;
	}
	mutex_unlock(&lock);
	if (!place)
		return ENOMEM;
	key_write(place, key, *lkey);
	return 0;
}

void vb_key_change(uint32_t lkey, const struct vb_key *key)
{
	struct place_key *place = key_place(lkey >> TAG_BITS);

	atomic_store(&place->lkey, 0);
	atomic_thread_fence(memory_order_seq_cst);
	key_write(place, key, lkey);
}

void vb_key_close(uint32_t lkey)
{
	uint32_t number = lkey >> TAG_BITS;
	struct place_key *place = key_place(number);

	atomic_store(&place->lkey, 0);
	mutex_lock(&lock);
	place->next = 0;
	if (free_first)
		key_place(free_last)->next = number;
	else
		free_first = number;
	free_last = number;
	mutex_unlock(&lock);
}

bool vb_key_look(uint32_t lkey, struct vb_key *key)
{
	const struct place_key *place = key_place(lkey >> TAG_BITS);
	uint32_t access;

	if (!place || !lkey || atomic_load_explicit(&place->lkey, memory_order_acquire) != lkey)
		return false;
	key->root = atomic_load_explicit(&place->root, memory_order_relaxed);
	key->addr = atomic_load_explicit(&place->addr, memory_order_relaxed);
	key->length = atomic_load_explicit(&place->length, memory_order_relaxed);
	key->shift = atomic_load_explicit(&place->shift, memory_order_relaxed);
	key->sink = atomic_load_explicit(&place->sink, memory_order_relaxed);
	access = (uint32_t)atomic_load_explicit(&place->access, memory_order_relaxed);
	key->desc = atomic_load_explicit(&place->desc, memory_order_relaxed);
	key->access = access & ~DISCARDS;
	key->discards = access & DISCARDS;
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&place->lkey, memory_order_relaxed) == lkey;
}

/* Was this key given out at its place, and ended? */
static enum vb_key_flaw why_unknown(uint32_t lkey)
{
	const struct place_key *place = key_place(lkey >> TAG_BITS);
	bool closed;

	mutex_lock(&lock);
	closed = place && (uint8_t)(place->tag - lkey) < place->given;
	mutex_unlock(&lock);
	return closed ? VB_KEY_CLOSED : VB_KEY_UNKNOWN;
}

enum vb_key_flaw vb_key_find(const struct vb_pd *pd, uint32_t lkey, uint64_t addr, uint64_t length, uint32_t access,
			     struct vb_buffer *buffer)
{
	struct vb_key key;
	uint64_t at;

	if (unlikely(!vb_key_look(lkey, &key)))
		return why_unknown(lkey);
	if (unlikely(key.root != pd->root)) /* V9 */
		return VB_KEY_OTHER_PD;
	at = addr - key.addr;
	if (unlikely(length && (addr < key.addr || at > key.length || length > key.length - at)))
		return VB_KEY_OUTSIDE;      /* V106 */
	if (unlikely(access & ~key.access)) /* V104, V105 */
		return VB_KEY_RIGHT;
	if (unlikely(key.discards)) /* which has no addresses: each buffer begins at its beginning */
		at = access & (MR_RECV | MR_READ) ? key.sink : key.shift;
	else
		at = addr + key.shift;
	*buffer = (struct vb_buffer){ (void *)(uintptr_t)at, key.desc };
	return VB_KEY_OK;
}

const char *vb_key_words(enum vb_key_flaw flaw, uint32_t lkey, uint64_t addr, uint64_t length, char text[VB_KEY_WORDS])
{
	static const char *const words[] = {
		[VB_KEY_OK] = "is right",
		[VB_KEY_UNKNOWN] = "names no region. Use mr->lkey, and not mr->rkey",
		[VB_KEY_CLOSED] =
			"names a region that was deregistered. Call ibv_dereg_mr when all posts with its lkey are complete",
		[VB_KEY_OTHER_PD] = "names a region of another PD. Register it in the PD of the QP",
		[VB_KEY_OUTSIDE] = "names a region in which that range is not",
		[VB_KEY_RIGHT] = "names a region without IBV_ACCESS_LOCAL_WRITE, which receives, reads and atomics need",
	};
	struct vb_key key;
	int size = snprintf(text, VB_KEY_WORDS, "%" PRIu64 " B at %#" PRIx64 ": lkey %#x %s", length, addr, lkey, words[flaw]);

	if (flaw == VB_KEY_OUTSIDE && size < VB_KEY_WORDS && vb_key_look(lkey, &key))
		size += snprintf(text + size, (size_t)(VB_KEY_WORDS - size), ": it has %" PRIu64 " B at %#" PRIx64, key.length,
				 key.addr);
	if (size < VB_KEY_WORDS - 1)
		snprintf(text + size, (size_t)(VB_KEY_WORDS - size), ".");
	return text;
}
