/* SPDX-License-Identifier: BSD-2-Clause */
/* init.h - marks of sections.
 * They are nothing: no memory is taken back after the start. */
#ifndef EMU_KERNEL_LINUX_INIT_H
#define EMU_KERNEL_LINUX_INIT_H

#define __init
#define __exit
#define __initdata
#define __initconst
#define __exitdata

#endif
