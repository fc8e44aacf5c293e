/* SPDX-License-Identifier: BSD-2-Clause */
/* neighbours.c - two processes of one machine with FI_EMU_LOCAL: which kind of socket connects them, and that it works. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"
#include "tests/rules/harness/logged.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

enum { WORD = 8, LONG = 4 << 20, WRITES = 4 };

struct streams {
	int tcp, local;
};

static bool has_emu_name(const struct sockaddr_storage *at, socklen_t length)
{
	static const char start[] = "\0emu-";
	const struct sockaddr_un *name = (const struct sockaddr_un *)at;

	return length >= sizeof(name->sun_family) + sizeof(start) - 1 && !memcmp(name->sun_path, start, sizeof(start) - 1);
}

/* A stream that was accepted has the listener's name, and one that was dialled has it as its peer's. */
static void count_one(int fd, struct streams *streams)
{
	struct sockaddr_storage own, peer;
	socklen_t own_length = sizeof(own), peer_length = sizeof(peer);

	if (getsockname(fd, (struct sockaddr *)&own, &own_length) || getpeername(fd, (struct sockaddr *)&peer, &peer_length))
		return;
	streams->tcp += peer.ss_family == AF_INET || peer.ss_family == AF_INET6;
	streams->local += peer.ss_family == AF_UNIX && (has_emu_name(&own, own_length) || has_emu_name(&peer, peer_length));
}

static void step_count(const void *arg, void *reply)
{
	struct streams *streams = reply;
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	(void)arg;
	CHECK(dir, "no /proc/self/fd");
	memset(streams, 0, sizeof(*streams));
	while ((entry = readdir(dir)))
		count_one(atoi(entry->d_name), streams);
	closedir(dir);
}

static void step_set(const void *arg, void *reply)
{
	(void)reply;
	setenv("FI_EMU_LOCAL", arg, 1);
}

/* Connects them, in each direction, by streams of one kind. */
static void expect_streams(const char *own, const char *theirs, bool local)
{
	static const struct peer_want plain = { 0 };
	char word[WORD] = "";
	struct streams here, there;
	struct pair p = { 0 };
	struct remote *r;

	if (!peer_is_emu())
		cr_skip_test("FI_EMU_LOCAL is a setting of emu");
	target_start(&p.target);
	memcpy(word, theirs, strlen(theirs));
	target_do(&p.target, step_set, word, WORD, NULL, 0);
	setenv("FI_EMU_LOCAL", own, 1);
	pair_open(&p, &plain, 0);
	r = remote_reg(&p, 65536, ALL_REMOTE);
	ok_write(&p, r, 0, 65536);
	ok_read(&p, r, 100, 3000);
	live(&p);
	step_count(NULL, &here);
	target_do(&p.target, step_count, NULL, 0, &there, sizeof(there));
	CHECK((here.local > 0) == local && (there.local > 0) == local, "%d and %d Unix sockets", here.local, there.local);
	CHECK((here.tcp > 0) == !local && (there.tcp > 0) == !local, "%d and %d TCP sockets", here.tcp, there.tcp);
	pair_close(&p);
	target_stop(&p.target);
}

Test(process_neighbours, by_unix_sockets)
{
	expect_streams("unix", "unix", true);
}

Test(process_neighbours, initiator_keeps_to_tcp)
{
	expect_streams("tcp", "unix", false);
}

Test(process_neighbours, target_keeps_to_tcp)
{
	expect_streams("unix", "tcp", false);
}

/* It is there and takes nothing. A peer that has more for it than its socket holds is told in the end. */
Test(process_neighbours, stopped_one_is_given_up)
{
	static const struct peer_want plain = { 0 };
	struct pair p = { 0 };
	struct op ops[WRITES];
	struct remote *r;
	char *source;
	int status;

	if (!peer_is_emu())
		cr_skip_test("FI_EMU_LOCAL is a setting of emu");
	setenv("FI_EMU_TIMEOUT_MS", "1000", 1);
	setenv("FI_EMU_RETRY_MS", "1000", 1);
	target_start(&p.target);
	pair_open(&p, &plain, 0);
	r = remote_reg(&p, LONG, ALL_REMOTE);
	ok_write(&p, r, 0, WORD);
	source = calloc(1, LONG);
	CHECK(source && !kill(p.target.pid, SIGSTOP), "the target cannot be stopped");
	/* One of its threads takes the signal, and until then the others go on. */
	CHECK(waitpid(p.target.pid, &status, WUNTRACED) == p.target.pid && WIFSTOPPED(status), "the target does not stop");
	for (int i = 0; i < WRITES; i++)
		CHECK_RC(0, pair_post(&p, RMA_WRITE, source, LONG, r->base[0], r->key, &ops[i]));
	for (int i = 0; i < WRITES; i++) {
		peer_wait(&p.peer, &ops[i]);
		CHECK(ops[i].err == FI_ETIMEDOUT, "operation %d: err %d, %s", i, ops[i].err, p.peer.text);
	}
	CHECK(!kill(p.target.pid, SIGCONT), "the target cannot be let go on");
	pair_close(&p);
	target_stop(&p.target);
	free(source);
}

static void step_ask(const void *arg, void *reply)
{
	struct fi_info *info;

	(void)arg;
	*(int *)reply = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &info);
}

/* A mistyped value is reported. */
Test(process_neighbours, no_other_kind)
{
	struct target target = { 0 };
	int err;

	if (!peer_is_emu())
		cr_skip_test("FI_EMU_LOCAL is a setting of emu");
	logged_start(&target);
	target_do(&target, step_set, "udp\0\0\0\0", WORD, NULL, 0);
	target_do(&target, step_ask, NULL, 0, &err, sizeof(err));
	CHECK_RC(-FI_ENODATA, err);
	CHECK(strstr(logged_text(&target), "setting local: \"udp\""), "the log: %s", logged_text(&target));
	target_stop(&target);
}
