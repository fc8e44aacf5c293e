/* SPDX-License-Identifier: BSD-2-Clause */
/* test_wait.c - the wait objects, over real sockets. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <dirent.h>

#include "emu/net/os/monotonic.h"
#include "emu/net/thread/net.h"
#include "emu/net/thread/net_internal.h"
#include "emu/net/wait/wait.h"
#include "echo.h"
#include "fake.h"

static bool always(void *arg)
{
	(void)arg;
	return true;
}

/* The network runs, with a wait object on it. */
static struct wait *begin(bool manual)
{
	struct wait *wait;

	echo_start(manual);
	cr_assert_eq(wait_open(&wait), 0);
	cr_assert_eq(wait_equip(wait), 0);
	return wait;
}

/* Its descriptor, to be polled as a program does. */
static struct pollfd polled(struct wait *wait)
{
	return (struct pollfd){ .fd = wait_fd(wait), .events = POLLIN };
}

static void end(struct wait *wait)
{
	wait_close(wait);
	net_stop();
}

Test(wait, wakes_and_times_out)
{
	struct wait *wait = begin(false);
	uint32_t turn;

	cr_assert_eq(wait_sleep(wait, wait_turn(wait), 0), 0);
	cr_assert_eq(wait_sleep(wait, wait_turn(wait), 2), 0);
	turn = wait_turn(wait);
	wait_wake(wait);
	wait_wake(wait);
	cr_assert_eq(wait_sleep(wait, turn, -1), 1);
	cr_assert_eq(wait_sleep(wait, wait_turn(wait), 0), 0, "both are spent");
	end(wait);
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static pthread_barrier_t ready;

static void *sleep_first(void *wait)
{
	pthread_barrier_wait(&ready);
	cr_assert_geq(wait_sleep(wait, wait_turn(wait), 1), 0);
	return NULL;
}

/* Of many, too: one's descriptors are taken. */
Test(wait, the_first_sleeper_opens_the_descriptors)
{
	enum { SLEEPERS = 8 };
	pthread_t thread[SLEEPERS];
	struct wait *wait;

	echo_start(false);
	pthread_barrier_init(&ready, NULL, SLEEPERS);
	for (int round = 0; round < 20; round++) {
		int before = descriptors();

		cr_assert_eq(wait_open(&wait), 0);
		wait_wake(wait);
		cr_assert_eq(wait_fd(wait), -1);
		cr_assert_eq(descriptors(), before);
		for (int i = 0; i < SLEEPERS; i++)
			cr_assert_eq(pthread_create(&thread[i], NULL, sleep_first, wait), 0);
		for (int i = 0; i < SLEEPERS; i++)
			pthread_join(thread[i], NULL);
		cr_assert_eq(descriptors(), before + 2);
		wait_close(wait);
		cr_assert_eq(descriptors(), before);
	}
	net_stop();
}

/* A thread that drives the device reads what it has pushed itself: a signal would only end its next sleep. */
Test(wait, signals_only_where_somebody_may_sleep)
{
	struct wait *wait = begin(false);
	struct pollfd fd = polled(wait);

	wait_wake(wait);
	cr_assert_eq(poll(&fd, 1, 0), 0);
	cr_assert_eq(wait_try(wait, true, never, NULL), 0);
	wait_wake(wait);
	cr_assert_eq(poll(&fd, 1, 0), 1);
	end(wait);
}

enum { TURNS = 2000 };

struct handing {
	struct wait *wait;
	atomic_uint given, taken;
};

static void *taker(void *arg)
{
	struct handing *handing = arg;

	while (atomic_load(&handing->taken) < TURNS) {
		uint32_t turn = wait_turn(handing->wait);

		if (atomic_load(&handing->given) > atomic_load(&handing->taken))
			atomic_fetch_add(&handing->taken, 1);
		else
			cr_assert_geq(wait_sleep(handing->wait, turn, -1), 0);
	}
	return NULL;
}

/* The sleeper's check and its falling asleep, against the wake-up, in all the orders that come up: no wake-up is lost. */
Test(wait, loses_no_wake_up)
{
	struct handing handing = { .wait = begin(false) };
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, taker, &handing), 0);
	for (unsigned i = 0; i < TURNS; i++) {
		while (atomic_load(&handing.taken) < i)
			if (i % 2)
				sched_yield();
		atomic_fetch_add(&handing.given, 1);
		wait_wake(handing.wait);
	}
	pthread_join(thread, NULL);
	end(handing.wait);
}

