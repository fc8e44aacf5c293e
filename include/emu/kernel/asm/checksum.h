/* SPDX-License-Identifier: BSD-2-Clause */
/* checksum.h - the Internet's checksum; on a machine with the low byte first. */
#ifndef EMU_KERNEL_ASM_CHECKSUM_H
#define EMU_KERNEL_ASM_CHECKSUM_H

#include <linux/types.h>

/* The Internet's checksum (RFC 1071) of bytes, added to `sum`: 32 bits, which csum_fold() makes 16 of. */
static inline u32 csum_partial(const void *data, int length, u32 sum)
{
	const u8 *bytes = data;
	u64 all = sum;

	for (int i = 0; i + 1 < length; i += 2)
		all += (u32)(bytes[i] | bytes[i + 1] << 8);
	if (length > 0 && length % 2)
		all += bytes[length - 1];
	while (all >> 32)
		all = (all & UINT32_MAX) + (all >> 32);
	return (u32)all;
}

static inline u16 csum_fold(u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (u16)~sum;
}

#endif
