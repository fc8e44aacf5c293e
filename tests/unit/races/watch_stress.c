/* SPDX-License-Identifier: BSD-2-Clause */
/* watch_stress.c - threads that use their memory in every way while windows open and close over all of it. Each thread keeps a copy
 * that is never watched: what it reads must be what it would read without us. */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/races/watch_case.h"

enum { WORKERS = 4, STEPS = 20000, WATCHERS = 2, OPEN = 8, SHARE = PAGE / WORKERS, TOUCHED = 3000 };

/* Of each page a worker has a part, so that all pages are in common. */
static unsigned char *memory;
static atomic_int working;
static volatile sig_atomic_t ticks;

struct worker {
	unsigned int seed;
	int number, ends[2], file;
	unsigned char copy[PAGES * SHARE];
};

static unsigned int draw(struct worker *worker, unsigned int below)
{
	return (unsigned int)rand_r(&worker->seed) % below;
}

/* A part of the worker's bytes that lies on one page. */
struct part {
	unsigned char *at, *copy;
	size_t length;
};

static struct part draw_part(struct worker *worker)
{
	unsigned int page = draw(worker, PAGES), from = draw(worker, SHARE), length = 1 + draw(worker, SHARE - from);

	return (struct part){ memory + page * PAGE + worker->number * SHARE + from, worker->copy + page * SHARE + from, length };
}

static void store(struct worker *worker, const struct part *part)
{
	for (size_t i = 0; i < part->length; i += 1 + draw(worker, 16))
		part->at[i] = part->copy[i] = (unsigned char)draw(worker, 256);
}

static void check(const struct part *part)
{
	NEED(!memcmp(part->at, part->copy, part->length));
}

/* From one part to another, through a socket, by vectors or messages or plainly. */
static void send_over(struct worker *worker, const struct part *from, const struct part *to)
{
	size_t length = from->length < to->length ? from->length : to->length;
	struct iovec out[2] = { { from->at, length / 2 }, { from->at + length / 2, length - length / 2 } };
	struct iovec in[2] = { { to->at, length / 3 }, { to->at + length / 3, length - length / 3 } };
	struct msghdr message = { .msg_iov = out, .msg_iovlen = 2 }, into = { .msg_iov = in, .msg_iovlen = 2 };
	unsigned char sent[SHARE];
	ssize_t n;

	memcpy(sent, from->copy, length);
	switch (draw(worker, 3)) {
	case 0:
		n = write(worker->ends[0], from->at, length);
		break;
	case 1:
		n = writev(worker->ends[0], out, 2);
		break;
	default:
		n = sendmsg(worker->ends[0], &message, 0);
	}
	NEED(n == (ssize_t)length);
	switch (draw(worker, 3)) {
	case 0:
		n = read(worker->ends[1], to->at, length);
		break;
	case 1:
		n = readv(worker->ends[1], in, 2);
		break;
	default:
		n = recvmsg(worker->ends[1], &into, 0);
	}
	NEED(n == (ssize_t)length);
	memcpy(to->copy, sent, length);
}

static void through_file(struct worker *worker, const struct part *from, const struct part *to)
{
	size_t length = from->length < to->length ? from->length : to->length;

	NEED(pwrite(worker->file, from->at, length, 0) == (ssize_t)length);
	memmove(to->copy, from->copy, length);
	NEED(pread(worker->file, to->at, length, 0) == (ssize_t)length);
}

static void *short_life(void *arg)
{
	const struct part *part = arg;

	check(part);
	return NULL;
}

static void change_mappings(struct worker *worker)
{
	unsigned char *at = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(at != MAP_FAILED);
	at[0] = 1;
	NEED(!mprotect(at, PAGE, PROT_READ));
	NEED(!madvise(at + PAGE, PAGE, MADV_DONTNEED));
	NEED(at[0] == 1 && at[PAGE] == 0);
	NEED(!munmap(at, 4 * PAGE));
	free(realloc(malloc(draw(worker, 1000)), draw(worker, 200000) + 1));
}

