/* SPDX-License-Identifier: BSD-2-Clause */
/* threads.h - starts the threads of this room. */
#ifndef EMU_KERNEL_THREADS_H
#define EMU_KERNEL_THREADS_H

/* Detached, and with all signals blocked: those are for the program's threads. 0 or -ENOMEM. */
int threads_start(void *(*run)(void *), void *arg);

#endif
