/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_front_end.h - libfabric's words and values for the device, which knows none by itself. */
#ifndef EMU_FI_FRONT_END_H
#define EMU_FI_FRONT_END_H

struct front_end;

extern const struct front_end emu_front_end;

#endif
