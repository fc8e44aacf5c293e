/* SPDX-License-Identifier: BSD-2-Clause */
/* report_command.c - runs a command whose processes leave their records in a folder of ours. */
#include "tools/report/report_steps.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/report/report_out.h"

enum {
	SHELL_NOT_FOUND = 127,
	SHELL_NOT_RUN = 126,
	SHELL_SIGNAL = 128,
	REMOVALS = 8, /* a process that still runs may make files meanwhile */
};

static const char *const folder_variable = "EMU_CHECK_FOLDER";

const char *command_outer_folder(void)
{
	const char *folder = getenv(folder_variable), *used = getenv("FI_EMU_REPORT");
	struct stat stat_of;

	return folder && used && strcmp(folder, used) == 0 && stat(folder, &stat_of) == 0 && S_ISDIR(stat_of.st_mode) ? folder
														      : NULL;
}

const char *command_folder_open(struct report_run *run)
{
	const char *parent = getenv("TMPDIR");
	char *folder = report_format("%s/emu-check.XXXXXX", parent && *parent == '/' ? parent : "/tmp");

	if (mkdtemp(folder))
		return folder;
	report_problem(run, "%s: no folder for the records can be made: %s", text_clean(folder), strerror(errno));
	return NULL;
}

void command_folder_remove(const char *folder)
{
	struct dirent *entry;
	int tries;
	DIR *dir;

	for (tries = 0; tries < REMOVALS && rmdir(folder) != 0; tries++) {
		dir = opendir(folder);
		if (!dir)
			return;
		while ((entry = readdir(dir)))
			if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
				unlinkat(dirfd(dir), entry->d_name, 0);
		closedir(dir);
	}
}

void command_settings(const char *folder, bool checked)
{
	if (setenv("FI_EMU_REPORT", folder, 1) != 0 || setenv(folder_variable, folder, 1) != 0 ||
	    (checked && setenv("FI_EMU_CHECK", "1", 0) != 0))
		errx(REPORT_ERROR, "no memory for the environment");
}

int command_become(char *const *command)
{
	execvp(command[0], command);
	warn("%s", text_clean(command[0]));
	return errno == ENOENT ? SHELL_NOT_FOUND : SHELL_NOT_RUN;
}

/* Until it ends. */
static int command_wait(pid_t pid, const sigset_t *signals)
{
	siginfo_t info;
	int status;

	for (;;) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		if (sigwaitinfo(signals, &info) < 0 || info.si_signo == SIGCHLD)
			continue;
		/* A signal of the kernel's comes from the terminal, which sent it to the command, too. */
		if (info.si_code <= 0)
			kill(pid, info.si_signo);
	}
}

void command_run(struct report_run *run)
{
	static const int passed[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCHLD };
	struct sigaction child_default = { .sa_handler = SIG_DFL }, child_before;
	struct timespec begin, end;
	sigset_t signals, before;
	int status;
	pid_t pid;
	size_t i;

	sigemptyset(&signals);
	for (i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		sigaddset(&signals, passed[i]);
	/* They stay blocked: the report is written to its end, and the folder removed. */
	sigprocmask(SIG_BLOCK, &signals, &before);
	sigaction(SIGCHLD, &child_default, &child_before);
	fflush(NULL);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	pid = fork();
	if (pid < 0)
		err(REPORT_ERROR, "fork");
	if (pid == 0) {
		sigaction(SIGCHLD, &child_before, NULL);
		sigprocmask(SIG_SETMASK, &before, NULL);
		_exit(command_become(run->command));
	}
	status = command_wait(pid, &signals);
	clock_gettime(CLOCK_MONOTONIC, &end);
	run->seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
	run->status = WIFSIGNALED(status) ? SHELL_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}
