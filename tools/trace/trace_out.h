/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_out.h - the forms in which a trace is written. Each returns 0, or -1: the file took no more. */
#ifndef EMU_TRACE_OUT_H
#define EMU_TRACE_OUT_H

#include <stdio.h>

#include "tools/trace/trace_model.h"

struct trace_filter {
	uint32_t pid; /* 0: all */
	int kind;     /* enum trace_kind; -1: all */
	bool refused; /* refused ops and what belongs to them alone */
	bool ops;     /* no frames */
};

int lines_write(const struct trace *trace, FILE *file, const struct trace_filter *filter);
int perfetto_write(const struct trace *trace, FILE *file);
int pcapng_write(const struct trace *trace, FILE *file);

#endif
