/* SPDX-License-Identifier: BSD-2-Clause */
/* test_secret_memory.c - memory that is not in a fork's child, and not in a core dump. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emu/nic/device/secret_memory.h"

enum { MANY = 2000 }; /* more than a chunk has */

static const char zeros[SECRET_MEMORY_CELL];

/* The flags that /proc/self/smaps has for the memory at `at`. */
static void flags_of(const void *at, char *flags, size_t size)
{
	FILE *maps = fopen("/proc/self/smaps", "r");
	uintptr_t from, to;
	bool in = false;

	*flags = '\0';
	while (maps && fgets(flags, (int)size, maps)) {
		if (sscanf(flags, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
			in = (uintptr_t)at >= from && (uintptr_t)at < to;
		if (in && !strncmp(flags, "VmFlags:", 8))
			break;
	}
	if (maps)
		fclose(maps);
}

Test(secret_memory, a_child_finds_zeros_and_a_dump_nothing)
{
	static void *piece[MANY];
	struct secret_memory memory = { NULL, NULL };
	char flags[256];
	pid_t child;
	int status;

	for (int i = 0; i < MANY; i++) {
		piece[i] = secret_memory_take(&memory);
		cr_assert(piece[i] && !memcmp(piece[i], zeros, SECRET_MEMORY_CELL));
		memset(piece[i], 0xa5, SECRET_MEMORY_CELL);
	}
	child = fork();
	for (int i = 0; child == 0 && i < MANY; i++)
		if (memcmp(piece[i], zeros, SECRET_MEMORY_CELL))
			_exit(1);
	if (child == 0)
		_exit(0);
	cr_assert(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
	cr_assert_eq(WEXITSTATUS(status), 0, "the child has it");
	for (int i = 0; i < MANY; i += MANY - 1) {
		cr_assert_eq(((unsigned char *)piece[i])[SECRET_MEMORY_CELL - 1], 0xa5, "the parent has lost it");
		flags_of(piece[i], flags, sizeof(flags));
		cr_assert(strstr(flags, " dd") && strstr(flags, " wf"), "%s", flags);
	}
	secret_memory_fini(&memory);
}

Test(secret_memory, what_is_given_back_is_wiped)
{
	struct secret_memory memory = { NULL, NULL };
	char *piece = secret_memory_take(&memory);

	memset(piece, 0xa5, SECRET_MEMORY_CELL);
	secret_memory_give(&memory, NULL);
	secret_memory_give(&memory, piece);
	for (size_t i = sizeof(void *); i < SECRET_MEMORY_CELL; i++)
		cr_assert_eq(piece[i], 0);
	cr_assert_eq(secret_memory_take(&memory), piece);
	cr_assert_eq(memcmp(piece, zeros, SECRET_MEMORY_CELL), 0);
	secret_memory_fini(&memory);
}
