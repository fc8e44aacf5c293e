/* SPDX-License-Identifier: BSD-2-Clause */
/* wait_objects.c - every kind of wait object of fi_cq(3), fi_cntr(3) and fi_eq(3), wait sets and poll sets (fi_poll(3)). The
 * completions come from another thread of the program. */
#include "tests/fi/world.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { GUARD_MS = 30000, ROUNDS = 50 };

static const enum fi_wait_obj own_objects[] = {
	FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD, FI_WAIT_POLLFD,
};
enum { OWN_OBJECTS = sizeof(own_objects) / sizeof(own_objects[0]) };

static char out[64], in[64];

/* One message from the endpoint to itself: a completion each way, and two counts. */
static void *send_one(void *arg)
{
	struct world *w = arg;

	RC(0, fi_recv(w->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in));
	RC(0, fi_send(w->ep, out, sizeof(out), NULL, w->self, out));
	return NULL;
}

static pthread_t send_meanwhile(struct world *w)
{
	pthread_t thread;

	cr_assert(!pthread_create(&thread, NULL, send_one, w));
	return thread;
}

Test(fi_wait_objects, our_own_calls_sleep_on_each)
{
	for (int i = 0; i < OWN_OBJECTS; i++) {
		struct fi_cq_tagged_entry entry;
		enum fi_wait_obj told;
		pthread_t thread;
		struct world w;
		uint32_t event;
		int word = 5;

		world_open(&w, &(struct want){ .wait_obj = own_objects[i], .eq_flags = FI_WRITE });
		RC(0, fi_control(&w.cq->fid, FI_GETWAITOBJ, &told));
		cr_assert_eq(told, own_objects[i]);
		RC(0, fi_control(&w.eq->fid, FI_GETWAITOBJ, &told));
		cr_assert_eq(told, own_objects[i]);
		RC(-FI_EAGAIN, fi_cq_sread(w.cq, &entry, 1, NULL, 1));
		RC(-FI_EAGAIN, fi_eq_sread(w.eq, &event, &word, sizeof(word), 1, 0));
		RC(-FI_ETIMEDOUT, fi_cntr_wait(w.cntr, 1, 1));
		thread = send_meanwhile(&w);
		RC(1, fi_cq_sread(w.cq, &entry, 1, NULL, GUARD_MS));
		RC(1, fi_cq_sread(w.cq, &entry, 1, NULL, GUARD_MS));
		RC(0, fi_cntr_wait(w.cntr, 2, GUARD_MS));
		pthread_join(thread, NULL);
		RC(0, fi_cq_signal(w.cq));
		RC(-FI_EAGAIN, fi_cq_sread(w.cq, &entry, 1, NULL, -1));
		RC(sizeof(word), fi_eq_write(w.eq, 7, &word, sizeof(word), 0));
		RC(sizeof(word), fi_eq_sread(w.eq, &event, &word, sizeof(word), -1, 0));
		world_close(&w);
	}
}

/* The program waits on the condition of `fid`, as fi_trywait() allows; something else may have woken it. */
static void cond_wait(struct world *w, struct fid *fid, struct fi_mutex_cond *object)
{
	int rc;

	pthread_mutex_lock(object->mutex);
	rc = fi_trywait(w->fabric, &fid, 1);
	cr_assert(!rc || rc == -FI_EAGAIN, "fi_trywait: %d", rc);
	if (!rc)
		pthread_cond_wait(object->cond, object->mutex);
	pthread_mutex_unlock(object->mutex);
}

Test(fi_wait_objects, a_mutex_and_a_condition)
{
	struct fi_mutex_cond of_cq, of_cntr, of_eq;
	struct fi_cq_tagged_entry entry;
	struct world w;
	uint32_t event;
	int word = 0;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_MUTEX_COND, .eq_flags = FI_WRITE });
	RC(0, fi_control(&w.cq->fid, FI_GETWAIT, &of_cq));
	RC(0, fi_control(&w.cntr->fid, FI_GETWAIT, &of_cntr));
	RC(0, fi_control(&w.eq->fid, FI_GETWAIT, &of_eq));
	for (int round = 0; round < ROUNDS; round++) {
		pthread_t thread = send_meanwhile(&w);

		for (int seen = 0; seen < 2;) {
			ssize_t got = fi_cq_read(w.cq, &entry, 1);

			seen += got == 1;
			if (got == -FI_EAGAIN)
				cond_wait(&w, &w.cq->fid, &of_cq);
		}
		while (fi_cntr_read(w.cntr) < 2 * (unsigned)(round + 1))
			cond_wait(&w, &w.cntr->fid, &of_cntr);
		pthread_join(thread, NULL);
	}
	RC(sizeof(word), fi_eq_write(w.eq, 7, &word, sizeof(word), 0));
	cond_wait(&w, &w.eq->fid, &of_eq); /* does not sleep */
	RC(sizeof(word), fi_eq_read(w.eq, &event, &word, sizeof(word), 0));
	world_close(&w);
}

