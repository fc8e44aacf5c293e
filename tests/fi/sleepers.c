/* SPDX-License-Identifier: BSD-2-Clause */
/* sleepers.c - threads that sleep on a wait object are woken: several on one, and under FI_EMU_PROGRESS=manual, where no
 * other thread runs the device. */
#include "tests/fi/world.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GUARD_MS = 30000, ROUNDS = 4000, SLEEPERS = 3 };

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* Until the number is reached; a hang guard. */
static void reached(atomic_uint *number, unsigned want)
{
	time_t end = now_s() + GUARD_MS / 1000;

	while (atomic_load(number) < want) {
		cr_assert_leq(now_s(), end, "a sleeper was not woken: %u of %u", atomic_load(number), want);
		sched_yield();
	}
}

struct sleeper {
	struct world *w;
	atomic_uint done;
};

static void *wait_for_each(void *arg)
{
	struct sleeper *sleeper = arg;

	for (unsigned i = 1; i <= ROUNDS; i++) {
		RC(0, fi_cntr_wait(sleeper->w->cntr, i, -1));
		atomic_store(&sleeper->done, i);
	}
	return NULL;
}

static void *wait_for_all(void *arg)
{
	struct sleeper *sleeper = arg;

	RC(0, fi_cntr_wait(sleeper->w->cntr, ROUNDS, -1));
	return NULL;
}

/* Each change wakes both threads, of which one has waited for less. */
Test(fi_sleepers, on_one_counter)
{
	struct sleeper each = { 0 };
	pthread_t thread[SLEEPERS];
	struct world w;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_UNSPEC });
	each.w = &w;
	cr_assert(!pthread_create(&thread[0], NULL, wait_for_each, &each));
	for (int i = 1; i < SLEEPERS; i++)
		cr_assert(!pthread_create(&thread[i], NULL, wait_for_all, &each));
	for (unsigned i = 1; i <= ROUNDS; i++) {
		for (unsigned k = i % 64; k; k--) /* they have gone to sleep by then, or not quite */
			sched_yield();
		RC(0, fi_cntr_add(w.cntr, 1));
		reached(&each.done, i);
	}
	for (int i = 0; i < SLEEPERS; i++)
		pthread_join(thread[i], NULL);
	world_close(&w);
}

static void *read_one(void *arg)
{
	struct sleeper *sleeper = arg;
	struct fi_cq_tagged_entry entry;

	RC(1, fi_cq_sread(sleeper->w->cq, &entry, 1, NULL, -1));
	atomic_fetch_add(&sleeper->done, 1);
	return NULL;
}

/* A message gives two completions at once, each for one of the threads. */
Test(fi_sleepers, on_one_queue)
{
	static char out[8], in[8];
	struct world w;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_UNSPEC });
	for (int i = 0; i < ROUNDS / 20; i++) {
		struct sleeper readers = { .w = &w };
		pthread_t thread[2];

		for (int k = 0; k < 2; k++)
			cr_assert(!pthread_create(&thread[k], NULL, read_one, &readers));
		RC(0, fi_recv(w.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
		RC(0, fi_send(w.ep, out, sizeof(out), NULL, w.self, NULL));
		reached(&readers.done, 2);
		for (int k = 0; k < 2; k++)
			pthread_join(thread[k], NULL);
	}
	world_close(&w);
}

static void *sleep_for_good(void *arg)
{
	struct sleeper *sleeper = arg;
	struct fi_cq_tagged_entry entry;

	atomic_store(&sleeper->done, 1);
	fi_cq_sread(sleeper->w->cq, &entry, 1, NULL, -1);
	return NULL;
}

/* A thread that is cancelled in its sleep leaves no thread behind that waits for it. */
Test(fi_sleepers, of_which_one_is_cancelled)
{
	struct fi_cq_tagged_entry entry;
	static char out[8], in[8];
	struct world w;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_UNSPEC });
	for (int i = 0; i < 100; i++) {
		struct sleeper first = { .w = &w };
		pthread_t thread;

		cr_assert(!pthread_create(&thread, NULL, sleep_for_good, &first));
		reached(&first.done, 1);
		sched_yield();
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		RC(0, fi_recv(w.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
		RC(0, fi_send(w.ep, out, sizeof(out), NULL, w.self, NULL));
		RC(1, fi_cq_sread(w.cq, &entry, 1, NULL, GUARD_MS));
		RC(1, fi_cq_sread(w.cq, &entry, 1, NULL, GUARD_MS));
	}
	world_close(&w);
}

static void cancelled_in_time(pthread_t thread)
{
	struct timespec until;

	pthread_cancel(thread);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GUARD_MS / 1000;
	cr_assert_eq(pthread_timedjoin_np(thread, NULL, &until), 0, "a sleeper does not end when it is cancelled");
}

/* One of them leads, and the others sleep on it: the last to come are cancelled first, and the leader last. */
Test(fi_sleepers, of_which_all_are_cancelled)
{
	static char out[8], in[8];
	struct fi_cq_tagged_entry entry;
	struct world w;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_UNSPEC });
	for (int i = 0; i < 20; i++) {
		struct sleeper sleeper[SLEEPERS] = { { .w = &w }, { .w = &w }, { .w = &w } };
		pthread_t thread[SLEEPERS];

		for (int k = 0; k < SLEEPERS; k++) {
			cr_assert(!pthread_create(&thread[k], NULL, sleep_for_good, &sleeper[k]));
			reached(&sleeper[k].done, 1);
		}
		for (int k = SLEEPERS; k-- > 0;)
			cancelled_in_time(thread[k]);
		RC(0, fi_recv(w.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, NULL));
		RC(0, fi_send(w.ep, out, sizeof(out), NULL, w.self, NULL));
		RC(1, fi_cq_sread(w.cq, &entry, 1, NULL, GUARD_MS));
		RC(1, fi_cq_sread(w.cq, &entry, 1, NULL, GUARD_MS));
	}
	world_close(&w);
}

