/* SPDX-License-Identifier: BSD-2-Clause */
/* rcus.c - sections of readers, and the thread that makes calls after them. A section holds a lock for reading, which prefers
 * readers: so that a section may be in another one. */
#include <linux/bug.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <pthread.h>

#include "emu/kernel/kernel_impl.h"

static pthread_rwlock_t sections = PTHREAD_RWLOCK_INITIALIZER;

/* Guards all below. */
static pthread_mutex_t calls_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t calls_changed = PTHREAD_COND_INITIALIZER;
static struct rcu_head *first_call, **last_call = &first_call;
static u64 asked, made;
static bool thread_runs;

void rcu_read_lock(void)
{
	pthread_rwlock_rdlock(&sections);
	emu_kernel_enter_atomic();
}

void rcu_read_unlock(void)
{
	emu_kernel_leave_atomic();
	pthread_rwlock_unlock(&sections);
}

void(synchronize_rcu)(void)
{
	pthread_rwlock_wrlock(&sections);
	pthread_rwlock_unlock(&sections);
}

/* With the offset of a member in place of a function the object is freed, as the kernel tells the two apart, too. */
enum { OFFSETS = 4096 };

static void make_call(struct rcu_head *head)
{
	uintptr_t func = (uintptr_t)head->emu_func;

	if (func < OFFSETS) {
		kvfree((char *)head - func);
		return;
	}
	emu_kernel_enter_atomic();
	head->emu_func(head);
	emu_kernel_leave_atomic();
}

static void *make_calls(void *unused)
{
	pthread_mutex_lock(&calls_lock);
	for (;;) {
		struct rcu_head *row = first_call;

		if (!row) {
			pthread_cond_wait(&calls_changed, &calls_lock);
			continue;
		}
		first_call = NULL;
		last_call = &first_call;
		pthread_mutex_unlock(&calls_lock);
		(synchronize_rcu)();
		while (row) {
			struct rcu_head *next = row->emu_next;

			make_call(row);
			row = next;
			pthread_mutex_lock(&calls_lock);
			made++;
			pthread_cond_broadcast(&calls_changed);
			pthread_mutex_unlock(&calls_lock);
		}
		pthread_mutex_lock(&calls_lock);
	}
	return unused;
}

static void start_thread(void)
{
	BUG_ON(threads_start(make_calls, NULL));
	thread_runs = true;
}

void call_rcu(struct rcu_head *head, void (*func)(struct rcu_head *head))
{
	head->emu_next = NULL;
	head->emu_func = func;
	pthread_mutex_lock(&calls_lock);
	*last_call = head;
	last_call = &head->emu_next;
	asked++;
	if (!thread_runs)
		start_thread();
	pthread_cond_broadcast(&calls_changed);
	pthread_mutex_unlock(&calls_lock);
}

void emu_kernel_free_rcu(struct rcu_head *head, size_t offset)
{
	BUG_ON(offset >= OFFSETS);
	call_rcu(head, (void (*)(struct rcu_head *))offset);
}

void(rcu_barrier)(void)
{
	u64 all;

	pthread_mutex_lock(&calls_lock);
	for (all = asked; made < all;)
		pthread_cond_wait(&calls_changed, &calls_lock);
	pthread_mutex_unlock(&calls_lock);
}
