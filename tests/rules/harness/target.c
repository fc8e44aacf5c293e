/* SPDX-License-Identifier: BSD-2-Clause */
/* target.c - forking a target process and running steps in it. */
#include "tests/rules/harness/target.h"

#include "tests/rules/harness/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct step_head {
	target_step *step; /* the same address in both processes */
	size_t arg_len, reply_len;
};

struct reply_head {
	bool ended; /* then the bytes are its text */
	enum check_end end;
	size_t len;
};

struct peer target_peer;
fi_addr_t target_tester;
static int serve_fd = -1;

/* Waits until fd can be read, polling what has to be polled. False when the other end has not spoken within the
 * guard. */
static bool await(int fd)
{
	uint64_t end_ms = check_now_ms() + CHECK_GUARD_MS;
	struct pollfd in = { .fd = fd, .events = POLLIN };

	for (;;) {
		int n = poll(&in, 1, peer_idle() ? 0 : CHECK_GUARD_MS);

		if (n > 0)
			return true;
		if (check_now_ms() >= end_ms)
			return false;
	}
}

/* False at the end of the stream. */
static bool get(int fd, void *bytes, size_t len)
{
	uint8_t *at = bytes;

	while (len) {
		ssize_t n = recv(fd, at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static bool put(int fd, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

static void report_to_tester(enum check_end end, const char *text)
{
	struct reply_head head = { .ended = true, .end = end, .len = strlen(text) + 1 };

	put(serve_fd, &head, sizeof(head));
	put(serve_fd, text, head.len);
	_exit(1);
}

static void serve_one(uint8_t *arg, uint8_t *reply)
{
	struct reply_head answer = { 0 };
	struct step_head head;

	while (!await(serve_fd))
		; /* a quiet tester is no failure: it may be waiting on someone else */
	if (!get(serve_fd, &head, sizeof(head)))
		_exit(0);
	if (!get(serve_fd, arg, head.arg_len))
		_exit(0);
	memset(reply, 0, head.reply_len);
	head.step(arg, reply);
	answer.len = head.reply_len;
	if (!put(serve_fd, &answer, sizeof(answer)) || !put(serve_fd, reply, head.reply_len))
		_exit(0);
}

static void serve(int fd)
{
	uint8_t *arg = malloc(STEP_BYTES_MAX), *reply = malloc(STEP_BYTES_MAX);
	static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		signal(fatal[i], SIG_DFL); /* not the test runner's: a death is told by the wait status */
	serve_fd = fd;
	check_report = report_to_tester;
	for (;;)
		serve_one(arg, reply);
}

void target_start(struct target *target)
{
	int ends[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair: %s", strerror(errno));
	fflush(NULL);
	target->pid = fork();
	CHECK(target->pid >= 0, "fork: %s", strerror(errno));
	if (!target->pid) {
		close(ends[0]);
		serve(ends[1]);
	}
	close(ends[1]);
	target->fd = ends[0];
}

static void fail_dead(struct target *target)
{
	int status = 0;

	if (waitpid(target->pid, &status, 0) != target->pid)
		CHECK(false, "the target process is gone");
	target->pid = 0;
	if (WIFSIGNALED(status))
		CHECK(false, "the target process was killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
	CHECK(false, "the target process ended with status %d", WEXITSTATUS(status));
}

void target_stop(struct target *target)
{
	int status;

	close(target->fd);
	CHECK(waitpid(target->pid, &status, 0) == target->pid, "waitpid: %s", strerror(errno));
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the target process ended with wait status 0x%x", (unsigned int)status);
}

void target_kill(struct target *target)
{
	kill(target->pid, SIGKILL);
	CHECK(waitpid(target->pid, NULL, 0) == target->pid, "waitpid: %s", strerror(errno));
	close(target->fd);
}

void target_begin(struct target *target, target_step *step, const void *arg, size_t arg_len, size_t reply_len)
{
	struct step_head head = { .step = step, .arg_len = arg_len, .reply_len = reply_len };

	CHECK(arg_len <= STEP_BYTES_MAX && reply_len <= STEP_BYTES_MAX, "a step of %zu and %zu bytes", arg_len, reply_len);
	if (!put(target->fd, &head, sizeof(head)) || !put(target->fd, arg, arg_len))
		fail_dead(target);
}

static void end_step(struct target *target, enum check_end end, size_t len)
{
	char text[3072] = "";

	if (len > sizeof(text) || !get(target->fd, text, len))
		fail_dead(target);
	if (end != CHECK_FAILED)
		check_stop(end, "%s", text);
	CHECK(false, "target: %s", text);
}

void target_end(struct target *target, void *reply, size_t reply_len)
{
	struct reply_head head;

	CHECK(await(target->fd), "the target process did not answer within the hang guard");
	if (!get(target->fd, &head, sizeof(head)))
		fail_dead(target);
	if (head.ended)
		end_step(target, head.end, head.len);
	CHECK(head.len == reply_len, "a step answered %zu bytes, %zu expected", head.len, reply_len);
	if (!get(target->fd, reply, reply_len))
		fail_dead(target);
}

bool target_answered(const struct target *target)
{
	struct pollfd in = { .fd = target->fd, .events = POLLIN };

	return poll(&in, 1, 0) > 0;
}

void target_do(struct target *target, target_step *step, const void *arg, size_t arg_len, void *reply, size_t reply_len)
{
	target_begin(target, step, arg, arg_len, reply_len);
	target_end(target, reply, reply_len);
}

struct open_arg {
	struct peer_want want;
	uint8_t tester[PEER_ADDR_MAX];
};

static void step_open(const void *arg, void *reply)
{
	const struct open_arg *open = arg;

	peer_open(&target_peer, &open->want);
	target_tester = peer_insert(&target_peer, open->tester);
	peer_name(&target_peer, reply);
}

static void step_close(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	peer_close(&target_peer);
}

fi_addr_t target_open(struct target *target, const struct peer_want *want, struct peer *peer)
{
	struct open_arg open = { .want = *want };
	uint8_t name[PEER_ADDR_MAX];

	peer_name(peer, open.tester);
	target_do(target, step_open, &open, sizeof(open), name, sizeof(name));
	return peer_insert(peer, name);
}

void target_close(struct target *target)
{
	target_do(target, step_close, NULL, 0, NULL, 0);
}
