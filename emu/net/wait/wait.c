/* SPDX-License-Identifier: BSD-2-Clause */
/* wait.c - what a blocked reader sleeps on. */
#include "emu/net/wait/wait.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "emu/net/os/monotonic.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/net/os/spin.h"
#include "emu/net/thread/net.h"
#include "emu/net/thread/net_internal.h"

enum {
	MANUAL_CHECK_MS = 10, /* in a sleep: another thread's post may set a timer, and no NIC thread watches it */
	READY = 8,            /* events of one epoll_wait(); the others come again */
};

/* All orders are sequentially consistent: a sleeper registers itself and then reads the turn, or tests its condition; a waker
 * changes these and then looks for sleepers. */
struct wait {
	/* -1: no thread has slept yet. Most queues are only polled, and the two cost more than all the rest of such a queue. */
	atomic_int event;      /* signalled by wait_wake() where a thread may sleep on the set, emptied by the leader */
	atomic_int set;        /* event, the data sockets, and what the NIC thread does to connections; after event */
	atomic_bool signalled; /* event may be signalled; set after it is, cleared before it is emptied */
	atomic_bool watching;  /* the set has all of these */
	atomic_bool led;       /* there is a leader, one at most: of two, one could empty `event` before the other sees it */
	atomic_bool asleep;    /* the leader sleeps, or is about to */
	atomic_bool lent;      /* the program was told that it may sleep on the set by itself; stays */
	atomic_uint controls;  /* thread_stats.controls when the edge of the control descriptor was taken last */
	struct spin spin;      /* the leader's */
	atomic_uint followers; /* threads that sleep on the turn meanwhile */
	atomic_uint turn;      /* a futex: moves with each wake-up, and when a leader comes back */
};

static_assert(sizeof(atomic_uint) == 4, "a futex");

static unsigned controls_now(void)
{
	return net_mine() ? atomic_load(&net_stats()->controls) : 0;
}

/* As epoll_wait(), but -errno, and takes the edge of the control descriptor. */
static int wait_epoll(struct wait *wait, int timeout_ms)
{
	unsigned controls = controls_now();
	struct epoll_event ready[READY];
	int count = epoll_wait(atomic_load(&wait->set), ready, READY, timeout_ms);

	if (count < 0)
		return -errno;
	if (count < READY)
		atomic_store(&wait->controls, controls);
	return count;
}

static int wait_watch_fd(struct wait *wait, int fd, uint32_t events)
{
	struct epoll_event on = { .events = events };

	return epoll_ctl(atomic_load(&wait->set), EPOLL_CTL_ADD, fd, &on) && errno != EEXIST ? -errno : 0;
}

static void wait_close_fds(int event, int set)
{
	if (event >= 0)
		close(event);
	if (set >= 0)
		close(set);
}

/* Many threads may come here at once; the descriptors of one are taken. 1: this one's; 0: another's; or -errno. */
static int wait_make_fds(struct wait *wait)
{
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), set = epoll_create1(EPOLL_CLOEXEC), none = -1, err;
	struct epoll_event on = { .events = EPOLLIN };

	err = event >= 0 && set >= 0 && !epoll_ctl(set, EPOLL_CTL_ADD, event, &on) ? 0 : -errno;
	if (err || !atomic_compare_exchange_strong(&wait->event, &none, event)) {
		wait_close_fds(event, set);
		return err;
	}
	atomic_store(&wait->set, set);
	return 1;
}

int wait_equip(struct wait *wait)
{
	int cancel_state, made;

	if (atomic_load(&wait->set) >= 0)
		return 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	made = wait_make_fds(wait);
	while (!made && atomic_load(&wait->set) < 0)
		sched_yield(); /* the other one is between two stores */
	if (made > 0) {
		made = wait_watch_device(wait);
		(void)wait_epoll(wait, 0); /* takes the edge of the control events so far */
	}
	pthread_setcancelstate(cancel_state, NULL);
	return made;
}

int wait_watch_device(struct wait *wait)
{
	int err = wait_equip(wait);

	if (err || atomic_load(&wait->watching) || !net_mine())
		return err;
	err = wait_watch_fd(wait, net_data_fd(), EPOLLIN);
	if (!err)
		err = wait_watch_fd(wait, net_control_fd(), EPOLLIN | EPOLLET);
	if (!err && net_timer_fd() >= 0)
		err = wait_watch_fd(wait, net_timer_fd(), EPOLLIN);
	if (!err)
		atomic_store(&wait->watching, true);
	return err;
}

