/* SPDX-License-Identifier: BSD-2-Clause */
/* inet.h - addresses of IPv4 as text. */
#ifndef EMU_KERNEL_LINUX_INET_H
#define EMU_KERNEL_LINUX_INET_H

#include <arpa/inet.h>
#include <linux/in.h>

static inline __be32 in_aton(const char *text)
{
	struct in_addr address = { 0 };

	return inet_aton(text, &address) ? address.s_addr : 0;
}

#endif
