/* SPDX-License-Identifier: BSD-2-Clause */
/* page.h - a trace as one HTML page that needs nothing else: the style, the scripts, and the trace's data inside.
 *
 * Owner: the caller, of both; the trace is only read. One thread. */
#ifndef EMU_TRACE_PAGE_H
#define EMU_TRACE_PAGE_H

#include <stdio.h>

#include "tools/trace/trace_model.h"

/* 0, -ENOMEM, or the error by which `to` could not be written; flushes it. What was written is then no whole page. */
int page_write(const struct trace *trace, FILE *to);

#endif
