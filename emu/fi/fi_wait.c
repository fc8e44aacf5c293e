/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_wait.c - wait objects of queues and counters, and fi_trywait(). */
#include "emu/fi/fi_wait.h"

#include <limits.h>
#include <rdma/fi_errno.h>
#include <time.h>

#include "emu/fi/fi_cntr.h"
#include "emu/fi/fi_cq.h"
#include "emu/fi/fi_eq.h"
#include "emu/fi/fi_prov.h"
#include "emu/net/wait.h"

int waiter_check(enum fi_wait_obj obj, const char *what)
{
	if (obj == FI_WAIT_NONE || obj == FI_WAIT_UNSPEC || obj == FI_WAIT_FD)
		return 0;
	if (obj > FI_WAIT_POLLFD)
		return -FI_EINVAL;
	EMU_WARN(CORE, "%s: wait object %d is not there yet: FI_WAIT_NONE, FI_WAIT_UNSPEC and FI_WAIT_FD are\n", what,
		 (int)obj);
	return -FI_ENOSYS;
}

int waiter_open(struct waiter *waiter, enum fi_wait_obj obj)
{
	waiter->obj = obj;
	waiter->wait = NULL;
	atomic_init(&waiter->tried, false);
	return obj == FI_WAIT_NONE ? 0 : wait_open(&waiter->wait);
}

void waiter_close(struct waiter *waiter)
{
	if (waiter->wait)
		wait_close(waiter->wait);
}

int waiter_control(const struct waiter *waiter, int command, void *arg)
{
	if (command != FI_GETWAIT && command != FI_GETWAITOBJ)
		return -FI_ENOSYS;
	if (!arg)
		return -FI_EINVAL;
	if (command == FI_GETWAITOBJ)
		*(enum fi_wait_obj *)arg = waiter->obj;
	else if (waiter->obj == FI_WAIT_FD)
		*(int *)arg = wait_fd(waiter->wait);
	else
		return -FI_ENODATA;
	return 0;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t wait_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : now_ns() + (uint64_t)timeout_ms * 1000000u;
}

int wait_left(uint64_t deadline_ns)
{
	uint64_t now, left;

	if (deadline_ns == UINT64_MAX)
		return -1;
	now = now_ns();
	if (now >= deadline_ns)
		return 0;
	left = (deadline_ns - now + 999999u) / 1000000u;
	return left > INT_MAX ? INT_MAX : (int)left;
}

int emu_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
	int err = 0;

	(void)fabric;
	if (count < 0 || (count && !fids))
		return -FI_EINVAL;
	for (int i = 0; i < count && !err; i++) {
		switch (fids[i]->fclass) {
		case FI_CLASS_CQ:
			err = emu_cq_trywait((struct emu_cq *)fids[i]);
			break;
		case FI_CLASS_CNTR:
			err = emu_cntr_trywait((struct emu_cntr *)fids[i]);
			break;
		case FI_CLASS_EQ:
			err = emu_eq_trywait((struct emu_eq *)fids[i]);
			break;
		default:
			err = -FI_EINVAL;
		}
	}
	return err;
}
