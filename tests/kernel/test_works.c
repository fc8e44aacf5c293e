/* SPDX-License-Identifier: BSD-2-Clause */
/* test_works.c - timers and work queues. */
#include <criterion/criterion.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <signal.h>

static DECLARE_COMPLETION(entered);
static DECLARE_COMPLETION(leave);
static int runs;

struct ticker {
	struct timer_list timer;
	int left;
	bool was_atomic;
};

static void tick(struct timer_list *timer)
{
	struct ticker *ticker = from_timer(ticker, timer, timer);

	ticker->was_atomic = in_atomic();
	if (--ticker->left)
		mod_timer(timer, jiffies + 1);
	else
		complete(&entered);
}

Test(kernel_timers, run_in_atomic_context_and_arm_themselves)
{
	struct ticker ticker = { .left = 3 };

	timer_setup(&ticker.timer, tick, 0);
	cr_assert_not(timer_pending(&ticker.timer));
	cr_assert_eq(mod_timer(&ticker.timer, jiffies), 0);
	wait_for_completion(&entered);
	cr_assert_eq(del_timer_sync(&ticker.timer), 0);
	cr_assert_eq(ticker.left, 0);
	cr_assert(ticker.was_atomic);
}

static void note(struct timer_list *timer);
static DEFINE_TIMER(late, note);
static DEFINE_TIMER(early, note);
static struct timer_list *order[2];

static void note(struct timer_list *timer)
{
	order[runs++] = timer;
	if (runs == 2)
		complete(&entered);
}

Test(kernel_timers, the_earliest_is_first)
{
	unsigned long now = jiffies;

	mod_timer(&late, now + 100 * HZ);
	cr_assert_eq(mod_timer(&late, now + 4), 1);
	early.expires = now + 2;
	add_timer(&early);
	wait_for_completion(&entered);
	cr_assert_eq(order[0], &early);
	cr_assert_eq(order[1], &late);
	mod_timer(&late, jiffies + 100 * HZ);
	cr_assert(timer_pending(&late));
	cr_assert_eq(del_timer(&late), 1);
	cr_assert_eq(timer_delete(&late), 0);
	cr_assert_eq(timer_delete_sync(&early), 0);
}

/* The delay lets a call that does not wait be seen; it orders nothing. */
static void run_long(struct timer_list *timer)
{
	complete(&entered);
	mdelay(20);
	runs++;
	(void)timer;
}

Test(kernel_timers, the_sync_call_waits_for_the_function)
{
	static DEFINE_TIMER(timer, run_long);

	mod_timer(&timer, jiffies);
	wait_for_completion(&entered);
	cr_assert_eq(del_timer_sync(&timer), 0);
	cr_assert_eq(runs, 1);
}

static void wait_for_itself(struct timer_list *timer)
{
	del_timer_sync(timer);
}

Test(kernel_timers, one_that_waits_for_its_own_end_is_a_bug, .signal = SIGABRT)
{
	static DEFINE_TIMER(timer, wait_for_itself);

	mod_timer(&timer, jiffies);
	wait_for_completion(&entered);
}

static void hold(struct work_struct *work)
{
	__atomic_fetch_add(&runs, 1, __ATOMIC_SEQ_CST);
	complete(&entered);
	wait_for_completion(&leave);
	(void)work;
}

static void count(struct work_struct *work)
{
	__atomic_fetch_add(&runs, 1, __ATOMIC_SEQ_CST);
	(void)work;
}

static DECLARE_WORK(holder, hold);
static DECLARE_WORK(counter, count);

Test(kernel_works, an_item_is_pending_once_and_never_runs_twice_at_a_time)
{
	struct workqueue_struct *queue = alloc_workqueue("both/%d", WQ_UNBOUND, 2, 1);

	cr_assert(queue_work(queue, &holder));
	wait_for_completion(&entered);
	cr_assert(queue_work(queue, &holder));
	cr_assert_not(queue_work(queue, &holder));
	cr_assert(work_pending(&holder));
	cr_assert(queue_work(queue, &counter));
	flush_work(&counter); /* the other thread is free for it: the item beside it is not taken */
	cr_assert_eq(__atomic_load_n(&runs, __ATOMIC_SEQ_CST), 2);
	complete_all(&leave);
	flush_workqueue(queue);
	cr_assert_eq(__atomic_load_n(&runs, __ATOMIC_SEQ_CST), 3);
	cr_assert_not(flush_work(&holder));
	destroy_workqueue(queue);
}

static struct work_struct many[8];

