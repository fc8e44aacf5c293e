/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_refuse.h - the provider's log; and the sentence of a call that is refused, at level warn: first the error, then the remedy.
 * The program gets only an errno; the log has the reason.
 *
 * Errors that a correct program meets and handles (-FI_EAGAIN, -FI_ETIMEDOUT, -FI_ECANCELED, -FI_ENOMEM without memory) have no
 * sentence. Calls by which programs ask whether something exists (fi_query_atomic, fi_getopt, fi_open_ops) have one at info level.
 * A repeated sentence is logged LIMIT_LOG_LINES times, and then once a second: a program may repeat a call for ever. Any thread,
 * including fork's children and signal handlers: nothing is locked. */
#ifndef EMU_FI_REFUSE_H
#define EMU_FI_REFUSE_H

#include <errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <stdbool.h>
#include <stdint.h>

/* --- the log --- */

extern struct fi_provider emu_provider;

/* One line of libfabric's log; FI_LOG_LEVEL selects the lines shown. `subsystem` as in FI_LOG_CORE: CORE, MR, CQ ... */
#define EMU_WARN(subsystem, ...) FI_WARN(&emu_provider, FI_LOG_##subsystem, __VA_ARGS__)
#define EMU_INFO(subsystem, ...) FI_INFO(&emu_provider, FI_LOG_##subsystem, __VA_ARGS__)

/* --- refused calls --- */

/* Logs the sentence; its value is `err`. `subsystem` as in EMU_WARN(). */
#define REFUSE(subsystem, err, ...) (refuse(FI_LOG_##subsystem, __VA_ARGS__), refused(err))
void refuse(enum fi_log_subsys subsystem, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));
static inline int refused(int err)
{
	return err;
}

/* -FI_EBADFLAGS: these bits mean nothing in `call`, or need a capability that was not asked for. */
int refuse_flags(enum fi_log_subsys subsystem, const char *call, uint64_t flags) __attribute__((cold));
#define REFUSE_FLAGS(subsystem, call, flags) refuse_flags(FI_LOG_##subsystem, call, flags)

/* The NIC does not serve this object: -FI_ENODEV, as it belongs to the process that has forked this one; or, without a sentence,
 * -FI_EAGAIN, as this process ends, and other threads of it are in calls until it is gone. */
int refuse_inherited(const char *call) __attribute__((cold));
/* Does this process end? By the provider's cleanup, and in a fork's child. */
void refuse_ending(bool ends);

/* -FI_ENOSYS: no object of this kind has the call. `instead`: the remedy, a sentence without its full stop. */
int refuse_missing(const char *call, const char *instead) __attribute__((cold));
/* -FI_ENOSYS: likewise, for a command of fi_control(). `object`: "an endpoint". */
int refuse_command(const char *object, int command) __attribute__((cold));
/* -FI_ENOSYS, of a call by which programs ask whether something exists: at info level. */
int refuse_probe(const char *call) __attribute__((cold));

#endif
