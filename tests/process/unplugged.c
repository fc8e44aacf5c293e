/* SPDX-License-Identifier: BSD-2-Clause */
/* unplugged.c - a network that carries nothing for 10 s, as when a container's is taken away: operations wait, and end well. */
#include <criterion/criterion.h>

#include "tests/process/big.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 100, GONE_S = 10 };

static void step_sum_and_close(const void *arg, void *reply)
{
	const uint8_t *bytes = big.iov[0].iov_base;
	uint64_t sum = 0;

	(void)arg;
	for (size_t i = 0; i < BIG; i++)
		sum += bytes[i];
	memcpy(reply, &sum, sizeof(sum));
	region_close(&big);
}

/* The one interface of this namespace. */
static void plug(bool in)
{
	struct ifreq request = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	request.ifr_flags = in ? IFF_UP : 0;
	CHECK(fd >= 0 && !ioctl(fd, SIOCSIFFLAGS, &request), "the interface cannot be taken %s", in ? "up" : "down");
	close(fd);
}

static void need_own_network(void)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		cr_skip_test("a namespace of the network is forbidden here");
	plug(true);
}

/* Longer than a connection may be silent (8 s), shorter than the retry budget (15 s): so it breaks on the way. */
Test(process, unplugged_for_ten_seconds)
{
	static const struct region_want want = { .len = { BIG }, .access = ALL_LOCAL | ALL_REMOTE };
	static const struct peer_want plain = { 0 };
	const struct timespec gone = { .tv_sec = GONE_S };
	struct op ops[FLIGHT + 1];
	struct region source;
	struct big_told told;
	struct pair p;
	uint64_t sum;

	memset(&p, 0, sizeof(p));
	need_own_network();
	setenv("FI_EMU_LOCAL", "tcp", 1);
	target_start(&p.target);
	pair_open(&p, &plain, 0);
	region_open(&source, &p.peer, &want, 2);
	memset(source.iov[0].iov_base, 0x22, BIG);
	target_do(&p.target, step_big, NULL, 0, &told, sizeof(told));
	target_begin(&p.target, step_wait_touched, NULL, 0, 0);
	for (int i = 0; i < FLIGHT; i++)
		CHECK_RC(0, pair_post(&p, RMA_WRITE, source.iov[0].iov_base, BIG, told.addr, told.key, &ops[i]));
	target_end(&p.target, NULL, 0);
	plug(false);
	CHECK_RC(0, pair_post(&p, RMA_WRITE, source.iov[0].iov_base, SMALL, told.addr, told.key, &ops[FLIGHT]));
	nanosleep(&gone, NULL);
	plug(true);
	for (int i = 0; i <= FLIGHT; i++) {
		peer_wait(&p.peer, &ops[i]);
		CHECK(!ops[i].err, "operation %d failed: err %d, %s", i, ops[i].err, p.peer.text);
	}
	target_do(&p.target, step_sum_and_close, NULL, 0, &sum, sizeof(sum));
	CHECK(sum == (uint64_t)BIG * 0x22, "the target has other bytes than were written");
	live(&p);
	region_close(&source);
	pair_close(&p);
	target_stop(&p.target);
}
