/* SPDX-License-Identifier: BSD-2-Clause */
/* kit_run.c - the child that runs a test tells its outcome through a pipe; what it cannot tell, its wait status does. */
#include "tests/rules/harness/kit_run.h"

#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rules/harness/check.h"

enum {
	TOLD = 1, /* exit status of a child that has told why */
	LOOK_MS = 10,
};

static int tell_fd = -1;

/* In the child: the last thing it does. The target's processes die with it. */
static void tell(enum check_end end, const char *text)
{
	static const char kinds[] = { [CHECK_FAILED] = OUTCOME_FAIL,
				      [CHECK_PERMITTED] = OUTCOME_PERMITTED,
				      [CHECK_NOT_APPLICABLE] = OUTCOME_NOT_APPLICABLE };

	if (write(tell_fd, &kinds[end], 1) != 1 || write(tell_fd, text, strlen(text)) < 0)
		_exit(TOLD + 1);
	_exit(TOLD);
}

/* Libraries that libfabric brings along catch crashes before main(), and make exit(1) of them. */
static void crash_by_signal(void)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	size_t i;

	for (i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		signal(crashes[i], SIG_DFL);
}

static void child(const struct rule_test *test, int fd, pid_t kit)
{
	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != kit)
		_exit(TOLD + 1);
	tell_fd = fd;
	check_report = tell;
	crash_by_signal();
	test->run();
	exit(0); /* with the provider's cleanup: a crash there counts, too */
}

/* Reads the child's report until the child has ended: a process that it left behind may hold the pipe open for longer. False: the
 * time is over. */
static bool attend(pid_t pid, int fd, uint64_t end_ms, char *told, size_t size, int *status)
{
	struct pollfd in = { .fd = fd, .events = POLLIN };
	bool ended = false;
	size_t have = 0;

	while (!ended && check_now_ms() < end_ms) {
		ssize_t n = 1;

		poll(&in, 1, LOOK_MS);
		ended = waitpid(pid, status, WNOHANG) == pid;
		while (n > 0 && have + 1 < size) {
			n = read(fd, told + have, size - 1 - have);
			have += n > 0 ? (size_t)n : 0;
		}
		if (n == 0)
			in.events = 0; /* nobody holds the other end any more: only the child's end is awaited */
	}
	told[have] = '\0';
	return ended;
}

static void judge(struct kit_outcome *outcome, bool in_time, int status, unsigned seconds, const char *told)
{
	outcome->kind = OUTCOME_FAIL;
	if (!in_time)
		snprintf(outcome->text, sizeof(outcome->text), "hung for %u s", seconds);
	else if (WIFSIGNALED(status))
		snprintf(outcome->text, sizeof(outcome->text), "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == 0)
		outcome->kind = OUTCOME_PASS;
	else if (WEXITSTATUS(status) == TOLD && told[1]) {
		outcome->kind = (enum outcome_kind)told[0];
		snprintf(outcome->text, sizeof(outcome->text), "%s", told + 1);
	} else {
		snprintf(outcome->text, sizeof(outcome->text), "ended with exit status %d", WEXITSTATUS(status));
	}
}

void kit_run(const struct rule_test *test, unsigned seconds, struct kit_outcome *outcome)
{
	char told[sizeof(outcome->text) + 1] = "";
	uint64_t start_ms = check_now_ms(), end_ms = start_ms + 1000u * seconds;
	pid_t kit = getpid(), pid;
	int ends[2], status = 0;
	bool in_time;

	*outcome = (struct kit_outcome){ .kind = OUTCOME_FAIL };
	fflush(NULL);
	if (pipe2(ends, O_CLOEXEC) || fcntl(ends[0], F_SETFL, O_NONBLOCK))
		err(2, "pipe");
	pid = fork();
	if (pid < 0)
		err(2, "fork");
	if (!pid) {
		close(ends[0]);
		child(test, ends[1], kit);
	}
	setpgid(pid, pid);
	close(ends[1]);
	in_time = attend(pid, ends[0], end_ms, told, sizeof(told), &status);
	kill(-pid, SIGKILL);
	if (!in_time)
		waitpid(pid, &status, 0);
	close(ends[0]);
	judge(outcome, in_time, status, seconds, told);
	outcome->ms = (unsigned)(check_now_ms() - start_ms);
}
