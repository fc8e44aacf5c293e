/* SPDX-License-Identifier: BSD-2-Clause */
/* numa.h - nodes.
 * The calls that take a node do not look at it. */
#ifndef EMU_KERNEL_LINUX_NUMA_H
#define EMU_KERNEL_LINUX_NUMA_H

#define NUMA_NO_NODE (-1)

int numa_node_id(void); /* of the processor that runs the caller now */

#endif
