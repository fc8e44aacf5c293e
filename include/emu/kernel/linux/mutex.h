/* SPDX-License-Identifier: BSD-2-Clause */
/* mutex.h - locks whose holders may sleep.
 * To lock one twice, or to unlock another thread's, is a BUG(). */
#ifndef EMU_KERNEL_LINUX_MUTEX_H
#define EMU_KERNEL_LINUX_MUTEX_H

#include <emu_kernel.h>
#include <linux/bug.h>
#include <linux/compiler.h>
#include <pthread.h>

struct mutex {
	pthread_mutex_t emu_lock;
	const void *emu_owner; /* an address of the thread that holds it */
};

#define __MUTEX_INITIALIZER(name)                     \
	{                                             \
		.emu_lock = PTHREAD_MUTEX_INITIALIZER \
	}
#define DEFINE_MUTEX(name) struct mutex name = __MUTEX_INITIALIZER(name)
#define mutex_init(lock) ((void)(*(lock) = (struct mutex)__MUTEX_INITIALIZER(lock)))

static inline void mutex_lock(struct mutex *lock)
{
	BUG_ON(READ_ONCE(lock->emu_owner) == &emu_kernel_atomic_depth);
	pthread_mutex_lock(&lock->emu_lock);
	WRITE_ONCE(lock->emu_owner, &emu_kernel_atomic_depth);
}

static inline int mutex_trylock(struct mutex *lock)
{
	if (pthread_mutex_trylock(&lock->emu_lock))
		return 0;
	WRITE_ONCE(lock->emu_owner, &emu_kernel_atomic_depth);
	return 1;
}

static inline void mutex_unlock(struct mutex *lock)
{
	BUG_ON(READ_ONCE(lock->emu_owner) != &emu_kernel_atomic_depth);
	WRITE_ONCE(lock->emu_owner, NULL);
	pthread_mutex_unlock(&lock->emu_lock);
}

static inline bool mutex_is_locked(struct mutex *lock)
{
	return READ_ONCE(lock->emu_owner);
}

static inline void mutex_destroy(struct mutex *lock)
{
	BUG_ON(mutex_is_locked(lock));
	pthread_mutex_destroy(&lock->emu_lock);
}

#define mutex_lock(lock) (EMU_KERNEL_SLEEPS("mutex_lock"), mutex_lock(lock))
/* No signal comes: they are 0 always. */
#define mutex_lock_interruptible(lock) \
	({                             \
		mutex_lock(lock);      \
		0;                     \
	})
#define mutex_lock_killable(lock) \
	({                        \
		mutex_lock(lock); \
		0;                \
	})
#define mutex_lock_nested(lock, subclass) mutex_lock(lock)

#endif
