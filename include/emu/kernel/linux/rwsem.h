/* SPDX-License-Identifier: BSD-2-Clause */
/* rwsem.h - locks of many readers or one writer, whose holders may sleep.
 * A writer that waits goes before readers that come later. */
#ifndef EMU_KERNEL_LINUX_RWSEM_H
#define EMU_KERNEL_LINUX_RWSEM_H

#include <emu_kernel.h>
#include <linux/compiler.h>
#include <pthread.h>
#include <stdbool.h>

struct rw_semaphore {
	pthread_mutex_t emu_lock; /* guards all below */
	pthread_cond_t emu_changed;
	unsigned int emu_readers, emu_waiting; /* writers that wait, and readers behind them */
	bool emu_written;
};

#define __RWSEM_INITIALIZER(name)                                                              \
	{                                                                                      \
		.emu_lock = PTHREAD_MUTEX_INITIALIZER, .emu_changed = PTHREAD_COND_INITIALIZER \
	}
#define DECLARE_RWSEM(name) struct rw_semaphore name = __RWSEM_INITIALIZER(name)
#define init_rwsem(sem) ((void)(*(sem) = (struct rw_semaphore)__RWSEM_INITIALIZER(sem)))

void down_read(struct rw_semaphore *sem);
void down_write(struct rw_semaphore *sem);
int down_read_trylock(struct rw_semaphore *sem); /* 1: it is held */
int down_write_trylock(struct rw_semaphore *sem);
void up_read(struct rw_semaphore *sem); /* BUG() where nobody holds it so */
void up_write(struct rw_semaphore *sem);
void downgrade_write(struct rw_semaphore *sem); /* holds it for reading, without a gap */
int rwsem_is_locked(struct rw_semaphore *sem);

#define down_read(sem) (EMU_KERNEL_SLEEPS("down_read"), down_read(sem))
#define down_write(sem) (EMU_KERNEL_SLEEPS("down_write"), down_write(sem))

#endif
