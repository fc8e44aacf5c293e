/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_wait.c - is the thread that reads a queue asleep on its descriptor? The kernel tells in which call a thread sleeps, and
 * its arguments (/proc/self/task/TID/syscall); the descriptors are in the program's memory, or in the epoll set's list. Where
 * the kernel does not tell, nothing is found. A queue is looked at until the first fi_trywait that succeeds.
 *
 * Until then its descriptor is quiet after each look of the program's: elsewhere it stays readable from the first event on, and no
 * thread would be seen asleep. A right program does not wait on it before fi_trywait. */
#include "emu/fi/check/fi_check_impl.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/fi/queues/fi_queues.h"
#include "emu/net/os/spawn.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/memory/guard.h"

enum {
	PERIOD_MS = 10,
	STILL = 100, /* so many periods without a look of the program's: entries wake the descriptor */
	LINE = 256,
	POLLED = 64,
};

static struct mutex life = MUTEX_INITIALIZER; /* for the start and end of the thread, which never takes it */
static bool runs GUARDED_BY(life), over GUARDED_BY(life);
static pthread_t watcher GUARDED_BY(life);

static struct mutex lock = MUTEX_INITIALIZER; /* after `life`; guards the list, whose objects live on while it is held */
static struct check_object *watched GUARDED_BY(lock);
static atomic_bool ends;

/* --- where a thread sleeps --- */

