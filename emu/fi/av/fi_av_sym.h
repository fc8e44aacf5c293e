/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_sym.h - the n-th name of a symmetric range: 10.1.1.1 and 1 give 10.1.1.2, host09 and 1 give host10, 5000 and 1
 * give 5001 (fi_av_insertsym, fi_av(3)). Pure. */
#ifndef EMU_FI_AV_SYM_H
#define EMU_FI_AV_SYM_H

#include <stdbool.h>
#include <stddef.h>

enum {
	SYM_NAME_MAX = 256,      /* bytes of a name */
	SYM_COUNT_MAX = 1 << 16, /* nodes, and services, of one call */
};

/* False if the name has no n-th successor of its kind or is too long. `out`: SYM_NAME_MAX bytes. */
bool sym_node(const char *first, size_t n, char *out);
bool sym_service(const char *first, size_t n, char *out);

#endif
