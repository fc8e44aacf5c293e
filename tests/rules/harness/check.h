/* SPDX-License-Identifier: BSD-2-Clause */
/* check.h - the one way a rules or process test fails, or ends early.
 * In the test process a failed check ends the test. In a target process (target.h) it is told to the test process, which
 * fails in its place. Every message carries the label of the mode that the test is running in. */
#ifndef TESTS_RULES_CHECK_H
#define TESTS_RULES_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Longest wait for anything that must come: a hang guard, no promise of speed. */
enum { CHECK_GUARD_MS = 30000 };

#define CHECK(cond, ...)                                             \
	do {                                                         \
		if (!(cond))                                         \
			check_fail(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

/* A libfabric call that must return exactly `want`. */
#define CHECK_RC(want, call) check_rc(__FILE__, __LINE__, #call, (ssize_t)(call), (ssize_t)(want))

/* A libfabric call that must be refused with any negative fabric errno (S6). */
#define CHECK_REFUSED(call) check_refused(__FILE__, __LINE__, #call, (ssize_t)(call))

void check_fail(const char *file, int line, const char *fmt, ...) __attribute__((noreturn, format(printf, 3, 4)));
void check_rc(const char *file, int line, const char *call, ssize_t got, ssize_t want);
void check_refused(const char *file, int line, const char *call, ssize_t got);

/* Messages begin with this from now on; printf style. */
void check_label(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

enum check_end { CHECK_FAILED, CHECK_PERMITTED, CHECK_NOT_APPLICABLE };

/* Ends the test early: the provider refuses what the rule lets it refuse; the rule has no meaning here. */
#define PERMITTED(...) check_stop(CHECK_PERMITTED, __VA_ARGS__)
#define NOT_APPLICABLE(...) check_stop(CHECK_NOT_APPLICABLE, __VA_ARGS__)
void check_stop(enum check_end end, const char *fmt, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* Where ends go: default standard error and exit(). A test runner sets its own function, as does a target; it must not
 * return. */
extern void (*check_report)(enum check_end end, const char *text);

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t check_now_ms(void);

struct deadline {
	uint64_t end_ms;
};
struct deadline deadline_start(void);
/* Fails the test, naming `what`, when the hang guard has passed; otherwise lets another thread run. */
void deadline_check(const struct deadline *deadline, const char *what);

#endif
