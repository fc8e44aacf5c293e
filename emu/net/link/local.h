/* SPDX-License-Identifier: BSD-2-Clause */
/* local.h - streams between two processes of one user on one machine: Unix sockets that stand in for TCP.
 *
 * They carry the same bytes in less than half of the time (tests/bench/run.sh). Each listener at a TCP address
 * listens under a name made of that address, too, which only processes of the same network namespace see. Where no such
 * stream comes about, TCP is used. All [role]. PROTOCOL.md, WIRE-38. */
#ifndef EMU_NET_LOCAL_H
#define EMU_NET_LOCAL_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/uio.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

/* Listens under the name of `at`, the real address of a TCP listener, which has room for `backlog`. Non-blocking; the
 * descriptor is the caller's. -errno: -EADDRINUSE if the name is taken. */
int local_listen(const struct sockaddr_storage *at, int backlog);
/* Connects to the listener under the name of `to`, if its process is of the same user. Returns a connected non-blocking
 * descriptor, the caller's; or -errno, at once: -ECONNREFUSED if there is none. */
int local_dial(const struct sockaddr_storage *to);
/* As accept4(), for a descriptor of local_listen(), non-blocking; a process of another user than the listener's is refused
 * (ECONNABORTED). */
int local_accept(int listener);
/* As sendmsg(), with a file that goes along with the first byte. EPERM where the peer takes none. */
ssize_t local_send_file(int fd, const struct iovec *iov, int count, int file);
/* As recvmsg(), for the first bytes on a descriptor of local_dial(). *file is the file that came along, the caller's, or -1. No
 * other is taken. */
ssize_t local_recv_file(int fd, const struct iovec *iov, int count, int *file);
/* When nobody answers at `at`: the other addresses of this machine at which emu listens with that port, for a log line:
 * "192.0.2.7:4711, 127.0.0.1:4711". False: none is seen, or `at` is of another machine. */
bool local_elsewhere(const struct sockaddr_storage *at, char *text, size_t size);
/* Sets the socket options of a stream, dialled or accepted. */
void local_options(int fd);

#endif
