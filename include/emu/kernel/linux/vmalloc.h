/* SPDX-License-Identifier: BSD-2-Clause */
/* vmalloc.h - mappings of their own, with a page without access behind each. */
#ifndef EMU_KERNEL_LINUX_VMALLOC_H
#define EMU_KERNEL_LINUX_VMALLOC_H

#include <emu_kernel.h>
#include <linux/types.h>

struct page;

void *vmalloc(unsigned long size);
void *vzalloc(unsigned long size);
void vfree(const void *address);
bool is_vmalloc_addr(const void *address);
/* NULL for memory that is not of vmalloc(). */
struct page *vmalloc_to_page(const void *address);

#define vmalloc(size) (EMU_KERNEL_SLEEPS("vmalloc"), vmalloc(size))
#define vzalloc(size) (EMU_KERNEL_SLEEPS("vzalloc"), vzalloc(size))

#endif
