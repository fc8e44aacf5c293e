/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_table.c - the regions of one protection domain: by key, by descriptor, and after their end.
 *
 * A descriptor is bit 63, 42 random bits, and 21 bits of slot number. Bit 63 keeps it apart from every address of a
 * program; the random bits keep a descriptor that was closed or made up from naming a region. */
#include "emu/nic/regions/mr_table.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/base/futex_lock.h"
#include "emu/nic/base/hash.h"
#include "emu/nic/base/slab.h"
#include "emu/nic/regions/front_end.h"
#include "emu/nic/regions/mr_binding.h"
#include "emu/nic/regions/mr_pages.h"
#include "emu/nic/regions/mr_rules.h"
#include "emu/nic/regions/mr_window.h"
#include "emu/nic/role/driver.h"

enum {
	SLOT_BITS = 21,
	SLOTS_MAX = 1 << SLOT_BITS,
	WORDS = 64,   /* drawn from the system at once: a draw is dearer than a registration */
	DRAWS = 1000, /* provider keys drawn until one is free: more than enough above two bytes of key */
	FIRST_BUCKETS = 64,
	ASKED = 64,            /* keys remembered that were asked for and not given */
	DESC_COPIES = 1 << 12, /* the first slots, which are all that most programs need */
};
static_assert((int)LIMIT_REGIONS <= (int)SLOTS_MAX, "every region needs a slot");
static_assert(sizeof(void *) == sizeof(uint64_t), "descriptors and addresses are 64 bits");

struct mr_table_entry {
	struct mr mr;          /* first: an mr is its entry */
	struct hash_node node; /* in mr_table.keys */
};
static_assert(offsetof(struct mr_table_entry, mr) == 0, "entry_of() relies on it");

static_assert(sizeof(struct mr_table_entry) + 2 * sizeof(void *) < 256, "a region costs under 256 bytes");

/* A region of one segment as posts look it up, many times a region: they read it without the lock. A reader that finds the same
 * descriptor before and after has read nothing of another region in between: a desc_copy is closed before it is written anew, the
 * writer releases each word, and readers acquire it. */
struct desc_copy {
	atomic_uint_fast64_t desc; /* one that does not belong here: ask the region itself */
	atomic_uint_fast64_t base, length;
	_Atomic uint32_t access;
};

struct tombstone {
	struct hash_node node; /* in mr_table.graves while `known` */
	uint64_t key, tail, closed_ns;
	uint64_t desc; /* of the region; 0: none yet. Under the table's lock */
	bool known, window;
};

struct mr_table {
	struct hash keys, graves;
	uint64_t secret[2];     /* of both hashes */
	struct tombstone *ring; /* LIMIT_TOMBSTONES, the oldest at ring_next */
	size_t ring_next;
	void (*random)(void *arg, void *bytes, size_t length);
	void *arg;
	uint64_t words[WORDS]; /* unguessable; forgotten when used */
	uint32_t words_left;
	uint64_t asked[ASKED]; /* of regions with a provider_key, the last ones: a ring */
	uint32_t asked_count;

	struct futex_lock lock;        /* guards the fields below, and the life of regions against mr_table_local_ok() */
	struct slab entries;           /* by slot number; a free one has no descriptor */
	struct desc_copy *desc_copies; /* DESC_COPIES, of the slots of these numbers; constant */
};

static void brief_close(struct mr_table *table, uint32_t number)
{
	if (number < DESC_COPIES)
		atomic_store_explicit(&table->desc_copies[number].desc, UINT64_MAX, memory_order_release);
}

static struct mr_table_entry *entry_of(struct mr *mr)
{
	return (struct mr_table_entry *)mr;
}

int mr_table_open(struct mr_table **out, void (*random)(void *arg, void *bytes, size_t length), void *arg)
{
	struct mr_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->random = random;
	table->arg = arg;
	random(arg, table->secret, sizeof(table->secret));
	if (slab_init(&table->entries, sizeof(struct mr_table_entry), LIMIT_REGIONS))
		goto free_table;
	if (hash_init(&table->keys, FIRST_BUCKETS))
		goto free_entries;
	if (hash_init(&table->graves, LIMIT_TOMBSTONES))
		goto free_keys;
	table->ring = calloc(LIMIT_TOMBSTONES, sizeof(*table->ring));
	if (!table->ring)
		goto free_graves;
	table->desc_copies = calloc(DESC_COPIES, sizeof(*table->desc_copies));
	if (!table->desc_copies)
		goto free_ring;
	brief_close(table, 0); /* zero would belong there */
	*out = table;
	return 0;

free_ring:
	free(table->ring);
free_graves:
	hash_fini(&table->graves);
free_keys:
	hash_fini(&table->keys);
free_entries:
	slab_fini(&table->entries);
free_table:
	free(table);
	return -ENOMEM;
}

