/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_commands.h - what the control socket answers (emu/net/ctl/ctl.h carries it), and where it lies. */
#ifndef EMU_PROCESS_CTL_COMMANDS_H
#define EMU_PROCESS_CTL_COMMANDS_H

#include <stdbool.h>

#include "emu/net/ctl/ctl.h"

/* All by the NIC thread. An answer is lines of JSON; the last has the type "end", or "error" and a sentence. Each piece takes the
 * driver role at most once, for a bounded turn (view.h). */
extern const struct ctl_ops ctl_answers;

/* The folder of control sockets of this user: `set`, or if that is NULL the default. NULL: it is "", or it cannot be named. */
const char *ctl_folder(const char *set, char folder[CTL_PATH]);
/* Notes what answers say of the process, whose environment may change later. By the thread that starts the NIC, before it runs. */
void ctl_process_note(const char *personality, bool manual);

#endif
