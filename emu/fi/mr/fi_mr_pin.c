/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_mr_pin.c - io_uring's errors of pinning, in sentences that tell what to change. */
#include "emu/fi/mr/fi_mr.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <sys/resource.h>

#include "emu/fi/provider/fi_refuse.h"
#include "emu/net/memory/uffd.h"
#include "emu/net/memory/uring.h"
#include "emu/nic/base/limits.h"

bool mr_pin_rules(int rules)
{
	return (rules & FI_MR_ALLOCATED) && !(rules & FI_MR_MMU_NOTIFY);
}

int mr_pin_start(void)
{
	const char *why;
	int err = uring_start();

	if (!err && remap_start(&why))
		EMU_WARN(DOMAIN,
			 "FI_EMU_PINNED: a program that changes the mapping of registered memory (S80) is not told: "
			 "%s\n",
			 why);
	if (!err)
		return 0;
	EMU_WARN(DOMAIN, "FI_EMU_PINNED needs io_uring, and %s (%s). Allow it, or unset FI_EMU_PINNED\n",
		 err == -EPERM    ? "the kernel's setting kernel.io_uring_disabled or the container's seccomp profile forbids it"
		 : err == -ENOSYS ? "the kernel has none, or one before 5.13"
				  : "it cannot be started",
		 fi_strerror(-err));
	return -FI_EOPNOTSUPP;
}

int mr_pin(const struct iovec *segments, size_t count, struct pin **pin)
{
	struct rlimit limit = { .rlim_cur = 0 };
	int err = uring_pin(segments, count, pin);

	switch (err) {
	case 0:
		if (!uring_watched(*pin))
			EMU_INFO(MR, "fi_mr_reg with FI_EMU_PINNED: changes of this mapping (S80) are not reported\n");
		return 0;
	case -ENOMEM:
		getrlimit(RLIMIT_MEMLOCK, &limit);
		EMU_WARN(MR,
			 "fi_mr_reg with FI_EMU_PINNED: the memory cannot be pinned, as no hardware could pin it. The "
			 "locked memory of this user may come to %llu B (RLIMIT_MEMLOCK): raise it by ulimit -l\n",
			 (unsigned long long)limit.rlim_cur);
		return -FI_ENOMEM;
	case -ENOSPC:
		EMU_WARN(MR, "fi_mr_reg with FI_EMU_PINNED: no more than %d pieces of up to %d MiB are pinned in a process\n",
			 LIMIT_PINNED, 1 << (LIMIT_PINNED_SHIFT - 20));
		return -FI_ENOMEM;
	case -EFAULT:
	case -EOPNOTSUPP:
		EMU_WARN(MR, "fi_mr_reg with FI_EMU_PINNED: io_uring pins no memory that the program itself may not write, and "
			     "of mapped files only those in memory (memfd, tmpfs)\n");
		return -FI_EFAULT;
	default:
		EMU_WARN(MR, "fi_mr_reg with FI_EMU_PINNED: %s\n", fi_strerror(-err));
		return err;
	}
}
