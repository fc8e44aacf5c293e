/* SPDX-License-Identifier: BSD-2-Clause */
/* logged.c - the target's standard error goes to memory. */
#include "tests/rules/harness/logged.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int log_fd;

static void step_catch_log(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	log_fd = memfd_create("log", 0);
	CHECK(log_fd >= 0 && dup2(log_fd, STDERR_FILENO) == STDERR_FILENO, "no place for the log");
}

static void step_read_log(const void *arg, void *reply)
{
	(void)arg;
	fflush(stderr);
	CHECK(pread(log_fd, reply, STEP_BYTES_MAX - 1, 0) >= 0, "reading the log failed");
}

void logged_start(struct target *target)
{
	setenv("FI_LOG_LEVEL", "warn", 1);
	target_start(target);
	target_do(target, step_catch_log, NULL, 0, NULL, 0);
}

const char *logged_text(struct target *target)
{
	static char text[STEP_BYTES_MAX];

	target_do(target, step_read_log, NULL, 0, text, sizeof(text));
	return text;
}
