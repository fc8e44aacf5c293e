/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_flag_names.c - names of flags: by emu/fi's code where kfabric has the bit as libfabric has it. */
#include "emu/kfi/provider/kemu_flag_names.h"

#include <kfi_tagged.h>
#include <stdio.h>

#include "emu/fi/provider/fi_flag_names.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/kfi/provider/kemu_bits.h"

static const char *kemu_bit_name(uint64_t bit, char text[FLAG_NAMES_MAX])
{
	if (bit == KFI_TAGGED_RMA)
		return "KFI_TAGGED_RMA";
	if (bit == KFI_TAGGED_MULTI_RECV)
		return "KFI_TAGGED_MULTI_RECV";
	if (kemu_is_flag(bit) || kemu_is_cap(bit)) {
		flag_names(bit, kemu_is_flag(bit) ? FI_TYPE_OP_FLAGS : FI_TYPE_CAPS, text);
		words_of_kernel(true); /* in this library, whose sentences are the kernel's alone */
		words_put(text, FLAG_NAMES_MAX);
	} else {
		snprintf(text, FLAG_NAMES_MAX, "bit %d", __builtin_ctzll(bit));
	}
	return text;
}

const char *kemu_flag_names(uint64_t flags, char text[KEMU_FLAG_NAMES_MAX])
{
	char name[FLAG_NAMES_MAX];
	size_t length = 0;

	*text = '\0';
	for (; flags && length < KEMU_FLAG_NAMES_MAX; flags &= flags - 1)
		length += (size_t)snprintf(text + length, KEMU_FLAG_NAMES_MAX - length, "%s%s", length ? ", " : "",
					   kemu_bit_name(flags & -flags, name));
	return text;
}
