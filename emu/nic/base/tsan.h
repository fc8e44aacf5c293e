/* SPDX-License-Identifier: BSD-2-Clause */
/* tsan.h - tells the thread sanitizer of a program that a completion is read after the ops were posted. The sanitizer does not see
 * that order in a provider that is not built with it, and reports races on the program's own data: data that one thread writes
 * before a post, and another reads after a completion. One order for all ops of a process, as the sanitizer has for descriptors.
 * Without such a program both are a test of an address. A provider that is built with the sanitizer has nothing to tell. */
#ifndef EMU_NIC_TSAN_H
#define EMU_NIC_TSAN_H

#ifdef __SANITIZE_THREAD__ /* as gcc says it */
#define TSAN_BUILD 1
#elif defined(__has_feature) /* and clang */
#define TSAN_BUILD __has_feature(thread_sanitizer)
#else
#define TSAN_BUILD 0
#endif

#if TSAN_BUILD

static inline void tsan_post(void) {}
static inline void tsan_completion(void) {}

#else

extern char tsan_order; /* tsan.c */

/* The sanitizer's run time has them, if the program is built with it. */
__attribute__((weak)) void __tsan_acquire(void *order);
__attribute__((weak)) void __tsan_release(void *order);

/* A post: all that the thread has done before. */
static inline void tsan_post(void)
{
	if (__builtin_expect(__tsan_release != 0, 0))
		__tsan_release(&tsan_order);
}

/* A completion, a counter's value: all that was done before the posts. */
static inline void tsan_completion(void)
{
	if (__builtin_expect(__tsan_acquire != 0, 0))
		__tsan_acquire(&tsan_order);
}

#endif
#endif
