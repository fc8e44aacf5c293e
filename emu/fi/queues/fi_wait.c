/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_wait.c - wait objects of queues and counters, and fi_trywait(). */
#include "emu/fi/queues/fi_wait.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <time.h>

#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/queues/fi_queues.h"
#include "emu/fi/queues/fi_eq.h"
#include "emu/net/wait/wait.h"

int waiter_check(const struct waiter_want *want)
{
	struct settings settings;
	int err;

	if (want->obj > FI_WAIT_POLLFD)
		return REFUSE(CORE, -FI_EINVAL, "%s: wait_obj %d is none of FI_WAIT_NONE to FI_WAIT_POLLFD.", want->what,
			      (int)want->obj);
	if (want->obj == FI_WAIT_SET &&
	    (!want->set || want->set->fid.fclass != FI_CLASS_WAIT || wait_set_fabric(want->set) != want->fabric))
		return REFUSE(CORE, -FI_EINVAL, "%s: FI_WAIT_SET asks for a wait set of the same fabric object in wait_set.",
			      want->what);
	if (want->obj != FI_WAIT_MUTEX_COND)
		return 0;
	err = settings_read(&settings);
	if (!err && settings.process.manual)
		err = REFUSE(CORE, -FI_ENOSYS,
			     "%s: FI_WAIT_MUTEX_COND lives on background progress, and FI_EMU_PROGRESS=manual "
			     "takes it away.",
			     want->what);
	return err;
}

int waiter_open(struct waiter *waiter, const struct waiter_want *want)
{
	int err;

	waiter->obj = want->obj;
	waiter->wait = NULL;
	waiter->cond = NULL;
	waiter->set = NULL;
	if (want->obj == FI_WAIT_NONE)
		return 0;
	if (want->obj == FI_WAIT_SET)
		return wait_set_share(want->set, waiter);
	err = wait_open(&waiter->wait);
	if (err)
		return err;
	if (want->obj == FI_WAIT_FD || want->obj == FI_WAIT_POLLFD)
		err = wait_equip(waiter->wait);
	if (want->obj == FI_WAIT_MUTEX_COND)
		err = wait_cond_open(&waiter->cond);
	if (err)
		wait_close(waiter->wait);
	return err;
}

void waiter_close(struct waiter *waiter)
{
	if (waiter->set)
		return; /* `wait` and `cond` are the set's */
	if (waiter->cond)
		wait_cond_close(waiter->cond);
	if (waiter->wait)
		wait_close(waiter->wait);
}

void waiter_wake(void *arg)
{
	const struct waiter *waiter = arg;

	if (waiter->wait)
		wait_wake(waiter->wait);
	if (waiter->cond)
		wait_cond_wake(waiter->cond);
}

bool waiter_blocks(const struct waiter *waiter)
{
	return waiter->obj != FI_WAIT_NONE && waiter->obj != FI_WAIT_SET;
}

uint32_t waiter_turn(const struct waiter *waiter)
{
	return waiter->wait ? wait_turn(waiter->wait) : 0;
}

int waiter_sleep(struct waiter *waiter, uint32_t turn, int timeout_ms)
{
	if (waiter->obj != FI_WAIT_YIELD && waiter->wait)
		return wait_sleep(waiter->wait, turn, timeout_ms);
	sched_yield();
	return 1;
}

int waiter_try(struct waiter *waiter, bool (*ready)(void *arg), void *arg)
{
	return wait_try(waiter->wait, !waiter->cond, ready, arg);
}

void waiter_quiet(struct waiter *waiter)
{
	wait_quiet(waiter->wait);
}

void waiter_rouse(struct waiter *waiter)
{
	wait_rouse(waiter->wait);
}

/* One descriptor, for as long as the object lives. */
static int tell_pollfd(struct fi_wait_pollfd *pollfd, int fd)
{
	size_t room = pollfd->nfds;

	if (room && !pollfd->fd)
		return REFUSE(CORE, -FI_EINVAL, "fi_control, FI_GETWAIT: nfds is %zu and fd NULL.", room);
	pollfd->change_index = 1;
	pollfd->nfds = 1;
	if (!room)
		return -FI_ETOOSMALL;
	pollfd->fd[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

int waiter_tell(const struct waiter *waiter, int fd, int command, void *arg)
{
	if (command != FI_GETWAIT && command != FI_GETWAITOBJ)
		return refuse_command("a queue, counter or wait set", command);
	if (!arg)
		return REFUSE(CORE, -FI_EINVAL, "fi_control, FI_GETWAIT: arg is NULL.");
	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg = waiter->obj;
		return 0;
	}
	switch (waiter->obj) {
	case FI_WAIT_FD:
		*(int *)arg = fd;
		return 0;
	case FI_WAIT_POLLFD:
		return tell_pollfd(arg, fd);
	case FI_WAIT_MUTEX_COND:
		*(struct fi_mutex_cond *)arg = (struct fi_mutex_cond){
			.mutex = wait_cond_mutex(waiter->cond),
			.cond = wait_cond_cond(waiter->cond),
		};
		return 0;
	default:
		return REFUSE(CORE, -FI_ENODATA,
			      "fi_control, FI_GETWAIT: the object was opened with a wait_obj that has "
			      "nothing to wait on. Open it with FI_WAIT_FD.");
	}
}

int waiter_control(const struct waiter *waiter, int command, void *arg)
{
	return waiter_tell(waiter, waiter->wait ? wait_fd(waiter->wait) : -1, command, arg);
}

static uint64_t wait_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t wait_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX : wait_now_ns() + (uint64_t)timeout_ms * 1000000u;
}

int wait_left(uint64_t deadline_ns)
{
	uint64_t now, left;

	if (deadline_ns == UINT64_MAX)
		return -1;
	now = wait_now_ns();
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
		return REFUSE(CORE, -FI_EINVAL, "fi_trywait: count %d is negative, or fids is NULL.", count);
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
		case FI_CLASS_WAIT:
			err = emu_wait_set_trywait((struct emu_wait_set *)fids[i]);
			break;
		default:
			err = REFUSE(CORE, -FI_EINVAL, "fi_trywait: fid %d is no queue, counter or wait set.", i);
		}
	}
	return err;
}
