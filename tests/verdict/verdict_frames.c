/* SPDX-License-Identifier: BSD-2-Clause */
/* verdict_frames.c - prints its own stack as a record has it, from a function of its own and from one of a library. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/verdict/verdict_library.h"

enum { STACK_MAX = 16 };

__attribute__((noinline)) static void verdict_print_stack(void)
{
	void *addresses[STACK_MAX];
	int count = backtrace(addresses, STACK_MAX), i;
	const char *between = "";
	struct link_map *map;
	char *path;
	Dl_info info;

	putchar('[');
	for (i = 1; i < count; i++) { /* the first is here */
		if (!dladdr1(addresses[i], &info, (void **)&map, RTLD_DL_LINKMAP))
			continue;
		path = realpath(info.dli_fname, NULL);
		printf("%s{\"file\":\"%s\",\"offset\":\"0x%lx\"}", between, path ? path : info.dli_fname,
		       (unsigned long)((char *)addresses[i] - 1 - (char *)map->l_addr));
		free(path);
		between = ",";
	}
	puts("]");
}

/* The tests know functions by these names, and lines by the words on them. */
__attribute__((noinline)) static void post_a_write(void)
{
	verdict_print_stack(); /* the line of post_a_write */
	__asm__ volatile("");  /* no tail call */
}

int main(void)
{
	post_a_write();
	verdict_through_library(verdict_print_stack);
	return 0;
}
