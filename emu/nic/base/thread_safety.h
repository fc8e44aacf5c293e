/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_safety.h - which lock a function takes, gives back, or has to be called with: clang's -Wthread-safety holds the device to
 * it, as builds with clang have it (EmuFlags.cmake). For other compilers these are nothing.
 *
 * An attribute of a function stands behind its parameters, which it may name: REQUIRES(table->lock). In C a member cannot name the
 * lock beside it: a comment says which members are guarded, and the functions that look at them under the lock REQUIRE it. A lock
 * that is taken by another name than it is asked for by is not known to be the same. */
#ifndef EMU_NIC_THREAD_SAFETY_H
#define EMU_NIC_THREAD_SAFETY_H

#ifdef __clang__
#define THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define THREAD_SAFETY(...)
#endif

#define CAPABILITY(kind) THREAD_SAFETY(capability(kind))
#define REQUIRES(...) THREAD_SAFETY(requires_capability(__VA_ARGS__))
#define GUARDED_BY(lock) THREAD_SAFETY(guarded_by(lock))                     /* of a variable, whose lock is one, too */
#define ASSERT_CAPABILITY(...) THREAD_SAFETY(assert_capability(__VA_ARGS__)) /* what follows may count on it */
#define ACQUIRE(...) THREAD_SAFETY(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) THREAD_SAFETY(try_acquire_capability(__VA_ARGS__)) /* first argument: the result that means "taken" */
#define RELEASE(...) THREAD_SAFETY(release_capability(__VA_ARGS__))
#define UNCHECKED THREAD_SAFETY(no_thread_safety_analysis) /* the body: it makes one of another, or of atomics */

/* The driver role (driver.h), of whichever driver: attributes name it, and it is defined nowhere. Functions of the device that take
 * no part in this have role_assert(). */
extern struct CAPABILITY("role") driver_role driver_role;

#endif