static uint64_t random_word(struct mr_table *table)
{
	uint64_t word;

	if (!table->words_left) {
		table->random(table->arg, table->words, sizeof(table->words));
		table->words_left = WORDS;
	}
	word = table->words[--table->words_left];
	table->words[table->words_left] = 0;
	return word;
}

/* Frees the parts that a region owns. */
static void mr_free_parts(struct mr *mr)
{
	binding_drop_region(mr);
	if (!mr->base)
		mr_pages_close(mr->pages);
	free(mr->single);
	if (mr->by_set)
		free(mr->auths);
	if (mr->iov_count > 1)
		free(mr->more);
}

void mr_table_close(struct mr_table *table)
{
	for (uint32_t i = 0; i < table->entries.used; i++) {
		struct mr_table_entry *entry = slab_at(&table->entries, i);

		if (entry->mr.desc)
			mr_free_parts(&entry->mr);
	}
	free(table->desc_copies);
	free(table->ring);
	hash_fini(&table->graves);
	hash_fini(&table->keys);
	slab_fini(&table->entries);
	free(table);
}

/* --- descriptors; the caller holds the lock --- */

static struct mr_table_entry *desc_find(const struct mr_table *table, uint64_t desc) REQUIRES(table->lock)
{
	uint32_t number = desc & (SLOTS_MAX - 1);
	struct mr_table_entry *entry;

	if (number >= table->entries.used)
		return NULL;
	entry = slab_at(&table->entries, number);
	return entry->mr.desc == desc && desc ? entry : NULL;
}

static void brief_open(struct mr_table *table, uint32_t number, const struct mr *mr)
{
	struct desc_copy *desc_copy = &table->desc_copies[number];

	if (number >= DESC_COPIES || mr->iov_count != 1)
		return;
	atomic_store_explicit(&desc_copy->base, (uintptr_t)mr->one.iov_base, memory_order_release);
	atomic_store_explicit(&desc_copy->length, mr->one.iov_len, memory_order_release);
	atomic_store_explicit(&desc_copy->access, mr->access, memory_order_release);
	atomic_store_explicit(&desc_copy->desc, mr->desc, memory_order_release);
}

static uint64_t desc_of(uint64_t random, uint32_t number)
{
	return MR_DESC_MARK | (random & ~(uint64_t)(SLOTS_MAX - 1)) | number;
}

/* Takes a slot for the region, which is known from then on by a fresh descriptor. By its 42 random bits it differs from
 * every live key: none is looked up for that. The region has everything but that; there is memory for a slot. */
static struct mr_table_entry *desc_open(struct mr_table *table, const struct mr *mr, uint64_t random) REQUIRES(table->lock)
{
	struct mr_table_entry *entry;
	uint32_t number;
	uint64_t desc;
	int err = slab_take(&table->entries, &number);

	assert(!err);
	for (desc = desc_of(random, number); desc == UINT64_MAX || desc == mr->key;)
		desc = desc_of(random_word(table), number);
	entry = slab_at(&table->entries, number);
	entry->mr = *mr;
	entry->mr.desc = desc;
	brief_open(table, number, &entry->mr);
	return entry;
}

static void desc_close(struct mr_table *table, struct mr_table_entry *entry) REQUIRES(table->lock)
{
	uint32_t number = entry->mr.desc & (SLOTS_MAX - 1);

	assert(slab_at(&table->entries, number) == entry);
	brief_close(table, number);
	slab_give(&table->entries, number);
}

/* --- keys and tombstones; the caller holds the driver role --- */

struct mr *mr_find(const struct mr_table *table, uint64_t key)
{
	struct hash_node *node = hash_first(&table->keys, hash_u64(table->secret, key));

	role_assert();
	for (; node; node = hash_next(node)) {
		struct mr_table_entry *entry = (struct mr_table_entry *)((char *)node - offsetof(struct mr_table_entry, node));

		if (entry->mr.key == key)
			return &entry->mr;
	}
	return NULL;
}

