/* SPDX-License-Identifier: BSD-2-Clause */
/* local.c - Unix sockets instead of TCP, between processes of one machine. */
#include "emu/net/link/local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "emu/net/link/tcp_line.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/address.h"
#include "emu/nic/base/limits.h"

#define NAME_BEGIN "emu-"

enum { LOCAL_SEND_BUFFER = 512 << 10 }; /* may be on the way; the system's own limit may be lower */

/* An abstract name, which is no file: it goes with its socket, and belongs to the network namespace as the address does. */
static socklen_t local_socket_name(struct sockaddr_un *name, const struct sockaddr_storage *at)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)at;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)at;
	char address[INET6_ADDRSTRLEN];
	int length;

	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	if (at->ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, address, sizeof(address));
		length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, NAME_BEGIN "[%s%%%u]:%u", address,
				  (unsigned)v6->sin6_scope_id, (unsigned)ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, address, sizeof(address));
		length = snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, NAME_BEGIN "%s:%u", address,
				  (unsigned)ntohs(v4->sin_port));
	}
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static void take_files(int fd, int on)
{
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on));
}

/* Refuses files that a peer sends along: they would be closed here under the role, and some closes take their time (a socket that
 * lingers). An older kernel takes the files. Accepted sockets inherit the option. */
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
	socklen_t length = local_socket_name(&name, at);
	int fd = local_socket(), err;

	if (fd < 0 || (!bind(fd, (struct sockaddr *)&name, length) && !listen(fd, backlog)))
		return fd;
	err = -errno;
	nocancel_close(fd);
	return err;
}

/* A stream's user is the one that connected or listened at its other end; a listener's is the one at the time of listen(). */
static bool user_of(int fd, uid_t *user)
{
	struct ucred of;
	socklen_t length = sizeof(of);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &of, &length))
		return false;
	*user = of.uid;
	return true;
}

/* 0 stands for all processes of other namespaces. */
static bool local_same_peer(int fd, int other)
{
	struct ucred of, of_other;
	socklen_t length = sizeof(of);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &of, &length) &&
	       !getsockopt(other, SOL_SOCKET, SO_PEERCRED, &of_other, &length) && of.pid && of.pid == of_other.pid;
}

/* Adds the name in that line of /proc/net/unix, if it stands for an address with this port and differs from `own`. */
static void add_name(const char *line, const char *own, char *text, size_t size)
{
	const char *name = strstr(line, " @" NAME_BEGIN), *port = strrchr(own, ':');
	size_t used = strlen(text);

	if (!name)
		return;
	name += strlen(" @" NAME_BEGIN);
	if (strcmp(name, own) && strrchr(name, ':') && !strcmp(strrchr(name, ':'), port) && !strstr(text, name))
		snprintf(text + used, size - used, "%s%s", used ? ", " : "", name);
}

