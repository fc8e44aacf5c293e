/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.h - threads of the provider's own in a program that knows nothing of them. */
#ifndef EMU_NET_SPAWN_H
#define EMU_NET_SPAWN_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with the program's signals blocked: its handlers run in its own threads. `name` is at most 15 bytes.
 * 0 or -errno. */
int spawn(pthread_t *thread, const char *name, void *(*main)(void *arg), void *arg);

/* Is this a thread that spawn() has started, by the kernel's number of it? Any thread, any lock. */
bool spawn_is_own(int id);
/* Each thread that is started from now on calls it first. */
void spawn_tell(void (*began)(void));

#endif
