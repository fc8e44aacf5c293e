/* SPDX-License-Identifier: BSD-2-Clause */
/* qp_pages.h - the transitions of queue pairs as ibv_modify_qp(3) and the InfiniBand specification (10.3.1, 11.2.5.2) have them. */
#ifndef TESTS_UNIT_VERBS_QP_PAGES_H
#define TESTS_UNIT_VERBS_QP_PAGES_H

#include <infiniband/verbs.h>
#include <stdbool.h>

enum qp_column { PAGE_RC, PAGE_UC, PAGE_UD, PAGE_COLUMNS };
enum { PAGE_STATES = IBV_QPS_ERR + 1, PAGE_BITS = 26 }; /* bits of attr_mask that have names */

/* The attributes that the transition needs, and those that it allows beside them. False: it is none of that type. */
bool qp_page(enum qp_column column, enum ibv_qp_state from, enum ibv_qp_state to, int *needs, int *allows);
/* Does a device without alternate paths, whose queue pair is in `from`, take such a call? */
bool qp_pages_take(enum qp_column column, enum ibv_qp_state from, enum ibv_qp_state to, int mask);

#endif
