/* SPDX-License-Identifier: BSD-2-Clause */
/* thread_list.h - the threads of the program, as the kernel knows them: without those that emu/net/os/spawn.h has started. One
 * thread at a time. */
#ifndef EMU_PROCESS_THREAD_LIST_H
#define EMU_PROCESS_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>

enum { THREAD_LIST = 4096 };

struct thread_list {
	unsigned int count;
	int id[THREAD_LIST];
};

/* The call that a thread sleeps in, and where in the program. */
struct thread_call {
	long number; /* -1: in none */
	uintptr_t stack, at;
};

/* False: it cannot be read, or there are too many. */
bool thread_list_read(struct thread_list *list);
bool thread_list_has(const struct thread_list *list, int id);
void thread_call_read(int id, struct thread_call *call);

#endif
