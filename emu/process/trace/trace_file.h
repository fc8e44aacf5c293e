/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_file.h - the process's trace: its file, and switching it (FI_EMU_TRACE, emuctl).
 *
 * Any thread that does not hold the driver role: files are opened, which may sleep. What fails is a line of log at most:
 * the program goes on without a trace. */
#ifndef EMU_PROCESS_TRACE_FILE_H
#define EMU_PROCESS_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct nic;

/* A process's first call begins what FI_EMU_TRACE asks for: "text", or a ring file of `size` bytes in a folder, which is made
 * if it is not there. Later calls do nothing. */
void trace_start(struct nic *nic, const char *where, size_t size);
/* While the process runs: on, into FI_EMU_TRACE's folder, else into `folder`; or off. `text` gets the file's name, or
 * a sentence on what failed. 0; -EALREADY: it is so; or another -errno. */
int trace_switch(bool on, const char *folder, char *text, size_t size);
/* Is a trace under way? `text`, if not NULL, gets the file's name. */
bool trace_is_on(char *text, size_t size);

#endif