void mr_expect(const struct mr_table *table, uint64_t key)
{
	hash_expect(&table->keys, hash_u64(table->secret, key));
}

void mr_expect_near(const struct mr_table *table, uint64_t key)
{
	hash_expect_first(&table->keys, hash_u64(table->secret, key));
}

void mr_expect_next(const struct mr_table *table, uint64_t key)
{
	hash_expect_second(&table->keys, hash_u64(table->secret, key));
}

void mr_expect_here(const struct mr_table *table, uint64_t key)
{
	hash_expect_node(&table->keys, hash_u64(table->secret, key), offsetof(struct mr_table_entry, node),
			 sizeof(struct mr_table_entry));
}

size_t mr_count(const struct mr_table *table)
{
	return table->keys.count;
}

/* Why this key of a live region looks like the asked one; NULL: it does not. */
static const char *likeness(const struct mr *mr, uint64_t asked)
{
	if (__builtin_bswap64(mr->key) == asked)
		return "looks byte-swapped: one side sent the key in another byte order";
	if (mr->key >> 32 && (uint32_t)mr->key == (uint32_t)asked && (asked >> 32 == 0 || asked >> 31 == UINT64_MAX >> 31))
		return "looks truncated to 32 bits: a key is a uint64_t on all its way";
	if (mr->key >> 16 && mr->key <= UINT32_MAX && (uint16_t)mr->key == asked)
		return "looks truncated to 16 bits: a key is a uint64_t on all its way";
	return NULL;
}

const char *mr_like(const struct mr_table *table, const struct front_end *front, uint64_t key, uint64_t *like)
{
	for (uint32_t i = 0; i < table->entries.used && i < LIMIT_LIKE_KEYS; i++) {
		const struct mr_table_entry *entry = slab_at(&table->entries, i);
		const char *how = entry->mr.desc ? likeness(&entry->mr, key) : NULL;

		if (how) {
			*like = entry->mr.key;
			return how;
		}
	}
	*like = key;
	for (uint32_t i = 0; i < table->asked_count && i < ASKED; i++)
		if (table->asked[i] == key)
			return front->asked_key;
	return NULL;
}

const struct mr *mr_walk(const struct mr_table *table, uint32_t *slot, uint32_t *looks)
{
	while (*slot < table->entries.used && *looks) {
		const struct mr_table_entry *entry = slab_at(&table->entries, (*slot)++);

		(*looks)--;
		if (entry->mr.desc)
			return &entry->mr;
	}
	return NULL;
}

const struct mr *mr_any(const struct mr_table *table)
{
	uint32_t slot = 0, looks = UINT32_MAX;

	return table->keys.count ? mr_walk(table, &slot, &looks) : NULL;
}

static struct tombstone *grave_find(const struct mr_table *table, uint64_t key)
{
	struct hash_node *node = hash_first(&table->graves, hash_u64(table->secret, key));

	for (; node; node = hash_next(node)) {
		struct tombstone *stone = (struct tombstone *)((char *)node - offsetof(struct tombstone, node));

		if (stone->key == key)
			return stone;
	}
	return NULL;
}

bool mr_tombstone(const struct mr_table *table, uint64_t key, uint64_t tail, uint64_t now_ns, uint64_t *age_ns, bool *window)
{
	const struct tombstone *stone = grave_find(table, key);

	if (!stone || stone->tail != tail)
		return false;
	*age_ns = now_ns - stone->closed_ns;
	*window = stone->window;
	return true;
}

static void grave_forget(struct mr_table *table, struct tombstone *stone)
{
	if (stone->known)
		hash_remove(&table->graves, &stone->node);
	stone->known = false;
}

/* One tombstone a key, so that a key closed over and over makes no long chain. */
static struct tombstone *grave_dig(struct mr_table *table, uint64_t key, uint64_t now_ns)
{
	struct tombstone *stone = &table->ring[table->ring_next], *earlier = grave_find(table, key);

	if (earlier)
		grave_forget(table, earlier);
	grave_forget(table, stone);
	stone->key = key;
	stone->closed_ns = now_ns;
	stone->known = true;
	hash_add(&table->graves, &stone->node, hash_u64(table->secret, key));
	table->ring_next = (table->ring_next + 1) % LIMIT_TOMBSTONES;
	return stone;
}

static bool key_is_address(const struct mr_attr *attr, uint64_t key)
{
	for (size_t i = 0; i < attr->iov_count; i++)
		if ((uintptr_t)attr->iov[i].iov_base == key)
			return true;
	return false;
}

