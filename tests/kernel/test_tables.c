/* SPDX-License-Identifier: BSD-2-Clause */
/* test_tables.c - hash tables, sections of readers, semaphores of readers and writers, and pools. */
#include <criterion/criterion.h>
#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mempool.h>
#include <linux/rcupdate.h>
#include <linux/rhashtable.h>
#include <linux/rwsem.h>
#include <linux/sched.h>

enum { GUARD_S = 60 };

/* A thread that may have returned when it is ended. */
static struct task_struct *run(int (*function)(void *), const char *name)
{
	struct task_struct *thread = kthread_create(function, NULL, "%s", name);

	get_task_struct(thread);
	wake_up_process(thread);
	return thread;
}

static void end(struct task_struct *thread)
{
	kthread_stop(thread);
	put_task_struct(thread);
}

/* --- hash tables --- */

enum { MANY = 5000 };

struct element {
	struct rhash_head node;
	struct rcu_head rcu;
	u32 pad;
	u32 key;
};

static const struct rhashtable_params params = {
	.key_len = sizeof(u32),
	.key_offset = offsetof(struct element, key),
	.head_offset = offsetof(struct element, node),
	.automatic_shrinking = true,
};

static struct element *element_new(u32 key)
{
	struct element *made = kzalloc(sizeof(*made), GFP_KERNEL);

	made->key = key;
	return made;
}

static void count_and_free(void *object, void *arg)
{
	*(unsigned int *)arg += 1;
	kfree(object);
}

Test(kernel_tables, what_is_inserted_is_found)
{
	struct rhashtable table;
	unsigned int freed = 0;
	u32 key;

	cr_assert_eq(rhashtable_init(&table, &params), 0);
	for (key = 0; key < MANY; key++)
		cr_assert_eq(rhashtable_insert_fast(&table, &element_new(key)->node, params), 0);
	cr_assert_eq(atomic_read(&table.nelems), MANY);
	for (key = 0; key < MANY; key += 2) {
		struct element *found = rhashtable_lookup_fast(&table, &key, params);

		cr_assert(found && found->key == key, "%u", key);
		cr_assert_eq(rhashtable_remove_fast(&table, &found->node, params), 0);
		cr_assert_eq(rhashtable_remove_fast(&table, &found->node, params), -ENOENT);
		cr_assert_null(rhashtable_lookup_fast(&table, &key, params));
		kfree_rcu(found, rcu);
	}
	rcu_barrier();
	rhashtable_free_and_destroy(&table, count_and_free, &freed);
	cr_assert_eq(freed, MANY / 2);
}

Test(kernel_tables, a_key_that_is_there_is_told)
{
	struct element *first = element_new(7), *second = element_new(7), *other = element_new(8);
	struct rhashtable_params few = params;
	struct rhashtable table;

	few.max_size = 1;
	cr_assert_eq(rhashtable_init(&table, &few), 0);
	cr_assert_null(rhashtable_lookup_get_insert_fast(&table, &first->node, few));
	cr_assert_eq(rhashtable_lookup_get_insert_fast(&table, &second->node, few), first);
	cr_assert_eq(rhashtable_lookup_insert_fast(&table, &second->node, few), -EEXIST);
	cr_assert_eq(rhashtable_insert_fast(&table, &other->node, few), -E2BIG);
	cr_assert_eq(rhashtable_replace_fast(&table, &first->node, &second->node, few), 0);
	cr_assert_eq(rhashtable_replace_fast(&table, &second->node, &other->node, few), -EINVAL);
	cr_assert_eq(rhashtable_lookup_fast(&table, &second->key, few), second);
	cr_assert_eq(rhashtable_remove_fast(&table, &first->node, few), -ENOENT);
	rhashtable_destroy(&table);
	kfree(first);
	kfree(second);
	kfree(other);
	few.key_len = 0;
	cr_assert_eq(rhashtable_init(&table, &few), -EINVAL);
}

Test(kernel_tables, a_walk_meets_each_element)
{
	static bool met[MANY];
	struct rhashtable_iter iter;
	struct rhashtable table;
	struct element *at;
	unsigned int freed = 0, count = 0;

	cr_assert_eq(rhashtable_init(&table, &params), 0);
	for (u32 key = 0; key < MANY; key++)
		cr_assert_eq(rhashtable_insert_fast(&table, &element_new(key)->node, params), 0);
	rhashtable_walk_enter(&table, &iter);
	rhashtable_walk_start(&iter);
	while ((at = rhashtable_walk_next(&iter))) {
		cr_assert_not(met[at->key]);
		met[at->key] = true;
		count++;
		if (at->key % 3)
			continue;
		cr_assert_eq(rhashtable_remove_fast(&table, &at->node, params), 0);
		kfree_rcu(at, rcu); /* freed behind this section */
	}
	rhashtable_walk_stop(&iter);
	rhashtable_walk_exit(&iter);
	cr_assert_eq(count, MANY);
	rcu_barrier();
	rhashtable_free_and_destroy(&table, count_and_free, &freed);
	cr_assert_eq(freed, MANY - (MANY + 2) / 3);
}

static struct rhashtable shared;
static atomic_t inserted;