/* Is it an address of this machine? Another host's peers are not looked for here. */
static bool is_of_this_machine(const struct sockaddr_storage *at)
{
	struct sockaddr_storage any_port = *at;
	int fd = socket(at->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool own;

	if (at->ss_family == AF_INET6)
		((struct sockaddr_in6 *)&any_port)->sin6_port = 0;
	else
		((struct sockaddr_in *)&any_port)->sin_port = 0;
	own = fd >= 0 && !bind(fd, (struct sockaddr *)&any_port, sizeof(any_port));
	if (fd >= 0)
		nocancel_close(fd);
	return own;
}

bool local_elsewhere(const struct sockaddr_storage *at, char *text, size_t size)
{
	struct sockaddr_un name;
	const char *own = name.sun_path + 1 + strlen(NAME_BEGIN);
	int fd = is_of_this_machine(at) ? (int)syscall(SYS_openat, AT_FDCWD, "/proc/net/unix", O_RDONLY | O_CLOEXEC) : -1;
	char bytes[4096], *line, *end;
	size_t have = 0;
	ssize_t n;

	text[0] = 0;
	local_socket_name(&name, at);
	while (fd >= 0 && (n = nocancel_read(fd, bytes + have, sizeof(bytes) - 1 - have)) > 0) {
		have += (size_t)n;
		bytes[have] = 0;
		for (line = bytes; (end = strchr(line, '\n')); line = end + 1) {
			*end = 0;
			add_name(line, own, text, size);
		}
		have -= (size_t)(line - bytes);
		memmove(bytes, line, have);
		if (have == sizeof(bytes) - 1)
			have = 0; /* none of ours is so long */
	}
	if (fd >= 0)
		nocancel_close(fd);
	return text[0];
}

/* Any process may take a name or a TCP port that is free, but only for a port does the system see to it that it has one owner. */
static int dial_name(const struct sockaddr_storage *to)
{
	struct sockaddr_un name;
	socklen_t length = local_socket_name(&name, to);
	int fd = local_socket(), err = 0;
	uid_t user;

	if (fd < 0)
		return fd;
	if (nocancel_connect(fd, (struct sockaddr *)&name, length))
		err = -errno;
	else if (!user_of(fd, &user) || user != geteuid())
		err = -ECONNREFUSED;
	if (!err) {
		take_files(fd, true);
		return fd;
	}
	nocancel_close(fd);
	return err;
}

int local_dial(const struct sockaddr_storage *to)
{
	struct sockaddr_storage any = { .ss_family = AF_INET6 };
	int fd = dial_name(to);

	/* Queue pairs are reached by listeners at all addresses. */
	if (fd != -ECONNREFUSED || !address_qpn(to) || !is_of_this_machine(to))
		return fd;
	((struct sockaddr_in6 *)&any)->sin6_port = htons(address_port(to));
	return dial_name(&any);
}

int local_accept(int listener)
{
	int fd = nocancel_accept(listener, SOCK_NONBLOCK | SOCK_CLOEXEC);
	uid_t own, user;

	if (fd < 0 || (user_of(listener, &own) && user_of(fd, &user) && user == own))
		return fd;
	nocancel_close(fd);
	errno = ECONNABORTED;
	return -1;
}

void local_options(int fd)
{
	const int room = LOCAL_SEND_BUFFER;

	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	/* MSG_PEEK would neither show an urgent byte nor remove it, and the socket would stay readable for ever. */
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
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = (size_t)count,
		.msg_control = &room,
		.msg_controllen = sizeof(room),
	};

	memcpy(CMSG_DATA(&room.head), &file, sizeof(file));
	return nocancel_sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* This length has room for one file: if there are more, the kernel closes the others and sets MSG_CTRUNC. */
ssize_t local_recv_file(int fd, const struct iovec *iov, int count, int *file)
{
	union file_room room;
	struct msghdr message = {
		.msg_iov = (struct iovec *)iov,
		.msg_iovlen = (size_t)count,
		.msg_control = &room,
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t n = nocancel_recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;

	*file = -1;
	if (n > 0)
		take_files(fd, false);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS && head->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(file, CMSG_DATA(head), sizeof(*file));
	if (*file >= 0 && message.msg_flags & MSG_CTRUNC) {
		nocancel_close(*file);
		*file = -1;
	}
	return n;
}

static int dial(struct tcp *tcp, const struct sockaddr_storage *to, int *error)
{
	(void)tcp;
	*error = 0;
	return local_dial(to);
}

static void set_options(int fd, uint64_t silence_ns)
{
	(void)silence_ns;
	local_options(fd);
}

/* Bytes that were sent are at the peer, and stay when the stream is closed: it has no lingers(). */
const struct stream_ops stream_local = {
	.dial = dial,
	.accept = local_accept,
	.set_options = set_options,
	.same_peer = local_same_peer,
	.at_once = LIMIT_DIGESTED_LOCAL,
	.neighbour = true,
};
