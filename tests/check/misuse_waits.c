/* SPDX-License-Identifier: BSD-2-Clause */
/* misuse_waits.c - a program that waits for messages on the descriptor of b's queue. Checked mode looks at sleeping threads from
 * time to time, so the wrong program goes on until the log has told of it. */
#include <poll.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <semaphore.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <unistd.h>

#include "tests/check/misuse.h"

enum { ROUNDS = 200, LATE_US = 2000, LOG = 1 << 16 };

static int descriptor = -1;
static sem_t posted;

static void by_poll(void)
{
	struct pollfd one = { .fd = descriptor, .events = POLLIN };

	(void)poll(&one, 1, -1);
}

static void by_epoll(void)
{
	static int set = -1;
	struct epoll_event event = { .events = EPOLLIN };

	if (set < 0) {
		set = epoll_create1(EPOLL_CLOEXEC);
		GOOD(epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event));
	}
	(void)epoll_wait(set, &event, 1, -1);
}

static void by_select(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(descriptor, &set);
	(void)select(descriptor + 1, &set, NULL, NULL, NULL);
}

/* The entry is there before the thread sleeps, and nothing tells the descriptor of it. */
static void behind_the_entry(void)
{
	struct fid_poll *set;
	void *queue;

	GOOD(fi_poll_open(domain, &(struct fi_poll_attr){ 0 }, &set));
	GOOD(fi_poll_add(set, &b.cq->fid, 0));
	while (!fi_poll(set, &queue, 1))
		;
	GOOD(fi_poll_del(set, &b.cq->fid, 0));
	GOOD(fi_close(&set->fid));
	by_poll();
}

/* Not on the descriptor. */
static void elsewhere(void)
{
	struct pollfd none = { .fd = -1 };

	(void)poll(&none, 1, 1);
}

static void *send_late(void *arg)
{
	while (!sem_wait(&posted)) {
		ssize_t sent;

		if (*(const bool *)arg)
			break;
		usleep(LATE_US); /* or else the other thread hardly sleeps */
		while ((sent = fi_inject(a.ep, area, SMALL, a.peer)) == -FI_EAGAIN)
			(void)fi_cq_read(a.cq, NULL, 0);
		GOOD(sent);
	}
	return NULL;
}

static void take_message(void (*sleep)(void), bool tried)
{
	struct fid *fid = &b.cq->fid;
	struct fi_cq_entry entry;
	ssize_t got;

	receive(0, SMALL, 1);
	GOOD(sem_post(&posted));
	if (!tried)
		sleep();
	while ((got = fi_cq_read(b.cq, &entry, 1)) == -FI_EAGAIN)
		if (!tried || !fi_trywait(fabric, &fid, 1))
			sleep();
	GOOD(got - 1);
}

static void take_message_blocking(void)
{
	struct fi_cq_entry entry;
	ssize_t got;

	receive(0, SMALL, 1);
	GOOD(sem_post(&posted));
	while ((got = fi_cq_sread(b.cq, &entry, 1, NULL, -1)) == -FI_EAGAIN)
		;
	GOOD(got - 1);
}

static bool is_told(int log)
{
	static char text[LOG];
	ssize_t got = pread(log, text, sizeof(text) - 1, 0);

	text[got > 0 ? got : 0] = '\0';
	return strstr(text, "[wait-not-tried]");
}

/* Until the log, which goes into a file meanwhile, tells. */
static void go_wrong(void (*sleep)(void))
{
	int log = memfd_create("log", MFD_CLOEXEC), out = dup(STDERR_FILENO);
	char text[LOG];
	ssize_t got;

	GOOD(log < 0 || out < 0 || dup2(log, STDERR_FILENO) < 0);
	while (!is_told(log))
		take_message(sleep, false);
	GOOD(dup2(out, STDERR_FILENO) < 0);
	got = pread(log, text, sizeof(text), 0);
	GOOD(write(STDERR_FILENO, text, (size_t)got) - got);
}

/* sleep NULL: fi_cq_sread() waits. */
static void wait_for_messages(void (*sleep)(void), bool tried)
{
	pthread_t sender;
	bool over = false;

	GOOD(fi_control(&b.cq->fid, FI_GETWAIT, &descriptor));
	GOOD(sem_init(&posted, 0, 0));
	GOOD(pthread_create(&sender, NULL, send_late, &over));
	if (!tried && sleep != elsewhere)
		go_wrong(sleep);
	else
		for (int i = 0; i < ROUNDS; i++)
			if (sleep)
				take_message(sleep, tried);
			else
				take_message_blocking();
	over = true;
	GOOD(sem_post(&posted));
	GOOD(pthread_join(sender, NULL));
}

void wait_poll(void)
{
	wait_for_messages(by_poll, !wrong);
}

void wait_epoll(void)
{
	wait_for_messages(by_epoll, !wrong);
}

void wait_select(void)
{
	wait_for_messages(by_select, !wrong);
}

void wait_behind(void)
{
	wait_for_messages(wrong ? behind_the_entry : by_poll, !wrong);
}

void wait_elsewhere(void)
{
	wait_for_messages(wrong ? elsewhere : NULL, !wrong);
}
