/* SPDX-License-Identifier: BSD-2-Clause */
/* test_fork.c - what a fork's child closes: its copies of the sockets that are watched, and nothing that has one's number. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/net/os/fork.h"

static int watched[2], other;

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Runs in the child, before what fork_register() has it do: the first number is that of another file by then, as it is where the
 * parent has closed that file, and opened a socket, since the fork. */
static void put_other(void)
{
	dup2(other, watched[0]);
}

static volatile int resets;

static void forget(void)
{
	resets += is_open(watched[1]) ? 100 : 1;
}

static struct fork_reset reset = { .in_child = forget };

static void watch(int set, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	cr_assert_eq(epoll_ctl(set, EPOLL_CTL_ADD, fd, &event), 0);
}

Test(fork, closes_sockets_that_are_watched)
{
	int pair[2], set = epoll_create1(0), status;
	pid_t child;

	other = open("/dev/null", O_RDWR);
	cr_assert(set >= 0 && other >= 0 && !socketpair(AF_UNIX, SOCK_STREAM, 0, watched));
	cr_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	watch(set, watched[0]);
	watch(set, watched[1]);
	cr_assert(!pthread_atfork(NULL, NULL, put_other));
	cr_assert(!fork_register(&reset));
	cr_assert(!fork_register(&reset));
	fork_watch(set);
	child = fork();
	if (child == 0)
		_exit((is_open(watched[0]) ? 0 : 1) + (is_open(watched[1]) ? 2 : 0) + (is_open(pair[0]) && is_open(other) ? 0 : 4) +
		      (is_open(set) ? 8 : 0) + (resets == 1 ? 0 : 16));
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "%d", WEXITSTATUS(status));
	cr_assert(is_open(watched[0]) && is_open(watched[1]));
}

/* --- holds --- */

static atomic_bool held, forking, whole;

static bool main_sleeps(void)
{
	char path[64], line[128] = "";
	const char *end;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	fd = open(path, O_RDONLY);
	cr_assert(fd >= 0 && read(fd, line, sizeof(line) - 1) > 0);
	close(fd);
	end = strrchr(line, ')'); /* of its name */
	return end && !strncmp(end, ") S", 3);
}

static void *hold_back(void *arg)
{
	fork_hold();
	atomic_store(&held, true);
	while (!atomic_load(&forking) || !main_sleeps()) /* in the fork, or it has not waited, and sleeps for its child */
		sched_yield();
	atomic_store(&whole, true);
	fork_let_go();
	return arg;
}

static int child_status(bool good_where_whole)
{
	pid_t child = fork();
	int status = -1;

	if (!child) {
		fork_hold(); /* those of the parent's threads are no more */
		fork_let_go();
		_exit(good_where_whole && !atomic_load(&whole));
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	return status;
}

Test(fork, waits_for_those_that_hold_it_back)
{
	pthread_t thread;

	cr_assert_eq(fork_open(), 0);
	cr_assert_eq(pthread_create(&thread, NULL, hold_back, NULL), 0);
	while (!atomic_load(&held))
		;
	atomic_store(&forking, true);
	cr_assert_eq(child_status(true), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(child_status(true), 0, "the next one does not wait");
}

/* As in a signal handler that interrupted the holder: it waits for HOLD_S, and goes on. */
Test(fork, goes_on_where_its_own_thread_holds_it_back)
{
	cr_assert_eq(fork_open(), 0);
	fork_hold();
	cr_assert_eq(child_status(false), 0);
	fork_let_go();
	cr_assert_eq(child_status(false), 0);
}
