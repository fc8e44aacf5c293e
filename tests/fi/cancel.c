/* SPDX-License-Identifier: BSD-2-Clause */
/* cancel.c - threads that are cancelled: what they have called comes to its end first. A cancelled thread runs on until it
 * comes to a cancellation point; were there one where the driver role is held, it would keep that for ever. */
#include "tests/fi/ends.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LONG_BYTES = 1 << 20, STRANGERS = 3, TIMES = 50 };

struct trial {
	void (*run)(void *arg);
	void *arg;
	bool over;
};

static void *cancelled(void *arg)
{
	struct trial *trial = arg;

	pthread_cancel(pthread_self());
	trial->run(trial->arg);
	trial->over = true;
	pthread_testcancel();
	return NULL;
}

/* In a thread that is cancelled already. */
static void try(void (*run)(void *arg), void *arg)
{
	struct trial trial = { run, arg, false };
	pthread_t thread;
	void *result;

	cr_assert(!pthread_create(&thread, NULL, cancelled, &trial) && !pthread_join(thread, &result));
	if (!trial.over) {
		fputs("cancelled in the middle of a call\n", stderr);
		abort(); /* what ends a process in order would wait for the role */
	}
	cr_assert_eq(result, PTHREAD_CANCELED);
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* By both ways to drive, of which one takes what has come. */
static void complete_all(struct world *w, int count)
{
	struct fi_cq_tagged_entry entry;
	time_t end = now_s() + GUARD_MS / 1000;
	ssize_t got;

	while (count) {
		(void)fi_cntr_read(w->cntr);
		got = fi_cq_read(w->cq, &entry, 1);
		cr_assert(got == 1 || got == -FI_EAGAIN);
		cr_assert_leq(now_s(), end);
		count -= got == 1;
	}
}

/* To itself: it dials, and what is long goes in pieces. */
static void exchange(void *arg)
{
	static char out[LONG_BYTES], in[LONG_BYTES];
	struct iovec from[2] = { { out, LONG_BYTES / 2 }, { out + LONG_BYTES / 2, LONG_BYTES / 2 } };
	struct iovec to[2] = { { in, LONG_BYTES / 4 }, { in + LONG_BYTES / 4, LONG_BYTES - LONG_BYTES / 4 } };
	struct world *w = arg;

	RC(0, fi_recvv(w->ep, to, NULL, 2, FI_ADDR_UNSPEC, NULL));
	RC(0, fi_sendv(w->ep, from, NULL, 2, w->self, NULL));
	complete_all(w, 2);
}

static void be_refused(void *arg)
{
	struct fi_cq_err_entry error = { 0 };
	static char word[8];
	struct world *w = arg;
	time_t end = now_s() + GUARD_MS / 1000;

	RC(0, fi_write(w->ep, word, sizeof(word), NULL, w->self, 0, 0xdead, NULL));
	while (fi_cq_readerr(w->cq, &error, 0) != 1) {
		(void)fi_cntr_read(w->cntr);
		cr_assert_leq(now_s(), end);
	}
}

Test(fi_cancel, in_the_middle_of_ops)
{
	struct fid *cq;
	struct world w;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	setenv("FI_LOG_LEVEL", "warn", 1);
	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_FD });
	cq = &w.cq->fid;
	RC(0, fi_trywait(w.fabric, &cq, 1)); /* the thread that drives is to wake it */
	try(exchange, &w);
	try(exchange, &w);
	try(be_refused, &w);
	world_close(&w);
}

struct strangers {
	struct world w;
	int fd[STRANGERS];
};

/* Polls them away: more sockets than are asked one by one, a line in the log each, and lines to close. */
static void turn_away(void *arg)
{
	struct strangers *s = arg;
	struct fi_cq_tagged_entry entry;
	time_t end = now_s() + GUARD_MS / 1000;
	char byte;

	for (int i = 0; i < STRANGERS; i++)
		while (syscall(SYS_recvfrom, s->fd[i], &byte, 1, MSG_DONTWAIT, NULL, NULL) < 0 && errno == EAGAIN) {
			RC(-FI_EAGAIN, fi_cq_read(s->w.cq, &entry, 1));
			cr_assert_leq(now_s(), end);
		}
}

