/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_negotiate.h - hints against a personality: what fi_getinfo answers, addresses aside, or why nothing fits. */
#ifndef EMU_FI_NEGOTIATE_H
#define EMU_FI_NEGOTIATE_H

#include <stddef.h>
#include <stdint.h>

#include "emu/fi/fi_compat.h"
#include "emu/fi/fi_settings.h"

struct fi_info;

/* Returns an info of fi_allocinfo() with all but addresses, names and prov_name set, for endpoints of this type; or NULL with
 * one sentence in `why` (empty: out of memory). `hints` may be NULL. */
struct fi_info *negotiate(const struct settings *settings, uint32_t api, const struct fi_info *hints,
			  const struct attr_type *type, char *why, size_t size);

/* FI_MULTI_RECV if receives of any kind know the flag, else 0. */
static inline uint64_t caps_multi(uint64_t caps)
{
	return caps & (FI_MULTI_RECV | COMPAT_TAGGED_MULTI_RECV) ? FI_MULTI_RECV : 0;
}

/* Fills in what the capabilities imply: without a modifier all of them (fi_getinfo(3)). */
uint64_t caps_complete(uint64_t caps);

#endif
