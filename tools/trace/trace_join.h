/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_join.h - rings of several processes to one trace. */
#ifndef EMU_TRACE_JOIN_H
#define EMU_TRACE_JOIN_H

#include "tools/trace/trace_model.h"
#include "tools/trace/trace_read.h"

/* The trace refers to the rings; both stay until the process ends. */
void trace_join(struct trace *trace, struct ring_file *rings, uint32_t count);

#endif