Test(fi_cancel, in_the_middle_of_strangers)
{
	static const char garbage[] = "GET / HTTP/1.1\r\nHost: none\r\nAccept: everything that there is and more\r\n\r\n";
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct strangers s;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	setenv("FI_LOG_LEVEL", "warn", 1);
	world_open(&s.w, &(struct want){ 0 });
	RC(0, fi_getname(&s.w.ep->fid, &name, &length));
	for (int i = 0; i < STRANGERS; i++) {
		s.fd[i] = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		cr_assert(s.fd[i] >= 0 && !connect(s.fd[i], (struct sockaddr *)&name, (socklen_t)length));
		cr_assert_eq(send(s.fd[i], garbage, sizeof(garbage), MSG_NOSIGNAL), sizeof(garbage));
	}
	try(turn_away, &s);
	for (int i = 0; i < STRANGERS; i++)
		close(s.fd[i]);
	world_close(&s.w);
}

/* The NIC thread sleeps, and is to hear of what the post leaves. */
Test(fi_cancel, in_the_middle_of_waking_the_nic_thread)
{
	struct world w;

	world_open(&w, &(struct want){ 0 });
	for (int i = 0; i < TIMES; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		try(exchange, &w);
	}
	world_close(&w);
}

struct caller {
	struct net net;
	struct fid_ep *ep;
	struct fi_eq_cm_entry request;
};

static void call(void *arg)
{
	struct caller *caller = arg;
	time_t end = now_s() + GUARD_MS / 1000;
	uint32_t kind = 0;
	ssize_t got;

	RC(0, fi_connect(caller->ep, &caller->net.name, NULL, 0));
	do {
		got = fi_eq_read(caller->net.eq, &kind, &caller->request, sizeof(caller->request), 0);
		cr_assert_leq(now_s(), end);
	} while (got == -FI_EAGAIN);
	cr_assert(got > 0 && kind == FI_CONNREQ);
}

Test(fi_cancel, in_the_middle_of_connecting)
{
	struct caller caller;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	net_open(&caller.net);
	net_listen(&caller.net);
	caller.ep = ep_new(&caller.net, caller.net.info);
	try(call, &caller);
	fi_freeinfo(caller.request.info);
	RC(0, fi_close(&caller.ep->fid));
	net_close(&caller.net);
}

enum { ACCESS = FI_WRITE | FI_READ | FI_REMOTE_WRITE | FI_REMOTE_READ, LOOKED_AT = 4 * 4096 };

/* A write and a read, the target of both being this process; the region is looked at, or copied into, in the slice. */
static void reach_region(void *arg)
{
	static char bytes[LOOKED_AT / 2];
	struct fi_cq_tagged_entry entry;
	struct world *w = arg;

	for (int i = 0; i < 2; i++) {
		if (i)
			RC(0, fi_read(w->ep, bytes, sizeof(bytes), NULL, w->self, 0, 7, NULL));
		else
			RC(0, fi_write(w->ep, bytes, sizeof(bytes), NULL, w->self, 0, 7, NULL));
		complete_all(w, 1);
	}
	RC(-FI_EAGAIN, fi_cq_read(w->cq, &entry, 1));
}

static void cancel_at(int mr_mode)
{
	static _Alignas(4096) char region[LOOKED_AT];
	struct fid_mr *mr;
	struct world w;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	memset(region, 1, sizeof(region));
	world_open(&w, &(struct want){ .mr_mode = mr_mode });
	RC(0, fi_mr_reg(w.domain, region, sizeof(region), ACCESS, 0, 7, 0, &mr, NULL));
	try(reach_region, &w);
	try(reach_region, &w);
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* D5: the page tables are read at each access. */
Test(fi_cancel, in_the_middle_of_looking_at_pages)
{
	cancel_at(FI_MR_MMU_NOTIFY);
}

/* D5: copies go by a pipe. */
Test(fi_cancel, in_the_middle_of_pinned_copies)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(SYS_io_uring_setup, 1, &params);

	if (fd < 0)
		cr_skip_test("io_uring is not to be had here: %s", strerror(errno));
	close(fd);
	setenv("FI_EMU_PINNED", "1", 1);
	cancel_at(FI_MR_ALLOCATED);
}
