/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_absent.c - the names of librdmacm that are not built: programs are linked with some of them whether they call them or not.
 * Each fails with ENOSYS. Without <rdma/rdma_cma.h>, as no argument is looked at. */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

/* That return `type`: -1 or another value of failure, and errno. */
#define ABSENT(type, name, failure)     \
	EXPORT type name(void);         \
	type name(void)                 \
	{                               \
		errno = ENOSYS;         \
		return (type)(failure); \
	}
#define ABSENT_NOTHING(name)    \
	EXPORT void name(void); \
	void name(void)         \
	{                       \
		errno = ENOSYS; \
	}

ABSENT(int, raccept, -1)
ABSENT(int, rbind, -1)
ABSENT(int, rclose, -1)
ABSENT(int, rconnect, -1)
ABSENT(int, repoll_create, -1)
ABSENT(int, repoll_ctl, -1)
ABSENT(int, repoll_wait, -1)
ABSENT(int, rfcntl, -1)
ABSENT(int, rgetpeername, -1)
ABSENT(int, rgetsockname, -1)
ABSENT(int, rgetsockopt, -1)
ABSENT(off_t, riomap, -1)
ABSENT(int, riounmap, -1)
ABSENT(size_t, riowrite, -1)
ABSENT(int, rlisten, -1)
ABSENT(int, rpoll, -1)
ABSENT(ssize_t, rread, -1)
ABSENT(ssize_t, rreadv, -1)
ABSENT(ssize_t, rrecv, -1)
ABSENT(ssize_t, rrecvfrom, -1)
ABSENT(ssize_t, rrecvmsg, -1)
ABSENT(int, rselect, -1)
ABSENT(ssize_t, rsend, -1)
ABSENT(ssize_t, rsendmsg, -1)
ABSENT(ssize_t, rsendto, -1)
ABSENT(int, rsetsockopt, -1)
ABSENT(int, rshutdown, -1)
ABSENT(int, rsocket, -1)
ABSENT(ssize_t, rwrite, -1)
ABSENT(ssize_t, rwritev, -1)
