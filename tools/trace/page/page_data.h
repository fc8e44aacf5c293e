/* SPDX-License-Identifier: BSD-2-Clause */
/* page_data.h - a trace as the JSON that the page's scripts read (page_model.js).
 *
 * Owner: page_write(). One thread. */
#ifndef EMU_TRACE_PAGE_DATA_H
#define EMU_TRACE_PAGE_DATA_H

#include <stdio.h>

#include "tools/trace/trace_model.h"

/* 0 or -ENOMEM; the stream's own errors are left in it. */
int page_data_write(const struct trace *trace, FILE *to);

#endif
