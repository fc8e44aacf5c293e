/* SPDX-License-Identifier: BSD-2-Clause */
/* fork.h - closing and resetting state in a fork's child. The child is one thread, and other threads may have held locks: each
 * file that has a lock or a table of its own, and is used again by a child that opens a NIC, registers a reset. */
#ifndef EMU_NET_FORK_H
#define EMU_NET_FORK_H

#include <stdbool.h>

struct fork_reset {
	void (*in_child)(void); /* does only what a signal handler may do */
	struct fork_reset *next;
	bool known;
};

/* Once is enough, any thread. 0 or -ENOMEM. */
int fork_open(void);
/* Calls fork_open(). `reset` is static memory and stays registered; once is enough, any thread. A child runs the resets after it
 * has closed the watched descriptors. 0 or -ENOMEM. */
int fork_register(struct fork_reset *reset);
/* A fork's child closes its copies of this epoll set and of all descriptors in it; in the parent the set stays for good. At most
 * four, by the thread that starts the process's NIC, before the NIC runs. */
void fork_watch(int set);

/* A fork waits meanwhile, for up to a second: for a state that its child could not mend. Several threads may hold it back at once.
 * Any thread; a caller that may hold the loader's lock, too. */
void fork_hold(void);
void fork_let_go(void);

#endif
