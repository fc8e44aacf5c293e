/* SPDX-License-Identifier: BSD-2-Clause */
/* in.h - addresses of IPv4. */
#ifndef EMU_KERNEL_LINUX_IN_H
#define EMU_KERNEL_LINUX_IN_H

#include <linux/types.h>
#include <netinet/in.h>

#endif
