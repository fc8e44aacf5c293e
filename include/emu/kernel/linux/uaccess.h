/* SPDX-License-Identifier: BSD-2-Clause */
/* uaccess.h - the user's memory, which is the module's here. */
#ifndef EMU_KERNEL_LINUX_UACCESS_H
#define EMU_KERNEL_LINUX_UACCESS_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <string.h>

#define access_ok(address, size) ((void)(size), (address) != NULL)

/* So many bytes could not be copied: none. */
static inline unsigned long copy_to_user(void __user *to, const void *from, unsigned long size)
{
	memcpy(to, from, size);
	return 0;
}

static inline unsigned long copy_from_user(void *to, const void __user *from, unsigned long size)
{
	memcpy(to, from, size);
	return 0;
}

#define get_user(value, pointer) ((value) = *(pointer), 0)
#define put_user(value, pointer) (*(pointer) = (value), 0)

#endif
