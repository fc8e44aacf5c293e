/* SPDX-License-Identifier: BSD-2-Clause */
/* service.h - services of managers (ep_attr.manages), which are found by a number that is no port of TCP: rdma_cm's. WIRE-180 and
 * WIRE-181.
 *
 * A service takes the UDP port of its number, where it answers questions with the port of the manager at the address that is asked.
 * All calls need the driver role. Errors are negative errnos. What is left ends with its endpoint. */
#ifndef EMU_NIC_SERVICE_H
#define EMU_NIC_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/base/thread_safety.h"

struct ep;
struct service;

/* Takes a number, *number 0: any that is free, at the address, AF_UNSPEC: at all. It is silent at first; then CM_SOUGHT tells each
 * question for it. 0 and the number; -EADDRINUSE: another has it; or what the link says. */
MUST_USE int service_open(struct ep *manager, const struct sockaddr_storage *at, uint16_t *number, void *owner,
			  struct service **out) REQUIRES(driver_role);
/* From now on it answers. */
void service_hear(struct service *service) REQUIRES(driver_role);
/* Asks the host at that address for the service whose number is the address's port: CM_FOUND or CM_REFUSED is told, and the
 * question has ended then. ECONNREFUSED: nobody has the number; ETIMEDOUT: nobody answers within nic_config.retry_budget_ns. */
MUST_USE int service_ask(struct ep *manager, const struct sockaddr_storage *at, void *owner, struct service **out)
	REQUIRES(driver_role);
/* Of a service: another may take the number. Of a question: nothing is told any more. */
void service_close(struct service *service) REQUIRES(driver_role);

#endif
