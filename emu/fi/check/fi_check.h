/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check.h - checked mode, as the rest of the provider sees it.
 *
 * The setting is read when a fabric object is opened; objects of that fabric are checked from then on. Any thread. */
#ifndef EMU_FI_CHECK_H
#define EMU_FI_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include <rdma/fi_endpoint.h>

#include "emu/nic/ops/watch.h"

/* fi_fabric(): the provider's entry. Opens one, checked if the setting says so. */
int check_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
/* The process ends by exit(), and the NIC still runs: tells of objects that are open, and of operations that are under way.
 * A signal handler may do that: where it has interrupted checked mode or a report, nothing is told. */
void check_exit(void);
/* An event queue of that many events has lost one. */
void check_event_lost(size_t size);
/* An endpoint is enabled: are its peers' accesses to be told to check_watch (EP_WATCHED)? */
bool check_wants_accesses(const struct fid_ep *ep);
/* Is this the table of calls of a checked object? It may be anything. */
bool check_has_table(const void *ops);
/* For nic_config. */
extern const struct watch_ops check_watch;

#endif
