/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.c - what a blocked reader sleeps on. */
#include "emu/net/wait.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "emu/net/net.h"
#include "emu/net/own.h"

enum { TRIES = 8 };	/* of wait_try(), to get the device idle */

struct wait {
	int event;	/* signalled by wait_wake(), emptied by whoever looks */
	int set;	/* event, and the data sockets */
};

int wait_open(struct wait **out)
{
	struct wait *wait = calloc(1, sizeof(*wait));
	struct epoll_event on = { .events = EPOLLIN };
	int err;

	if (!wait)
		return -ENOMEM;
	wait->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	wait->set = epoll_create1(EPOLL_CLOEXEC);
	if (wait->event >= 0 && wait->set >= 0 && !epoll_ctl(wait->set, EPOLL_CTL_ADD, wait->event, &on) &&
	    !epoll_ctl(wait->set, EPOLL_CTL_ADD, net_data_fd(), &on)) {
		*out = wait;
		return 0;
	}
	err = -errno;
	wait_close(wait);
	return err;
}

void wait_close(struct wait *wait)
{
	if (wait->event >= 0)
		close(wait->event);
	if (wait->set >= 0)
		close(wait->set);
	free(wait);
}

int wait_fd(const struct wait *wait)
{
	return wait->set;
}

void wait_wake(void *arg)
{
	const struct wait *wait = arg;

	(void)!eventfd_write(wait->event, 1); /* fails only if it is full, and then it wakes, too */
}

static void drain(const struct wait *wait)
{
	eventfd_t count;

	(void)!eventfd_read(wait->event, &count); /* empty: somebody else was here */
}

/* No acknowledgement waits for a sleeper. */
static void settle(void)
{
	struct nic *nic = net_nic();

	if (!driver_enter(nic_driver(nic)))
		return;
	nic_settle(nic);
	driver_leave(nic_driver(nic));
}

/* How long until the device wants a thread again: -1 for ever, else ms, rounded up. */
static int device_ms(void)
{
	uint64_t due_ns = nic_deadline(net_nic()), now_ns = monotonic_ns(), ms;

	if (due_ns == UINT64_MAX)
		return -1;
	if (due_ns <= now_ns)
		return 0;
	ms = (due_ns - now_ns + 999999) / 1000000;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

int wait_sleep(struct wait *wait, int timeout_ms)
{
	struct epoll_event ready[2];
	int ms, count;
	bool whole;

	settle();
	ms = driver_left(nic_driver(net_nic())) ? 0 : device_ms();
	whole = timeout_ms >= 0 && (ms < 0 || timeout_ms <= ms);
	net_park();
	count = epoll_wait(wait->set, ready, 2, whole ? timeout_ms : ms);
	if (count < 0)
		return -errno;
	drain(wait);
	return count > 0 || !whole;
}

/* Emptied before the look: what is pushed after the look signals again. */
int wait_try(struct wait *wait, bool (*ready)(void *arg), void *arg)
{
	struct driver *driver = nic_driver(net_nic());

	drain(wait);
	for (int i = 0; i < TRIES && driver_run(driver); i++)
		;
	settle();
	if (ready(arg) || driver_left(driver))
		return -EAGAIN;
	net_park();
	return 0;
}
