/* SPDX-License-Identifier: BSD-2-Clause */
/* stream_tcp.c - streams over TCP sockets. */
#include "emu/net/link/tcp_line.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <linux/sockios.h>

#include "emu/net/link/local.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/address.h"
#include "emu/nic/base/limits.h"

enum { DRAIN_BYTES = 4 << 20 }; /* thrown away at close, at a time */

static_assert(TIME_RETRY_BUDGET_NS > TIME_SILENCE_NS * 3 / 2, "a dead line is noticed within the retry budget");

/* A peer that answers nothing, not even the kernel's probes of an idle line, is detected after silence_ns, so that the device can
 * dial again. The kernel derives the number of probes from TCP_USER_TIMEOUT, which holds for dials, too. */
static void set_options(int fd, uint64_t silence_ns)
{
	const int silence_ms = (int)((silence_ns ? silence_ns : TIME_SILENCE_NS) / TIME_MS(1));
	const struct {
		int level, name, value;
	} options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, silence_ms < 2000 ? 1 : silence_ms * 5 / 8 / 1000 }, /* s */
		{ IPPROTO_TCP, TCP_KEEPINTVL, 1 },                                                /* s */
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, silence_ms },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

/* If dials to the same address fail again and again, the peer may be bound to another one. Logged once. */
static void count_dial(struct tcp *tcp, const struct sockaddr_storage *to)
{
	char others[128], at[64], text[320];

	if (memcmp(&tcp->dialled, to, sizeof(*to))) {
		tcp->dialled = *to;
		tcp->dials = 0;
	}
	if (++tcp->dials != REFUSED_DIALS_GONE || !local_elsewhere(to, others, sizeof(others)))
		return;
	snprintf(text, sizeof(text),
		 "no endpoint answers at %s, but peers of this machine listen at %s: is the peer bound to "
		 "another address of its host (FI_EMU_IFACE)?",
		 address_text(to, at, sizeof(at)), others);
	tcp_link.log(tcp, NIC_LOG_WARN, text);
}

static int dial(struct tcp *tcp, const struct sockaddr_storage *to, int *error)
{
	int fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	count_dial(tcp, to);
	to = listener_real(tcp, to);
	*error = nocancel_connect(fd, (const struct sockaddr *)to, tcp_address_length(to)) && errno != EINPROGRESS ? errno : 0;
	return fd;
}

static int accept_one(int listener)
{
	return nocancel_accept(listener, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* A dial to a free port of one's own machine may meet itself. */
static bool met_itself(int fd)
{
	struct sockaddr_storage own, peer;
	socklen_t own_length = sizeof(own), peer_length = sizeof(peer);

	return !getsockname(fd, (struct sockaddr *)&own, &own_length) && !getpeername(fd, (struct sockaddr *)&peer, &peer_length) &&
	       own_length == peer_length && !memcmp(&own, &peer, own_length);
}

/* The same host: it has one owner for each of its ports, and no other host can answer in its place. */
static bool tcp_same_peer(int fd, int other)
{
	struct sockaddr_storage a, b;
	socklen_t length = sizeof(a), other_length = sizeof(b);

	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	if (getpeername(fd, (struct sockaddr *)&a, &length) || getpeername(other, (struct sockaddr *)&b, &other_length))
		return false;
	((struct sockaddr_in *)&a)->sin_port = ((struct sockaddr_in *)&b)->sin_port; /* where IPv6 has it, too */
	return !memcmp(&a, &b, sizeof(a));
}

/* Closing a TCP socket that has unread bytes, or gets some later, resets the connection, and bytes not yet delivered are lost. So
 * bytes received are thrown away until all bytes sent have arrived. */
static bool lingers(int fd)
{
	size_t drained = 0;
	ssize_t n;
	int unsent;

	do {
		n = nocancel_recv(fd, NULL, DRAIN_BYTES, MSG_TRUNC | MSG_DONTWAIT);
		drained += n > 0 ? (size_t)n : 0;
	} while (n > 0 && drained < DRAIN_BYTES);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		return false;
	return !ioctl(fd, SIOCOUTQ, &unsent) && unsent > 1; /* the FIN counts as one */
}

const struct stream_ops stream_tcp = {
	.dial = dial,
	.accept = accept_one,
	.set_options = set_options,
	.met_itself = met_itself,
	.same_peer = tcp_same_peer,
	.lingers = lingers,
	.at_once = LIMIT_DIGESTED,
};
