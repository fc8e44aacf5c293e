/* SPDX-License-Identifier: BSD-2-Clause */
/* nocancel_socket.h - system calls on sockets that are no cancellation points, unlike libc's. A slice makes no others (cancel.h).
 * They set errno as libc's do. In a program with threads libc's would also cost two atomic operations each. */
#ifndef EMU_NET_NOCANCEL_SOCKET_H
#define EMU_NET_NOCANCEL_SOCKET_H

#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "emu/nic/base/nocancel_file.h"

static inline int nocancel_accept(int listener, int flags)
{
	return (int)syscall(SYS_accept4, listener, NULL, NULL, flags);
}

static inline int nocancel_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	return (int)syscall(SYS_connect, fd, to, length);
}

static inline ssize_t nocancel_send(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to,
				    socklen_t to_length)
{
	return syscall(SYS_sendto, fd, bytes, length, flags, to, to_length);
}

static inline ssize_t nocancel_sendmsg(int fd, const struct msghdr *message, int flags)
{
	return syscall(SYS_sendmsg, fd, message, flags);
}

static inline ssize_t nocancel_recv(int fd, void *bytes, size_t room, int flags)
{
	return syscall(SYS_recvfrom, fd, bytes, room, flags, NULL, NULL);
}

static inline ssize_t nocancel_recv_from(int fd, void *bytes, size_t room, int flags, struct sockaddr_storage *from,
					 socklen_t *length)
{
	return syscall(SYS_recvfrom, fd, bytes, room, flags, from, length);
}

static inline ssize_t nocancel_recvmsg(int fd, struct msghdr *message, int flags)
{
	return syscall(SYS_recvmsg, fd, message, flags);
}

/* epoll_wait() that does not wait. */
static inline int nocancel_peek(int set, struct epoll_event *events, int room)
{
	return (int)syscall(SYS_epoll_pwait, set, events, room, 0, NULL, _NSIG / 8);
}

#endif
