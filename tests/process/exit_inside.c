/* SPDX-License-Identifier: BSD-2-Clause */
/* exit_inside.c - a signal comes while checked mode has a lock, and its handler calls exit(): exit_inside lock|report. The C
 * library's calls here stand in the place of those that the provider makes: each release of a mutex raises the signal in a process
 * of its own, or each read, such as that of the process's mappings for a finding. Run by exits.c. Exit status 0: all processes have
 * ended. */
#include "tests/rules/harness/region.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEN = 4096, RAISED = 3 };

static _Thread_local int locks_left, reads_left; /* of the main thread, until the signal; 0: there is none */

static void count_down(int *left)
{
	if (*left && !--*left)
		raise(SIGTERM);
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*unlock)(pthread_mutex_t * mutex);

	if (!unlock)
		*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	count_down(&locks_left);
	return unlock(mutex);
}

__attribute__((visibility("default"))) ssize_t read(int fd, void *to, size_t length)
{
	static ssize_t (*real)(int fd, void *to, size_t length);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "read");
	count_down(&reads_left);
	return real(fd, to, length);
}

static void end_program(int number)
{
	(void)number;
	exit(RAISED);
}

/* Checked mode takes its locks, and tells of a buffer that is used twice. What is open at exit it would tell, too. */
static void misuse(int locks, int reads)
{
	static const struct peer_want want = { .wait = FI_WAIT_FD };
	static const struct region_want all = { .len = { LEN }, .access = FI_RECV | FI_REMOTE_WRITE };
	static struct op ops[2];
	struct region kept, region;
	struct fi_cq_tagged_entry entry;
	struct peer me;
	int fd;

	signal(SIGTERM, end_program);
	peer_open(&me, &want);
	region_open(&kept, &me, &all, 1);
	locks_left = locks;
	reads_left = reads;
	CHECK_RC(0, fi_control(&me.cq->fid, FI_GETWAIT, &fd));
	region_open(&region, &me, &all, 1);
	for (int i = 0; i < 2; i++)
		CHECK_RC(0, peer_recv(&me, kept.iov[0].iov_base, LEN, fi_mr_desc(kept.mr), &ops[i]));
	CHECK_RC(-FI_EAGAIN, fi_cq_read(me.cq, &entry, 1));
	region_close(&region);
	locks_left = reads_left = 0;
	exit(0);
}

/* In processes of their own, the signal one call later in each, until none has come. */
int main(int argc, char **argv)
{
	bool lock = argc == 2 && !strcmp(argv[1], "lock");
	int status = RAISED << 8;

	setenv("FI_EMU_CHECK", "1", 1);
	for (int i = 1; WIFEXITED(status) && WEXITSTATUS(status) == RAISED; i++) {
		pid_t child = fork();

		CHECK(child >= 0, "no process");
		if (!child)
			misuse(lock ? i : 0, lock ? 0 : i);
		CHECK(waitpid(child, &status, 0) == child, "no child");
	}
	CHECK(status == 0, "a process ended with %#x", status);
	return 0;
}
