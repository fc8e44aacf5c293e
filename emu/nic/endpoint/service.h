/* SPDX-License-Identifier: BSD-2-Clause */
/* service.h - passive endpoints that are found by a number of their own, which is no port of TCP: rdma_cm's. WIRE-180 to WIRE-182.
 *
 * The number is the port at which the passive endpoint answers questions with the port where it listens. All calls need the driver
 * role. Errors are negative errnos. */
#ifndef EMU_NIC_SERVICE_H
#define EMU_NIC_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/base/thread_safety.h"

struct ep;

/* A passive endpoint takes a number at the addresses where it listens, *number 0: any that is free, and is silent at first. 0 and
 * the number; -EADDRINUSE: another has it; or what the link says. Once in its life. */
MUST_USE int ep_serve(struct ep *ep, uint16_t *number) REQUIRES(driver_role);
/* From now on it answers. */
void ep_serve_hear(struct ep *ep) REQUIRES(driver_role);
/* From now on it does not, and another may take the number. */
void ep_serve_end(struct ep *ep) REQUIRES(driver_role);
/* ep_connect(), when the passive endpoint is found that serves the number which is `at`'s port. CM_REFUSED, ECONNREFUSED: nobody
 * has it; ETIMEDOUT: nobody answers within nic_config.retry_budget_ns. */
MUST_USE int ep_ask(struct ep *ep, const struct sockaddr_storage *at, const void *data, size_t length) REQUIRES(driver_role);

#endif
