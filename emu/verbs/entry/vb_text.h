/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_text.h - words for numbers of the interface that its header gives none for. Any thread. */
#ifndef EMU_VB_TEXT_H
#define EMU_VB_TEXT_H

#include "emu/verbs/start/vb_abi.h"

/* Of a work request, for ibv_wr_opcode_str(). Never NULL. */
const char *vb_opcode_words(enum ibv_wr_opcode opcode);

#endif
