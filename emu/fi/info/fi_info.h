/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_info.h - fi_getinfo of the provider. Any thread, no serialization asked; name resolution may block. */
#ifndef EMU_FI_INFO_H
#define EMU_FI_INFO_H

#include <stdint.h>

struct fi_info;

/* 0 and *list; -FI_ENODATA after one warn-level line with the reason why nothing fits; -FI_EBADFLAGS, -FI_EINVAL,
 * -FI_ENOMEM. */
int emu_getinfo(uint32_t api, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
		struct fi_info **list);

#endif
