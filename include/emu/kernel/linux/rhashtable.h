/* SPDX-License-Identifier: BSD-2-Clause */
/* rhashtable.h - hash tables that grow, with readers in sections of rcupdate.h. */
#ifndef EMU_KERNEL_LINUX_RHASHTABLE_H
#define EMU_KERNEL_LINUX_RHASHTABLE_H

#include <linux/err.h>
#include <linux/atomic.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <pthread.h>

struct rhash_head {
	struct rhash_head *next;
};

struct rhashtable;

struct rhashtable_compare_arg {
	struct rhashtable *ht;
	const void *key;
};

typedef u32 (*rht_hashfn_t)(const void *data, u32 length, u32 seed);
typedef u32 (*rht_obj_hashfn_t)(const void *data, u32 length, u32 seed);
typedef int (*rht_obj_cmpfn_t)(struct rhashtable_compare_arg *arg, const void *object);

/* The sizes are hints, and the table has its own. */
struct rhashtable_params {
	u16 nelem_hint, key_len, key_offset, head_offset;
	unsigned int max_size; /* elements; more are -E2BIG. 0: no limit */
	u16 min_size;
	bool automatic_shrinking;
	rht_hashfn_t hashfn; /* NULL: the table's own */
	rht_obj_hashfn_t obj_hashfn;
	rht_obj_cmpfn_t obj_cmpfn; /* NULL: the bytes of the key */
};

struct rhashtable {
	pthread_mutex_t emu_lock; /* of writers; readers are in a section of rcupdate.h */
	struct rhashtable_params p;
	atomic_t nelems;
	u32 emu_seed;
	struct emu_rhash_buckets *emu_buckets;
};

/* 0; -EINVAL: no key, or an object's hash without a comparison; -ENOMEM. */
int rhashtable_init(struct rhashtable *table, const struct rhashtable_params *params);
void rhashtable_destroy(struct rhashtable *table); /* whatever is in it */
void rhashtable_free_and_destroy(struct rhashtable *table, void (*free_fn)(void *object, void *arg), void *arg);

void *emu_kernel_rhash_find(struct rhashtable *table, const void *key);
/* NULL: it is in; the object that has its key; or an error pointer. With `twice` another object may have its key. */
void *emu_kernel_rhash_insert(struct rhashtable *table, struct rhash_head *head, bool twice);
int emu_kernel_rhash_remove(struct rhashtable *table, struct rhash_head *head);
int emu_kernel_rhash_replace(struct rhashtable *table, struct rhash_head *old, struct rhash_head *made);

/* The parameters are those that the table was made with, as in the kernel. */
static inline void *rhashtable_lookup(struct rhashtable *table, const void *key, const struct rhashtable_params params)
{
	(void)params;
	return emu_kernel_rhash_find(table, key);
}

static inline void *rhashtable_lookup_fast(struct rhashtable *table, const void *key, const struct rhashtable_params params)
{
	void *object;

	rcu_read_lock();
	object = rhashtable_lookup(table, key, params);
	rcu_read_unlock();
	return object;
}

/* 0, or -E2BIG, -ENOMEM; those that look say -EEXIST of a key that is in the table. */
static inline int rhashtable_insert_fast(struct rhashtable *table, struct rhash_head *head, const struct rhashtable_params params)
{
	(void)params;
	return PTR_ERR_OR_ZERO(emu_kernel_rhash_insert(table, head, true));
}

static inline int rhashtable_lookup_insert_fast(struct rhashtable *table, struct rhash_head *head,
						const struct rhashtable_params params)
{
	void *there = emu_kernel_rhash_insert(table, head, false);

	(void)params;
	return !there ? 0 : IS_ERR(there) ? (int)PTR_ERR(there) : -EEXIST;
}

static inline void *rhashtable_lookup_get_insert_fast(struct rhashtable *table, struct rhash_head *head,
						      const struct rhashtable_params params)
{
	(void)params;
	return emu_kernel_rhash_insert(table, head, false);
}

/* 0, or -ENOENT: it is not in the table. */
static inline int rhashtable_remove_fast(struct rhashtable *table, struct rhash_head *head, const struct rhashtable_params params)
{
	(void)params;
	return emu_kernel_rhash_remove(table, head);
}

/* 0; -ENOENT, or -EINVAL: the keys' hashes differ. */
static inline int rhashtable_replace_fast(struct rhashtable *table, struct rhash_head *old, struct rhash_head *made,
					  const struct rhashtable_params params)
{
	(void)params;
	return emu_kernel_rhash_replace(table, old, made);
}

/* A walk over all elements. What is inserted or removed meanwhile is met or not; -EAGAIN is never said. */
struct rhashtable_iter {
	struct rhashtable *ht;
	struct emu_rhash_buckets *emu_buckets;
	struct rhash_head *p;
	unsigned int slot;
};

void rhashtable_walk_enter(struct rhashtable *table, struct rhashtable_iter *iter);
void rhashtable_walk_start(struct rhashtable_iter *iter);
void *rhashtable_walk_next(struct rhashtable_iter *iter); /* NULL: the end */
void rhashtable_walk_stop(struct rhashtable_iter *iter);
void rhashtable_walk_exit(struct rhashtable_iter *iter);

#endif
