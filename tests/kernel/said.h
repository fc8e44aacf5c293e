/* SPDX-License-Identifier: BSD-2-Clause */
/* said.h - what was printed on stderr. A test is a process of its own. */
#ifndef TESTS_KERNEL_SAID_H
#define TESTS_KERNEL_SAID_H

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int said_file = -1;

static inline void said_begin(void)
{
	said_file = memfd_create("said", 0);
	dup2(said_file, STDERR_FILENO);
}

/* All since said_begin(). */
static inline const char *said(void)
{
	static char text[8192];
	ssize_t length = pread(said_file, text, sizeof(text) - 1, 0);

	text[length < 0 ? 0 : length] = '\0';
	return text;
}

static inline int said_times(const char *part)
{
	int count = 0;

	for (const char *at = said(); (at = strstr(at, part)) != NULL; at++)
		count++;
	return count;
}

#endif
