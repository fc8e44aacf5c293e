/* SPDX-License-Identifier: BSD-2-Clause */
/* sandbox.h - older or stricter kernels, played by a seccomp filter on the calling process, for good. */
#ifndef TESTS_SANDBOX_H
#define TESTS_SANDBOX_H

#include <stdbool.h>

/* True if the filter is in place. */
bool sandbox_refuse(int call, int err); /* this system call gives this errno */
bool sandbox_refuse_populate(void);     /* madvise(MADV_POPULATE_*) gives EINVAL, as before Linux 5.14 */
bool sandbox_refuse_process_vm(void);   /* process_vm_readv and _writev give EPERM */

/* Whether the kernel lets this process call process_vm_readv on itself: some container profiles do not. */
bool sandbox_allows_process_vm(void);
/* Whether userfaultfd tells this process of memory that it unmaps, without a privilege. */
bool sandbox_allows_userfaultfd(void);

#endif
