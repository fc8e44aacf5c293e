/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_unbuilt.h - calls of the tables that are not built. */
#ifndef EMU_VB_UNBUILT_H
#define EMU_VB_UNBUILT_H

#include "emu/verbs/start/vb_abi.h"

/* Before those that are built are entered. */
void vb_fill_unbuilt(struct vb_abi_context *abi);

#endif
