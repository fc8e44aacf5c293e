/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims of a pid: which is free, and what else keeps it from being claimed. */
#include <criterion/criterion.h>
#include <errno.h>
#include <kfi_errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/kfi/provider/kemu_addr.h"

enum { LOOPBACK = 0x7f000001, SHIFT = KEMU_PID_PORTS };

/* bind(2) of this family fails so; 0: as ever. */
static int failing_family, failing_errno, binds;

int __real_bind(int fd, const struct sockaddr *at, socklen_t length);
int __wrap_bind(int fd, const struct sockaddr *at, socklen_t length);

int __wrap_bind(int fd, const struct sockaddr *at, socklen_t length)
{
	binds++;
	if (!failing_errno || at->sa_family != failing_family)
		return __real_bind(fd, at, length);
	errno = failing_errno;
	return -1;
}

static int claim(uint32_t nic, uint16_t pid)
{
	struct kcxi_addr cxi = { .nic = nic, .pid = pid & 0xfff };

	return kemu_addr_claim(&cxi, SHIFT);
}

Test(kfi_addr, a_claimed_pid_is_in_use)
{
	int first = claim(LOOPBACK, 200);

	cr_assert_geq(first, 0);
	cr_expect_eq(claim(LOOPBACK, 200), -KFI_EADDRINUSE);
	close(first);
	first = claim(LOOPBACK, 200);
	cr_expect_geq(first, 0);
	close(first);
}

Test(kfi_addr, any_pid_is_a_free_one)
{
	struct kcxi_addr one = { .nic = LOOPBACK, .pid = KEMU_PID_ANY }, two = one;
	int first = kemu_addr_claim(&one, SHIFT), second = kemu_addr_claim(&two, SHIFT);

	cr_assert(first >= 0 && second >= 0);
	cr_expect(one.pid < KEMU_PIDS && two.pid < KEMU_PIDS && one.pid != two.pid);
	close(first);
	close(second);
}

/* A pid that another endpoint has is passed over; any other failure ends the search, and is told. */
Test(kfi_addr, other_failures_are_told)
{
	static const int families[] = { AF_UNIX, AF_INET };

	for (int i = 0; i < 2; i++) {
		failing_family = families[i];
		failing_errno = ENOMEM;
		binds = 0;
		cr_expect_eq(claim(LOOPBACK, KEMU_PID_ANY), -ENOMEM);
		cr_expect_leq(binds, 2);
	}
	failing_family = AF_UNIX;
	failing_errno = EACCES;
	cr_expect_eq(claim(LOOPBACK, 3), -EACCES);
}
