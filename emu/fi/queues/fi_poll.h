/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_poll.h - the poll set object (fi_poll(3)): which of several completion queues and counters have something. Objects in
 * one cannot be closed. Any thread. */
#ifndef EMU_FI_POLL_H
#define EMU_FI_POLL_H

#include <rdma/fi_domain.h>

int emu_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **pollset);

#endif
