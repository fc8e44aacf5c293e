/* SPDX-License-Identifier: BSD-2-Clause */
/* third.h - a second initiator: one more process (target.h), which addresses the pair's target. It is started before the
 * pair's target is and stopped after it, since that one inherits the tester's end of its socket. */
#ifndef TESTS_RULES_THIRD_H
#define TESTS_RULES_THIRD_H

#include "tests/rules/harness/harness.h"

enum { THIRD_BYTES_MAX = 4096 };

/* Opens its endpoint with these wishes, and enters the pair's target into its AV. Its buffers are not registered, so it
 * wishes no FI_MR_LOCAL. */
void third_open(struct target *third, struct pair *p, const struct peer_want *want);
void third_close(struct target *third);

/* One operation of `len` bytes, none of them zero, and how it ended; the text is good until the next one. */
struct outcome third_write(struct target *third, uint64_t addr, uint64_t key, size_t len);
struct outcome third_send(struct target *third, size_t len);

#endif
