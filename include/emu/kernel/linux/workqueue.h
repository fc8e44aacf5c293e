/* SPDX-License-Identifier: BSD-2-Clause */
/* workqueue.h - work queues: threads that run functions.
 * A queue has as many threads as work waits, up to max_active. A work item never runs twice at the same
 * time, and may free itself. */
#ifndef EMU_KERNEL_LINUX_WORKQUEUE_H
#define EMU_KERNEL_LINUX_WORKQUEUE_H

#include <linux/list.h>
#include <linux/timer.h>
#include <linux/types.h>

struct workqueue_struct;
struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

struct work_struct {
	struct list_head entry;
	work_func_t func;
	/* Of emu_kernel alone. */
	struct workqueue_struct *emu_queue; /* where it is, or last was, queued */
	u64 emu_number;                     /* of its queueing */
	bool emu_pending;                   /* queued, or its timer runs */
	int emu_cancels;                    /* while above 0 it cannot be queued */
};

struct delayed_work {
	struct work_struct work;
	struct timer_list timer;
};

void emu_kernel_init_work(struct work_struct *work, work_func_t func);
void emu_kernel_init_delayed_work(struct delayed_work *work, work_func_t func);
void emu_kernel_delayed_work_due(struct timer_list *timer);
#define INIT_WORK(work, func) emu_kernel_init_work(work, func)
#define INIT_DELAYED_WORK(work, func) emu_kernel_init_delayed_work(work, func)
#define DECLARE_WORK(name, run) struct work_struct name = { .entry = LIST_HEAD_INIT((name).entry), .func = (run) }
#define DECLARE_DELAYED_WORK(name, run)                                                                     \
	struct delayed_work name = { .work = { .entry = LIST_HEAD_INIT((name).work.entry), .func = (run) }, \
				     .timer = { .function = emu_kernel_delayed_work_due } }

static inline struct delayed_work *to_delayed_work(struct work_struct *work)
{
	return container_of(work, struct delayed_work, work);
}

/* Flags change nothing: no memory is reclaimed by work, no processor is preferred. */
#define WQ_UNBOUND 0x2U
#define WQ_MEM_RECLAIM 0x8U
#define WQ_HIGHPRI 0x10U
#define WQ_CPU_INTENSIVE 0x20U
#define WQ_MAX_ACTIVE 512
#define WQ_DFL_ACTIVE 256

/* max_active 0 is WQ_DFL_ACTIVE. NULL without memory, or without a thread. */
struct workqueue_struct *emu_kernel_alloc_workqueue(unsigned int max_active, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define alloc_workqueue(format, flags, max_active, ...)       \
	(EMU_KERNEL_SLEEPS("alloc_workqueue"), (void)(flags), \
	 emu_kernel_alloc_workqueue((unsigned int)(max_active), format, ##__VA_ARGS__))
#define alloc_ordered_workqueue(format, flags, ...) alloc_workqueue(format, flags, 1, ##__VA_ARGS__)
#define create_workqueue(name) alloc_workqueue("%s", 0, 0, name)
#define create_singlethread_workqueue(name) alloc_ordered_workqueue("%s", 0, name)

/* Runs what is queued, then ends the threads. Delayed work whose time has not come is the caller's to cancel before. */
void destroy_workqueue(struct workqueue_struct *queue);
/* What was queued before this call has run at its end; drain: the queue is empty. */
void flush_workqueue(struct workqueue_struct *queue);
void drain_workqueue(struct workqueue_struct *queue);
#define destroy_workqueue(queue) (EMU_KERNEL_SLEEPS("destroy_workqueue"), destroy_workqueue(queue))
#define flush_workqueue(queue) (EMU_KERNEL_SLEEPS("flush_workqueue"), flush_workqueue(queue))
#define drain_workqueue(queue) (EMU_KERNEL_SLEEPS("drain_workqueue"), drain_workqueue(queue))

struct workqueue_struct *emu_kernel_system_wq(void);
#define system_wq emu_kernel_system_wq()
#define system_unbound_wq system_wq
#define system_highpri_wq system_wq
#define system_long_wq system_wq

/* False: it is pending already. mod_delayed_work(): true if it was pending, and its time is the new one. */
bool queue_work(struct workqueue_struct *queue, struct work_struct *work);
bool queue_delayed_work(struct workqueue_struct *queue, struct delayed_work *work, unsigned long delay);
bool mod_delayed_work(struct workqueue_struct *queue, struct delayed_work *work, unsigned long delay);
#define schedule_work(work) queue_work(system_wq, work)
#define schedule_delayed_work(work, delay) queue_delayed_work(system_wq, work, delay)

/* True if it was pending. The _sync calls wait until the function does not run any more. flush: until it has run. */
bool cancel_work(struct work_struct *work);
bool cancel_delayed_work(struct delayed_work *work);
bool cancel_work_sync(struct work_struct *work);
bool cancel_delayed_work_sync(struct delayed_work *work);
bool flush_work(struct work_struct *work);
bool flush_delayed_work(struct delayed_work *work);
#define cancel_work_sync(work) (EMU_KERNEL_SLEEPS("cancel_work_sync"), cancel_work_sync(work))
#define cancel_delayed_work_sync(work) (EMU_KERNEL_SLEEPS("cancel_delayed_work_sync"), cancel_delayed_work_sync(work))
#define flush_work(work) (EMU_KERNEL_SLEEPS("flush_work"), flush_work(work))
#define flush_delayed_work(work) (EMU_KERNEL_SLEEPS("flush_delayed_work"), flush_delayed_work(work))

static inline bool work_pending(struct work_struct *work)
{
	return __atomic_load_n(&work->emu_pending, __ATOMIC_RELAXED);
}
#define delayed_work_pending(delayed) work_pending(&(delayed)->work)

#endif
