/* SPDX-License-Identifier: BSD-2-Clause */
/* test_waits.c - wait queues, completions, threads, and the locks. */
#include <criterion/criterion.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <signal.h>

static DECLARE_WAIT_QUEUE_HEAD(queue);
static DECLARE_COMPLETION(done);
static int go, came;

static int wait_and_return(void *data)
{
	wait_event(queue, READ_ONCE(go));
	return *(int *)data;
}

/* Until the thread sleeps: wake-ups from then on reach a sleeper. */
static void until_asleep(struct task_struct *task)
{
	while (READ_ONCE(task->__state) == TASK_RUNNING)
		cond_resched();
}

Test(kernel_waits, a_wake_up_ends_the_wait)
{
	int answer = 7;
	struct task_struct *thread = kthread_run(wait_and_return, &answer, "waiter/%d", 3);

	cr_assert_str_eq(thread->comm, "waiter/3");
	get_task_struct(thread);
	until_asleep(thread);
	cr_assert(waitqueue_active(&queue));
	wake_up_all(&queue); /* the condition is false: it goes on waiting */
	WRITE_ONCE(go, 1);
	wake_up(&queue);
	cr_assert_eq(kthread_stop(thread), 7);
	put_task_struct(thread);
	cr_assert_not(waitqueue_active(&queue));
}

Test(kernel_waits, times_end)
{
	struct wait_queue_head own;
	u64 begin = emu_kernel_ns();

	init_waitqueue_head(&own);
	cr_assert_eq(wait_event_timeout(own, false, 2), 0);
	cr_assert_geq(emu_kernel_ns() - begin, EMU_KERNEL_JIFFY_NS);
	cr_assert_eq(wait_event_timeout(own, true, 0), 1);
	cr_assert_eq(wait_event_timeout(own, true, 5 * HZ), 5 * HZ);
	cr_assert_eq(wait_event_interruptible_timeout(own, false, 1), 0);
	cr_assert_eq(wait_event_interruptible(own, true), 0);
	cr_assert_eq(wait_event_killable(own, true), 0);
	cr_assert_eq(wait_event_interruptible_exclusive(own, true), 0);
	cr_assert_eq(schedule_timeout_interruptible(1), 0);
	cr_assert_eq(schedule_timeout_uninterruptible(1), 0);
	cr_assert_eq(signal_pending(current), 0);
}

static int wait_alone(void *unused)
{
	wait_event_interruptible_exclusive(queue, READ_ONCE(go));
	__atomic_fetch_add(&came, 1, __ATOMIC_SEQ_CST);
	complete(&done);
	return unused != NULL;
}

Test(kernel_waits, an_exclusive_waiter_is_woken_alone)
{
	struct task_struct *threads[2];

	for (int i = 0; i < 2; i++) {
		threads[i] = kthread_run(wait_alone, NULL, "alone");
		get_task_struct(threads[i]);
		until_asleep(threads[i]);
	}
	WRITE_ONCE(go, 1);
	wake_up_interruptible(&queue);
	wait_for_completion(&done);
	cr_assert_eq(wait_for_completion_timeout(&done, 2), 0);
	cr_assert_eq(READ_ONCE(came), 1);
	wake_up_nr(&queue, 1);
	wait_for_completion(&done);
	wake_up_interruptible_all(&queue);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(kthread_stop(threads[i]), 0);
		put_task_struct(threads[i]);
	}
}

