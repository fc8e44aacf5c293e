/* SPDX-License-Identifier: BSD-2-Clause */
/* core_pin.h - the cores that this process may use. Thread: any. */
#ifndef PERF_CORE_PIN_H
#define PERF_CORE_PIN_H

/* How many; 0 if the kernel does not say. */
unsigned core_count(void);

/* Binds the calling thread (and every one that it starts) to the nth core, modulo their number, of those that the process
 * could use when it asked for the first time. 0 or a negative errno. */
int core_pin(unsigned nth);

#endif