static bool read_task(pid_t thread, const char *name, char text[LINE])
{
	char path[LINE];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)thread, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = read(fd, text, LINE - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

static bool is_polled(const struct pollfd *list, unsigned long count, int fd)
{
	struct pollfd some[POLLED];

	for (unsigned long at = 0; at < count; at += POLLED) {
		unsigned long now = count - at < POLLED ? count - at : POLLED;

		if (!guard_copy(some, list + at, now * sizeof(*some)))
			return false;
		for (unsigned long i = 0; i < now; i++)
			if (some[i].fd == fd)
				return true;
	}
	return false;
}

static bool is_selected(const unsigned long *set, unsigned long count, int fd)
{
	enum { BITS = 8 * sizeof(unsigned long) };
	unsigned long word;

	return set && (unsigned long)fd < count && guard_copy(&word, set + fd / BITS, sizeof(word)) && word >> fd % BITS & 1;
}

static bool is_in_epoll(int set, int fd)
{
	char path[LINE], line[LINE];
	bool found = false;
	FILE *file;
	int member;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", set);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = sscanf(line, "tfd: %d", &member) == 1 && member == fd;
	if (file)
		fclose(file);
	return found;
}

/* `call`: "NUMBER ARGUMENT ARGUMENT ...", or "running". */
static bool blocks_on(const char *call, int fd)
{
	unsigned long first, second;
	long number;

	if (sscanf(call, "%ld %lx %lx", &number, &first, &second) != 3)
		return false;
	switch (number) {
#ifdef SYS_poll
	case SYS_poll:
#endif
	case SYS_ppoll:
		return is_polled((const struct pollfd *)first, second, fd);
#ifdef SYS_select
	case SYS_select:
#endif
	case SYS_pselect6:
		return is_selected((const unsigned long *)second, first, fd);
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_epoll_pwait:
		return is_in_epoll((int)first, fd);
	default:
		return false;
	}
}

/* It has not run between the two looks at its time: then it was asleep in that call, and its descriptors were those. */
static bool is_asleep_on(pid_t thread, int fd)
{
	char before[LINE], call[LINE], after[LINE];

	return read_task(thread, "schedstat", before) && read_task(thread, "syscall", call) && blocks_on(call, fd) &&
	       read_task(thread, "schedstat", after) && strcmp(before, after) == 0;
}

/* --- the thread --- */

/* The turn is read first: if the program arms the queue or looks at it from here on, it is another. As on hardware, nothing wakes
 * the descriptor for entries that stand; but the thread is not left asleep, nor one that sleeps where it is not seen. */
static void watch_queue(struct check_object *queue)
{
	struct emu_cq *cq = (struct emu_cq *)queue->fid;
	struct check_wait *wait = &queue->wait;
	uint64_t turn = atomic_load(&wait->turn);
	bool asleep;

	if (atomic_load(&wait->armed))
		return;
	asleep = is_asleep_on(atomic_load(&wait->reader), wait->fd);
	if (asleep)
		atomic_store(&wait->slept, turn + 1);
	wait->still = turn == wait->still_turn ? wait->still + 1 : 0;
	wait->still_turn = turn;
	if (cq_ready(cq->cq) && (asleep || wait->still >= STILL))
		waiter_rouse(&cq->waiter);
}

static void *watch_main(void *arg)
{
	while (!atomic_load(&ends)) {
		check_lock(&lock);
		for (struct check_object *queue = watched; queue; queue = queue->wait.next)
			watch_queue(queue);
		check_unlock(&lock);
		poll(NULL, 0, PERIOD_MS);
	}
	return arg;
}

static void stop(void) REQUIRES(life)
{
	if (!runs)
		return;
	atomic_store(&ends, true);
	pthread_join(watcher, NULL);
	atomic_store(&ends, false);
	runs = false;
}

/* --- what the program does --- */

void check_wait_begin(struct check_object *queue)
{
	check_lock(&life);
	if (!runs && !over)
		runs = !spawn(&watcher, "emu-check", watch_main, NULL);
	if (runs) {
		check_lock(&lock);
		queue->wait.next = watched;
		watched = queue;
		check_unlock(&lock);
		atomic_store(&queue->wait.quiet, true);
	}
	check_unlock(&life);
}

bool check_wait_end(struct check_object *queue)
{
	struct check_object **at;
	bool found, last;

	check_lock(&life);
	check_lock(&lock);
	for (at = &watched; *at && *at != queue; at = &(*at)->wait.next)
		;
	found = *at;
	if (found)
		*at = queue->wait.next;
	last = found && !watched;
	check_unlock(&lock);
	atomic_store(&queue->wait.quiet, false);
	if (last)
		stop();
	check_unlock(&life);
	return found;
}

void check_wait_taken(struct check_object *queue, const void *arg)
{
	enum fi_wait_obj obj = ((const struct emu_cq *)queue->fid)->waiter.obj;

	if ((obj != FI_WAIT_FD && obj != FI_WAIT_POLLFD) || atomic_load(&queue->wait.quiet))
		return;
	queue->wait.fd = obj == FI_WAIT_FD ? *(const int *)arg : ((const struct fi_wait_pollfd *)arg)->fd[0].fd;
	atomic_store(&queue->wait.reader, gettid());
	check_wait_begin(queue);
}

void check_wait_armed(struct fid *const *fids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct check_object *queue = fids[i]->fclass == FI_CLASS_CQ ? check_object_of(fids[i]) : NULL;

		if (!queue)
			continue;
		atomic_store(&queue->wait.armed, true);
		atomic_fetch_add(&queue->wait.turn, 1);
	}
}

void check_wait_looks(struct check_object *queue)
{
	if (atomic_load(&queue->wait.quiet) && !atomic_load(&queue->wait.armed))
		waiter_quiet(&((struct emu_cq *)queue->fid)->waiter);
}

void check_wait_looked(struct check_object *queue, const char *call, ssize_t got)
{
	struct check_wait *wait = &queue->wait;
	uint64_t turn = atomic_fetch_add(&wait->turn, 1);
	int me = gettid(), reader = atomic_exchange(&wait->reader, me);

	if (got > 0 && atomic_load(&wait->slept) == turn + 1 && reader == me)
		check_tell(&(struct check_finding){ .cause = CHECK_NOT_ARMED,
						    .call = call,
						    .opened = &queue->open.opened,
						    .here = true },
			   "%s: the thread has waited for this entry on the queue's descriptor, and the program has never called "
			   "fi_trywait for the queue",
			   call);
}

void check_wait_exit(void)
{
	check_lock(&life);
	over = true;
	stop();
	check_unlock(&life);
}

void check_wait_forked(void)
{
	mutex_forked(&life);
	mutex_forked(&lock);
	watched = NULL;
	runs = false;
	ends = false;
}
