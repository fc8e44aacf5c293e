/* SPDX-License-Identifier: BSD-2-Clause */
/* completion.h - completions: each complete() lets one waiter go, in the order of their coming. */
#ifndef EMU_KERNEL_LINUX_COMPLETION_H
#define EMU_KERNEL_LINUX_COMPLETION_H

#include <linux/wait.h>

struct completion {
	unsigned int done; /* UINT_MAX: complete_all() */
	struct wait_queue_head wait;
};

#define COMPLETION_INITIALIZER(name)                                          \
	{                                                                     \
		.done = 0, .wait = __WAIT_QUEUE_HEAD_INITIALIZER((name).wait) \
	}
#define DECLARE_COMPLETION(name) struct completion name = COMPLETION_INITIALIZER(name)
#define DECLARE_COMPLETION_ONSTACK(name) DECLARE_COMPLETION(name)

void init_completion(struct completion *completion);
void reinit_completion(struct completion *completion);
void complete(struct completion *completion);
void complete_all(struct completion *completion);
bool try_wait_for_completion(struct completion *completion);
bool completion_done(struct completion *completion);

/* The jiffies that were left, at least 1, or 0 at the end of the time. */
signed long emu_kernel_wait_for(struct completion *completion, signed long timeout, unsigned int state);

#define wait_for_completion(completion)            \
	(EMU_KERNEL_SLEEPS("wait_for_completion"), \
	 (void)emu_kernel_wait_for(completion, MAX_SCHEDULE_TIMEOUT, TASK_UNINTERRUPTIBLE))
#define wait_for_completion_timeout(completion, timeout)   \
	(EMU_KERNEL_SLEEPS("wait_for_completion_timeout"), \
	 (unsigned long)emu_kernel_wait_for(completion, (signed long)(timeout), TASK_UNINTERRUPTIBLE))
/* No signal comes. */
#define wait_for_completion_interruptible(completion) \
	({                                            \
		wait_for_completion(completion);      \
		0;                                    \
	})
#define wait_for_completion_killable(completion) \
	({                                       \
		wait_for_completion(completion); \
		0;                               \
	})
#define wait_for_completion_interruptible_timeout(completion, timeout)   \
	(EMU_KERNEL_SLEEPS("wait_for_completion_interruptible_timeout"), \
	 emu_kernel_wait_for(completion, (signed long)(timeout), TASK_INTERRUPTIBLE))

#endif