static void step(struct worker *worker)
{
	struct part part = draw_part(worker), other = draw_part(worker);
	pthread_t thread;

	switch (draw(worker, 10)) {
	case 0:
		send_over(worker, &part, &other);
		break;
	case 1:
		through_file(worker, &part, &other);
		break;
	case 2:
		change_mappings(worker);
		break;
	case 3:
		NEED(syscall(SYS_futex, (uintptr_t)part.at & ~(uintptr_t)3, FUTEX_WAKE, 1, NULL, NULL, 0) == 0);
		break;
	case 4:
		if (draw(worker, 8))
			break;
		NEED(!pthread_create(&thread, NULL, short_life, &part));
		NEED(!pthread_join(thread, NULL));
		break;
	case 5:
		memmove(part.at, part.copy, part.length);
		break;
	default:
		store(worker, &part);
	}
	check(&part);
	check(&other);
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	for (int i = 0; i < STEPS; i++)
		step(worker);
	for (size_t page = 0; page < PAGES; page++)
		NEED(!memcmp(memory + page * PAGE + worker->number * SHARE, worker->copy + page * SHARE, SHARE));
	atomic_fetch_sub(&working, 1);
	return NULL;
}

static void *watch_at_random(void *arg)
{
	struct page_watch *open[OPEN] = { 0 };
	struct told told[OPEN] = { 0 };
	struct worker *worker = arg;

	while (atomic_load(&working)) {
		unsigned int k = draw(worker, OPEN), at = draw(worker, PAGES * PAGE - TOUCHED);
		struct iovec iov = { memory + draw(worker, PAGES * PAGE - TOUCHED), TOUCHED };

		page_watch_end(open[k]);
		told[k].times = 0;
		open[k] = case_try(memory + at, 1 + draw(worker, TOUCHED), draw(worker, 2), &told[k]);
		if (!draw(worker, 16))
			page_watch_lift(&iov, 1), page_watch_lifted();
		if (!draw(worker, 4))
			sched_yield();
	}
	for (int k = 0; k < OPEN; k++)
		page_watch_end(open[k]);
	return NULL;
}

static void tick(int sig)
{
	(void)sig;
	ticks += memory[0] != 0;
}

static void start_worker(struct worker *worker, int number)
{
	char name[] = "/tmp/watch_stress.XXXXXX";

	worker->seed = 7U + (unsigned int)number;
	worker->number = number;
	NEED(!socketpair(AF_UNIX, SOCK_STREAM, 0, worker->ends));
	worker->file = mkstemp(name);
	NEED(worker->file >= 0 && !unlink(name));
	for (size_t page = 0; number < WORKERS && page < PAGES; page++)
		memcpy(worker->copy + page * SHARE, memory + page * PAGE + number * SHARE, SHARE);
}

static void as_without(void)
{
	struct itimerval often = { { .tv_usec = 1000 }, { .tv_usec = 1000 } };
	struct sigaction action = { .sa_handler = tick, .sa_flags = SA_RESTART };
	static struct worker worker[WORKERS + WATCHERS];
	struct page_watch_counts counts;
	pthread_t thread[WORKERS + WATCHERS];

	case_not_sanitized();
	memory = case_pages();
	case_start();
	sigfillset(&action.sa_mask);
	NEED(!sigaction(SIGALRM, &action, NULL));
	NEED(!setitimer(ITIMER_REAL, &often, NULL));
	atomic_store(&working, WORKERS);
	for (int i = 0; i < WORKERS + WATCHERS; i++) {
		start_worker(&worker[i], i);
		NEED(!pthread_create(&thread[i], NULL, i < WORKERS ? work : watch_at_random, &worker[i]));
	}
	for (int i = 0; i < WORKERS + WATCHERS; i++)
		NEED(!pthread_join(thread[i], NULL));
	page_watch_count(&counts);
	NEED(counts.watches > 100 && counts.accesses > 100);
	NEED(!page_watch_ended_why());
}

const struct watch_case watch_stress_cases[] = {
	{ "as_without", as_without },
	{ NULL, NULL },
};
