/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_flag_names.c - the bits of an argument in words. */
#include "emu/fi/provider/fi_flag_names.h"

#include <rdma/fi_domain.h>
#include <stdio.h>

#include "emu/fi/provider/fi_compat.h"

/* fi_tostr() lacks the names of some flags. */
static const struct {
	uint64_t flag;
	const char *name;
} others[] = {
	{ COMPAT_MR_DMABUF, "FI_MR_DMABUF" },           { COMPAT_MR_SINGLE_USE, "FI_MR_SINGLE_USE" },
	{ FI_HMEM_DEVICE_ONLY, "FI_HMEM_DEVICE_ONLY" }, { FI_HMEM_HOST_ALLOC, "FI_HMEM_HOST_ALLOC" },
	{ FI_COMMIT_COMPLETE, "FI_COMMIT_COMPLETE" },   { COMPAT_AUTH_KEY, "FI_AUTH_KEY" },
};

static void bit_name(uint64_t bit, enum fi_type first, char *name, size_t size)
{
	enum fi_type second = first == FI_TYPE_CAPS ? FI_TYPE_OP_FLAGS : FI_TYPE_CAPS;

	fi_tostr_r(name, size, &bit, first);
	for (size_t i = 0; first != FI_TYPE_CAPS && !*name && i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].flag == bit)
			snprintf(name, size, "%s", others[i].name);
	if (!*name)
		fi_tostr_r(name, size, &bit, second);
	if (!*name)
		snprintf(name, size, "bit %d", __builtin_ctzll(bit));
}

const char *flag_names(uint64_t flags, enum fi_type first, char text[FLAG_NAMES_MAX])
{
	size_t length = 0;

	snprintf(text, FLAG_NAMES_MAX, "none");
	for (; flags && length < FLAG_NAMES_MAX; flags &= flags - 1) {
		char name[64];

		bit_name(flags & -flags, first, name, sizeof(name));
		length += (size_t)snprintf(text + length, FLAG_NAMES_MAX - length, "%s%s", length ? ", " : "", name);
	}
	return text;
}