int wait_open(struct wait **out)
{
	struct wait *wait = calloc(1, sizeof(*wait));

	if (!wait)
		return -ENOMEM;
	atomic_init(&wait->event, -1);
	atomic_init(&wait->set, -1);
	*out = wait;
	return 0;
}

int wait_watch(struct wait *wait, int fd)
{
	int err = wait_equip(wait);

	return err ? err : wait_watch_fd(wait, fd, EPOLLIN);
}

void wait_unwatch(struct wait *wait, int fd)
{
	(void)epoll_ctl(atomic_load(&wait->set), EPOLL_CTL_DEL, fd, NULL); /* not there: as good */
}

void wait_close(struct wait *wait)
{
	wait_close_fds(atomic_load(&wait->event), atomic_load(&wait->set));
	free(wait);
}

int wait_fd(const struct wait *wait)
{
	return atomic_load(&wait->set);
}

static void next_turn(struct wait *wait)
{
	atomic_fetch_add(&wait->turn, 1);
	if (atomic_load(&wait->followers))
		syscall(SYS_futex, &wait->turn, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The turn moves first: if a leader empties the event afterwards, the next leader still sees the turn. Mostly nobody sleeps: the
 * waiting thread itself drives the device when its completion comes. */
void wait_wake(void *arg)
{
	const uint64_t one = 1;
	struct wait *wait = arg;

	next_turn(wait);
	if (!atomic_load(&wait->asleep) && !atomic_load(&wait->lent))
		return;
	(void)!nocancel_write(atomic_load(&wait->event), &one, sizeof(one)); /* fails only if it is full: it wakes then, too */
	atomic_store(&wait->signalled, true);
}

uint32_t wait_turn(const struct wait *wait)
{
	return atomic_load(&wait->turn);
}

/* By the leader. next_turn() wakes the followers, one of which may lead next. */
static void stop_leading(void *arg)
{
	struct wait *wait = arg;
	eventfd_t count;

	atomic_store(&wait->asleep, false);
	if (atomic_exchange(&wait->signalled, false))
		(void)!eventfd_read(atomic_load(&wait->event), &count); /* fails if the leader before has emptied it */
	atomic_store(&wait->led, false);
	next_turn(wait);
}

/* Before a sleep: sends the acknowledgements owed. */
static void wait_send_acks(void)
{
	struct nic *nic = net_nic();

	if (!net_mine() || !driver_enter(nic_driver(nic)))
		return;
	nic_set_polling(nic, false);
	nic_flush_acks(nic);
	driver_leave(nic_driver(nic));
}

/* Before a sleep. Parks first: for a parked program the NIC thread does not turn polling on again (allow_polling(), thread.c). */
static void rest(void)
{
	if (net_mine())
		net_park();
	wait_send_acks();
}

/* How long until the device wants a thread again: -1 for ever, else ms, rounded up. */
static int device_ms(void)
{
	uint64_t due_ns = net_mine() ? nic_deadline(net_nic()) : UINT64_MAX, now_ns = monotonic_ns(), ms;

	if (due_ns == UINT64_MAX)
		return -1;
	if (due_ns <= now_ns)
		return 0;
	ms = (due_ns - now_ns + 999999) / 1000000;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

static bool is_manual(void)
{
	return net_mine() && atomic_load_explicit(&net_stats()->state, memory_order_relaxed) == THREAD_MANUAL;
}

static bool device_left(void)
{
	return net_mine() && driver_left(nic_driver(net_nic()));
}

/* In manual mode the NIC thread serves no timers. The set has a timer for a program that sleeps on it without a call of ours. */
static void wait_set_timer(void)
{
	uint64_t due_ns = net_timer_fd() < 0 ? UINT64_MAX : nic_deadline(net_nic());
	struct itimerspec due = { .it_value = { 0 } };

	if (net_timer_fd() < 0)
		return;
	if (due_ns != UINT64_MAX)
		due.it_value = (struct timespec){ (time_t)(due_ns / 1000000000u), (long)(due_ns % 1000000000u) | 1 }; /* 0: off */
	timerfd_settime(net_timer_fd(), TFD_TIMER_ABSTIME, &due, NULL); /* no such timer: cannot fail */
}

/* Awake at first, where that pays. True: the turn has moved. */
static bool comes_soon(struct wait *wait, uint32_t turn)
{
	uint64_t until_ns = spin_begin(&wait->spin, monotonic_ns());

	while (net_mine() && wait_turn(wait) == turn && monotonic_ns() < until_ns)
		driver_run(nic_driver(net_nic()));
	return wait_turn(wait) != turn;
}

/* As wait_epoll(), but not if the turn has moved. */
static int sleep_on(struct wait *wait, uint32_t turn, int timeout_ms)
{
	rest(); /* once more: there may have been polls since */
	atomic_store(&wait->asleep, true);
	return wait_turn(wait) != turn ? 1 : wait_epoll(wait, timeout_ms);
}

/* As wait_epoll(). A thread may be cancelled in its sleep, but not once it is awake: it would lead for ever. */
static int lead(struct wait *wait, uint32_t turn, int timeout_ms)
{
	int count, cancel_state;

	pthread_cleanup_push(stop_leading, wait);
	count = comes_soon(wait, turn) ? 1 : sleep_on(wait, turn, timeout_ms);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (count > 0)
		spin_end(&wait->spin, monotonic_ns());
	pthread_cleanup_pop(1);
	pthread_setcancelstate(cancel_state, NULL);
	return count;
}

/* Empties what has woken so far. If there is a leader, it does that. */
static void drain(struct wait *wait)
{
	int cancel_state;

	if (!atomic_load(&wait->signalled) && atomic_load(&wait->controls) == controls_now())
		return;
	if (atomic_exchange(&wait->led, true))
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	(void)wait_epoll(wait, 0);
	stop_leading(wait);
	pthread_setcancelstate(cancel_state, NULL);
}

void wait_quiet(struct wait *wait)
{
	drain(wait);
}

void wait_rouse(struct wait *wait)
{
	atomic_store(&wait->lent, true);
	wait_wake(wait);
}

static void stop_following(void *arg)
{
	struct wait *wait = arg;

	atomic_fetch_sub(&wait->followers, 1);
}

/* 0, or why the sleep ended. The thread may be cancelled in this sleep, too. syscall() is no cancellation point, so cancellation
 * is asynchronous during the call. The end of a turn wakes all followers: none depends on another. */
static int sleep_for_turn(struct wait *wait, uint32_t turn, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };
	int cancel_type, err;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &cancel_type);
	err = syscall(SYS_futex, &wait->turn, FUTEX_WAIT_PRIVATE, turn, timeout_ms < 0 ? NULL : &timeout, NULL, 0) ? errno : 0;
	pthread_setcanceltype(cancel_type, NULL);
	return err;
}

static int wait_follow(struct wait *wait, uint32_t turn, int timeout_ms)
{
	int err;

	atomic_fetch_add(&wait->followers, 1);
	pthread_cleanup_push(stop_following, wait);
	err = sleep_for_turn(wait, turn, timeout_ms);
	pthread_cleanup_pop(1);
	if (err == EINTR)
		return -EINTR;
	return err != ETIMEDOUT;
}

int wait_sleep(struct wait *wait, uint32_t turn, int timeout_ms)
{
	int ms, count, err = wait_watch_device(wait);
	bool whole;

	if (err)
		return err;
	rest();
	ms = device_left() ? 0 : device_ms();
	if (is_manual() && (ms < 0 || ms > MANUAL_CHECK_MS))
		ms = MANUAL_CHECK_MS;
	whole = timeout_ms >= 0 && (ms < 0 || timeout_ms <= ms);
	if (net_mine())
		wait_set_timer();
	if (whole)
		ms = timeout_ms;
	count = atomic_exchange(&wait->led, true) ? wait_follow(wait, turn, ms) : lead(wait, turn, ms);
	return count < 0 ? count : count > 0 || !whole;
}

/* drain() comes before ready(): an entry pushed after ready() has looked signals again. With `park` the sockets are not polled,
 * since they are in the set: bytes there end the sleep at once. If there are entries to read, acknowledgements owed are
 * not sent: the program may send a frame that they can travel with. */
int wait_try(struct wait *wait, bool park, bool (*ready)(void *arg), void *arg)
{
	int err = wait_watch_device(wait);

	if (err)
		return err;
	atomic_store(&wait->lent, true);
	drain(wait);
	if (ready(arg))
		return -EAGAIN;
	if (net_mine() && (!park || device_ms() == 0))
		driver_run(nic_driver(net_nic()));
	if (park)
		rest();
	else
		wait_send_acks();
	if (net_mine())
		wait_set_timer();
	return ready(arg) || device_left() ? -EAGAIN : 0;
}