/* The event queue's descriptor is a fork's child's as well, and what the child closes is its own object alone. */
Test(fi_sleepers, beside_a_forks_child)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_SET };
	struct pollfd fd = { .events = POLLIN };
	struct world w;
	uint32_t event;
	pid_t child;
	int word = 1, status;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_FD, .eq_flags = FI_WRITE });
	RC(0, fi_close(&w.ep->fid));
	RC(0, fi_close(&w.cq->fid));
	w.ep = NULL;
	RC(0, fi_wait_open(w.fabric, &attr, &cq_attr.wait_set));
	RC(0, fi_cq_open(w.domain, &cq_attr, &w.cq, NULL));
	RC(0, fi_control(&w.eq->fid, FI_GETWAIT, &fd.fd));
	RC(sizeof(word), fi_eq_write(w.eq, 7, &word, sizeof(word), 0));
	child = fork();
	if (!child)
		_exit(fi_close(&w.eq->fid) || fi_close(&w.cq->fid) || fi_close(&cq_attr.wait_set->fid));
	cr_assert(child > 0 && waitpid(child, &status, 0) == child);
	cr_assert_eq(status, 0, "an object of the child's does not close");
	cr_assert_eq(poll(&fd, 1, 0), 1, "the child has emptied the parent's descriptor");
	RC(sizeof(word), fi_eq_read(w.eq, &event, &word, sizeof(word), 0));
	RC(0, fi_close(&w.cq->fid));
	RC(0, fi_close(&cq_attr.wait_set->fid));
	RC(0, fi_cq_open(w.domain, &(struct fi_cq_attr){ 0 }, &w.cq, NULL));
	world_close(&w);
}

/* Each call of a fork's child fails, and takes nothing from the parent: not its events, nor what wakes it. */
static int child_uses(const struct world *w, struct fid_wait *set, struct fid_eq *shared)
{
	struct fi_eq_err_entry error = { 0 };
	struct fid *fids[] = { &w->eq->fid, &set->fid };
	uint32_t event;
	char bytes[64];

	return fi_eq_read(w->eq, &event, bytes, sizeof(bytes), 0) != -FI_ENODEV ||
	       fi_eq_sread(w->eq, &event, bytes, sizeof(bytes), -1, 0) != -FI_ENODEV ||
	       fi_eq_readerr(w->eq, &error, 0) != -FI_ENODEV || fi_eq_write(w->eq, 7, bytes, 4, 0) != -FI_ENODEV ||
	       fi_trywait(w->fabric, &fids[0], 1) != -FI_ENODEV || fi_trywait(w->fabric, &fids[1], 1) != -FI_ENODEV ||
	       fi_wait(set, -1) != -FI_ENODEV || fi_close(&shared->fid) || fi_close(&set->fid);
}

