/* SPDX-License-Identifier: BSD-2-Clause */
/* scarce.c - memory, or descriptors, run out in the middle of a call: the call says so and changes nothing, so that the same
 * call succeeds when there is some again, and nothing that is under way is lost. The calls are in short_of.c. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/process/short_of.h"

extern char **environ;

enum { MOST = 2000 };

static int run_short_of(const char *what, int nth)
{
	char path[PATH_MAX], number[16], *args[] = { path, (char *)(uintptr_t)what, number, NULL };
	struct deadline guard = deadline_start();
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 16);
	int status = 0;
	pid_t pid;

	CHECK(n > 0, "no /proc/self/exe");
	path[n] = 0;
	strcpy(strrchr(path, '/') + 1, "short_of");
	snprintf(number, sizeof(number), "%d", nth);
	CHECK(!posix_spawn(&pid, path, NULL, NULL, args, environ), "cannot run %s", path);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (check_now_ms() >= guard.end_ms)
			kill(pid, SIGKILL);
		usleep(1000);
	}
	CHECK(!WIFSIGNALED(status), "short_of %s %d was killed by signal %d%s", what, nth, WTERMSIG(status),
	      WTERMSIG(status) == SIGKILL ? " (it hung)" : "");
	CHECK(WEXITSTATUS(status) == SHORT_OF_NOTHING || !WEXITSTATUS(status), "short_of %s %d ended with status %d", what, nth,
	      WEXITSTATUS(status));
	return WEXITSTATUS(status);
}

/* Each of them once; `least`, so that a change of how it is counted does not go unnoticed. */
static void each(const char *what, int from, int least)
{
	int nth = from;

	while (nth < MOST && run_short_of(what, nth) != SHORT_OF_NOTHING)
		nth++;
	CHECK(nth - from >= least && nth < MOST, "%d times short of %s", nth - from, what);
}

Test(process, every_allocation_fails_once)
{
#ifdef __SANITIZE_ADDRESS__
	cr_skip_test("the address sanitizer has an allocator of its own");
#endif
	each("memory", 1, 50);
}

Test(process, every_descriptor_is_one_too_many)
{
	each("descriptors", 1, 11); /* with none libfabric finds no provider */
}
