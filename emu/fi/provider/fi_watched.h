/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_watched.h - what checked mode has to see where objects are made and used. emu/fi/check, which stands above those, defines it.
 * Any thread. */
#ifndef EMU_FI_WATCHED_H
#define EMU_FI_WATCHED_H

#include <stdbool.h>
#include <stddef.h>

#include <rdma/fi_endpoint.h>

#include "emu/nic/ops/watch.h"

/* An event queue of that many events has lost one. */
void check_event_lost(size_t size);
/* An endpoint is enabled: are its peers' accesses to be told to check_watch (EP_WATCHED)? */
bool check_wants_accesses(const struct fid_ep *ep);
/* An endpoint was opened: its posts are watched from now on. */
void check_ep_tables(struct fid_ep *ep);
/* Is this the table of calls of a checked object? It may be anything. */
bool check_has_table(const void *ops);
/* For nic_config. */
extern const struct watch_ops check_watch;

#endif