Test(fi_sleepers, are_not_woken_in_a_forks_child)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_SET, .flags = FI_WRITE };
	struct pollfd fd = { .events = POLLIN }, set = { .events = POLLIN };
	int word = 1, status;
	struct fid *fids[1];
	struct fid_eq *shared;
	struct world w;
	uint32_t event;
	pid_t child;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_FD, .eq_flags = FI_WRITE });
	RC(0, fi_wait_open(w.fabric, &attr, &eq_attr.wait_set));
	RC(0, fi_eq_open(w.fabric, &eq_attr, &shared, NULL));
	RC(0, fi_control(&w.eq->fid, FI_GETWAIT, &fd.fd));
	RC(0, fi_control(&eq_attr.wait_set->fid, FI_GETWAIT, &set.fd));
	RC(sizeof(word), fi_eq_write(w.eq, 7, &word, sizeof(word), 0));
	child = fork();
	if (!child)
		_exit(child_uses(&w, eq_attr.wait_set, shared));
	cr_assert(child > 0 && waitpid(child, &status, 0) == child);
	cr_assert_eq(status, 0, "a call of the child's did something");
	cr_assert_eq(poll(&fd, 1, 0), 1, "the child has emptied the parent's descriptor");
	RC(sizeof(word), fi_eq_read(w.eq, &event, &word, sizeof(word), 0));
	cr_assert_eq(poll(&fd, 1, 0), 0);
	fids[0] = &eq_attr.wait_set->fid;
	RC(0, fi_trywait(w.fabric, fids, 1));
	RC(sizeof(word), fi_eq_write(shared, 7, &word, sizeof(word), 0));
	RC(-FI_EAGAIN, fi_trywait(w.fabric, fids, 1)); /* takes the wake-up, the event stays */
	cr_assert_eq(poll(&set, 1, 0), 1, "the child has taken the parent's queue out of its set");
	RC(sizeof(word), fi_eq_read(shared, &event, &word, sizeof(word), 0));
	RC(0, fi_close(&shared->fid));
	RC(0, fi_close(&eq_attr.wait_set->fid));
	world_close(&w);
}

/* No endpoint answers there: three dials in a row are refused, 100 ms apart. */
Test(fi_sleepers, hear_of_the_devices_timers_under_manual_progress)
{
	struct sockaddr_in nobody = { .sin_family = AF_INET, .sin_port = htons(1) };
	struct pollfd fd = { .events = POLLIN };
	struct fi_cq_tagged_entry entry;
	struct fid *fids[1];
	fi_addr_t peer;
	struct world w;
	ssize_t got;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_FD });
	nobody.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	RC(1, fi_av_insert(w.av, &nobody, 1, &peer, 0, NULL));
	RC(0, fi_control(&w.cq->fid, FI_GETWAIT, &fd.fd));
	RC(0, fi_send(w.ep, &entry, 1, NULL, peer, NULL));
	fids[0] = &w.cq->fid;
	while ((got = fi_cq_read(w.cq, &entry, 1)) == -FI_EAGAIN)
		if (!fi_trywait(w.fabric, fids, 1))
			cr_assert_eq(poll(&fd, 1, GUARD_MS), 1, "the device's timers are nobody's");
	RC(-FI_EAVAIL, got);
	world_close(&w);
}

/* The set was there before the device was, and holds an event queue alone. */
Test(fi_sleepers, on_an_early_set_under_manual_progress)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_SET }, other_attr = { .wait_obj = FI_WAIT_NONE };
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct want want = { .caps = FI_MSG };
	struct fi_info *hints = world_hints(&want), *info;
	uint8_t event[sizeof(struct fi_eq_cm_entry) + 64];
	struct sockaddr_storage name;
	struct fid_eq *eq, *other;
	size_t size = sizeof(name);
	struct fid_domain *domain;
	struct fid_fabric *fabric;
	struct fid_pep *pep;
	struct fid_cq *cq;
	struct fid_ep *ep;
	uint32_t kind;
	ssize_t got;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	hints->ep_attr->type = FI_EP_MSG;
	RC(0, world_getinfo(&want, hints, &info));
	RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	RC(0, fi_wait_open(fabric, &attr, &eq_attr.wait_set));
	RC(0, fi_eq_open(fabric, &eq_attr, &eq, NULL));
	RC(0, fi_eq_open(fabric, &other_attr, &other, NULL));
	RC(0, fi_passive_ep(fabric, info, &pep, NULL));
	RC(0, fi_pep_bind(pep, &eq->fid, 0));
	RC(0, fi_listen(pep));
	RC(0, fi_getname(&pep->fid, &name, &size));
	RC(0, fi_domain(fabric, info, &domain, NULL));
	RC(0, fi_cq_open(domain, &(struct fi_cq_attr){ .wait_obj = FI_WAIT_NONE }, &cq, NULL));
	RC(0, fi_endpoint(domain, info, &ep, NULL));
	RC(0, fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(ep, &other->fid, 0));
	RC(0, fi_connect(ep, &name, NULL, 0));
	while ((got = fi_eq_read(eq, &kind, event, sizeof(event), 0)) == -FI_EAGAIN)
		RC(0, fi_wait(eq_attr.wait_set, GUARD_MS));
	cr_assert(got > 0 && kind == FI_CONNREQ);
	fi_freeinfo(((struct fi_eq_cm_entry *)event)->info);
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&pep->fid));
	RC(0, fi_close(&cq->fid));
	RC(0, fi_close(&other->fid));
	RC(0, fi_close(&eq->fid));
	RC(0, fi_close(&eq_attr.wait_set->fid));
	RC(0, fi_close(&domain->fid));
	RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
}
