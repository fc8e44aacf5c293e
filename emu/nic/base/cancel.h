/* SPDX-License-Identifier: BSD-2-Clause */
/* cancel.h - thread cancellation where the driver role is held (D5).
 *
 * A thread that was cancelled in the middle of a slice would keep the role for ever. To switch cancellation off and on again
 * costs a post or a poll as much as all else that the role asks of it, four atomic operations among it; so it is left as the
 * program has it, and a slice reaches no cancellation point: with no_sleep.h a call of one does not compile, system calls are made
 * as in nocancel_file.h and nocancel_socket.h, and code of others that may reach one (the log, libfabric, libuv) is called between
 * these two. A program that may be
 * cancelled anywhere (PTHREAD_CANCEL_ASYNCHRONOUS), or in a signal handler that has interrupted a call, is on its own, as with
 * malloc(). tests/fi/cancel.c cancels. */
#ifndef EMU_NIC_CANCEL_H
#define EMU_NIC_CANCEL_H

#include <pthread.h>

/* Returns the argument for cancel_back(). Any thread. */
static inline int cancel_off(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void cancel_back(int state)
{
	pthread_setcancelstate(state, NULL);
}

#endif
