/* SPDX-License-Identifier: BSD-2-Clause */
/* io.h - see linux/io.h. */
#ifndef EMU_KERNEL_ASM_IO_H
#define EMU_KERNEL_ASM_IO_H

#include <linux/io.h>

#endif
