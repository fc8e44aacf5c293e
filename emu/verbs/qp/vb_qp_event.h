/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_qp_event.h - what the device tells of a queue pair (cm.h). */
#ifndef EMU_VB_QP_EVENT_H
#define EMU_VB_QP_EVENT_H

#include <stdbool.h>

struct cm_event;

/* With the driver role: it has gone to ERR by itself. */
bool vb_qp_event(void *owner, const struct cm_event *event);

#endif
