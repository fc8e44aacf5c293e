/* SPDX-License-Identifier: BSD-2-Clause */
/* errno.h - the error numbers of libfabric that the system's errno.h lacks, as the device uses them.
 * Same values as rdma/fi_errno.h; emu/fi asserts it. All others (FI_EACCES, FI_EAGAIN ...) are the system's. */
#ifndef EMU_NIC_ERRNO_H
#define EMU_NIC_ERRNO_H

#include <errno.h>

enum nic_errno {
	NIC_EAVAIL = 259,	/* an error entry is waiting */
	NIC_ETRUNC = 265,	/* message longer than the buffer */
	NIC_ENOKEY = 266,	/* key in use, or none left; not the system's ENOKEY */
};

#endif
