/* SPDX-License-Identifier: BSD-2-Clause */
/* nocancel_file.h - system calls on files, and for random bytes, that are no cancellation points, unlike libc's of these names. A
 * slice makes no others (cancel.h). They set errno as libc's do. Those on sockets are in nocancel_socket.h. */
#ifndef EMU_NIC_NOCANCEL_FILE_H
#define EMU_NIC_NOCANCEL_FILE_H

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int nocancel_open(const char *path, int flags)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static inline int nocancel_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

static inline ssize_t nocancel_read(int fd, void *bytes, size_t room)
{
	return syscall(SYS_read, fd, bytes, room);
}

static inline ssize_t nocancel_pread(int fd, void *bytes, size_t room, off_t from)
{
	return syscall(SYS_pread64, fd, bytes, room, from);
}

static inline ssize_t nocancel_write(int fd, const void *bytes, size_t length)
{
	return syscall(SYS_write, fd, bytes, length);
}

static inline ssize_t nocancel_getrandom(void *bytes, size_t room, unsigned int flags)
{
	return syscall(SYS_getrandom, bytes, room, flags);
}

#endif
