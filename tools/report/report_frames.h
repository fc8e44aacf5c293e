/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_frames.h - finds the function and the line of stack frames by debugging information. A frame of a module without any,
 * or whose file is gone, stays as the process wrote it. One thread; nothing fails.
 */
#ifndef REPORT_FRAMES_H
#define REPORT_FRAMES_H

#include "tools/report/report_model.h"

/* Each module is read once, and each address looked up once. */
void report_resolve(struct report_run *run);

/* Where a frame is: file:line, or module+0x1234. */
const char *report_frame_place(const struct report_frame *frame);

/* The function, or NULL. */
const char *report_frame_function(const struct report_frame *frame);

#endif
