/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_front_end.h - libfabric's words and values for the device; and the device's numbers as libfabric has them. */
#ifndef EMU_FI_FRONT_END_H
#define EMU_FI_FRONT_END_H

#include <stdint.h>
#include <sys/types.h>

struct front_end;

extern const struct front_end emu_front_end;

/* An errno of the device, of either sign, or 0: the system's are the same in both. */
ssize_t status_of(ssize_t err);
/* FI_READ and so on, and FI_COLLECTIVE, of which no others are given: enum mr_access. */
uint32_t status_rights(uint64_t access);

#define STATUS_RIGHTS (FI_READ | FI_WRITE | FI_RECV | FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE)

#endif
