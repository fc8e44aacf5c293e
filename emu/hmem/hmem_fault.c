/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_fault.c - says what a fault was, and passes it on. A fault never ends here: where nobody handled it before, it comes again
 * with the default action in place, so that the core dump shows the instruction. The provider's guard (guard.h) puts its handler
 * over this one when the NIC starts, and takes the faults of its own copies. */
#include "emu/hmem/hmem_impl.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

static void (*tell_of)(const void *addr);
static struct sigaction below;

static void pass_on(int sig, siginfo_t *info, void *context)
{
	struct sigaction action = below;
	bool ends = !(action.sa_flags & SA_SIGINFO) && (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);

	if (ends && action.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (ends) {
		sigaction(sig, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
		if (info->si_code <= 0)
			raise(sig);
		return;
	}
	if (action.sa_flags & (int)SA_RESETHAND)
		below = (struct sigaction){ .sa_handler = SIG_DFL };
	if (!(action.sa_flags & SA_NODEFER))
		sigaddset(&action.sa_mask, sig);
	pthread_sigmask(SIG_BLOCK, &action.sa_mask, NULL); /* returning from the handler undoes it */
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(sig, info, context);
	else
		action.sa_handler(sig);
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	if (info->si_code > 0) /* a fault, not a signal that was sent */
		tell_of(info->si_addr);
	pass_on(sig, info, context);
	errno = saved;
}

int hmem_fault_install(void (*tell)(const void *addr))
{
	struct sigaction action = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	tell_of = tell;
	if (sigaction(SIGSEGV, NULL, &below) || sigaction(SIGSEGV, &action, NULL))
		return -errno;
	return 0;
}
