/* SPDX-License-Identifier: BSD-2-Clause */
/* guard.h - touching program memory that may not be there (S18).
 *
 * The CPU touches the bytes of regions and of posted buffers only in here. A SIGSEGV/SIGBUS handler jumps back if this
 * very thread is inside a guard and the address lies in the guarded range; every other fault goes on to the program's
 * own handler (or the default action). Any thread; not from signal handlers. */
#ifndef EMU_NIC_GUARD_H
#define EMU_NIC_GUARD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "emu/nic/base/must_use.h"

/* Installs the handler, once a process; idempotent; safe from many threads. 0; -ENOSYS: there is no handler, and the kernel does
 * not copy either. */
MUST_USE int guard_install(void);
/* A thread asks the kernel from time to time whether faults come to the handler; if the program has put its own in place, which
 * lasts until ours is put before it again, or blocks the signals in this thread, the kernel copies. From here on this thread asks
 * anew: for the device when a region is new, so that the program's changes before the registration count. Its other changes count
 * from the first slice on that begins 0.4 ms later; a first fault in that time is the program's, as it would be without us. */
void guard_check(void);
/* This thread runs a slice of the device, in which no program code runs: the first access looks at the clock, and the others of
 * the slice believe it. */
void guard_slice_begin(void);
void guard_slice_end(void);
/* True once, when the program's handler is to stand before ours for good: the kernel copies from now on. */
bool guard_gave_up(void);
/* Faults are shown to `first` before all else; `guarded`: in an access of the guard's. True: it has dealt with it. In the
 * handler. NULL: nobody. */
typedef bool guard_first(const siginfo_t *info, void *context, bool guarded);
void guard_ask_first(guard_first *first);
/* Told around what the kernel touches for the guard: pages that are protected for a while are none that are missing. Constant; from
 * guard_copy(), guard_run() and guard_populate(). NULL: nobody. */
struct guard_kernel {
	void (*begin)(const struct iovec *iov, size_t count);
	void (*end)(void);
};

void guard_tell_kernel(const struct guard_kernel *told);
/* In the handler of a signal that comes behind an access: is it the guard's? */
bool guard_made(const void *context);
/* In a fork's child, which has the handlers, too. */
void guard_forked(void);

/* Copies, also where the ranges overlap; false if `to` cannot be written or `from` cannot be read (then some bytes may
 * have been copied). Before guard_install() by the kernel, a microsecond a call. */
MUST_USE bool guard_copy(void *to, const void *from, size_t length);

/* guard_copy() into the device's own memory, by `copy`, which processes the bytes on their way and touches nothing else; or by
 * other means, and then `copy` is called with the copy as both. */
typedef void guard_copier(void *to, const void *from, size_t length, void *arg);
bool guard_copy_by(guard_copier *copy, void *arg, void *to, const void *from, size_t length);

/* Runs `body`, which may touch `length` bytes at `at` and nothing else of the program's, and is left at the touch that faults:
 * it holds no lock and calls no guard. False: it was left, or, where the program's handler stands before ours and the kernel
 * looks first, the bytes cannot be read, or not written (`writable`), and it did not run. Memory that goes away between that
 * look and the touch is the program's fault to handle: the kernel has no atomic operations to offer instead. */
bool guard_run(void *at, size_t length, bool writable, void (*body)(void *arg), void *arg);

/* From now on memory of a file, `length` bytes, of which the file's owner may cut off what it likes: where that raised SIGBUS, zero
 * pages take the place of the whole range, and the touch goes through. One range a process, NULL and 0: none. Nobody touches it
 * meanwhile. Where the program has put its handler before ours, the signal is the program's. */
void guard_file(void *at, size_t length);

/* "Could be pinned" (S79): populates the range; writable says the NIC may write it. 0, or -EFAULT. Works on
 * kernels without MADV_POPULATE too. Never changes the contents. Rounds outward to pages; takes as long as the kernel
 * needs to supply the memory. */
int guard_populate(void *addr, size_t length, bool writable);

/* --- copies by the kernel, which answers where memory is missing and raises no signal (kernel_copy.c) ---
 * Dearer than the CPU's: the guard's way where a fault might not come to its handler. Any thread; no cancellation point. */

enum kernel_copied { KERNEL_COPIED, KERNEL_FAULTED, KERNEL_FORBIDDEN };

/* FAULTED: one of the two cannot be reached; some bytes may have been copied. FORBIDDEN: there is no way left here. */
enum kernel_copied kernel_copy(void *to, const void *from, size_t length);
/* Is there a way now? */
bool kernel_copies(void);
/* In a fork's child, which makes a pipe of its own. */
void kernel_copy_forked(void);

/* --- our handler of SIGSEGV and SIGBUS among the program's, for guard.c alone (fault_handler.c) ---
 * A fault that is not ours goes where it would have gone without us. Any thread, except as noted. */

/* Is it ours? In the handler: it changes the context so that the thread goes on elsewhere, or does not return. */
typedef bool fault_taker(const siginfo_t *info, void *context);

/* Once a process; idempotent. `taker` is always the same. True if faults come to the handler first. */
bool fault_handler_install(fault_taker *taker);
/* Do faults come to the handler first? Two system calls. */
bool fault_handler_is_first(void);
/* The program has put another in front: when it has stood there for some 10 ms, ours is put before it, and passes on to it what is
 * not ours. Until then it may be there for a moment only: to probe memory, or to end the process. Called from time to time. */
void fault_handler_return(uint64_t ticks);
/* True once, when the program has done so LIMIT_HANDLERS times: from then on its handler stays in front. */
bool fault_handler_gave_up(void);
void fault_handler_forked(void);

#endif
