/* SPDX-License-Identifier: BSD-2-Clause */
/* misuse_threads.c - two threads in one domain. */
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "tests/check/misuse.h"

enum { ROUNDS = 500 };

static atomic_int sleeper; /* the thread that is about to sleep in a call */

static void *sleep_in_read(void *arg)
{
	struct fi_cq_entry entry;

	(void)arg;
	sleeper = gettid();
	GOOD(fi_cq_sread(b.cq, &entry, 1, NULL, -1) - 1);
	return NULL;
}

/* Sleeps until a signal, without an entry. */
static void *sleep_until_signal(void *arg)
{
	struct fi_cq_entry entry;

	(void)arg;
	sleeper = gettid();
	GOOD(fi_cq_sread(b.cq, &entry, 1, NULL, -1) + FI_EAGAIN);
	return NULL;
}

/* Waits until the kernel says that the thread sleeps: it has nothing else to sleep in. */
static void wait_asleep(void)
{
	char path[64], text[256];
	size_t length;
	FILE *file;

	while (!sleeper)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", sleeper);
	do {
		sched_yield();
		file = fopen(path, "r");
		GOOD(!file);
		length = fread(text, 1, sizeof(text) - 1, file);
		text[length] = '\0';
		GOOD(fclose(file));
	} while (!strstr(text, ") S "));
}

void threads_domain(void)
{
	pthread_t thread;

	receive(0, SMALL, 1);
	if (!wrong)
		GOOD(fi_send(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, &contexts[0]));
	GOOD(pthread_create(&thread, NULL, sleep_in_read, NULL));
	if (wrong) {
		wait_asleep();
		GOOD(fi_send(a.ep, area, SMALL, fi_mr_desc(area_mr), a.peer, &contexts[0]));
	}
	GOOD(pthread_join(thread, NULL));
	done(&a, 1);
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void turn_begin(void)
{
	GOOD(pthread_mutex_lock(&turn));
}

static void turn_end(void)
{
	GOOD(pthread_mutex_unlock(&turn));
}

/* Messages to itself, each call in a turn of its own. */
static void *take_turns(void *arg)
{
	struct end *end = arg;
	char *at = area + (end == &a ? 0 : LARGE);

	for (int i = 0; i < ROUNDS; i++) {
		struct fi_cq_entry entry;
		ssize_t got;

		turn_begin();
		GOOD(fi_recv(end->ep, at + SMALL, SMALL, fi_mr_desc(area_mr), FI_ADDR_UNSPEC, &contexts[end == &a ? 0 : 1]));
		turn_end();
		turn_begin();
		GOOD(fi_send(end->ep, at, SMALL, fi_mr_desc(area_mr), end->self, &contexts[end == &a ? 2 : 3]));
		turn_end();
		for (int left = 2; left; left -= got == 1) {
			turn_begin();
			got = fi_cq_read(end->cq, &entry, 1);
			turn_end();
			GOOD(got != 1 && got != -FI_EAGAIN);
		}
	}
	return NULL;
}

void threads_locked(void)
{
	pthread_t thread;

	GOOD(pthread_create(&thread, NULL, take_turns, &a));
	take_turns(&b);
	GOOD(pthread_join(thread, NULL));
}

void threads_completion(void)
{
	pthread_t thread;

	GOOD(pthread_create(&thread, NULL, sleep_until_signal, NULL));
	wait_asleep();
	if (wrong)
		receive(0, SMALL, 1);
	else
		GOOD(fi_recv(a.ep, area, SMALL, fi_mr_desc(area_mr), FI_ADDR_UNSPEC, &contexts[1]));
	(void)fi_cq_read(a.cq, NULL, 0);
	GOOD(fi_cq_signal(b.cq));
	GOOD(pthread_join(thread, NULL));
}
