/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check.h - checked mode, as the rest of the provider sees it.
 *
 * The setting is read when a fabric object is opened; objects of that fabric are checked from then on. Any thread. */
#ifndef EMU_FI_CHECK_H
#define EMU_FI_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include <rdma/fi_endpoint.h>

/* fi_fabric(): the provider's entry. Opens one, checked if the setting says so. */
int check_fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context);
/* The process ends by exit(), and the NIC still runs: tells of objects that are open, and of operations that are under way.
 * A signal handler may do that: where it has interrupted checked mode or a report, nothing is told. */
void check_exit(void);

#endif
