/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_refuse.h - the sentence of a call that is refused: first the call and the error, then the remedy. A program gets an errno
 * alone; the log, the reports and emuctl have the reason.
 *
 * The log goes to standard error, as rdma-core's own. EMU_LOG_LEVEL selects its lines: none, warn (the default), info, debug. A
 * repeated sentence is logged LIMIT_LOG_LINES times, and then once a second. Errors that a correct program meets and handles
 * (EAGAIN, a probe for what is not built) have no sentence at warn. Any thread; nothing is locked. */
#ifndef EMU_VB_REFUSE_H
#define EMU_VB_REFUSE_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* For librdmacm, too: node EMU_1. */
#pragma GCC visibility push(default)
/* Logs "CALL: sentence". The value is `errnum`, which is positive, and errno has it, too: so a call that returns an errno ends by
 * `return vb_refuse(EINVAL, "ibv_modify_qp", ...)`, and one that returns NULL by vb_refuse_null(). */
int vb_refuse(int errnum, const char *call, const char *format, ...) __attribute__((cold, format(printf, 3, 4)));
#define vb_refuse_null(errnum, call, ...) (vb_refuse(errnum, call, __VA_ARGS__), NULL)

/* A line of log at info, "CALL: sentence", and no finding: the program is right. */
void vb_inform(const char *call, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

/* EOPNOTSUPP, likewise in errno: what is asked for is not offered. A line of log at info, and no finding: programs ask so what
 * there is. */
int vb_absent(const char *call, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));
#define vb_absent_null(call, ...) (vb_absent(call, __VA_ARGS__), NULL)
#pragma GCC visibility pop

/* ENOENT, likewise: the object is no open `what` ("region"). */
int vb_refuse_handle(const char *call, uint32_t handle, const char *what) __attribute__((cold));
/* ENODEV, likewise: the object was made before fork(), and its NIC stays the parent's. Or EAGAIN without a sentence: the process
 * ends, and a thread goes on meanwhile, as a right program's may. */
int vb_inherited(const char *call) __attribute__((cold));
/* From now on the process has no NIC any more (vb_nic.c). */
void vb_refuse_ending(void);
bool vb_is_ending(void);

#endif
