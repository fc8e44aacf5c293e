/* SPDX-License-Identifier: BSD-2-Clause */
/* spawn.c - threads of the provider's own. */
#include "emu/net/os/spawn.h"

#include <signal.h>
#include <stddef.h>

/* Signals that our own accesses raise stay unblocked: guard.c answers them, and blocked they would kill the process. */
int spawn(pthread_t *thread, const char *name, void *(*main)(void *arg), void *arg)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT };
	sigset_t blocked, old;
	int err;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&blocked, faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &old);
	err = pthread_create(thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err)
		pthread_setname_np(*thread, name);
	return -err;
}
