/* SPDX-License-Identifier: BSD-2-Clause */
/* hmem_fault.h - SIGSEGV of a program that touches a device's memory. */
#ifndef EMU_HMEM_FAULT_H
#define EMU_HMEM_FAULT_H

#include <stdbool.h>

/* Puts the handler over the one that is there, once a process. `tell` prints the line if the address is ours, and whatever it
 * does, the fault goes on to the handler before, or ends the process. 0 or -errno. */
int hmem_fault_install(void (*tell)(const void *addr));

#endif
