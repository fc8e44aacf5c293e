/* SPDX-License-Identifier: BSD-2-Clause */
/* vcalls.h - the libibverbs.so.1 of the process. emu_rules is not linked with one: it loads the one that a program would get, so
 * that the tests of libfabric need none. Under emurun that is emu's. */
#ifndef TESTS_RULES_VERBS_VCALLS_H
#define TESTS_RULES_VERBS_VCALLS_H

/* Loads it; from then on the functions of <infiniband/verbs.h> can be called. NULL, or why it cannot be loaded. */
const char *vcalls_load(void);
/* The path of its file. */
const char *vcalls_path(void);

#endif
