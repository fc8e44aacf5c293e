/* SPDX-License-Identifier: BSD-2-Clause */
/* fault.h - a module's fault in words. */
#ifndef EMU_KFI_FAULT_H
#define EMU_KFI_FAULT_H

/* From now on a signal that would end the process by a fault of the program's (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) prints
 * what happened, the address, and the calls that led there, before it does. To be called once, before the NIC starts, which looks
 * at faults first. */
void fault_report_begin(void);

#endif
