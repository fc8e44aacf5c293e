/* SPDX-License-Identifier: BSD-2-Clause */
/* exits.c - programs that end, fork or become others with everything open end with status 0, and do not hang. What they do:
 * left_open.c. */
#include <criterion/criterion.h>

#include "tests/rules/harness.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The program beside this one. */
static void left_open_path(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
	char *slash;

	CHECK(n > 0, "no /proc/self/exe");
	path[n] = 0;
	slash = strrchr(path, '/');
	CHECK(slash, "%s is no path", path);
	strcpy(slash + 1, "left_open");
}

static void run_left_open(const char *what)
{
	char path[PATH_MAX], *args[] = { path, (char *)(uintptr_t)what, NULL };
	struct deadline guard = deadline_start();
	int status = 0;
	pid_t pid;

	left_open_path(path);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* what is left open is the point */
	CHECK(!posix_spawn(&pid, path, NULL, NULL, args, environ), "cannot run %s", path);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (check_now_ms() >= guard.end_ms)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	CHECK(!WIFSIGNALED(status), "left_open %s was killed by signal %d%s", what, WTERMSIG(status),
	      WTERMSIG(status) == SIGKILL ? " (it hung)" : "");
	CHECK(!WEXITSTATUS(status), "left_open %s ended with status %d", what, WEXITSTATUS(status));
}

Test(process, exit_with_everything_open)
{
	run_left_open("idle");
}

Test(process, exit_with_operations_in_flight)
{
	run_left_open("flight");
}

Test(process, exit_from_another_thread)
{
	run_left_open("exit-thread");
}

Test(process, exit_while_threads_post_and_wait)
{
	run_left_open("busy");
}

Test(process, fork_leaves_the_parent_unharmed)
{
	run_left_open("fork");
}

Test(process, exec_leaves_nothing_open)
{
	run_left_open("exec");
}
