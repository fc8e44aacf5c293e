/* SPDX-License-Identifier: BSD-2-Clause */
/* rhashtables.c - hash tables. A lookup takes the table's lock, too; sections of rcupdate.h keep what it found. */
#include <linux/bug.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>
#include <linux/string.h>

enum { LEAST_SLOTS = 16, MOST_SLOTS = 1 << 26 };

struct emu_rhash_buckets {
	unsigned int count, walkers; /* while somebody walks the slots stay as they are */
	struct rhash_head *slot[];
};

static const char *object_of(const struct rhashtable *table, const struct rhash_head *head)
{
	return (const char *)head - table->p.head_offset;
}

static u32 own_hash(const void *data, u32 length, u32 seed)
{
	const u8 *bytes = data;
	u64 hash = seed ^ 0x9e3779b97f4a7c15ULL;

	for (u32 i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return (u32)(hash ^ hash >> 32);
}

static u32 hash_key(const struct rhashtable *table, const void *key)
{
	return (table->p.hashfn ? table->p.hashfn : own_hash)(key, table->p.key_len, table->emu_seed);
}

static u32 hash_object(const struct rhashtable *table, const struct rhash_head *head)
{
	const char *object = object_of(table, head);

	if (table->p.obj_hashfn)
		return table->p.obj_hashfn(object, table->p.key_len, table->emu_seed);
	return hash_key(table, object + table->p.key_offset);
}

static struct rhash_head **rhash_slot(const struct rhashtable *table, u32 hash)
{
	return &table->emu_buckets->slot[hash & (table->emu_buckets->count - 1)];
}

static bool rhash_has(struct rhashtable *table, const struct rhash_head *head, const void *key)
{
	struct rhashtable_compare_arg arg = { table, key };
	const char *object = object_of(table, head);

	if (table->p.obj_cmpfn)
		return !table->p.obj_cmpfn(&arg, object);
	return !memcmp(object + table->p.key_offset, key, table->p.key_len);
}

static struct emu_rhash_buckets *make_slots(unsigned int count)
{
	struct emu_rhash_buckets *made = kvzalloc(sizeof(*made) + count * sizeof(made->slot[0]), GFP_NOWAIT);

	if (made)
		made->count = count;
	return made;
}

int rhashtable_init(struct rhashtable *table, const struct rhashtable_params *params)
{
	if ((!params->key_len && !params->obj_hashfn) || (params->obj_hashfn && !params->obj_cmpfn))
		return -EINVAL;
	memset(table, 0, sizeof(*table));
	table->p = *params;
	table->emu_seed = get_random_u32();
	table->emu_buckets = make_slots(LEAST_SLOTS);
	pthread_mutex_init(&table->emu_lock, NULL);
	return table->emu_buckets ? 0 : -ENOMEM;
}

void rhashtable_free_and_destroy(struct rhashtable *table, void (*free_fn)(void *object, void *arg), void *arg)
{
	for (unsigned int i = 0; free_fn && i < table->emu_buckets->count; i++) {
		struct rhash_head *next;

		for (struct rhash_head *at = table->emu_buckets->slot[i]; at; at = next) {
			next = at->next;
			free_fn((void *)(uintptr_t)object_of(table, at), arg);
		}
	}
	kvfree(table->emu_buckets);
	pthread_mutex_destroy(&table->emu_lock);
}

void rhashtable_destroy(struct rhashtable *table)
{
	rhashtable_free_and_destroy(table, NULL, NULL);
}

/* --- with the lock --- */

static struct rhash_head *find_key(struct rhashtable *table, u32 hash, const void *key)
{
	struct rhash_head *at = *rhash_slot(table, hash);

	while (at && !rhash_has(table, at, key))
		at = at->next;
	return at;
}

/* Twice as many slots where there are more elements than slots; without memory it stays as it is. */
static void rhash_grow(struct rhashtable *table)
{
	struct emu_rhash_buckets *old = table->emu_buckets, *made;

	if ((unsigned int)atomic_read(&table->nelems) <= old->count || old->walkers || old->count >= MOST_SLOTS)
		return;
	made = make_slots(2 * old->count);
	if (!made)
		return;
	table->emu_buckets = made;
	for (unsigned int i = 0; i < old->count; i++) {
		struct rhash_head *next;

		for (struct rhash_head *at = old->slot[i]; at; at = next) {
			struct rhash_head **slot = rhash_slot(table, hash_object(table, at));

			next = at->next;
			at->next = *slot;
			*slot = at;
		}
	}
	kvfree(old);
}

/* The link to the element; NULL: it is not in. */
static struct rhash_head **link_to(struct rhashtable *table, struct rhash_head *head)
{
	struct rhash_head **link = rhash_slot(table, hash_object(table, head));

	while (*link && *link != head)
		link = &(*link)->next;
	return *link ? link : NULL;
}

/* --- the calls --- */

void *emu_kernel_rhash_find(struct rhashtable *table, const void *key)
{
	struct rhash_head *found;

	pthread_mutex_lock(&table->emu_lock);
	found = find_key(table, hash_key(table, key), key);
	pthread_mutex_unlock(&table->emu_lock);
	return found ? (void *)(uintptr_t)object_of(table, found) : NULL;
}

void *emu_kernel_rhash_insert(struct rhashtable *table, struct rhash_head *head, bool twice)
{
	u32 hash = hash_object(table, head);
	struct rhash_head *there = NULL, **slot;
	void *answer = NULL;

	pthread_mutex_lock(&table->emu_lock);
	if (!twice)
		there = find_key(table, hash, object_of(table, head) + table->p.key_offset);
	if (there) {
		answer = (void *)(uintptr_t)object_of(table, there);
	} else if (table->p.max_size && (unsigned int)atomic_read(&table->nelems) >= table->p.max_size) {
		answer = ERR_PTR(-E2BIG);
	} else {
		slot = rhash_slot(table, hash);
		head->next = *slot;
		*slot = head;
		atomic_inc(&table->nelems);
		rhash_grow(table);
	}
	pthread_mutex_unlock(&table->emu_lock);
	return answer;
}

/* The element keeps its pointer to the next one, for a walk that stands there. */
int emu_kernel_rhash_remove(struct rhashtable *table, struct rhash_head *head)
{
	struct rhash_head **link;

	pthread_mutex_lock(&table->emu_lock);
	link = link_to(table, head);
	if (link) {
		*link = head->next;
		atomic_dec(&table->nelems);
	}
	pthread_mutex_unlock(&table->emu_lock);
	return link ? 0 : -ENOENT;
}

int emu_kernel_rhash_replace(struct rhashtable *table, struct rhash_head *old, struct rhash_head *made)
{
	struct rhash_head **link;

	if (hash_object(table, old) != hash_object(table, made))
		return -EINVAL;
	pthread_mutex_lock(&table->emu_lock);
	link = link_to(table, old);
	if (link) {
		made->next = old->next;
		*link = made;
	}
	pthread_mutex_unlock(&table->emu_lock);
	return link ? 0 : -ENOENT;
}

/* --- walks --- */

void rhashtable_walk_enter(struct rhashtable *table, struct rhashtable_iter *iter)
{
	pthread_mutex_lock(&table->emu_lock);
	*iter = (struct rhashtable_iter){ .ht = table, .emu_buckets = table->emu_buckets };
	iter->emu_buckets->walkers++;
	pthread_mutex_unlock(&table->emu_lock);
}

void rhashtable_walk_start(struct rhashtable_iter *iter)
{
	rcu_read_lock();
	iter->p = NULL; /* what it stood at may be gone: the slot is begun anew */
}

void *rhashtable_walk_next(struct rhashtable_iter *iter)
{
	struct emu_rhash_buckets *buckets = iter->emu_buckets;

	pthread_mutex_lock(&iter->ht->emu_lock);
	if (iter->p) {
		iter->p = iter->p->next;
		iter->slot += !iter->p;
	}
	for (; !iter->p && iter->slot < buckets->count; iter->slot += !iter->p)
		iter->p = buckets->slot[iter->slot];
	pthread_mutex_unlock(&iter->ht->emu_lock);
	return iter->p ? (void *)(uintptr_t)object_of(iter->ht, iter->p) : NULL;
}

void rhashtable_walk_stop(struct rhashtable_iter *iter)
{
	(void)iter;
	rcu_read_unlock();
}

void rhashtable_walk_exit(struct rhashtable_iter *iter)
{
	pthread_mutex_lock(&iter->ht->emu_lock);
	iter->emu_buckets->walkers--;
	rhash_grow(iter->ht);
	pthread_mutex_unlock(&iter->ht->emu_lock);
}