static int insert_some(void *arg)
{
	for (u32 key = 0; key < MANY; key++) {
		struct element *made = element_new(key);

		if (rhashtable_lookup_insert_fast(&shared, &made->node, params) == -EEXIST)
			kfree(made);
		else
			atomic_inc(&inserted);
	}
	return arg != NULL;
}

Test(kernel_tables, threads_insert_a_key_once)
{
	struct task_struct *thread[4];
	unsigned int freed = 0;

	cr_assert_eq(rhashtable_init(&shared, &params), 0);
	for (int i = 0; i < 4; i++)
		thread[i] = run(insert_some, "insert");
	for (int i = 0; i < 4; i++)
		end(thread[i]);
	rhashtable_free_and_destroy(&shared, count_and_free, &freed);
	cr_assert_eq(freed, (unsigned int)atomic_read(&inserted));
	cr_assert_leq(freed, MANY);
}

/* --- sections --- */

static DECLARE_COMPLETION(called);
static int depth_of_call;

static void note_call(struct rcu_head *head)
{
	(void)head;
	depth_of_call = emu_kernel_atomic_depth;
	complete(&called);
}

Test(kernel_tables, a_call_comes_after_the_section)
{
	struct rcu_head head;

	rcu_read_lock();
	rcu_read_lock(); /* in another one */
	call_rcu(&head, note_call);
	rcu_read_unlock();
	cr_assert_not(completion_done(&called));
	rcu_read_unlock();
	cr_assert(wait_for_completion_timeout(&called, GUARD_S * HZ));
	cr_assert_gt(depth_of_call, 0);
	synchronize_rcu();
}

/* --- semaphores --- */

static DECLARE_RWSEM(semaphore);
static int value;

static int write_values(void *arg)
{
	for (int i = 0; i < MANY; i++) {
		down_write(&semaphore);
		value++;
		downgrade_write(&semaphore);
		cr_assert_not(down_write_trylock(&semaphore));
		up_read(&semaphore);
	}
	return arg != NULL;
}

Test(kernel_tables, writers_are_alone)
{
	struct task_struct *thread[3];

	for (int i = 0; i < 3; i++)
		thread[i] = run(write_values, "writer");
	for (int i = 0; i < 3; i++)
		end(thread[i]);
	cr_assert_leq(value, 3 * MANY);
	cr_assert_not(rwsem_is_locked(&semaphore));
	cr_assert(down_read_trylock(&semaphore));
	cr_assert(down_read_trylock(&semaphore));
	cr_assert_not(down_write_trylock(&semaphore));
	up_read(&semaphore);
	up_read(&semaphore);
	cr_assert(down_write_trylock(&semaphore));
	cr_assert_not(down_read_trylock(&semaphore));
	up_write(&semaphore);
}

Test(kernel_tables, what_is_not_held_is_not_given_up, .signal = SIGABRT)
{
	struct rw_semaphore own;

	init_rwsem(&own);
	up_read(&own);
}

/* --- pools --- */

static bool none_left;

static void *allocate(gfp_t flags, void *data)
{
	return none_left ? NULL : kmalloc((size_t)data, flags);
}

Test(kernel_tables, a_pool_has_a_reserve)
{
	mempool_t *pool = mempool_create(2, allocate, mempool_kfree, (void *)64);
	void *element[3];

	cr_assert(pool);
	none_left = true;
	element[0] = mempool_alloc(pool, GFP_KERNEL);
	element[1] = mempool_alloc(pool, GFP_ATOMIC);
	cr_assert(element[0] && element[1]);
	cr_assert_null(mempool_alloc(pool, GFP_ATOMIC));
	mempool_free(element[0], pool);
	element[2] = mempool_alloc(pool, GFP_KERNEL);
	cr_assert_eq(element[2], element[0], "the reserve was filled");
	cr_assert_null(mempool_create(1, allocate, mempool_kfree, (void *)64));
	none_left = false;
	mempool_free(element[1], pool);
	mempool_free(element[2], pool);
	cr_assert_eq(mempool_resize(pool, 5), 0);
	mempool_destroy(pool);
	mempool_destroy(NULL);
}

static mempool_t *waited_for;

static int take_one(void *arg)
{
	mempool_free(mempool_alloc(waited_for, GFP_KERNEL), waited_for);
	return arg != NULL;
}

Test(kernel_tables, an_allocation_waits_for_an_element)
{
	struct task_struct *thread;
	void *only;

	waited_for = mempool_create(1, allocate, mempool_kfree, (void *)64);
	none_left = true;
	only = mempool_alloc(waited_for, GFP_KERNEL);
	thread = run(take_one, "taker");
	mempool_free(only, waited_for);
	end(thread);
	mempool_destroy(waited_for);
}

Test(kernel_tables, a_pool_of_a_cache)
{
	struct kmem_cache *cache = kmem_cache_create("elements", 48, 0, 0, NULL);
	mempool_t *pool = mempool_create_slab_pool(4, cache);

	mempool_free(mempool_alloc(pool, GFP_KERNEL), pool);
	mempool_destroy(pool);
	kmem_cache_destroy(cache);
}