/* S38. A narrow key space can be full of tombstones: those give way in the second half of the draws. */
static int key_draw(struct mr_table *table, const struct mr_attr *attr, uint64_t *out)
{
	for (int draw = 0; draw < DRAWS; draw++) {
		uint64_t key = random_word(table);
		bool taken;

		key >>= 64 - 8 * attr->key_bytes;
		if (!key || key == UINT64_MAX || mr_find(table, key) || key_is_address(attr, key) ||
		    (attr->names && mr_window_find(attr->names, key)))
			continue;
		if (draw < DRAWS / 2 && grave_find(table, key))
			continue;
		futex_lock(&table->lock);
		taken = desc_find(table, key);
		futex_unlock(&table->lock);
		if (taken)
			continue;
		*out = key;
		return 0;
	}
	return -NIC_ENOKEY;
}

/* Peers have no use for a region without remote rights. A program often asks for one and the same. */
static void asked_note(struct mr_table *table, uint32_t access, uint64_t key)
{
	if (!(access & (MR_REMOTE_READ | MR_REMOTE_WRITE | MR_REMOTE_ATOMIC)))
		return;
	if (!table->asked_count || table->asked[(table->asked_count - 1) % ASKED] != key)
		table->asked[table->asked_count++ % ASKED] = key;
}

static int key_choose(struct mr_table *table, const struct mr_attr *attr, uint64_t *key)
{
	assert(attr->key_bytes >= 1 && attr->key_bytes <= 8);
	if (attr->provider_key) {
		asked_note(table, attr->access, attr->key);
		return key_draw(table, attr, key);
	}
	if (attr->key == UINT64_MAX || (attr->key_bytes < 8 && attr->key >> (8 * attr->key_bytes)))
		return -EKEYREJECTED; /* S36 */
	if (mr_find(table, attr->key))
		return -NIC_ENOKEY; /* S35 */
	*key = attr->key;
	return 0;
}

/* Copies the segments. -EINVAL if one of them, or the sum of their lengths, goes past 2^64. */
static int mr_set_segments(struct mr *mr, const struct iovec *iov, size_t count)
{
	assert(count >= 1 && count <= LIMIT_IOV);
	for (size_t i = 0; i < count; i++) {
		uint64_t base = (uintptr_t)iov[i].iov_base, length = iov[i].iov_len;

		if ((length && length - 1 > UINT64_MAX - base) || length > UINT64_MAX - mr->length)
			return -EINVAL;
		mr->length += length;
	}
	if (count == 1) {
		mr->one = iov[0];
	} else {
		mr->more = malloc(count * sizeof(*iov));
		if (!mr->more)
			return -ENOMEM;
		memcpy(mr->more, iov, count * sizeof(*iov));
	}
	mr->iov_count = (uint8_t)count; /* from now on there is something to free */
	return 0;
}

/* Before the key, which is drawn. */
static int mr_add_check(const struct mr_table *table, const struct mr_attr *attr)
{
	if (attr->base && !attr->window && !mr_may_lie_within(attr->base, attr->iov, attr->iov_count))
		return -EINVAL;
	if ((attr->regions_max && mr_count(table) >= attr->regions_max) || (attr->base && attr->base->subs == MR_SUBS_MAX))
		return -ENOMEM;
	return 0;
}

int mr_add(struct mr_table *table, const struct mr_attr *attr, struct mr **out)
{
	static atomic_uint_fast64_t ids;
	struct mr mr = {
		.access = attr->access,
		.virtual_addr = attr->virtual_addr,
		.registering = attr->registering,
		.gated = attr->gated,
		.enabled = !attr->gated,
		.by_endpoint = attr->by_endpoint,
		.events = attr->events,
		.persistent = attr->persistent,
		.auth = attr->auth,
		.shift = attr->base ? attr->base->shift + attr->base_shift : attr->shift,
		.base = attr->base,
		.windows = attr->windows,
		.window = attr->window,
		.context = attr->context,
	};
	uint64_t random;
	struct mr_table_entry *entry;
	int err = mr_add_check(table, attr);

	role_assert();
	if (!err)
		err = key_choose(table, attr, &mr.key);
	if (!err)
		err = mr_set_segments(&mr, attr->iov, attr->iov_count);
	if (!err && attr->single_use) {
		mr.single = calloc(1, sizeof(*mr.single));
		err = mr.single ? 0 : -ENOMEM;
	}
	if (!err)
		err = slab_reserve(&table->entries);
	if (err)
		goto free_parts;
	while (attr->raw && !mr.key_tail)
		mr.key_tail = random_word(table);
	mr.id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
	random = random_word(table);
	futex_lock(&table->lock);
	entry = desc_open(table, &mr, random);
	futex_unlock(&table->lock);
	if (attr->auths) {
		entry->mr.auths = attr->auths;
		entry->mr.by_set = true;
	}
	hash_add(&table->keys, &entry->node, hash_u64(table->secret, mr.key));
	entry->mr.pages = mr.base ? mr.base->pages : attr->pages;
	entry->mr.pin = mr.base ? mr.base->pin : attr->pin;
	if (mr.base)
		mr.base->subs++;
	*out = &entry->mr;
	return 0;

free_parts:
	mr_free_parts(&mr);
	return err;
}