static int by_hand(void *unused)
{
	DEFINE_WAIT(wait);
	DECLARE_WAITQUEUE(other, current);

	add_wait_queue(&queue, &other);
	remove_wait_queue(&queue, &other);
	for (;;) {
		prepare_to_wait(&queue, &wait, TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	finish_wait(&queue, &wait);
	prepare_to_wait_exclusive(&queue, &wait, TASK_INTERRUPTIBLE);
	finish_wait(&queue, &wait);
	return unused ? 0 : 5;
}

Test(kernel_waits, stop_wakes_the_thread_in_any_queue)
{
	struct task_struct *thread = kthread_run(by_hand, NULL, "by-hand");

	until_asleep(thread);
	cr_assert_eq(wake_up_process(thread), 1);
	cr_assert_eq(kthread_stop(thread), 5);
}

static int must_not_run(void *unused)
{
	WRITE_ONCE(came, 1);
	return unused != NULL;
}

Test(kernel_waits, a_thread_that_was_never_woken_does_not_run)
{
	struct task_struct *thread = kthread_create(must_not_run, NULL, "never");

	cr_assert_eq(kthread_stop(thread), -EINTR);
	cr_assert_eq(READ_ONCE(came), 0);
	thread = kthread_create_on_node(must_not_run, NULL, 0, "later");
	get_task_struct(thread);
	cr_assert_eq(wake_up_process(thread), 1);
	cr_assert_eq(kthread_stop(thread), 0);
	put_task_struct(thread);
	cr_assert_eq(READ_ONCE(came), 1);
}

static int take_one(void *unused)
{
	wait_for_completion(&done);
	__atomic_fetch_add(&came, 1, __ATOMIC_SEQ_CST);
	return unused != NULL;
}

Test(kernel_completions, each_lets_one_go_and_all_lets_all)
{
	struct task_struct *threads[3];

	for (int i = 0; i < 3; i++) {
		threads[i] = kthread_run(take_one, NULL, "taker");
		get_task_struct(threads[i]);
		until_asleep(threads[i]);
	}
	complete(&done);
	complete(&done);
	cr_assert_eq(kthread_stop(threads[0]) + kthread_stop(threads[1]), 0);
	cr_assert_eq(READ_ONCE(came), 2);
	complete_all(&done);
	cr_assert_eq(kthread_stop(threads[2]), 0);
	cr_assert(try_wait_for_completion(&done));
	cr_assert(completion_done(&done));
	cr_assert_eq(wait_for_completion_interruptible(&done), 0);
	cr_assert_eq(wait_for_completion_killable(&done), 0);
	reinit_completion(&done);
	cr_assert_not(try_wait_for_completion(&done));
	cr_assert_eq(wait_for_completion_timeout(&done, 1), 0);
	cr_assert_eq(wait_for_completion_interruptible_timeout(&done, 1), 0);
	init_completion(&done);
	complete(&done);
	cr_assert_gt(wait_for_completion_timeout(&done, HZ), 0);
	cr_assert_not(completion_done(&done));
	for (int i = 0; i < 3; i++)
		put_task_struct(threads[i]);
}

static DEFINE_SPINLOCK(spin);
static DEFINE_RWLOCK(rw);
static DEFINE_MUTEX(mutex);
static long counted; /* guarded by each of them in turn */

static int count_up(void *unused)
{
	unsigned long flags;

	for (int i = 0; i < 2000; i++) {
		spin_lock_irqsave(&spin, flags);
		counted++;
		spin_unlock_irqrestore(&spin, flags);
		mutex_lock(&mutex);
		spin_lock_bh(&spin);
		counted++;
		spin_unlock_bh(&spin);
		mutex_unlock(&mutex);
		write_lock_irqsave(&rw, flags);
		spin_lock_irq(&spin);
		counted++;
		spin_unlock_irq(&spin);
		write_unlock_irqrestore(&rw, flags);
	}
	return unused != NULL;
}

Test(kernel_locks, exclude)
{
	struct task_struct *threads[2];

	for (int i = 0; i < 2; i++) {
		threads[i] = kthread_create(count_up, NULL, "counter");
		get_task_struct(threads[i]);
		wake_up_process(threads[i]);
	}
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(kthread_stop(threads[i]), 0);
		put_task_struct(threads[i]);
	}
	cr_assert_eq(counted, 12000);
}

Test(kernel_locks, say_whether_they_are_held)
{
	struct mutex own;
	spinlock_t lock;
	rwlock_t both;

	mutex_init(&own);
	spin_lock_init(&lock);
	rwlock_init(&both);
	cr_assert(mutex_trylock(&own));
	cr_assert_not(mutex_trylock(&own));
	cr_assert(mutex_is_locked(&own));
	mutex_unlock(&own);
	cr_assert_eq(mutex_lock_interruptible(&own), 0);
	mutex_unlock(&own);
	cr_assert_eq(mutex_lock_killable(&own), 0);
	mutex_unlock(&own);
	mutex_destroy(&own);
	cr_assert(spin_trylock(&lock));
	cr_assert(in_atomic());
	cr_assert_not(spin_trylock(&lock));
	cr_assert(spin_is_locked(&lock));
	spin_unlock(&lock);
	cr_assert_not(in_atomic());
	read_lock(&both);
	read_lock_bh(&both);
	read_unlock_bh(&both);
	read_unlock(&both);
	write_lock(&both);
	write_unlock(&both);
}

Test(kernel_locks, a_mutex_taken_twice_is_a_bug, .signal = SIGABRT)
{
	mutex_lock(&mutex);
	mutex_lock(&mutex);
}

Test(kernel_locks, a_mutex_of_nobody_unlocked_is_a_bug, .signal = SIGABRT)
{
	mutex_unlock(&mutex);
}

Test(kernel_delays, last_as_long_as_asked)
{
	u64 begin = emu_kernel_ns();

	msleep(1);
	usleep_range(100, 1000);
	fsleep(1000);
	cr_assert_eq(msleep_interruptible(1), 0);
	udelay(1000);
	ndelay(1000);
	mdelay(1);
	ssleep(0);
	yield();
	cr_assert_geq(emu_kernel_ns() - begin, 6 * 1000000ULL);
}
