/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_asked.h - programs that do not come to this provider, told to reports: fi_getinfo found nothing, or libfabric did not ask.
 * A program may ask for more than it needs and then for less: readers of reports forgive what a process asked in vain that opened
 * a NIC.
 * Any thread. */
#ifndef EMU_FI_ASKED_H
#define EMU_FI_ASKED_H

/* libfabric has loaded the provider: the calling thread is in the program's first call. After settings_define(). */
void asked_loaded(void);
/* fi_getinfo of this provider is called. */
void asked_now(void);
/* It finds nothing. */
void asked_in_vain(const char *why);
/* At the provider's end, before report_end(): was it ever asked? */
void asked_end(void);

#endif
