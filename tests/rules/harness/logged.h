/* SPDX-License-Identifier: BSD-2-Clause */
/* logged.h - what the target's provider has logged. */
#ifndef TESTS_RULES_LOGGED_H
#define TESTS_RULES_LOGGED_H

#include "tests/rules/harness/target.h"

/* Starts a target that logs from the level of warnings on, and keeps it. */
void logged_start(struct target *target);
/* All so far; good until the next call. */
const char *logged_text(struct target *target);

#endif
