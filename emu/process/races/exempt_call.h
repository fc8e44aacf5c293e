/* SPDX-License-Identifier: BSD-2-Clause */
/* exempt_call.h - system calls from the only code whose calls are not trapped. Results are the kernel's: -errno. Any thread, any
 * signal handler. */
#ifndef EMU_PROCESS_EXEMPT_CALL_H
#define EMU_PROCESS_EXEMPT_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's, of 64 bits. */
typedef uint64_t exempt_mask;

struct exempt_action {
	uintptr_t handler;
	uint64_t flags;
	uintptr_t restorer;
	exempt_mask mask;
};

#define EXEMPT_BIT(sig) (UINT64_C(1) << ((sig)-1))

/* The code, for the kernel. */
extern const char exempt_begin[] __attribute__((visibility("hidden")));
extern const char exempt_end[] __attribute__((visibility("hidden")));

long exempt_call(long number, long a, long b, long c, long d, long e, long f) __attribute__((visibility("hidden")));
/* A handler's way back: the kernel's frame begins at `stack`. */
_Noreturn void exempt_sigreturn(uintptr_t stack) __attribute__((visibility("hidden")));
/* What a handler returns to. */
void exempt_restorer(void) __attribute__((visibility("hidden")));
/* clone() or clone3() with a new stack for a program whose registers are these (REG_ of ucontext): the child goes on in the
 * program. Below the child's stack stand the address where, and a record for watched_thread_born() or 0. */
long exempt_clone(long number, const long long *registers) __attribute__((visibility("hidden")));

/* Copies from the program's memory; false: it is not there. The fault handler knows the instructions. */
bool exempt_peek(void *to, const void *from, size_t length) __attribute__((visibility("hidden")));
/* The fault happened there: where to go on; 0: elsewhere. */
uintptr_t exempt_peek_landing(uintptr_t at);

long exempt_mprotect(uintptr_t at, size_t length, int protection);
long exempt_thread(void); /* its id */

/* Stores before it are seen before what is loaded after it. The thread sanitizer has no fences. */
static inline void exempt_fence(void)
{
	__asm__ volatile("mfence" : : : "memory");
}

/* Blocks all signals but faults and traps; returns the mask for exempt_unblock(). */
exempt_mask exempt_block(void);
void exempt_unblock(exempt_mask before);

/* A lock for code that has blocked signals: no signal handler interrupts its holder, but for the fault handler, which takes no
 * lock. */
struct exempt_lock {
	_Atomic unsigned int state; /* a futex: 0 free, 1 taken, 2 perhaps a thread sleeps */
};

void exempt_lock(struct exempt_lock *lock);
bool exempt_try(struct exempt_lock *lock);
void exempt_unlock(struct exempt_lock *lock);

#endif
