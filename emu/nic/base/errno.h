/* SPDX-License-Identifier: BSD-2-Clause */
/* errno.h - the error numbers of the device that the system's errno.h lacks, behind all of the system's. All others are
 * those. */
#ifndef EMU_NIC_ERRNO_H
#define EMU_NIC_ERRNO_H

#include <errno.h>

enum nic_errno {
	NIC_EAVAIL = 4096, /* an error entry is waiting */
	NIC_ETRUNC,        /* message longer than the buffer */
	NIC_ENORX,         /* receiver not ready */
	NIC_ENOKEY,        /* key in use, or none left; not the system's ENOKEY */
	NIC_EFIREWALL,     /* only the peer may connect, and it has not */
};

#endif
