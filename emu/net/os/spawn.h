/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.h - threads of the provider's own in a program that knows nothing of them. */
#ifndef EMU_NET_SPAWN_H
#define EMU_NET_SPAWN_H

#include <pthread.h>

/* Starts a thread with the program's signals blocked: its handlers run in its own threads. `name` is at most 15 bytes.
 * 0 or -errno. */
int spawn(pthread_t *thread, const char *name, void *(*main)(void *arg), void *arg);

#endif
