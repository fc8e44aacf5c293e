/* SPDX-License-Identifier: BSD-2-Clause */
/* uio.h - struct kvec.
 * There is no iov_iter. */
#ifndef EMU_KERNEL_LINUX_UIO_H
#define EMU_KERNEL_LINUX_UIO_H

#include <linux/types.h>
#include <sys/uio.h>

struct kvec {
	void *iov_base;
	size_t iov_len;
};

#endif
