/* SPDX-License-Identifier: BSD-2-Clause */
/* sysctl.h - names of types for pointers. There is no sysctl: a table does not compile. */
#ifndef EMU_KERNEL_LINUX_SYSCTL_H
#define EMU_KERNEL_LINUX_SYSCTL_H

#include <linux/types.h>

struct ctl_table; /* a name for pointers: there is no sysctl. Give a module parameters, or files of debugfs.h. */
struct ctl_table_header;

#endif
