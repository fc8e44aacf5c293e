/* SPDX-License-Identifier: BSD-2-Clause */
/* kfi_errno.h - kfabric's errors: the system's by another name, and from 256 on those of fi_errno(3). Calls return them negated. */
#ifndef EMU_KFI_ERRNO_H
#define EMU_KFI_ERRNO_H

#include <linux/errno.h>

#define KFI_SUCCESS 0
#define KFI_ENOENT ENOENT
#define KFI_EIO EIO
#define KFI_E2BIG E2BIG
#define KFI_EBADF EBADF
#define KFI_EAGAIN EAGAIN
#define KFI_ENOMEM ENOMEM
#define KFI_EACCES EACCES
#define KFI_EBUSY EBUSY
#define KFI_ENODEV ENODEV
#define KFI_EINVAL EINVAL
#define KFI_EMFILE EMFILE
#define KFI_ENOSPC ENOSPC
#define KFI_ENOSYS ENOSYS
#define KFI_ENOMSG ENOMSG
#define KFI_ENODATA ENODATA
#define KFI_EMSGSIZE EMSGSIZE
#define KFI_ENOPROTOOPT ENOPROTOOPT
#define KFI_EOPNOTSUPP EOPNOTSUPP
#define KFI_EADDRINUSE EADDRINUSE
#define KFI_EADDRNOTAVAIL EADDRNOTAVAIL
#define KFI_ENETDOWN ENETDOWN
#define KFI_ENETUNREACH ENETUNREACH
#define KFI_ECONNABORTED ECONNABORTED
#define KFI_ECONNRESET ECONNRESET
#define KFI_EISCONN EISCONN
#define KFI_ENOTCONN ENOTCONN
#define KFI_ESHUTDOWN ESHUTDOWN
#define KFI_ETIMEDOUT ETIMEDOUT
#define KFI_ECONNREFUSED ECONNREFUSED
#define KFI_EHOSTUNREACH EHOSTUNREACH
#define KFI_EALREADY EALREADY
#define KFI_EINPROGRESS EINPROGRESS
#define KFI_EREMOTEIO EREMOTEIO
#define KFI_ECANCELED ECANCELED
#define KFI_EKEYREJECTED EKEYREJECTED

#define KFI_ERRNO_OFFSET 256

enum {
	KFI_EOTHER = KFI_ERRNO_OFFSET, /* an error without a number of its own */
	KFI_ETOOSMALL = 257,           /* the buffer is too small */
	KFI_EOPBADSTATE = 258,         /* not in this state of the object */
	KFI_EAVAIL = 259,              /* the next entry is an error: kfi_cq_readerr(), kfi_eq_readerr() */
	KFI_EBADFLAGS = 260,           /* flags that the call does not take */
	KFI_ENOEQ = 261,               /* no event queue is bound */
	KFI_EDOMAIN = 262,             /* objects of different domains */
	KFI_ENOCQ = 263,               /* no completion queue is bound */
	KFI_ECRC = 264,                /* damaged data */
	KFI_ETRUNC = 265,              /* the message was longer than the buffer */
	KFI_ENOKEY = 266,              /* the key is taken, or unknown */
	KFI_ENOAV = 267,               /* no address vector is bound */
	KFI_EOVERRUN = 268,            /* the queue lost entries */
};

/* Gives the words for a positive error number: fi_errno(3), fi_strerror. The text is static. */
const char *kfi_strerror(int errnum);

#endif