static void *write_event(void *arg)
{
	int word = 3;

	RC(sizeof(word), fi_eq_write(arg, 7, &word, sizeof(word), 0));
	return NULL;
}

/* An event queue has its mutex and condition without any domain. */
Test(fi_wait_objects, an_event_queue_alone)
{
	struct fi_eq_attr attr = { .flags = FI_WRITE, .wait_obj = FI_WAIT_MUTEX_COND };
	struct want want = { 0 };
	struct world w = { 0 };
	struct fi_mutex_cond object;
	pthread_t thread;
	uint32_t event;
	int word;

	world_need_emu();
	RC(0, world_getinfo(&want, world_hints(&want), &w.info));
	RC(0, fi_fabric(w.info->fabric_attr, &w.fabric, NULL));
	RC(0, fi_eq_open(w.fabric, &attr, &w.eq, NULL));
	RC(0, fi_control(&w.eq->fid, FI_GETWAIT, &object));
	cr_assert(!pthread_create(&thread, NULL, write_event, w.eq));
	while (fi_eq_read(w.eq, &event, &word, sizeof(word), 0) != sizeof(word))
		cond_wait(&w, &w.eq->fid, &object);
	pthread_join(thread, NULL);
	RC(0, fi_close(&w.eq->fid));
	RC(0, fi_close(&w.fabric->fid));
	fi_freeinfo(w.info);
}

Test(fi_wait_objects, poll_descriptors)
{
	struct pollfd fds[2] = { { .fd = -1 }, { .fd = -1 } };
	struct fi_wait_pollfd told = { .nfds = 0, .fd = fds };
	struct fi_cq_tagged_entry entry;
	struct fid *fids[1];
	pthread_t thread;
	struct world w;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_POLLFD });
	fids[0] = &w.cq->fid;
	RC(-FI_ETOOSMALL, fi_control(&w.cq->fid, FI_GETWAIT, &told));
	cr_assert(told.nfds == 1 && fds[0].fd == -1);
	told.nfds = 2;
	RC(0, fi_control(&w.cq->fid, FI_GETWAIT, &told));
	cr_assert(told.nfds == 1 && told.change_index == 1 && fds[0].fd >= 0 && fds[0].events == POLLIN && fds[1].fd == -1);
	told.fd = NULL;
	RC(-FI_EINVAL, fi_control(&w.cq->fid, FI_GETWAIT, &told));
	thread = send_meanwhile(&w);
	for (int seen = 0; seen < 2;) {
		if (fi_trywait(w.fabric, fids, 1) == 0)
			cr_assert(poll(fds, 1, GUARD_MS) == 1);
		seen += fi_cq_read(w.cq, &entry, 1) == 1;
	}
	pthread_join(thread, NULL);
	told = (struct fi_wait_pollfd){ .nfds = 1, .fd = fds };
	fds[0].fd = -1;
	RC(0, fi_control(&w.eq->fid, FI_GETWAIT, &told));
	cr_assert(fds[0].fd >= 0);
	world_close(&w);
}

/* --- wait sets --- */

struct set_world {
	struct world w;
	struct fid_wait *set;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_ep *ep;
};