void mr_remove(struct mr_table *table, struct mr *mr, uint64_t now_ns)
{
	struct mr_table_entry *entry = entry_of(mr);
	struct mr gone = *mr;
	struct tombstone *stone;

	assert(!mr->subs);
	if (mr->base)
		mr->base->subs--;
	hash_remove(&table->keys, &entry->node);
	stone = grave_dig(table, mr->key, now_ns);
	stone->tail = mr->key_tail;
	stone->window = mr->window;
	futex_lock(&table->lock);
	stone->desc = mr->desc;
	desc_close(table, entry);
	futex_unlock(&table->lock);
	mr_free_parts(&gone); /* which takes long, and other locks */
}

bool mr_table_local_sure(const struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access)
{
	uint64_t name = (uintptr_t)desc, number = name & (SLOTS_MAX - 1), at, room;
	const struct desc_copy *desc_copy = &table->desc_copies[number];
	uint32_t rights;

	if (number >= DESC_COPIES || atomic_load_explicit(&desc_copy->desc, memory_order_acquire) != name)
		return false;
	at = (uintptr_t)addr - atomic_load_explicit(&desc_copy->base, memory_order_acquire);
	room = atomic_load_explicit(&desc_copy->length, memory_order_acquire);
	rights = atomic_load_explicit(&desc_copy->access, memory_order_acquire);
	return at < room && length <= room - at && !(access & ~rights) &&
	       atomic_load_explicit(&desc_copy->desc, memory_order_relaxed) == name;
}

struct mr *mr_find_local(struct mr_table *table, const void *desc)
{
	struct mr_table_entry *entry;

	futex_lock(&table->lock);
	entry = desc_find(table, (uintptr_t)desc);
	futex_unlock(&table->lock);
	return entry ? &entry->mr : NULL;
}

int mr_table_local_ok(struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access)
{
	const struct mr_table_entry *entry;
	int err = 0;

	futex_lock(&table->lock);
	entry = desc_find(table, (uintptr_t)desc);
	if (!entry || !mr_covers(&entry->mr, (uintptr_t)addr, length))
		err = -EINVAL;
	else if ((entry->mr.access & access) != access)
		err = -EACCES;
	futex_unlock(&table->lock);
	return err;
}

static bool desc_was_closed(const struct mr_table *table, uint64_t desc) REQUIRES(table->lock)
{
	for (size_t i = 0; i < LIMIT_TOMBSTONES; i++)
		if (desc && table->ring[i].desc == desc)
			return true;
	return false;
}

enum mr_local_cause mr_table_local_why(struct mr_table *table, const void *desc, const void *addr, size_t length, uint32_t access,
				       struct mr_local *region)
{
	enum mr_local_cause cause = MR_LOCAL_OK;
	const struct mr_table_entry *entry;

	futex_lock(&table->lock);
	entry = desc_find(table, (uintptr_t)desc);
	if (!entry) {
		cause = desc_was_closed(table, (uintptr_t)desc) ? MR_LOCAL_CLOSED : MR_LOCAL_UNKNOWN;
	} else {
		*region = (struct mr_local){ (uintptr_t)mr_segments(&entry->mr)->iov_base, mr_segments(&entry->mr)->iov_len };
		if (!mr_covers(&entry->mr, (uintptr_t)addr, length))
			cause = MR_LOCAL_OUTSIDE;
		else if ((entry->mr.access & access) != access)
			cause = MR_LOCAL_RIGHT;
	}
	futex_unlock(&table->lock);
	return cause;
}
