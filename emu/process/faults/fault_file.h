/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_file.h - the file of a fault plan, emu_fault(5). Any thread. */
#ifndef EMU_PROCESS_FAULT_FILE_H
#define EMU_PROCESS_FAULT_FILE_H

#include "emu/nic/faults/fault_plan.h"

/* Fills *plan. 0; or -EINVAL after a line of log that names file and line, and then *plan is invalid. */
int fault_read(const char *path, struct fault_plan *plan);
/* Likewise of the bytes of such a file. False: why[size] has a sentence that names the line. Nothing is logged. */
bool fault_read_text(const char *text, size_t length, struct fault_plan *plan, char *why, size_t size);

#endif
