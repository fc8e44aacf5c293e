/* SPDX-License-Identifier: BSD-2-Clause */
/* trace.h - what a NIC does, noted in a ring, or told frame by frame.
 *
 * While it is on, the nic's table of link operations is replaced by one that notes what passes, and each session takes the way of
 * those with a fault plan where ops are posted and end (fault_watching): so a nic that is not traced asks nothing on the path of an
 * op. Elsewhere nic->trace is asked. One nic a process is traced at a time, since lines do not know theirs.
 * Owner: the nic. Thread: holder of the driver role. */
#ifndef EMU_NIC_TRACE_H
#define EMU_NIC_TRACE_H

#include <stdbool.h>

#include "emu/nic/base/must_use.h"
#include "emu/nic/trace/trace_format.h"

struct link_ops;
struct mr;
struct nic;
struct op;

struct trace_config {
	void *memory; /* for a ring, as trace_ring_open() wants it; stays until the trace is off. NULL: none */
	uint32_t blocks, pid;
	/* Without `memory`: gets a line for each frame. Is no cancellation point, and calls nothing of the device. */
	void (*say)(const char *line);
};

/* 0, -EBUSY (on already, here or in another nic), or -ENOMEM. */
MUST_USE int nic_trace_on(struct nic *nic, const struct trace_config *config);
/* The memory is the caller's again. Does nothing if it is off. */
void nic_trace_off(struct nic *nic);
/* [role] The table of the link as it is without the trace. */
struct link_ops *trace_beneath(struct nic *nic);
bool nic_is_traced(const struct nic *nic);
/* In a fork's child: the parent's trace is no business of it. */
void trace_forked(void);

/* For the device, while it is traced; and see transport_calls.h. */
void trace_region(const struct nic *nic, const struct mr *mr, enum trace_region_event event);
void trace_posted(struct op *op);
void trace_ended(const struct op *op);
void trace_refused(const struct op *op); /* its leader's why says it */

#endif
