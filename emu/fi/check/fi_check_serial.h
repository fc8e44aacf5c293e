/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_serial.h - threads that are in data calls at the same time, where the threading model allows one (fi_domain(3)):
 * FI_THREAD_DOMAIN in a domain, FI_THREAD_COMPLETION in a completion queue and the endpoints that are bound to it. Control
 * calls, and fi_cq_signal, may come from any thread. Any thread; no locks. */
#ifndef EMU_FI_CHECK_SERIAL_H
#define EMU_FI_CHECK_SERIAL_H

struct check_object;
struct emu_cq;
struct emu_domain;
struct emu_ep;

/* Whose calls exclude each other; NULL: there is no such restriction. The queue may be NULL. */
struct check_object *check_serial_of(const struct emu_domain *domain, const struct emu_cq *cq);
/* The thread is in this call from here on. Tells if another is in one. */
void check_serial_enter(struct check_object *serial, const char *call);
/* Does nothing but for the thread that is noted. */
void check_serial_leave(struct check_object *serial);

#endif
