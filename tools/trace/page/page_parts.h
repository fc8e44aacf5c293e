/* SPDX-License-Identifier: BSD-2-Clause */
/* page_parts.h - the files of the page as strings, made by embed.cmake. Constant: any thread may read them. */
#ifndef EMU_TRACE_PAGE_PARTS_H
#define EMU_TRACE_PAGE_PARTS_H

extern const char page_html[], page_css[];
extern const char *const page_scripts[]; /* in the order in which they run; ends with NULL */

#endif
