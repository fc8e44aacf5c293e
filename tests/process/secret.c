/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.c - two processes with FI_EMU_SECRET_FILE: a process with the same secret is let in, and no other. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "include/emu/emu.h"
#include "tests/rules/harness/logged.h"

enum { SECRET_LEN = 32 };

static const char right[SECRET_LEN + 1] = "thirty-two bytes that are secret";
static const char wrong[SECRET_LEN + 1] = "thirty-two bytes, but others ...";
static const char none[SECRET_LEN + 1];

/* A file of this process's own, or no setting. */
static void set_secret(const char *bytes)
{
	char path[64];
	int fd;

	if (!*bytes) {
		unsetenv("FI_EMU_SECRET_FILE");
		return;
	}
	fd = memfd_create("secret", 0);
	CHECK(fd >= 0 && !fchmod(fd, 0600) && write(fd, bytes, SECRET_LEN) == SECRET_LEN, "no file for the secret");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	setenv("FI_EMU_SECRET_FILE", path, 1);
}

static void step_set_secret(const void *arg, void *reply)
{
	(void)reply;
	set_secret(arg);
}

static void open_two(struct pair *p, const char *own, const char *theirs)
{
	static const struct peer_want plain = { 0 };

	memset(p, 0, sizeof(*p));
	logged_start(&p->target);
	target_do(&p->target, step_set_secret, theirs, SECRET_LEN + 1, NULL, 0);
	set_secret(own);
	pair_open(p, &plain, 0);
}

static void close_two(struct pair *p)
{
	pair_close(p);
	target_stop(&p->target);
}

Test(process_secret, the_same)
{
	struct pair p;
	struct remote *r;

	open_two(&p, right, right);
	r = remote_reg(&p, 65536, ALL_REMOTE);
	ok_write(&p, r, 0, 65536);
	ok_read(&p, r, 100, 3000);
	deny(&p, RMA_WRITE, remote_addr(r, 1), r->key, 65536, "S65");
	live(&p);
	close_two(&p);
}

/* In words at both, at once, and the memory is as it was. */
static void expect_refused(const char *own, const char *theirs)
{
	struct outcome outcome;
	struct remote *r;
	struct pair p;

	open_two(&p, own, theirs);
	r = remote_reg(&p, 4096, ALL_REMOTE);
	outcome = pair_try(&p, RMA_WRITE, remote_addr(r, 0), r->key, 64);
	CHECK_RC(0, outcome.rc);
	CHECK(outcome.err == FI_EACCES && outcome.prov_errno == EMU_CAUSE_SECRET, "error %d, cause %d", outcome.err,
	      outcome.prov_errno);
	CHECK(strstr(outcome.text, "FI_EMU_SECRET_FILE"), "%s", outcome.text);
	CHECK(strstr(logged_text(&p.target), "FI_EMU_SECRET_FILE"), "the target's log: %s", logged_text(&p.target));
	remote_verify(&p, r);
	close_two(&p);
}

Test(process_secret, another)
{
	expect_refused(right, wrong);
}

Test(process_secret, none_at_the_target)
{
	expect_refused(right, none);
}

Test(process_secret, none_at_the_initiator)
{
	expect_refused(none, right);
}