static void set_open(struct set_world *s, enum fi_wait_obj obj)
{
	struct fi_wait_attr attr = { .wait_obj = obj };
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	world_open(&s->w, &(struct want){ 0 });
	RC(0, fi_close(&s->w.ep->fid));
	RC(0, fi_wait_open(s->w.fabric, &attr, &s->set));
	RC(0, fi_cq_open(s->w.domain,
			 &(struct fi_cq_attr){
				 .format = FI_CQ_FORMAT_TAGGED,
				 .wait_obj = FI_WAIT_SET,
				 .wait_set = s->set,
			 },
			 &s->cq, NULL));
	RC(0, fi_cntr_open(s->w.domain, &(struct fi_cntr_attr){ .wait_obj = FI_WAIT_SET, .wait_set = s->set }, &s->cntr, NULL));
	RC(0, fi_eq_open(s->w.fabric, &(struct fi_eq_attr){ .flags = FI_WRITE, .wait_obj = FI_WAIT_SET, .wait_set = s->set },
			 &s->eq, NULL));
	RC(0, fi_endpoint(s->w.domain, s->w.info, &s->w.ep, NULL));
	RC(0, fi_ep_bind(s->w.ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_ep_bind(s->w.ep, &s->cntr->fid, FI_RECV));
	RC(0, fi_ep_bind(s->w.ep, &s->w.av->fid, 0));
	RC(0, fi_enable(s->w.ep));
	RC(0, fi_getname(&s->w.ep->fid, &name, &length));
	RC(1, fi_av_insert(s->w.av, &name, 1, &s->w.self, 0, NULL));
}

static void set_close(struct set_world *s)
{
	RC(0, fi_close(&s->w.ep->fid));
	s->w.ep = NULL;
	RC(-FI_EBUSY, fi_close(&s->set->fid));
	RC(0, fi_close(&s->cq->fid));
	RC(0, fi_close(&s->cntr->fid));
	RC(-FI_EBUSY, fi_close(&s->set->fid));
	RC(0, fi_close(&s->eq->fid));
	RC(0, fi_close(&s->set->fid));
	world_close(&s->w);
}

Test(fi_wait_objects, a_wait_set_wakes_for_all_that_is_in_it)
{
	for (int i = 0; i < OWN_OBJECTS; i++) {
		struct fi_cq_tagged_entry entry;
		struct set_world s = { 0 };
		pthread_t thread;
		uint32_t event;
		int word = 1;

		set_open(&s, own_objects[i]);
		RC(-FI_EINVAL, fi_cq_sread(s.cq, &entry, 1, NULL, 1));
		RC(-FI_EINVAL, fi_cntr_wait(s.cntr, 1, 1));
		RC(-FI_EINVAL, fi_eq_sread(s.eq, &event, &word, sizeof(word), 1, 0));
		RC(-FI_ETIMEDOUT, fi_wait(s.set, 1));
		thread = send_meanwhile(&s.w);
		for (int seen = 0; seen < 2;) {
			RC(0, fi_wait(s.set, GUARD_MS));
			seen += fi_cq_read(s.cq, &entry, 1) == 1;
			(void)fi_cntr_read(s.cntr);
		}
		cr_assert_eq(fi_cntr_read(s.cntr), 1);
		pthread_join(thread, NULL);
		RC(-FI_ETIMEDOUT, fi_wait(s.set, 0));
		cr_assert(!pthread_create(&thread, NULL, write_event, s.eq));
		RC(0, fi_wait(s.set, GUARD_MS));
		RC(sizeof(word), fi_eq_read(s.eq, &event, &word, sizeof(word), 0));
		pthread_join(thread, NULL);
		RC(0, fi_cntr_add(s.cntr, 1));
		RC(0, fi_wait(s.set, GUARD_MS));
		set_close(&s);
	}
}

/* Opened before there was a NIC, and waited on by its descriptor. */
Test(fi_wait_objects, the_descriptor_of_an_early_wait_set)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD };
	struct pollfd fd = { .events = POLLIN };
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_SET };
	struct want want = { 0 };
	struct world w = { 0 };
	struct fid *fids[1];
	uint64_t entry;

	world_need_emu();
	RC(0, world_getinfo(&want, world_hints(&want), &w.info));
	RC(0, fi_fabric(w.info->fabric_attr, &w.fabric, NULL));
	RC(0, fi_wait_open(w.fabric, &attr, &cq_attr.wait_set));
	RC(-FI_ETIMEDOUT, fi_wait(cq_attr.wait_set, 1));
	fids[0] = &cq_attr.wait_set->fid;
	RC(0, fi_control(fids[0], FI_GETWAIT, &fd.fd));
	RC(0, fi_trywait(w.fabric, fids, 1));
	cr_assert_eq(poll(&fd, 1, 0), 0);
	RC(0, fi_domain(w.fabric, w.info, &w.domain, NULL));
	RC(0, fi_cq_open(w.domain, &cq_attr, &w.cq, NULL));
	RC(0, fi_trywait(w.fabric, fids, 1));
	RC(0, fi_cq_signal(w.cq));
	cr_assert_eq(poll(&fd, 1, GUARD_MS), 1);
	RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
	RC(0, fi_close(&w.cq->fid));
	RC(0, fi_close(fids[0]));
	RC(0, fi_close(&w.domain->fid));
	RC(0, fi_close(&w.fabric->fid));
	fi_freeinfo(w.info);
}

