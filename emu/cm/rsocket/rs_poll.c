/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_poll.c - rpoll() and rselect(), of rsockets and of other descriptors. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>

#include "emu/cm/rsocket/rs_dgram.h"
#include "emu/verbs/cm/vb_cm.h"

enum {
	READABLE = POLLIN | POLLRDNORM,
	WRITABLE = POLLOUT | POLLWRNORM,
	ALWAYS = POLLERR | POLLHUP | POLLNVAL,
};

/* One of the array, as rpoll() sees it. */
struct rs_polled {
	struct rsocket *rs; /* NULL: another descriptor */
	short revents;
};

static int revents_up(const struct rsocket *rs)
{
	int is = rs_can_read(rs) ? READABLE : 0;

	if (rs_can_send(rs) || rs->sends_end || rs->leave_heard)
		is |= WRITABLE;
	if (rs->end_heard)
		is |= POLLRDHUP;
	if (rs->end_heard && !rs->unread && (rs->sends_end || rs->leave_heard))
		is |= POLLHUP;
	return is;
}

/* Locked. */
static short revents_of(struct rsocket *rs, short events)
{
	int is = 0;

	if (rs->closing)
		return POLLNVAL;
	if (rs->dgram) {
		is = (rs_can_read(rs) ? READABLE : 0) | (rs_dgram_can_send(rs) ? WRITABLE : 0) | (rs->error ? POLLERR : 0);
		return (short)(is & (events | ALWAYS));
	}
	switch (rs->state) {
	case RS_FRESH:
		is = WRITABLE | POLLHUP;
		break;
	case RS_LISTENING:
		is = rs_has_request(rs) ? READABLE : 0;
		break;
	case RS_CONNECTING:
		break;
	case RS_ACCEPTED:
	case RS_UP:
		is = revents_up(rs);
		break;
	case RS_OVER:
		is = READABLE | WRITABLE | POLLRDHUP;
		is |= rs->error ? POLLERR | POLLHUP : rs->unread ? 0 : POLLHUP;
		break;
	}
	return (short)(is & (events | ALWAYS));
}

/* Of the rsockets among them, after look() of each: how many are ready. */
static int polled_look(const struct pollfd *fds, struct rs_polled *polled, nfds_t count, void (*look)(struct rsocket *rs))
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		struct rsocket *rs = polled[i].rs;

		if (!rs)
			continue;
		pthread_mutex_lock(&rs->lock);
		look(rs);
		polled[i].revents = revents_of(rs, fds[i].events);
		pthread_mutex_unlock(&rs->lock);
		ready += polled[i].revents != 0;
	}
	return ready;
}

static void wake_up(struct rs_polled *polled, nfds_t count)
{
	for (nfds_t i = 0; i < count; i++) {
		if (!polled[i].rs)
			continue;
		pthread_mutex_lock(&polled[i].rs->lock);
		rs_sleep_end(polled[i].rs);
		pthread_mutex_unlock(&polled[i].rs->lock);
	}
}

/* Sleeps until a descriptor below may be ready: what poll() returns. */
static int sleep_on_all(const struct pollfd *fds, struct pollfd *below, struct rs_polled *polled, nfds_t count, int timeout_ms)
{
	int n, err;

	if (polled_look(fds, polled, count, rs_sleep_begin))
		timeout_ms = 0;
	if (timeout_ms)
		vb_cm_doze();
	n = poll(below, count, timeout_ms);
	err = errno;
	wake_up(polled, count);
	errno = err;
	return n;
}

/* Gives the program what is ready: how many. */
static int give_revents(struct pollfd *fds, const struct pollfd *below, const struct rs_polled *polled, nfds_t count)
{
	int ready = 0;

	for (nfds_t i = 0; i < count; i++) {
		fds[i].revents = polled[i].rs ? polled[i].revents : below[i].revents;
		ready += fds[i].revents != 0;
	}
	return ready;
}

