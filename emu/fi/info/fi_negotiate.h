/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_negotiate.h - hints against a personality: the answer of fi_getinfo without addresses, or why nothing fits. */
#ifndef EMU_FI_NEGOTIATE_H
#define EMU_FI_NEGOTIATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/fi/info/fi_attr.h"
#include "emu/fi/info/fi_settings.h"
#include "emu/fi/provider/fi_compat.h"

struct fi_info;

/* Returns an info of fi_allocinfo() with all but addresses, names and prov_name set, for endpoints of this type; or NULL with
 * one sentence in `why` (empty: out of memory). `hints` may be NULL. `layered`: a layered provider of libfabric asks, to build
 * upon this one. */
struct fi_info *negotiate(const struct settings *settings, uint32_t api, const struct fi_info *hints, const struct attr_type *type,
			  bool layered, char *why, size_t size);

/* FI_MULTI_RECV if receives of any kind know the flag, else 0. */
static inline uint64_t caps_multi(uint64_t caps)
{
	return caps & (FI_MULTI_RECV | COMPAT_TAGGED_MULTI_RECV) ? FI_MULTI_RECV : 0;
}

/* Adds the modifiers that capabilities imply: all of them if none is given (fi_getinfo(3)). */
uint64_t caps_complete(uint64_t caps);

#endif
