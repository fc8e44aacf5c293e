/* SPDX-License-Identifier: BSD-2-Clause */
/* cq.h - completion queue: a ring of `size` entries, an overflow list, a list of errors.
 *
 * Writers hold the driver role; readers are program threads. The queue's own leaf lock guards all.
 * Nothing is ever lost: a completion that finds the ring full waits in its op (cq_node) until a reader makes room;
 * completions without an op (remote CQ data) must find room before the op is executed: cq_has_room(), else RNR.
 * A queue that overruns (cq_overrun_at()) keeps so many entries, and loses those that come on top: the first is told. */
#ifndef EMU_NIC_CQ_H
#define EMU_NIC_CQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/must_use.h"

struct cq;

struct completion {
	void *context;
	uint64_t flags; /* the front end's (front_end.h) */
	size_t length;
	void *buf;
	uint64_t data;
	uint64_t tag;
	uint64_t source; /* AV index of the sender, AV_NONE if not known */
};

/* What it holds at this moment. */
struct cq_view {
	size_t size, unread, errors; /* entries; completions and errors that nobody has read. unread > size: the rest waits */
	uint64_t taken;              /* completions read so far */
	unsigned int users;          /* endpoints, once for each side that it is bound to */
};

struct cq_error {
	struct completion c;
	int err;                        /* positive errno, of the system or of base/errno.h */
	int prov_errno;                 /* enum refusal_cause */
	size_t olen;                    /* bytes that did not fit */
	struct sockaddr_storage source; /* REFUSAL_STRANGER: the sender's, which the AV does not hold; else ss_family is 0 */
	char text[LIMIT_ERROR_TEXT];
};

/* Embedded in the op or receive that backs a completion. release() is called once, when the entry has been copied into the ring:
 * by the writer, or by the reader that made room (then without the driver role), in either case without the lock. */
struct cq_node {
	struct cq_node *next;
	struct completion c;
	void (*release)(struct cq_node *node);
};

/* size 0: LIMIT_CQ_SIZE. `wake` (may be NULL) is called after an entry came while cq_arm() is in force, or on
 * cq_signal(); it must neither block nor be a cancellation point. 0, -EINVAL beyond LIMIT_CQ_SIZE_MAX, -ENOMEM. */
MUST_USE int cq_open(struct cq **cq, size_t size, void (*wake)(void *arg), void *arg);
/* 0, or -EBUSY while users are bound. Nodes still waiting are released. */
int cq_close(struct cq *cq);
/* Before the first entry: keeps up to `most` unread entries and errors, and loses any further one. */
void cq_overrun_at(struct cq *cq, size_t most);
/* With it: `overrun` is told of the first entry that is lost, and of no other, by its writer, without the queue's lock. As
 * `wake`, it must neither block nor be a cancellation point. */
void cq_tell_overrun(struct cq *cq, void (*overrun)(void *arg), void *arg);
/* It takes no entry any more, and tells of none that is lost. Those that are unread stay. */
void cq_break(struct cq *cq);
/* Room for `size` entries; what is unread stays, in its order, and a queue that overruns now does so at `size`. The caller
 * holds the driver role. 0; -EINVAL: 0, beyond LIMIT_CQ_SIZE_MAX, or less than is unread, errors included; -ENOMEM. */
MUST_USE int cq_resize(struct cq *cq, size_t size);
/* Takes out the entries, errors among them, of which of(entry, arg) is true; the others keep their order. `of` runs with the
 * queue's lock and looks at the entry alone. Any thread. Returns how many. */
size_t cq_purge(struct cq *cq, bool (*of)(const struct completion *c, void *arg), void *arg);
size_t cq_lost(const struct cq *cq);               /* so many entries, ever; any thread */
bool cq_bound(const struct cq *cq);                /* has users */
void cq_look(struct cq *cq, struct cq_view *view); /* any thread */
void cq_get(struct cq *cq);                        /* one more user (endpoint) */
void cq_put(struct cq *cq);

/* Writers (driver role). */
void cq_push(struct cq *cq, struct cq_node *node);
bool cq_has_room(const struct cq *cq);                           /* for one entry without a node */
bool cq_overruns(const struct cq *cq);                           /* takes any entry, and may lose it */
void cq_push_now(struct cq *cq, const struct completion *c);     /* after cq_has_room() under the same role */
void cq_push_error(struct cq *cq, const struct cq_error *error); /* copied */

/* Readers (any thread). */
/* Up to count entries of those that are there: a front end calls driver_poll() first. Returns how many,
 * -EAGAIN if none, -NIC_EAVAIL if an error is the next thing. Errors come in order with completions: those before the error are
 * returned first. count 0: 0 where there would be an entry. */
ssize_t cq_take(struct cq *cq, struct completion *out, size_t count);
/* The oldest error, whether or not completions come before it: 1 and *out, or -EAGAIN. */
ssize_t cq_take_error(struct cq *cq, struct cq_error *out);
/* True if a read would return something other than -EAGAIN. */
bool cq_ready(const struct cq *cq);
/* More than LIMIT_CQ_ERRORS unread errors: posts that would complete here get -EAGAIN. */
bool cq_choked(const struct cq *cq);
/* The unread entries, if they are more than its size; else 0. */
size_t cq_overfull(const struct cq *cq);
/* From now until cq_disarm() each push calls wake. Counts; pairs. */
void cq_arm(struct cq *cq);
void cq_disarm(struct cq *cq);
/* The next push calls wake, and so do those after it while a waiter is armed: for a sleeper that does not disarm. */
void cq_notify(struct cq *cq);
/* Likewise the next error, or completion that has one of these flags; those without do not use it up. Where cq_notify() is in
 * force, that stays, and ends this. */
void cq_notify_flagged(struct cq *cq, uint64_t flags);
/* Is one of the two in force? Any thread; a hint. */
bool cq_is_notified(const struct cq *cq);
/* Brackets a poll that is about to read this queue: pushes in between wake no sleeper; if entries are left, cq_reader_exit() wakes.
 * False: no sleeper has called cq_notify(); then there is no cq_reader_exit(). */
bool cq_reader_enter(struct cq *cq);
void cq_reader_exit(struct cq *cq);
void cq_signal(struct cq *cq);    /* one blocked reader returns; remembered if there is none */
bool cq_signalled(struct cq *cq); /* consumes a signal */

#endif
