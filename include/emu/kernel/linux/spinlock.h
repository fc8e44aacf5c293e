/* SPDX-License-Identifier: BSD-2-Clause */
/* spinlock.h - locks whose holders may not sleep.
 * A waiter sleeps in the C library instead of spinning. No interrupt comes: what an interrupt would run has a thread of its own,
 * and the lock keeps it out. So _irq and _bh lock as the plain calls do, and `flags` is 0. */
#ifndef EMU_KERNEL_LINUX_SPINLOCK_H
#define EMU_KERNEL_LINUX_SPINLOCK_H

#include <emu_kernel.h>
#include <linux/compiler.h>
#include <pthread.h>

typedef struct spinlock {
	pthread_mutex_t emu_lock;
	int emu_held;
} spinlock_t;
typedef spinlock_t raw_spinlock_t;

#define __SPIN_LOCK_UNLOCKED(name)                    \
	{                                             \
		.emu_lock = PTHREAD_MUTEX_INITIALIZER \
	}
#define DEFINE_SPINLOCK(name) spinlock_t name = __SPIN_LOCK_UNLOCKED(name)
#define spin_lock_init(lock) ((void)(*(lock) = (spinlock_t)__SPIN_LOCK_UNLOCKED(lock)))

static inline void spin_lock(spinlock_t *lock)
{
	emu_kernel_enter_atomic();
	pthread_mutex_lock(&lock->emu_lock);
	WRITE_ONCE(lock->emu_held, 1);
}

static inline int spin_trylock(spinlock_t *lock)
{
	if (pthread_mutex_trylock(&lock->emu_lock))
		return 0;
	emu_kernel_enter_atomic();
	WRITE_ONCE(lock->emu_held, 1);
	return 1;
}

static inline void spin_unlock(spinlock_t *lock)
{
	WRITE_ONCE(lock->emu_held, 0);
	pthread_mutex_unlock(&lock->emu_lock);
	emu_kernel_leave_atomic();
}

static inline int spin_is_locked(spinlock_t *lock)
{
	return READ_ONCE(lock->emu_held);
}

#define spin_lock_irq(lock) spin_lock(lock)
#define spin_unlock_irq(lock) spin_unlock(lock)
#define spin_lock_bh(lock) spin_lock(lock)
#define spin_unlock_bh(lock) spin_unlock(lock)
#define spin_trylock_bh(lock) spin_trylock(lock)
#define spin_lock_irqsave(lock, flags) \
	do {                           \
		(flags) = 0;           \
		spin_lock(lock);       \
	} while (0)
#define spin_unlock_irqrestore(lock, flags) \
	do {                                \
		(void)(flags);              \
		spin_unlock(lock);          \
	} while (0)
#define spin_lock_nested(lock, subclass) spin_lock(lock)

typedef struct {
	pthread_rwlock_t emu_lock;
} rwlock_t;

#define DEFINE_RWLOCK(name) rwlock_t name = { .emu_lock = PTHREAD_RWLOCK_INITIALIZER }
#define rwlock_init(lock) ((void)(*(lock) = (rwlock_t){ .emu_lock = PTHREAD_RWLOCK_INITIALIZER }))

static inline void read_lock(rwlock_t *lock)
{
	emu_kernel_enter_atomic();
	pthread_rwlock_rdlock(&lock->emu_lock);
}

static inline void read_unlock(rwlock_t *lock)
{
	pthread_rwlock_unlock(&lock->emu_lock);
	emu_kernel_leave_atomic();
}

static inline void write_lock(rwlock_t *lock)
{
	emu_kernel_enter_atomic();
	pthread_rwlock_wrlock(&lock->emu_lock);
}

static inline void write_unlock(rwlock_t *lock)
{
	read_unlock(lock);
}

#define read_lock_irq(lock) read_lock(lock)
#define read_unlock_irq(lock) read_unlock(lock)
#define write_lock_irq(lock) write_lock(lock)
#define write_unlock_irq(lock) write_unlock(lock)
#define read_lock_bh(lock) read_lock(lock)
#define read_unlock_bh(lock) read_unlock(lock)
#define write_lock_bh(lock) write_lock(lock)
#define write_unlock_bh(lock) write_unlock(lock)
#define read_lock_irqsave(lock, flags) \
	do {                           \
		(flags) = 0;           \
		read_lock(lock);       \
	} while (0)
#define read_unlock_irqrestore(lock, flags) \
	do {                                \
		(void)(flags);              \
		read_unlock(lock);          \
	} while (0)
#define write_lock_irqsave(lock, flags) \
	do {                            \
		(flags) = 0;            \
		write_lock(lock);       \
	} while (0)
#define write_unlock_irqrestore(lock, flags) \
	do {                                 \
		(void)(flags);               \
		write_unlock(lock);          \
	} while (0)

#endif
