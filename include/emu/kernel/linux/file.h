/* SPDX-License-Identifier: BSD-2-Clause */
/* file.h - nothing: a module has no descriptors. */
#ifndef EMU_KERNEL_LINUX_FILE_H
#define EMU_KERNEL_LINUX_FILE_H

#include <linux/fs.h>

#endif
