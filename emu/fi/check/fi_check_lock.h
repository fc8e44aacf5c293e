/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_lock.h - is this thread inside checked mode, with one of its locks? A signal handler that has interrupted it there gets
 * none of them: what it calls is not looked at, and if it ends the process by exit(), nothing more is told. Any thread. */
#ifndef EMU_FI_CHECK_LOCK_H
#define EMU_FI_CHECK_LOCK_H

#include "emu/nic/base/mutex.h"

/* The locks that it has or is about to take, and the findings that it tells. */
extern _Thread_local volatile unsigned int check_inside;

static inline void check_lock(struct mutex *mutex) ACQUIRE(*mutex)
{
	check_inside++;
	mutex_lock(mutex);
}

static inline void check_unlock(struct mutex *mutex) RELEASE(*mutex)
{
	mutex_unlock(mutex);
	check_inside--;
}

#endif
