/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.c - threads of the provider's own. */
#include "emu/net/os/spawn.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { OWN_THREADS = 64 }; /* at once; others are not known */

struct beginning {
	void *(*main)(void *arg);
	void *arg;
};

static atomic_int own[OWN_THREADS]; /* 0: free */
static _Atomic(void (*)(void)) told;

bool spawn_is_own(int id)
{
	for (int i = 0; i < OWN_THREADS; i++)
		if (atomic_load(&own[i]) == id)
			return true;
	return false;
}

void spawn_tell(void (*began)(void))
{
	atomic_store(&told, began);
}

static atomic_int *spawn_enter(void)
{
	for (int i = 0; i < OWN_THREADS; i++) {
		int none = 0;

		if (atomic_compare_exchange_strong(&own[i], &none, (int)syscall(SYS_gettid)))
			return &own[i];
	}
	return NULL;
}

static void *spawn_begin(void *arg)
{
	struct beginning beginning = *(struct beginning *)arg;
	atomic_int *entry = spawn_enter();
	void (*began)(void) = atomic_load(&told);
	void *result;

	free(arg);
	if (began)
		began();
	result = beginning.main(beginning.arg);
	if (entry)
		atomic_store(entry, 0);
	return result;
}

/* Signals that our own accesses raise stay unblocked: guard.c answers them, and blocked they would kill the process. */
int spawn(pthread_t *thread, const char *name, void *(*main)(void *arg), void *arg)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
	struct beginning *beginning = malloc(sizeof(*beginning));
	sigset_t blocked, old;
	int err;

	if (!beginning)
		return -ENOMEM;
	beginning->main = main;
	beginning->arg = arg;
	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &old);
	err = pthread_create(thread, NULL, spawn_begin, beginning);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		free(beginning);
	else
		pthread_setname_np(*thread, name);
	return -err;
}