Test(wait, descriptor_polls_as_the_sleep_does)
{
	struct wait *wait = begin(true);
	struct pollfd fd = polled(wait);

	cr_assert_eq(wait_try(wait, true, never, NULL), 0);
	cr_assert_eq(poll(&fd, 1, 0), 0);
	wait_wake(wait);
	cr_assert_eq(poll(&fd, 1, 0), 1);
	cr_assert_eq(wait_try(wait, true, never, NULL), 0);
	cr_assert_eq(poll(&fd, 1, 0), 0, "wait_try empties it");
	echo_ping();
	cr_assert_eq(poll(&fd, 1, 30000), 1, "a socket wakes, in manual progress, too");
	cr_assert_eq(wait_try(wait, true, always, NULL), -EAGAIN);
	while (!echo_has_pong())
		driver_poll(driver);
	end(wait);
}

/* The sleeper must send the device's frames on the new connection. */
Test(wait, wakes_when_a_dial_is_finished)
{
	struct wait *wait = begin(true);
	struct pollfd fd = polled(wait);

	cr_assert_eq(wait_try(wait, true, never, NULL), 0);
	echo_dial_itself();
	cr_assert_eq(poll(&fd, 1, 30000), 1);
	cr_assert_eq(wait_sleep(wait, wait_turn(wait), 30000), 1);
	while (wait_try(wait, true, never, NULL) || poll(&fd, 1, 0)) /* the second end's news may come a little later */
		;
	end(wait);
}

Test(wait, does_not_sleep_on_left_work)
{
	struct wait *wait = begin(true);

	cr_assert(driver_enter(driver));
	fake.owes = 100;
	driver_owe(driver);
	driver_leave(driver);
	cr_assert(driver_left(driver));
	cr_assert_eq(wait_sleep(wait, wait_turn(wait), -1), 1);
	end(wait);
}

Test(wait, sleeps_no_longer_than_the_devices_timer)
{
	struct wait *wait = begin(true);

	atomic_store(&fake.deadline_ns, monotonic_ns() + 5000000);
	cr_assert_eq(wait_sleep(wait, wait_turn(wait), -1), 1);
	cr_assert_geq(monotonic_ns(), atomic_load(&fake.deadline_ns));
	driver_poll(driver);
	cr_assert_eq(atomic_load(&fake.timers), 1);
	end(wait);
}

/* Another thread's post may want the device again soon, and under manual progress only the sleeping thread can run it. */
Test(wait, looks_for_timers_under_manual_progress)
{
	struct wait *wait = begin(true);

	cr_assert_eq(wait_sleep(wait, wait_turn(wait), -1), 1);
	end(wait);
}

static void on_signal(int number)
{
	(void)number;
}

static void *signaller(void *arg)
{
	atomic_bool *stop = arg;

	while (!atomic_load(stop)) {
		kill(getpid(), SIGUSR1);
		sched_yield();
	}
	return NULL;
}

Test(wait, signal_ends_the_sleep)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct wait *wait = begin(false);
	atomic_bool stop = false;
	pthread_t thread;
	sigset_t usr1;

	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	cr_assert_eq(pthread_create(&thread, NULL, signaller, &stop), 0);
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	cr_assert_eq(wait_sleep(wait, wait_turn(wait), -1), -EINTR);
	atomic_store(&stop, true);
	pthread_join(thread, NULL);
	end(wait);
}
