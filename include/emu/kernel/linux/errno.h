/* SPDX-License-Identifier: BSD-2-Clause */
/* errno.h - the error numbers, and those that only the kernel has.
 * The C library's errno.h includes this file, too. */
#ifndef EMU_KERNEL_LINUX_ERRNO_H
#define EMU_KERNEL_LINUX_ERRNO_H

#include_next <linux/errno.h>

#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ENOIOCTLCMD 515
#define EPROBE_DEFER 517
#define ENOTSUPP 524

#endif