Test(fi_wait_objects, bad_attributes)
{
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_SET };
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_SET };
	struct fid_wait *set = NULL;
	struct fid_fabric *fabric;
	struct fid_cq *cq;
	struct world w;
	int fd;

	world_open(&w, &(struct want){ .wait_obj = FI_WAIT_YIELD });
	RC(-FI_EINVAL, fi_wait_open(w.fabric, &attr, &set));
	attr.wait_obj = FI_WAIT_NONE;
	RC(-FI_EINVAL, fi_wait_open(w.fabric, &attr, &set));
	attr.wait_obj = FI_WAIT_POLLFD + 1;
	RC(-FI_EINVAL, fi_wait_open(w.fabric, &attr, &set));
	attr = (struct fi_wait_attr){ .wait_obj = FI_WAIT_FD, .flags = 1 };
	RC(-FI_EBADFLAGS, fi_wait_open(w.fabric, &attr, &set));
	RC(-FI_EINVAL, w.fabric->ops->wait_open(w.fabric, NULL, &set));
	cr_assert_null(set);
	RC(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL)); /* which set? */
	cq_attr.wait_set = (struct fid_wait *)w.eq;
	RC(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL));
	RC(-FI_ENODATA, fi_control(&w.cq->fid, FI_GETWAIT, &fd)); /* nothing is waited on */
	RC(0, fi_fabric(w.info->fabric_attr, &fabric, NULL));
	attr.flags = 0;
	RC(0, fi_wait_open(fabric, &attr, &cq_attr.wait_set));
	RC(-FI_EINVAL, fi_cq_open(w.domain, &cq_attr, &cq, NULL)); /* another fabric's */
	RC(0, fi_close(&cq_attr.wait_set->fid));
	RC(0, fi_close(&fabric->fid));
	world_close(&w);
}

/* Nothing would wake the program. */
Test(fi_wait_objects, a_condition_needs_background_progress)
{
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_MUTEX_COND };
	struct fid_cq *cq;
	struct world w;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	world_open(&w, &(struct want){ 0 });
	RC(-FI_ENOSYS, fi_cq_open(w.domain, &attr, &cq, NULL));
	world_close(&w);
}

/* --- poll sets --- */

Test(fi_wait_objects, a_poll_set_names_what_has_something)
{
	struct fi_cq_tagged_entry entry;
	struct fid_poll *set;
	void *context[4] = { NULL };
	struct world w;

	world_open(&w, &(struct want){ 0 });
	w.cq->fid.context = &w.cq;
	w.cntr->fid.context = &w.cntr;
	RC(0, fi_poll_open(w.domain, &(struct fi_poll_attr){ 0 }, &set));
	RC(0, fi_poll_add(set, &w.cq->fid, 0));
	RC(0, fi_poll_add(set, &w.cntr->fid, 0));
	RC(-FI_EINVAL, fi_poll_add(set, &w.cq->fid, 0));
	RC(0, fi_poll(set, context, 4));
	send_one(&w);
	while (fi_cntr_read(w.cntr) < 2)
		;
	RC(2, fi_poll(set, context, 4));
	cr_assert(context[0] == &w.cq && context[1] == &w.cntr && !context[2]);
	RC(1, fi_poll(set, context, 4)); /* the counter has not changed since */
	cr_assert(context[0] == &w.cq);
	RC(1, world_next(&w, &entry));
	RC(0, fi_poll(set, context, 0));
	RC(1, fi_poll(set, context, 1));
	RC(1, world_next(&w, &entry));
	RC(0, fi_poll(set, context, 4));
	RC(-FI_EBUSY, fi_close(&set->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	RC(-FI_EBUSY, fi_close(&w.cq->fid));
	RC(-FI_EBUSY, fi_close(&w.cntr->fid));
	RC(0, fi_poll_del(set, &w.cq->fid, 0));
	RC(-FI_EINVAL, fi_poll_del(set, &w.cq->fid, 0));
	RC(0, fi_poll_del(set, &w.cntr->fid, 0));
	RC(-FI_EINVAL, fi_poll_add(set, &w.eq->fid, 0));
	RC(-FI_EBADFLAGS, fi_poll_add(set, &w.cq->fid, 1));
	RC(-FI_EINVAL, fi_poll(set, NULL, 1));
	RC(0, fi_close(&set->fid));
	RC(-FI_EBADFLAGS, fi_poll_open(w.domain, &(struct fi_poll_attr){ .flags = 1 }, &set));
	RC(-FI_EINVAL, w.domain->ops->poll_open(w.domain, NULL, &set));
	world_close(&w);
}
