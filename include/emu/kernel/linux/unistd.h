/* SPDX-License-Identifier: BSD-2-Clause */
/* unistd.h - numbers of system calls. */
#ifndef EMU_KERNEL_LINUX_UNISTD_H
#define EMU_KERNEL_LINUX_UNISTD_H

#include <sys/syscall.h>

#endif
