/* SPDX-License-Identifier: BSD-2-Clause */
/* evict.h - when descriptors or connections run out: idle connections that others dialled, whose session holds nothing, are
 * closed to make room for new ones. Their sessions go on by the next dial of either side, as after a cut.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_EVICT_H
#define EMU_NIC_EVICT_H

#include <stdbool.h>

struct conn;
struct nic;

/* Counts the connection as idle from now on, until a request makes progress on it. */
void evict_candidate(struct conn *conn);
/* Closes some. False: there is none that could be. */
bool evict_idle(struct nic *nic);

#endif
