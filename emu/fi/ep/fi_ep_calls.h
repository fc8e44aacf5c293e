/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ep_calls.h - the calls of endpoints. */
#ifndef EMU_FI_EP_CALLS_H
#define EMU_FI_EP_CALLS_H

#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <stdint.h>

#include "emu/fi/ep/fi_ep.h"
#include "emu/fi/personality/fi_attr.h"
#include "emu/nic/endpoint/cm.h"

/* --- The calls of endpoints that emu/fi/data and emu/fi/coll define, and the flags that may be an endpoint's defaults. They
 * are declared here, since an endpoint gets its tables when it is opened. Any thread. --- */

extern struct fi_ops_msg emu_msg_ops;
extern struct fi_ops_rma emu_rma_ops;
extern struct fi_ops_tagged emu_tagged_ops;
extern struct fi_ops_atomic emu_atomic_ops;
extern struct fi_ops_collective emu_collective_ops;

/* fi_join_collective(3), by fi_join(). */
int emu_ep_join(struct fid_ep *ep, const void *addr, uint64_t flags, struct fid_mc **mc, void *context);

/* The format that an endpoint of this info has to keep to (fi_tag_format.c), or 0: any tag will do. */
uint64_t tag_format(const struct emu_domain *domain, const struct fi_info *info);
/* Gives an endpoint that has its tables, and has ep->tag_format, the calls that look. */
void tag_format_tables(struct emu_ep *ep);

/* Flags that may be defaults of an endpoint's side, with exceptions: data_tx_defaults(). FI_COMMIT_COMPLETE is for writes of
 * endpoints with FI_RMA_PMEM alone: data_commit(); FI_MATCH_COMPLETE for fi_tsendmsg. */
#define DATA_TX_DEFAULTS (FI_COMPLETION | FI_INJECT | ATTR_LEVELS)
#define DATA_RX_DEFAULTS (FI_COMPLETION | ATTR_LEVELS)

/* The call is watched (emu/fi/check): in the defaults of an endpoint's sides, its capabilities, and the *msg calls of its tables.
 * Nor is this a flag of libfabric. */
#define DATA_WATCHED (1ull << 60)

/* FI_COMMIT_COMPLETE if a write may ask for it (S133), else 0. As a default it applies to no other op. */
static inline uint64_t data_commit(const struct emu_ep *ep)
{
	return ep->caps & FI_RMA_PMEM ? FI_COMMIT_COMPLETE : 0;
}

/* Completion levels that the endpoint does not have: no peer confirms that an unreliable datagram has arrived. */
static inline uint64_t data_no_levels(const struct emu_ep *ep)
{
	return ep->type == FI_EP_DGRAM ? FI_DELIVERY_COMPLETE : 0;
}

static inline uint64_t data_tx_defaults(const struct emu_ep *ep)
{
	return (DATA_TX_DEFAULTS | data_commit(ep)) & ~data_no_levels(ep);
}

/* FI_TRIGGER if a call may ask for it, else 0; and DATA_WATCHED likewise. */
static inline uint64_t data_trigger(const struct emu_ep *ep)
{
	return ep->caps & (FI_TRIGGER | DATA_WATCHED);
}

/* --- Connections: fi_connect, fi_accept, fi_getpeer, fi_shutdown of endpoints with FI_EP_MSG; for all others -FI_ENOSYS.
 * Passive endpoints are in fi_pep.c. fi_cm(3). --- */

int emu_ep_connect(struct fid_ep *ep, const void *addr, const void *param, size_t paramlen);
int emu_ep_accept(struct fid_ep *ep, const void *param, size_t paramlen);
int emu_ep_getpeer(struct fid_ep *ep, void *addr, size_t *addrlen);
int emu_ep_shutdown(struct fid_ep *ep, uint64_t flags);

/* The device's events of a connected endpoint go to its event queue. */
extern const struct cm_ops emu_ep_cm_events;

#endif
