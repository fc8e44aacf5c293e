/* SPDX-License-Identifier: BSD-2-Clause */
/* rcalls.h - the librdmacm.so.1 of the process, loaded as libibverbs.so.1 is (vcalls.h). */
#ifndef TESTS_RULES_VERBS_RCALLS_H
#define TESTS_RULES_VERBS_RCALLS_H

/* Loads it; from then on the functions of <rdma/rdma_cma.h> can be called. NULL, or why it cannot be loaded. */
const char *rcalls_load(void);

#endif
