/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ctl_process.h - what is noted of the process when its NIC starts, for answers. By the thread that starts it. */
#ifndef EMU_FI_CTL_PROCESS_H
#define EMU_FI_CTL_PROCESS_H

struct settings;

void ctl_process_note(const struct settings *settings);

#endif
