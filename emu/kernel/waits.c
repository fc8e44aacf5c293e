/* SPDX-License-Identifier: BSD-2-Clause */
/* waits.c - wait queues and completions. */
#include <linux/completion.h>
#include <linux/kernel.h>
#include <linux/wait.h>

void init_waitqueue_head(struct wait_queue_head *queue)
{
	pthread_mutex_init(&queue->emu_lock, NULL);
	INIT_LIST_HEAD(&queue->head);
}

bool waitqueue_active(struct wait_queue_head *queue)
{
	bool is_active;

	pthread_mutex_lock(&queue->emu_lock);
	is_active = !list_empty(&queue->head);
	pthread_mutex_unlock(&queue->emu_lock);
	return is_active;
}

/* The lock is held. Those that are exclusive stand behind the others. */
static void enter(struct wait_queue_head *queue, struct wait_queue_entry *entry, bool exclusive)
{
	if (!list_empty(&entry->entry))
		return;
	entry->emu_exclusive = exclusive;
	if (exclusive)
		list_add_tail(&entry->entry, &queue->head);
	else
		list_add(&entry->entry, &queue->head);
}

void add_wait_queue(struct wait_queue_head *queue, struct wait_queue_entry *entry)
{
	pthread_mutex_lock(&queue->emu_lock);
	enter(queue, entry, false);
	pthread_mutex_unlock(&queue->emu_lock);
}

void remove_wait_queue(struct wait_queue_head *queue, struct wait_queue_entry *entry)
{
	pthread_mutex_lock(&queue->emu_lock);
	list_del_init(&entry->entry);
	pthread_mutex_unlock(&queue->emu_lock);
}

static void prepare(struct wait_queue_head *queue, struct wait_queue_entry *entry, unsigned int state, bool exclusive)
{
	pthread_mutex_lock(&queue->emu_lock);
	enter(queue, entry, exclusive);
	set_current_state(state);
	pthread_mutex_unlock(&queue->emu_lock);
}

void prepare_to_wait(struct wait_queue_head *queue, struct wait_queue_entry *entry, unsigned int state)
{
	prepare(queue, entry, state, false);
}

void prepare_to_wait_exclusive(struct wait_queue_head *queue, struct wait_queue_entry *entry, unsigned int state)
{
	prepare(queue, entry, state, true);
}

void finish_wait(struct wait_queue_head *queue, struct wait_queue_entry *entry)
{
	set_current_state(TASK_RUNNING);
	remove_wait_queue(queue, entry);
}

void emu_kernel_wake_up(struct wait_queue_head *queue, unsigned int states, int exclusive)
{
	struct wait_queue_entry *at;

	pthread_mutex_lock(&queue->emu_lock);
	list_for_each_entry(at, &queue->head, entry)
		if (wake_up_state(at->emu_task, states) && at->emu_exclusive && !--exclusive)
			break;
	pthread_mutex_unlock(&queue->emu_lock);
}

/* --- completions: the lock of the queue guards `done` --- */

void init_completion(struct completion *completion)
{
	completion->done = 0;
	init_waitqueue_head(&completion->wait);
}

void reinit_completion(struct completion *completion)
{
	pthread_mutex_lock(&completion->wait.emu_lock);
	completion->done = 0;
	pthread_mutex_unlock(&completion->wait.emu_lock);
}

/* A waiter leaves the queue with its wake-up, so that the next complete() goes to another one. */
static void wake_first(struct completion *completion)
{
	struct wait_queue_entry *first;

	first = list_first_entry_or_null(&completion->wait.head, struct wait_queue_entry, entry);
	if (!first)
		return;
	list_del_init(&first->entry);
	wake_up_state(first->emu_task, TASK_NORMAL);
}

void complete(struct completion *completion)
{
	pthread_mutex_lock(&completion->wait.emu_lock);
	if (completion->done != UINT_MAX)
		completion->done++;
	wake_first(completion);
	pthread_mutex_unlock(&completion->wait.emu_lock);
}

void complete_all(struct completion *completion)
{
	pthread_mutex_lock(&completion->wait.emu_lock);
	completion->done = UINT_MAX;
	while (!list_empty(&completion->wait.head))
		wake_first(completion);
	pthread_mutex_unlock(&completion->wait.emu_lock);
}

/* The lock is held. */
static bool completion_take(struct completion *completion)
{
	if (!completion->done)
		return false;
	if (completion->done != UINT_MAX)
		completion->done--;
	return true;
}

bool try_wait_for_completion(struct completion *completion)
{
	bool taken;

	pthread_mutex_lock(&completion->wait.emu_lock);
	taken = completion_take(completion);
	pthread_mutex_unlock(&completion->wait.emu_lock);
	return taken;
}

bool completion_done(struct completion *completion)
{
	bool is_done;

	pthread_mutex_lock(&completion->wait.emu_lock);
	is_done = completion->done;
	pthread_mutex_unlock(&completion->wait.emu_lock);
	return is_done;
}

signed long emu_kernel_wait_for(struct completion *completion, signed long timeout, unsigned int state)
{
	DEFINE_WAIT(waiter);
	bool taken;

	pthread_mutex_lock(&completion->wait.emu_lock);
	while (!(taken = completion_take(completion)) && timeout) {
		enter(&completion->wait, &waiter, true);
		set_current_state(state);
		pthread_mutex_unlock(&completion->wait.emu_lock);
		timeout = (schedule_timeout)(timeout);
		pthread_mutex_lock(&completion->wait.emu_lock);
	}
	list_del_init(&waiter.entry);
	pthread_mutex_unlock(&completion->wait.emu_lock);
	if (!taken)
		return 0;
	return timeout ? timeout : 1;
}
