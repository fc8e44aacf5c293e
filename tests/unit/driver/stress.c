/* SPDX-License-Identifier: BSD-2-Clause */
/* stress.c - real threads over the driver role, for tsan to watch: posters, control actions, and a NIC
 * thread that sleeps until it is woken. An op left behind is a hang. A plain program, since Criterion's forks and
 * fixed mappings do not go with tsan. */
#include "emu/nic/role/driver.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CHECK(condition)                                                             \
	do {                                                                         \
		if (!(condition)) {                                                  \
			printf("not ok stress line %d: %s\n", __LINE__, #condition); \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

enum { POSTERS = 3, POSTS = 20000, SLICE = 4 };

static struct {
	struct driver driver;
	pthread_mutex_t queue_lock;
	unsigned int queued;    /* queue_lock */
	unsigned long done;     /* the role */
	unsigned long controls; /* the role */
	unsigned int rest;      /* the role */
	atomic_ulong served;    /* copy of done, for the thread that waits for the end */
	atomic_bool stop;
	int event;
} t = { .queue_lock = PTHREAD_MUTEX_INITIALIZER };

static bool work(void *arg)
{
	unsigned int taken;

	(void)arg;
	CHECK(driver_mine(&t.driver));
	pthread_mutex_lock(&t.queue_lock);
	taken = t.queued < SLICE ? t.queued : SLICE;
	t.queued -= taken;
	pthread_mutex_unlock(&t.queue_lock);
	t.rest += taken;
	if (!t.rest)
		return false;
	t.rest--;
	t.done++;
	atomic_store(&t.served, t.done);
	if (t.rest)
		driver_owe(&t.driver);
	return true;
}

static bool pending(void *arg)
{
	bool any;

	(void)arg;
	pthread_mutex_lock(&t.queue_lock);
	any = t.queued > 0;
	pthread_mutex_unlock(&t.queue_lock);
	return any;
}

static void wake(void *arg)
{
	(void)arg;
	CHECK(!eventfd_write(t.event, 1));
}

static void *poster(void *arg)
{
	for (int i = 0; i < POSTS; i++) {
		pthread_mutex_lock(&t.queue_lock);
		t.queued++;
		pthread_mutex_unlock(&t.queue_lock);
		driver_run(&t.driver);
	}
	return arg;
}

static void *controller(void *arg)
{
	for (int i = 0; i < POSTS / 10; i++) {
		CHECK(driver_enter(&t.driver));
		CHECK(!driver_enter(&t.driver));
		t.controls++;
		driver_leave(&t.driver);
		sched_yield();
	}
	return arg;
}

static void *nic_thread(void *arg)
{
	eventfd_t count;

	while (!atomic_load(&t.stop)) {
		driver_disarm(&t.driver);
		while (driver_serve(&t.driver))
			;
		driver_arm(&t.driver);
		CHECK(!eventfd_read(t.event, &count));
	}
	return arg;
}

/* No thread polls: the NIC thread must be told of the work that the posters leave. */
static void nothing_is_left_behind(void)
{
	struct driver_ops ops = { .work = work, .pending = pending, .wake = wake };
	pthread_t thread[POSTERS + 1], nic;

	t.event = eventfd(0, EFD_CLOEXEC);
	driver_init(&t.driver, &ops);
	CHECK(!pthread_create(&nic, NULL, nic_thread, NULL));
	for (int i = 0; i < POSTERS; i++)
		CHECK(!pthread_create(&thread[i], NULL, poster, NULL));
	CHECK(!pthread_create(&thread[POSTERS], NULL, controller, NULL));
	for (int i = 0; i <= POSTERS; i++)
		pthread_join(thread[i], NULL);
	while (atomic_load(&t.served) < POSTERS * POSTS)
		sched_yield();
	atomic_store(&t.stop, true);
	wake(NULL);
	pthread_join(nic, NULL);
	CHECK(t.done == POSTERS * POSTS);
	CHECK(t.controls == POSTS / 10);
	driver_fini(&t.driver);
	close(t.event);
	puts("ok nothing_is_left_behind");
}

static void *cancelled(void *arg)
{
	CHECK(driver_enter(&t.driver));
	pthread_cancel(pthread_self());
	pthread_testcancel();
	t.controls = 1; /* D5: not before the role is let go */
	driver_leave(&t.driver);
	pthread_testcancel();
	t.controls = 2;
	return arg;
}

static void cancellation_waits_for_the_role(void)
{
	struct driver_ops ops = { .work = work, .pending = pending, .wake = wake };
	pthread_t thread;
	void *result;

	driver_init(&t.driver, &ops);
	CHECK(!pthread_create(&thread, NULL, cancelled, NULL));
	pthread_join(thread, &result);
	CHECK(result == PTHREAD_CANCELED);
	CHECK(t.controls == 1);
	CHECK(driver_enter(&t.driver));
	driver_leave(&t.driver);
	driver_fini(&t.driver);
	puts("ok cancellation_waits_for_the_role");
}

int main(void)
{
	nothing_is_left_behind();
	cancellation_waits_for_the_role();
	return 0;
}
