/* SPDX-License-Identifier: BSD-2-Clause */
/* test_ctl.c - an answer that waits is told of all that comes, whenever it comes. The loop is turned here. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "emu/net/ctl/ctl.h"

enum { TURNS = 16 }; /* more than a request and its answer take */

static bool there; /* a line to be told */
static int asked;

static struct ctl_answer *begin(const char *request, size_t length)
{
	(void)request;
	(void)length;
	return (struct ctl_answer *)&there;
}

/* The line comes when it was found that there is none, and the client does not wait yet. */
static enum ctl_next more(struct ctl_answer *answer, char *text, size_t *length)
{
	bool now = there;

	(void)answer;
	*length = now ? 5 : 0;
	memcpy(text, "line\n", *length);
	there = ++asked == 1;
	ctl_wake();
	return now ? CTL_MORE : CTL_WAIT;
}

static void end(struct ctl_answer *answer)
{
	(void)answer;
}

/* The one socket of the folder. */
static int dial(const char *folder)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char pattern[64];
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%s/*", folder);
	cr_assert(!glob(pattern, 0, NULL, &found) && found.gl_pathc == 1);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", found.gl_pathv[0]);
	globfree(&found);
	cr_assert(fd >= 0 && !connect(fd, (struct sockaddr *)&at, sizeof(at)));
	return fd;
}

static void turn(uv_loop_t *loop)
{
	for (int i = 0; i < TURNS; i++)
		uv_run(loop, UV_RUN_NOWAIT);
}

Test(ctl, a_line_that_comes_as_the_answer_begins_to_wait_is_told)
{
	static const struct ctl_ops ops = { begin, more, end };
	char folder[] = "/tmp/emu-unit.XXXXXX", text[16] = "";
	const char *why;
	static uv_loop_t loop; /* with its handles, until the process ends */
	int fd;

	cr_assert(mkdtemp(folder) && !uv_loop_init(&loop));
	cr_assert_eq(ctl_open(&(struct ctl_config){ folder, &ops }, &loop, &why), 0, "%s", why);
	fd = dial(folder);
	cr_assert_eq(send(fd, "\n", 1, 0), 1);
	turn(&loop);
	cr_expect_eq(recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT), 5);
	cr_expect_str_eq(text, "line\n");
	close(fd);
	turn(&loop);
	ctl_close();
	cr_expect_eq(rmdir(folder), 0);
}

/* The number of a process that is no more. */
static int gone(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* A socket of that process, which listens no more, or not yet; made so long ago. */
static void leave(char path[96], const char *folder, int pid, const char *end, time_t ago)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	struct timespec times[2] = { { .tv_sec = time(NULL) - ago }, { .tv_sec = time(NULL) - ago } };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(path, 96, "%s/%d.0123abcd.%s", folder, pid, end);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
	cr_assert(fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at)) && !utimensat(AT_FDCWD, path, times, 0));
	close(fd);
}

/* Of killed processes nothing stays, whenever they were killed; what another is making stays. */
Test(ctl, files_that_were_left_are_removed)
{
	enum { AGES_S = 3600 };
	char folder[] = "/tmp/emu-ctl-XXXXXX", path[CTL_PATH], name[96];
	const char *why;
	struct {
		int pid;
		const char *end;
		time_t ago;
		bool stays;
	} files[] = {
		{ gone(), "sock", 0, false },       { gone(), "new", AGES_S, false },     { gone(), "new", 0, true },
		{ getppid(), "new", AGES_S, true }, { getppid(), "sock", AGES_S, true },  { gone(), "news", AGES_S, true },
		{ getpid(), "new", AGES_S, false }, { gone(), "sock.new", AGES_S, true },
	};
	int fd;

	cr_assert(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		leave(name, folder, files[i].pid, files[i].end, files[i].ago);
	fd = ctl_place_open(folder, path, &why);
	cr_assert_geq(fd, 0, "%s", why);
	close(fd);
	cr_expect_eq(unlink(path), 0);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		snprintf(name, sizeof(name), "%s/%d.0123abcd.%s", folder, files[i].pid, files[i].end);
		cr_expect_eq(!unlink(name), files[i].stays, "%s", name);
	}
	cr_expect_eq(rmdir(folder), 0);
}