/* Until something is ready. */
static int poll_all(struct pollfd *fds, struct pollfd *below, struct rs_polled *polled, nfds_t count, int timeout_ms)
{
	int64_t begin_us = rs_now_us(), until_us = begin_us + timeout_ms * INT64_C(1000), spin_us = 0, now_us = begin_us;
	int left_ms = timeout_ms, ready;

	for (nfds_t i = 0; i < count && timeout_ms; i++)
		if (polled[i].rs && polled[i].rs->options.poll_us > spin_us)
			spin_us = polled[i].rs->options.poll_us;
	do {
		ready = polled_look(fds, polled, count, rs_look);
		now_us = rs_now_us();
	} while (!ready && now_us - begin_us < spin_us);
	for (;;) {
		if (poll(below, count, 0) < 0)
			return -1;
		ready = give_revents(fds, below, polled, count);
		if (timeout_ms > 0)
			left_ms = until_us > now_us ? (int)((until_us - now_us + 999) / 1000) : 0;
		if (ready || !left_ms)
			return ready;
		if (sleep_on_all(fds, below, polled, count, left_ms) < 0)
			return -1;
		(void)polled_look(fds, polled, count, rs_look);
		now_us = rs_now_us();
	}
}

int rpoll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct pollfd *below;
	struct rs_polled *polled;
	bool any = false;
	int n = -1;

	if (count > (nfds_t)INT32_MAX)
		return rs_result(EINVAL, -1);
	below = calloc(count ? count : 1, sizeof(*below));
	polled = calloc(count ? count : 1, sizeof(*polled));
	for (nfds_t i = 0; i < count && below && polled; i++) {
		polled[i].rs = rs_get(fds[i].fd);
		any |= polled[i].rs != NULL;
		below[i] = (struct pollfd){ .fd = fds[i].fd, .events = polled[i].rs ? POLLIN : fds[i].events };
	}
	if (!below || !polled)
		errno = ENOMEM;
	else
		n = any ? poll_all(fds, below, polled, count, timeout_ms) : poll(fds, count, timeout_ms);
	for (nfds_t i = 0; i < count && below && polled; i++)
		if (polled[i].rs)
			rs_put(polled[i].rs);
	free(below);
	free(polled);
	return n;
}

/* --- by sets --- */

static bool is_in(const fd_set *set, int fd)
{
	return set && FD_ISSET(fd, set);
}

/* 1: it stays in the set. */
static int keep_in(fd_set *set, int fd, bool ready)
{
	if (!is_in(set, fd))
		return 0;
	if (!ready)
		FD_CLR(fd, set);
	return ready;
}

int rselect(int count, fd_set *reads, fd_set *writes, fd_set *excepts, struct timeval *timeout)
{
	struct pollfd fds[FD_SETSIZE];
	int64_t timeout_ms = -1;
	nfds_t used = 0;
	int n, kept = 0;

	if (count < 0 || count > FD_SETSIZE || (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0)))
		return rs_result(EINVAL, -1);
	if (timeout)
		timeout_ms = timeout->tv_sec > INT32_MAX / 1000 - 1 ? INT32_MAX
								    : timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000;
	for (int fd = 0; fd < count; fd++)
		if (is_in(reads, fd) || is_in(writes, fd) || is_in(excepts, fd))
			fds[used++] = (struct pollfd){ .fd = fd,
						       .events = (short)((is_in(reads, fd) ? POLLIN : 0) |
									 (is_in(writes, fd) ? POLLOUT : 0) |
									 (is_in(excepts, fd) ? POLLPRI : 0)) };
	n = rpoll(fds, used, (int)timeout_ms);
	if (n < 0)
		return n;
	for (nfds_t i = 0; i < used; i++)
		if (fds[i].revents & POLLNVAL)
			return rs_result(EBADF, -1);
	for (nfds_t i = 0; i < used; i++) {
		kept += keep_in(reads, fds[i].fd, fds[i].revents & (READABLE | POLLHUP | POLLERR));
		kept += keep_in(writes, fds[i].fd, fds[i].revents & (WRITABLE | POLLERR));
		kept += keep_in(excepts, fds[i].fd, fds[i].revents & POLLPRI);
	}
	return kept;
}
