/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_hmem.h - the library of emulated devices (emu/hmem.h), where the program has loaded it. The provider does not depend on it. */
#ifndef EMU_FI_HMEM_H
#define EMU_FI_HMEM_H

#include <stdbool.h>

#include "include/emu/hmem.h"

/* Its functions; NULL: the program has not loaded it, or it has no devices. Any thread; takes the loader's lock, so not with the
 * driver role. */
const struct emu_hmem_ops *hmem_find(void);

/* Has the user forbidden NICs to reach devices directly (FI_HMEM_DISABLE_P2P=1, S155), and are there devices? This NIC makes no
 * copies instead, so there is no FI_HMEM then. */
bool hmem_forbidden(void);

/* Why query() says -EFAULT of a range: `text`, filled with words for a refusal. */
enum { HMEM_WHY_SIZE = 160 };
const char *hmem_why(const struct emu_hmem_ops *hmem, const void *at, char text[HMEM_WHY_SIZE]);

#endif
