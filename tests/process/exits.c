/* SPDX-License-Identifier: BSD-2-Clause */
/* exits.c - programs that end, fork or become others with everything open end with status 0, and do not hang. What they do:
 * left_open.c, forked.c, closed.c, exit_inside.c. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A program beside this one. */
static void path_of(const char *program, char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
	char *slash;

	CHECK(n > 0, "no /proc/self/exe");
	path[n] = 0;
	slash = strrchr(path, '/');
	CHECK(slash, "%s is no path", path);
	strcpy(slash + 1, program);
}

static void run(const char *program, const char *what)
{
	char path[PATH_MAX], *args[] = { path, (char *)(uintptr_t)what, NULL };
	struct deadline guard = deadline_start();
	int status = 0;
	pid_t pid;

	path_of(program, path);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* what is left open is the point */
	CHECK(!posix_spawn(&pid, path, NULL, NULL, args, environ), "cannot run %s", path);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (check_now_ms() >= guard.end_ms)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	CHECK(!WIFSIGNALED(status), "%s %s was killed by signal %d%s", program, what, WTERMSIG(status),
	      WTERMSIG(status) == SIGKILL ? " (it hung)" : "");
	CHECK(!WEXITSTATUS(status), "%s %s ended with status %d", program, what, WEXITSTATUS(status));
}

Test(process, exit_with_everything_open)
{
	run("left_open", "idle");
}

Test(process, exit_with_operations_in_flight)
{
	run("left_open", "flight");
}

Test(process, exit_from_another_thread)
{
	run("left_open", "exit-thread");
}

Test(process, exit_while_threads_post_and_wait)
{
	run("left_open", "busy");
}

Test(process, fork_leaves_the_parent_unharmed)
{
	run("left_open", "fork");
}

Test(process, exec_leaves_nothing_open)
{
	run("left_open", "exec");
}

Test(process, forks_children_open_nics_of_their_own)
{
	run("forked", "open");
}

Test(process, forks_children_after_all_was_closed)
{
	run("forked", "closed");
}

/* A fork takes the locks of the address sanitizer's allocator along as they are, and a child whose NIC thread meets one hangs. */
Test(process, forks_while_threads_are_in_calls)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the address sanitizer's allocator may be locked in a child of busy threads");
#endif
	run("forked", "busy");
}

Test(process, forks_while_threads_are_in_fi_getinfo)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the address sanitizer's allocator may be locked in a child of busy threads");
#endif
	run("forked", "asking");
}

Test(process, forks_children_under_manual_progress)
{
	setenv("FI_EMU_PROGRESS", "manual", 1);
	run("forked", "open");
}

Test(process, forks_children_with_a_registration_cache)
{
	setenv("FI_EMU_MR_CACHE", "1", 1);
	run("forked", "open");
}

Test(process, forks_children_with_pinned_memory)
{
	setenv("FI_EMU_PINNED", "1", 1);
	run("forked", "open");
}

Test(process, main_thread_ends_after_all_was_closed)
{
	run("closed", "main");
}

Test(process, main_thread_ends_before_another_opens_all)
{
	run("closed", "thread");
}

Test(process, main_thread_ends_after_a_passive_endpoint)
{
	run("closed", "passive");
}

Test(process, handler_calls_exit_while_all_is_closed)
{
	run("closed", "handler");
}

Test(process, handler_calls_exit_inside_a_lock_of_checked_mode)
{
	run("exit_inside", "lock");
}

Test(process, handler_calls_exit_while_a_finding_is_told)
{
	run("exit_inside", "report");
}

/* Each with a thread of its own beside the NIC thread. */
Test(process, main_thread_ends_after_mutex_and_condition)
{
	run("closed", "cond");
}

Test(process, main_thread_ends_after_a_queue_of_events)
{
	run("closed", "events");
}

Test(process, main_thread_ends_after_a_registration_cache)
{
	setenv("FI_EMU_MR_CACHE", "1", 1);
	run("closed", "main");
}

Test(process, main_thread_ends_after_pinned_memory)
{
	setenv("FI_EMU_PINNED", "1", 1);
	run("closed", "main");
}

Test(process, main_thread_ends_after_manual_progress)
{
	setenv("FI_EMU_PROGRESS", "manual", 1);
	run("closed", "main");
}
