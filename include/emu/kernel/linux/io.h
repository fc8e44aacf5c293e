/* SPDX-License-Identifier: BSD-2-Clause */
/* io.h - no device has registers here: calls for them do not compile. */
#ifndef EMU_KERNEL_LINUX_IO_H
#define EMU_KERNEL_LINUX_IO_H

#include <linux/types.h>

void *ioremap(u64 address, size_t size) __attribute__((error("ioremap(): there are no registers of a device")));

#endif
