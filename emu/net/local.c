/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - Unix sockets in the place of TCP, between processes of one machine. */
#include "emu/net/local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/net/plain.h"

enum { LOCAL_SEND_BUFFER = 512 << 10 };	/* may be on the way; the system's own limit may be lower */

/* An abstract name, which is no file: it goes with its socket, and belongs to the network namespace as the address does. */
static socklen_t name_of(struct sockaddr_un *name, const struct sockaddr_storage *at)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	char address[INET6_ADDRSTRLEN];
	int length;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	if (at->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, address, sizeof(address));
		length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "emu-[%s%%%u]:%u", address,
				  (unsigned)v6->sin6_scope_id, (unsigned)ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, address, sizeof(address));
		length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "emu-%s:%u", address,
				  (unsigned)ntohs(v4->sin_port));
	}
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static void take_files(int fd, int on)
{
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on));
}

/* Files that a peer sends along would be closed here as they are received, or thrown away: some take their time for that (a
 * socket that lingers), under the role. An older kernel takes them. Who is accepted inherits it. */
static int local_socket(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	take_files(fd, false);
	return fd;
}

int local_listen(const struct sockaddr_storage *at, int backlog)
{
	struct sockaddr_un name;
	socklen_t length = name_of(&name, at);
	int fd = local_socket(), err;

	if (fd < 0 || (!bind(fd, (struct sockaddr *)&name, length) && !listen(fd, backlog)))
		return fd;
	err = -errno;
	plain_close(fd);
	return err;
}

/* Of a stream: who connected or listened at its other end; of a listener: who listened, whatever he is by now. */
static bool user_of(int fd, uid_t *user)
{
	struct ucred of;
	socklen_t length = sizeof(of);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &of, &length))
		return false;
	*user = of.uid;
	return true;
}

/* Anybody may take a name that is free, and a TCP port likewise; but of a port the system sees to it that it has one owner. */
int local_dial(const struct sockaddr_storage *to)
{
	struct sockaddr_un name;
	socklen_t length = name_of(&name, to);
	int fd = local_socket(), err = 0;
	uid_t user;

	if (fd < 0)
		return fd;
	if (plain_connect(fd, (struct sockaddr *)&name, length))
		err = -errno;
	else if (!user_of(fd, &user) || user != geteuid())
		err = -ECONNREFUSED;
	if (!err) {
		take_files(fd, true);
		return fd;
	}
	plain_close(fd);
	return err;
}

int local_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	uid_t own, user;

	if (fd < 0 || (user_of(listener, &own) && user_of(fd, &user) && user == own))
		return fd;
	plain_close(fd);
	errno = ECONNABORTED;
	return -1;
}

void local_options(int fd)
{
	const int room = LOCAL_SEND_BUFFER;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	/* An urgent byte would be neither seen by who peeks nor go away, and leave the socket readable for ever. */
	setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &(int){ 1 }, sizeof(int));
}

union file_room {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

ssize_t local_send_file(int fd, const struct iovec *iov, int count, int file)
{
	union file_room room = {
		.head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS },
	};
	struct msghdr message = {
		.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count, .msg_control = &room, .msg_controllen = sizeof(room),
	};

	memcpy(CMSG_DATA(&room.head), &file, sizeof(file));
	return plain_sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Of more than one the kernel keeps those for which there is no room. */
ssize_t local_recv_file(int fd, const struct iovec *iov, int count, int *file)
{
	union file_room room;
	struct msghdr message = {
		.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count, .msg_control = &room, .msg_controllen = sizeof(room),
	};
	ssize_t n = plain_recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*file = -1;
	if (n > 0)
		take_files(fd, false);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(file, CMSG_DATA(head), sizeof(*file));
	return n;
}