Test(kernel_works, items_wait_for_each_other_without_a_standstill)
{
	for (int i = 0; i < 8; i++) {
		INIT_WORK(&many[i], hold);
		cr_assert(schedule_work(&many[i]));
	}
	for (int i = 0; i < 8; i++)
		wait_for_completion(&entered); /* all of them run at the same time */
	complete_all(&leave);
	flush_workqueue(system_wq);
}

static int sequence[8];

static void note_order(struct work_struct *work)
{
	sequence[runs++] = (int)(work - many);
}

Test(kernel_works, an_ordered_queue_keeps_the_order)
{
	struct workqueue_struct *queue = create_singlethread_workqueue("one");

	queue_work(queue, &holder);
	for (int i = 0; i < 8; i++) {
		INIT_WORK(&many[i], note_order);
		queue_work(queue, &many[i]);
	}
	wait_for_completion(&entered);
	runs = 0;
	cr_assert(cancel_work(&many[3]));
	complete_all(&leave);
	drain_workqueue(queue);
	for (int i = 0; i < 7; i++)
		cr_assert_eq(sequence[i], i < 3 ? i : i + 1);
	destroy_workqueue(queue);
}

/* Queues itself until that is refused, as it is from the begin of cancel_work_sync() to this function's end. */
static void requeue(struct work_struct *work)
{
	complete(&entered);
	while (queue_work(system_wq, work))
		cancel_work(work);
}

Test(kernel_works, cancel_ends_an_item_that_queues_itself)
{
	static DECLARE_WORK(work, requeue);

	schedule_work(&work);
	wait_for_completion(&entered);
	cancel_work_sync(&work);
	cr_assert_not(work_pending(&work));
	cr_assert(schedule_work(&work));
	wait_for_completion(&entered);
	cancel_work_sync(&work);
}

static void free_itself(struct work_struct *work)
{
	kfree(work);
	complete(&entered);
}

Test(kernel_works, an_item_may_free_itself)
{
	struct workqueue_struct *queue = create_workqueue("free");

	for (int i = 0; i < 10; i++) {
		struct work_struct *work = kzalloc(sizeof(*work), GFP_KERNEL);

		INIT_WORK(work, free_itself);
		queue_work(queue, work);
	}
	destroy_workqueue(queue); /* runs what is queued */
	for (int i = 0; i < 10; i++)
		cr_assert(try_wait_for_completion(&entered));
}

static void tell(struct work_struct *work)
{
	cr_assert_not(in_atomic());
	__atomic_fetch_add(&runs, 1, __ATOMIC_SEQ_CST);
	complete(&entered);
	cr_assert_eq(to_delayed_work(work)->work.func, work->func);
}

static DECLARE_DELAYED_WORK(delayed, tell);

Test(kernel_works, delayed_work_runs_when_it_is_time)
{
	u64 begin = emu_kernel_ns();

	cr_assert(schedule_delayed_work(&delayed, 3));
	cr_assert_not(schedule_delayed_work(&delayed, 0));
	cr_assert(delayed_work_pending(&delayed));
	wait_for_completion(&entered);
	cr_assert_geq(emu_kernel_ns() - begin, 2 * EMU_KERNEL_JIFFY_NS);
	cr_assert(queue_delayed_work(system_wq, &delayed, 0));
	wait_for_completion(&entered);
	cr_assert_not(cancel_delayed_work_sync(&delayed));
	cr_assert_eq(__atomic_load_n(&runs, __ATOMIC_SEQ_CST), 2);
}

Test(kernel_works, delayed_work_is_moved_flushed_and_cancelled)
{
	INIT_DELAYED_WORK(&delayed, tell);
	cr_assert(schedule_delayed_work(&delayed, 1000 * HZ));
	cr_assert(mod_delayed_work(system_wq, &delayed, 1));
	wait_for_completion(&entered);
	cr_assert_not(mod_delayed_work(system_wq, &delayed, 1000 * HZ));
	cr_assert(flush_delayed_work(&delayed));
	cr_assert_eq(__atomic_load_n(&runs, __ATOMIC_SEQ_CST), 2);
	cr_assert(schedule_delayed_work(&delayed, 1000 * HZ));
	cr_assert(cancel_delayed_work_sync(&delayed));
	cr_assert_not(cancel_delayed_work(&delayed));
	cr_assert_eq(__atomic_load_n(&runs, __ATOMIC_SEQ_CST), 2);
}

Test(kernel_works, a_storm_of_cancels_and_timers)
{
	for (int i = 0; i < 200; i++) {
		schedule_delayed_work(&delayed, i % 2);
		if (i % 3)
			cancel_delayed_work_sync(&delayed);
		else
			flush_delayed_work(&delayed);
		cr_assert_not(delayed_work_pending(&delayed));
	}
}
