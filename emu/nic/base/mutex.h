/* SPDX-License-Identifier: BSD-2-Clause */
/* mutex.h - a pthread mutex that clang's -Wthread-safety follows (thread_safety.h). For what is rare, or takes long; the locks on
 * the path of an op are futex locks. Any thread; not in a signal handler. */
#ifndef EMU_NIC_MUTEX_H
#define EMU_NIC_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

#include "emu/nic/base/thread_safety.h"

struct CAPABILITY("mutex") mutex {
	pthread_mutex_t pthread; /* for pthread_cond_wait() */
};

#define MUTEX_INITIALIZER                 \
	{                                 \
		PTHREAD_MUTEX_INITIALIZER \
	}

static inline void mutex_init(struct mutex *mutex)
{
	pthread_mutex_init(&mutex->pthread, NULL);
}

static inline void mutex_destroy(struct mutex *mutex)
{
	pthread_mutex_destroy(&mutex->pthread);
}

static inline void mutex_lock(struct mutex *mutex) ACQUIRE(*mutex) UNCHECKED
{
	pthread_mutex_lock(&mutex->pthread);
}

static inline bool mutex_trylock(struct mutex *mutex) TRY_ACQUIRE(true, *mutex) UNCHECKED
{
	return !pthread_mutex_trylock(&mutex->pthread);
}

static inline void mutex_unlock(struct mutex *mutex) RELEASE(*mutex) UNCHECKED
{
	pthread_mutex_unlock(&mutex->pthread);
}

/* In a fork's child, which is one thread: whatever the mutex guards is its own until it starts another. */
static inline void mutex_forked(struct mutex *mutex) ASSERT_CAPABILITY(*mutex) UNCHECKED
{
	*mutex = (struct mutex)MUTEX_INITIALIZER;
}

#endif
