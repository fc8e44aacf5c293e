/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_flag_names.h - the bits of a program's argument in words, for sentences. Any thread. */
#ifndef EMU_FI_FLAG_NAMES_H
#define EMU_FI_FLAG_NAMES_H

#include <rdma/fabric.h>
#include <stdint.h>

enum { FLAG_NAMES_MAX = 512 };

/* All of them in `text`, which is returned, by libfabric's names, or "bit 55" where it has none. Some have a name as a flag and
 * another as a capability: `first`, FI_TYPE_OP_FLAGS or FI_TYPE_CAPS, says which is meant. "none" for 0. */
const char *flag_names(uint64_t flags, enum fi_type first, char text[FLAG_NAMES_MAX]) __attribute__((cold));

#endif
