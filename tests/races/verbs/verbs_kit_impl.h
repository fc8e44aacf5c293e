/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_kit_impl.h - what the parts of the kit share. */
#ifndef TESTS_RACES_VERBS_KIT_IMPL_H
#define TESTS_RACES_VERBS_KIT_IMPL_H

#include "tests/races/verbs/verbs_kit.h"

enum { QKEY = 0x1111 };

const struct wanted *wanted(void);

/* The capabilities of each queue pair. */
struct ibv_qp_init_attr kit_qp_attr(void);

/* By rdma_cm: its device, with which the objects are made that manager_connect() needs. */
struct ibv_context *manager_open(void);
void manager_connect(void);
void manager_close(void);
/* By rsockets. */
void stream_open(void);
void stream_close(void);

#endif
