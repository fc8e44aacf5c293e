/* SPDX-License-Identifier: BSD-2-Clause */
/* lab_cm.h - what an exercise for librdmacm begins with, beside lab_verbs.h: ids on an event channel, and their queue pairs. */
#ifndef LAB_CM_H
#define LAB_CM_H

#include <rdma/rdma_cma.h>

#include "lab_verbs.h"

/* Opens the channel. */
void lab_open_channel(struct lab *lab);
/* Ends an id, its queue pair, the channel, and what was opened for them, in the place of lab_close(). */
int lab_close_id(struct lab *lab, struct rdma_cm_id *id);

/* A new id on the channel. */
struct rdma_cm_id *lab_id(struct lab *lab);
/* Waits for the next event, which must be this one. It is to be acknowledged. */
struct rdma_cm_event *lab_event(struct lab *lab, enum rdma_cm_event_type wanted);
/* Likewise, and acknowledges it. */
void lab_pass(struct lab *lab, enum rdma_cm_event_type wanted);
/* A reliable queue pair for an id that has a device. Each request has a completion. */
void lab_queue_pair(struct lab *lab, struct rdma_cm_id *id);

#endif
