/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_ctl.h - what the control socket answers (emu/net/ctl/ctl.h carries it), and where it lies. */
#ifndef EMU_FI_CTL_H
#define EMU_FI_CTL_H

#include "emu/net/ctl/ctl.h"

struct settings;

/* All by the NIC thread. An answer is lines of JSON; the last has the type "end", or "error" and a sentence. Each piece takes the
 * driver role at most once, for a bounded turn (view.h). */
extern const struct ctl_ops ctl_answers;

/* The folder of FI_EMU_CTL, or the default, for this user; NULL: off, or it cannot be named. Notes the settings for later answers,
 * so that it is to be called when the NIC starts. */
const char *ctl_folder(const struct settings *settings, char folder[CTL_PATH]);

#endif
