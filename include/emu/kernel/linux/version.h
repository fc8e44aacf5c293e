/* SPDX-License-Identifier: BSD-2-Clause */
/* version.h - the kernel whose interfaces the stand-ins have: 6.1. Of those that differ between kernels there is that one. */
#ifndef EMU_KERNEL_LINUX_VERSION_H
#define EMU_KERNEL_LINUX_VERSION_H

#define KERNEL_VERSION(a, b, c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
#define LINUX_VERSION_CODE KERNEL_VERSION(6, 1, 0)

#endif
