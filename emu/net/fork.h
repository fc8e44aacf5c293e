/* SPDX-License-Identifier: BSD-2-Clause */
/* fork.h - what a fork's child does not keep. Before the process's NIC runs, by who starts it. */
#ifndef EMU_NET_FORK_H
#define EMU_NET_FORK_H

/* Once a process. 0 or -ENOMEM. */
int  fork_open(void);
/* A fork's child closes its copies of what this epoll set watches; the set stays for good. At most four. */
void fork_watch(int set);

#endif
