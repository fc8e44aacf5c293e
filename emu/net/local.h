/* SPDX-License-Identifier: BSD-2-Clause */
/* local.h - streams between two processes of one user on one machine: Unix sockets that stand in for TCP.
 *
 * They carry the same bytes for less than half of the time (tests/bench/run.sh). Whoever listens at a TCP
 * address listens under a name made of that address, too, which only processes of the same network namespace see. What does
 * not come about goes by TCP. All [role]. PROTOCOL.md, WIRE-38. */
#ifndef EMU_NET_LOCAL_H
#define EMU_NET_LOCAL_H

#include <sys/socket.h>
#include <sys/uio.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83	/* Linux 6.16 */
#endif

/* Listens under the name of `at`, the real address of a TCP listener, which has room for `backlog`. Non-blocking; the
 * descriptor is the caller's. -errno: -EADDRINUSE if somebody has the name. */
int local_listen(const struct sockaddr_storage *at, int backlog);
/* Connects to who listens under the name of `to`, if that is a process of the same user. A connected non-blocking descriptor,
 * the caller's; or -errno, at once: -ECONNREFUSED if there is none. */
int local_dial(const struct sockaddr_storage *to);
/* As accept4() of what local_listen() gave, non-blocking; a process of another user than who listened is turned away
 * (ECONNABORTED). */
int local_accept(int listener);
/* As sendmsg(), with a file that goes along with the first byte. EPERM where the peer takes none. */
ssize_t local_send_file(int fd, const struct iovec *iov, int count, int file);
/* As recvmsg(), of what local_dial() gave, for the first bytes: *file is what came along, the caller's, or -1. No other is
 * taken. */
ssize_t local_recv_file(int fd, const struct iovec *iov, int count, int *file);
/* What a stream, dialled or accepted, wants to be set. */
void local_options(int fd);

#endif
