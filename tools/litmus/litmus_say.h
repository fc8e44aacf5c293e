/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_say.h - tests and what came of them, in words. */
#ifndef LITMUS_SAY_H
#define LITMUS_SAY_H

#include "tools/litmus/litmus_run.h"

extern const char *const litmus_orders[ORDERS]; /* values of FI_EMU_ORDER, in the order of their bits */

/* Is the outcome forbidden where those bits of msg_order are told? */
bool litmus_forbids(const struct litmus *test, uint64_t told);
/* Is it allowed, and will the NIC show it under that order? */
bool litmus_shows(const struct litmus *test, unsigned order, uint64_t told);

/* A line of what was seen. */
void litmus_say_tally(const struct litmus *test, bool asked, unsigned order, const struct tally *tally);
/* The test: what each side does, the outcome, and the page that says so. */
void litmus_say_test(const struct litmus *test);
/* All tests as a table in Markdown. */
void litmus_say_table(void);

#endif
