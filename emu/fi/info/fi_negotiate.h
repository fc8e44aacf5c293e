/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_negotiate.h - hints against a personality: the answer of fi_getinfo without addresses, or why nothing fits. */
#ifndef EMU_FI_NEGOTIATE_H
#define EMU_FI_NEGOTIATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/fi/personality/fi_attr.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_compat.h"

struct fi_info;

/* Returns an info of fi_allocinfo() with all but addresses, names and prov_name set, for endpoints of this type; or NULL with
 * one sentence in `why` (empty: out of memory). `hints` may be NULL. `layered`: a layered provider of libfabric asks, to build
 * upon this one. */
struct fi_info *negotiate(const struct settings *settings, uint32_t api, const struct fi_info *hints, const struct attr_type *type,
			  bool layered, char *why, size_t size);

#endif
