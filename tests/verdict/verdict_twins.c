/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict_twins.c - two processes, of which one writes to the other's memory, and ignores whether it could: verdict_twins CASE
 *   right    all is well
 *   key      the key is another
 *   closed   the region is closed before
 *   twice    as key, from two lines, the second one five times
 *   call     a call is refused, as its flags are not known
 *   wrapped  calls are refused, all of them made by one function: for two causes from one line, for the first from another, too
 *   killed   as key; then the process is killed
 *   exits    as key; then the process exits with 3, and closes nothing
 *   leaks    all is well, but that nothing is closed
 * The exit status is 0 whatever happened to the write, but for exits. */
#include <rdma/fi_cm.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/demo/channel.h"
#include "tools/demo/endpoint.h"

enum { LENGTH = 64, REPEATS = 5 };

struct target_is {
	uint8_t name[64];
	uint64_t address, key;
};

static void pipe_must(ssize_t moved, size_t size)
{
	if (moved != (ssize_t)size)
		die("the other process is gone");
}

/* Serves until `go` is closed by the other. */
static void twin_target(bool closes, int tell, int go)
{
	struct target_is is = { 0 };
	size_t size = sizeof(is.name);
	struct endpoint e;
	struct region r;
	char end;

	endpoint_open(&e);
	region_open(&e, &r, LENGTH, FI_REMOTE_WRITE); /* the region of the target */
	if (fi_getname(&e.ep->fid, is.name, &size) != 0)
		die("fi_getname");
	is.address = r.address;
	is.key = r.key;
	if (closes)
		region_close(&r); /* the region is closed */
	pipe_must(write(tell, &is, sizeof(is)), sizeof(is));
	pipe_must(read(go, &end, 1), 0);
	region_free(&r);
	endpoint_close(&e);
}

/* The stack of a post is told from its innermost frame. */
static __attribute__((noinline)) void twin_write(struct endpoint *e, struct region *from, const struct target_is *to, uint64_t key)
{
	struct transfer t = { .direction = REMOTE_WRITE, .local = from, .length = 8, .address = to->address, .key = key };

	(void)transfer(e, &t); /* a write that nobody looks after */
}

static __attribute__((noinline)) void twin_register(struct endpoint *e, struct region *r, uint64_t access, uint64_t flags)
{
	struct fid_mr *mr;

	if (fi_mr_reg(e->domain, r->bytes, LENGTH, access, 0, 0, flags, &mr, NULL) == 0)
		die("a wrong call is not refused");
}

static void twin_wrapped(struct endpoint *e, struct region *r)
{
	static const struct {
		uint64_t access, flags;
	} wrong[] = { { FI_WRITE, 1ull << 63 }, { 1ull << 63, 0 } };
	int i;

	for (i = 0; i < 2; i++)
		twin_register(e, r, wrong[i].access, wrong[i].flags); /* two causes of one line */
	twin_register(e, r, FI_WRITE, 1ull << 63);                    /* the first one of another line */
}

static void twin_initiator(const char *what, int hear)
{
	bool wrong = strcmp(what, "key") == 0 || strcmp(what, "killed") == 0 || strcmp(what, "twice") == 0 ||
		     strcmp(what, "exits") == 0;
	struct target_is target;
	struct endpoint e;
	struct region r;
	struct fid_mr *mr;
	int i;

	pipe_must(read(hear, &target, sizeof(target)), sizeof(target));
	endpoint_open(&e);
	endpoint_meet(&e, target.name);
	region_open(&e, &r, LENGTH, FI_WRITE);
	twin_write(&e, &r, &target, wrong ? target.key + 1 : target.key);
	for (i = 0; i < REPEATS && strcmp(what, "twice") == 0; i++)
		twin_write(&e, &r, &target, target.key + 1);
	if (strcmp(what, "call") == 0)
		(void)fi_mr_reg(e.domain, r.bytes, LENGTH, FI_WRITE, 0, 0, 1ull << 63, &mr, NULL);
	if (strcmp(what, "wrapped") == 0)
		twin_wrapped(&e, &r);
	if (strcmp(what, "killed") == 0)
		raise(SIGKILL);
	if (strcmp(what, "exits") == 0)
		exit(3);
	if (strcmp(what, "leaks") == 0)
		return;
	region_free(&r);
	endpoint_close(&e);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "right";
	int tell[2], go[2];
	pid_t pid;

	if (pipe(tell) != 0 || pipe(go) != 0 || (pid = fork()) < 0)
		die("pipe, fork");
	if (pid == 0) {
		close(go[1]);
		twin_target(strcmp(what, "closed") == 0, tell[1], go[0]);
		return 0;
	}
	close(go[0]);
	twin_initiator(what, tell[0]);
	close(go[1]);
	return waitpid(pid, NULL, 0) == pid ? 0 : 1;
}
