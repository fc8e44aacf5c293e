/* SPDX-License-Identifier: BSD-2-Clause */
/* sys_impl.h - the two parts of libemu-sys.so: calls that name paths, and the tree that these lead to. */
#ifndef EMU_SYS_IMPL_H
#define EMU_SYS_IMPL_H

#include <stdbool.h>
#include <stddef.h>

struct ibv_device;

/* Makes the tree below `root`, which is there, or brings it up to date, by libibverbs' public calls: false if this process has no
 * emulated device. Any thread, one at a time. */
bool sys_tree_make(const char *root);
/* The folder of this user and these settings: false if it cannot be had. */
bool sys_tree_root(char *root, size_t size);

#endif
