/* SPDX-License-Identifier: BSD-2-Clause */
/* uaccess.h - see linux/uaccess.h. */
#ifndef EMU_KERNEL_ASM_UACCESS_H
#define EMU_KERNEL_ASM_UACCESS_H

#include <linux/uaccess.h>

#endif
