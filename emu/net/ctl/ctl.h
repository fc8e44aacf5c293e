/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl.h - the control socket: lines of requests, pieces of answers, and bounds on both.
 *
 * Owner:  the process's NIC; its handles are the NIC thread's loop's. One a process.
 * Thread: opened before the NIC thread runs, closed at its end; in between it is that thread's, but for ctl_wake().
 * Nothing here takes the driver role: the answers do, a piece at a time. While nobody is connected, the socket is one more
 * descriptor in the loop's set: no timer, no wake-up. A client that does not read its answer waits for itself alone: no next piece
 * is made before the last one has left. Its place is given to the next one that comes when all are taken. */
#ifndef EMU_NET_CTL_H
#define EMU_NET_CTL_H

#include <stdbool.h>
#include <stddef.h>

enum {
	CTL_CLIENTS = 8,       /* then the one that has been silent longest is dropped */
	CTL_REQUEST = 1 << 16, /* bytes of a request with its newline; then an error, and the end */
	CTL_PIECE = 1 << 14,   /* bytes of an answer that wait to be sent */
};

struct ctl_answer;
struct uv_loop_s;

enum ctl_next {
	CTL_MORE, /* the next piece may be made at once */
	CTL_WAIT, /* when ctl_wake() was called */
	CTL_END
};

/* The answers. The NIC thread calls all of it, without the driver role. */
struct ctl_ops {
	/* A request without its newline, any bytes. NULL: no memory, and the client is dropped. */
	struct ctl_answer *(*begin)(const char *request, size_t length);
	/* Writes the next piece, at most CTL_PIECE bytes; *length may be 0. */
	enum ctl_next (*more)(struct ctl_answer *answer, char *text, size_t *length);
	void (*end)(struct ctl_answer *answer); /* all was sent, or the client is gone */
};

struct ctl_config {
	const char *folder;        /* made if it is not there; NULL: no socket */
	const struct ctl_ops *ops; /* outlives the NIC */
};

/* 0; or -errno and *why, a phrase: there is no socket then, and nothing is open. */
int ctl_open(const struct ctl_config *config, struct uv_loop_s *loop, const char **why);
/* Removes the socket's file and closes its descriptors. The loop makes one more turn before ctl_open() is called again, which ends
 * the handles. May be called without ctl_open(). */
void ctl_close(void);
/* In a fork's child: closes the copies of the descriptors, and leaves the file. Does only what a signal handler may do. */
void ctl_forget(void);
/* Answers that wait may go on. Any thread, with the role, and in signal handlers. Nothing, while none waits. */
void ctl_wake(void);

/* ctl_place.c: a listening socket in the folder, and its path. The descriptor, or -errno and *why. */
enum { CTL_PATH = 108 };
int ctl_place_open(const char *folder, char path[CTL_PATH], const char **why);

#endif
