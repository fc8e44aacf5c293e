/* SPDX-License-Identifier: BSD-2-Clause */
/* repoll.c - repoll_create(), repoll_ctl() and repoll_wait(): rpoll() with a set that is kept, as epoll's. Without EPOLLET. The set
 * ends when its descriptor was closed and its number is given again. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "emu/cm/rsocket/rs.h"

#define EXPORT __attribute__((visibility("default")))

/* <rdma/rsocket.h> of rdma-core 44 has none of them, and that of 64 the first. */
EXPORT int repoll_create(int flags);
EXPORT int repoll_ctl(int set_fd, int op, int fd, struct epoll_event *event);
EXPORT int repoll_wait(int set_fd, struct epoll_event *events, int most, int timeout_ms);

enum { EVENTS = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLERR | EPOLLHUP };

struct repoll {
	struct repoll *next;
	int fd;
	size_t count;
	struct pollfd *fds;
	struct epoll_event *wants; /* of each */
};

static pthread_mutex_t sets_lock = PTHREAD_MUTEX_INITIALIZER;
static struct repoll *sets;

/* With sets_lock, as what follows. */
static struct repoll *set_find(int fd)
{
	struct repoll *set = sets;

	while (set && set->fd != fd)
		set = set->next;
	return set;
}

int repoll_create(int flags)
{
	struct repoll *set;
	int fd = epoll_create1(flags);

	if (fd < 0)
		return -1;
	pthread_mutex_lock(&sets_lock);
	set = set_find(fd);
	if (!set) {
		set = calloc(1, sizeof(*set));
		if (set) {
			set->fd = fd;
			set->next = sets;
			sets = set;
		}
	} else {
		set->count = 0;
	}
	pthread_mutex_unlock(&sets_lock);
	if (set)
		return fd;
	close(fd);
	return rs_result(ENOMEM, -1);
}

static int set_add(struct repoll *set, int fd)
{
	struct pollfd *fds = realloc(set->fds, (set->count + 1) * sizeof(*fds));
	struct epoll_event *wants;

	if (!fds)
		return ENOMEM;
	set->fds = fds;
	wants = realloc(set->wants, (set->count + 1) * sizeof(*wants));
	if (!wants)
		return ENOMEM;
	set->wants = wants;
	fds[set->count++].fd = fd;
	return 0;
}

static int set_change(struct repoll *set, int op, int fd, const struct epoll_event *event)
{
	size_t at = 0;
	int err = 0;

	if (op != EPOLL_CTL_ADD && op != EPOLL_CTL_MOD && op != EPOLL_CTL_DEL)
		return EINVAL;
	if (op != EPOLL_CTL_DEL && (!event || event->events & ~(uint32_t)(EVENTS | EPOLLONESHOT)))
		return vb_refuse(EINVAL, "repoll_ctl", "event is NULL, or has EPOLLET or other flags than EPOLLONESHOT.");
	while (at < set->count && set->fds[at].fd != fd)
		at++;
	if (op == EPOLL_CTL_ADD && at < set->count)
		return EEXIST;
	if (op != EPOLL_CTL_ADD && at == set->count)
		return ENOENT;
	if (op == EPOLL_CTL_ADD)
		err = fcntl(fd, F_GETFD) < 0 ? EBADF : set_add(set, fd);
	if (err)
		return err;
	if (op == EPOLL_CTL_DEL) {
		set->count--;
		set->fds[at] = set->fds[set->count];
		set->wants[at] = set->wants[set->count];
		return 0;
	}
	set->wants[at] = *event;
	set->fds[at].events = (short)(event->events & EVENTS);
	return 0;
}

int repoll_ctl(int set_fd, int op, int fd, struct epoll_event *event)
{
	struct repoll *set;
	int err;

	pthread_mutex_lock(&sets_lock);
	set = set_find(set_fd);
	err = set ? set_change(set, op, fd, event) : EBADF;
	pthread_mutex_unlock(&sets_lock);
	return rs_result(err, 0);
}

/* A copy, as the set may be changed while it is waited for; one that has been told once is left out. NULL with errno. */
static struct pollfd *set_copy(int set_fd, nfds_t *count)
{
	struct pollfd *fds = NULL;
	struct repoll *set;
	int err = EBADF;

	pthread_mutex_lock(&sets_lock);
	set = set_find(set_fd);
	if (set) {
		fds = calloc(set->count + 1, sizeof(*fds));
		err = ENOMEM;
	}
	*count = 0;
	for (size_t i = 0; fds && i < set->count; i++)
		if (set->wants[i].events)
			fds[(*count)++] = set->fds[i];
	pthread_mutex_unlock(&sets_lock);
	if (!fds)
		errno = err;
	return fds;
}

/* What is ready, of those that are still in the set: how many. */
static int set_give(int set_fd, const struct pollfd *fds, nfds_t count, struct epoll_event *events, int most)
{
	struct repoll *set;
	int given = 0;

	pthread_mutex_lock(&sets_lock);
	set = set_find(set_fd);
	for (nfds_t i = 0; set && i < count && given < most; i++) {
		size_t at = 0;

		while (at < set->count && set->fds[at].fd != fds[i].fd)
			at++;
		if (!fds[i].revents || fds[i].revents & POLLNVAL || at == set->count)
			continue;
		events[given++] = (struct epoll_event){ .events = (uint16_t)fds[i].revents, .data = set->wants[at].data };
		if (set->wants[at].events & EPOLLONESHOT)
			set->wants[at].events = 0;
	}
	pthread_mutex_unlock(&sets_lock);
	return given;
}

int repoll_wait(int set_fd, struct epoll_event *events, int most, int timeout_ms)
{
	struct pollfd *fds;
	nfds_t count;
	int n;

	if (!events || most <= 0)
		return rs_result(EINVAL, -1);
	fds = set_copy(set_fd, &count);
	if (!fds)
		return -1;
	n = rpoll(fds, count, timeout_ms);
	if (n > 0)
		n = set_give(set_fd, fds, count, events, most);
	free(fds);
	return n;
}
