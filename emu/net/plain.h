/* SPDX-License-Identifier: BSD-2-Clause */
/* plain.h - system calls that are no cancellation points, as libc's of these names are, for what a slice does (cancel.h): as
 * those, errno included. libc's would also pay two atomic operations each where there are threads. */
#ifndef EMU_NET_PLAIN_H
#define EMU_NET_PLAIN_H

#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int plain_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline int plain_connect(int fd, const struct sockaddr *to, socklen_t length)
{
	return (int)syscall(SYS_connect, fd, to, length);
}

static inline ssize_t plain_send(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to,
				 socklen_t to_length)
{
	return syscall(SYS_sendto, fd, bytes, length, flags, to, to_length);
}

static inline ssize_t plain_sendmsg(int fd, const struct msghdr *message, int flags)
{
	return syscall(SYS_sendmsg, fd, message, flags);
}

static inline ssize_t plain_recv(int fd, void *bytes, size_t room, int flags)
{
	return syscall(SYS_recvfrom, fd, bytes, room, flags, NULL, NULL);
}

static inline ssize_t plain_recvmsg(int fd, struct msghdr *message, int flags)
{
	return syscall(SYS_recvmsg, fd, message, flags);
}

static inline ssize_t plain_read(int fd, void *bytes, size_t room)
{
	return syscall(SYS_read, fd, bytes, room);
}

static inline ssize_t plain_write(int fd, const void *bytes, size_t length)
{
	return syscall(SYS_write, fd, bytes, length);
}

static inline ssize_t plain_random(void *bytes, size_t length)
{
	return syscall(SYS_getrandom, bytes, length, 0);
}

/* epoll_wait() that does not wait. */
static inline int plain_look(int set, struct epoll_event *events, int room)
{
	return (int)syscall(SYS_epoll_pwait, set, events, room, 0, NULL, _NSIG / 8);
}

#endif
