/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_line.c - one byte stream over a TCP socket, or a local one: dial, send, receive, close. */
#include "emu/net/tcp_line.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>

#include "emu/net/local.h"
#include "emu/net/own.h"
#include "emu/net/plain.h"
#include "emu/nic/likely.h"
#include "emu/nic/limits.h"

enum {
	IOV_MAX_LINE = 64,		/* link.h */
	DRAIN_BYTES = 4 << 20,		/* thrown away at close, at a time */
};

static_assert(TIME_RETRY_BUDGET_NS > TIME_SILENCE_NS * 3 / 2, "a dead line is noticed within the retry budget");

static void link_in(struct line **list, struct line *line)
{
	line->prev = NULL;
	line->next = *list;
	if (*list)
		(*list)->prev = line;
	*list = line;
}

static void link_out(struct line **list, struct line *line)
{
	if (line->next)
		line->next->prev = line->prev;
	if (line->prev)
		line->prev->next = line->next;
	else
		*list = line->next;
}

/* A peer that answers nothing, not even the kernel's probes of a line that is idle, is found after silence_ns, so that the
 * device can dial again. How many probes that takes, the kernel finds from TCP_USER_TIMEOUT; it holds for dials, too. */
static void set_options(int fd, uint64_t silence_ns)
{
	const int silence_ms = (int)((silence_ns ? silence_ns : TIME_SILENCE_NS) / TIME_MS(1));
	const struct { int level, name, value; } options[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 },
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, silence_ms < 2000 ? 1 : silence_ms * 5 / 8 / 1000 },	/* s */
		{ IPPROTO_TCP, TCP_KEEPINTVL, 1 },	/* s */
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, silence_ms },
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

int line_new(struct tcp *tcp, int fd, bool local, struct line **out)
{
	struct line *line = tcp->count < LIMIT_CONNECTIONS ? calloc(1, sizeof(*line)) : NULL;

	if (!line) {
		plain_close(fd);
		return -ENOMEM;
	}
	if (local)
		local_options(fd);
	else
		set_options(fd, tcp->config.silence_ns);
	line->local = local;
	line->tcp = tcp;
	line->fd = fd;
	line->state = LINE_BROKEN;
	line->board_fd = -1;
	link_in(&tcp->lines, line);
	tcp->count++;
	*out = line;
	return 0;
}

void line_free(struct line *line)
{
	struct tcp *tcp = line->tcp;

	line_drop_board(line);
	link_out(line->state == LINE_LINGERING ? &tcp->lingering : &tcp->lines, line);
	if (line->state == LINE_LINGERING)
		epoll_ctl(tcp->linger_set, EPOLL_CTL_DEL, line->fd, NULL);
	plain_close(line->fd);
	free(line);
	tcp->count--;
	tcp->changes++;
}

static int enter_set(int set, struct line *line, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = line };

	return epoll_ctl(set, EPOLL_CTL_ADD, line->fd, &event) ? -errno : 0;
}

/* Explicit: a fork's child may still hold the socket, and then closing it would leave it in the set. */
static void leave_set(struct line *line)
{
	struct tcp *tcp = line->tcp;

	if (line->state == LINE_DIALING) {
		epoll_ctl(tcp->dial_set, EPOLL_CTL_DEL, line->fd, NULL);
		tcp->dialing--;
	} else if (line->state == LINE_OPEN) {
		epoll_ctl(tcp->data_set, EPOLL_CTL_DEL, line->fd, NULL);
		tcp->watched -= line->wanting + line->deaf;
		line->wanting = false;
	}
	line->state = LINE_BROKEN;
}

int line_open(struct line *line)
{
	int err = enter_set(line->tcp->data_set, line, EPOLLIN);

	if (!err)
		line->state = LINE_OPEN;
	return err;
}

/* Whatever connect() says at once is told by conn_down() later, since the device counts refusals there. The dial set
 * reports a socket that failed just as one that is connected. */
int line_dial(void *link, const struct sockaddr_storage *to, struct conn *conn, struct line **out)
{
	struct tcp *tcp = link;
	struct line *line;
	int fd = tcp->config.local ? local_dial(to) : -ECONNREFUSED, err;
	bool local = fd >= 0;

	if (!local)
		fd = socket(to->ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	err = line_new(tcp, fd, local, &line);
	if (err)
		return err;
	line->conn = conn;
	line->hopes = local;
	if (!local && plain_connect(fd, (const struct sockaddr *)to, tcp_address_length(to)) && errno != EINPROGRESS)
		line->error = errno;
	err = enter_set(tcp->dial_set, line, EPOLLOUT);
	if (err) {
		line_free(line);
		return err;
	}
	line->state = LINE_DIALING;
	tcp->dialing++;
	*out = line;
	return 0;
}

/* A dial to a free port of one's own machine may meet itself. */
static bool met_itself(int fd)
{
	struct sockaddr_storage own, peer;
	socklen_t own_length = sizeof(own), peer_length = sizeof(peer);

	return !getsockname(fd, (struct sockaddr *)&own, &own_length) &&
	       !getpeername(fd, (struct sockaddr *)&peer, &peer_length) && own_length == peer_length &&
	       !memcmp(&own, &peer, own_length);
}

int line_dial_result(struct line *line)
{
	socklen_t length = sizeof(int);
	int error = line->error;

	assert(line->state == LINE_DIALING);
	if (!error && getsockopt(line->fd, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	if (!error && !line->local && met_itself(line->fd))
		error = ECONNREFUSED;
	leave_set(line);
	if (!error)
		error = -line_open(line);
	return error;
}

struct iovec line_first_page(const struct iovec *iov, int count)
{
	size_t room;
	int i = 0;

	while (i < count - 1 && !iov[i].iov_len)
		i++;
	room = 4096 - ((uintptr_t)iov[i].iov_base & 4095);
	return (struct iovec){ iov[i].iov_base, iov[i].iov_len < room ? iov[i].iov_len : room };
}

static __attribute__((noinline)) ssize_t send_many(int fd, const struct iovec *iov, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count };

	return plain_sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* For a single piece the calls without a list are 150 ns cheaper. */
static ssize_t send_pieces(int fd, const struct iovec *iov, int count)
{
	return likely(count == 1) ? plain_send(fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0) :
			    send_many(fd, iov, count);
}

__attribute__((noinline)) static ssize_t recv_many(int fd, const struct iovec *iov, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count };

	return plain_recvmsg(fd, &message, MSG_DONTWAIT);
}

static ssize_t send_once(int fd, const struct iovec *iov, int count)
{
	ssize_t n;

	do
		n = send_pieces(fd, iov, count);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* That is here, and not only said to come. */
static bool has_unread(struct line *line)
{
	uint64_t by_socket;
	int bytes;

	return (!ioctl(line->fd, SIOCINQ, &bytes) && bytes > 0) ||
	       (line->two_ways && ring_next(&line->ring, &by_socket) == RING_ITSELF);
}

/* line_send() once more, after errno: as it is, or the first page alone. A peer that has gone may have answered before: its
 * last words are to be read, and only then is the stream broken. */
static __attribute__((cold)) ssize_t send_failed(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n = errno == EINTR ? send_once(line->fd, iov, count) : -errno;
	struct iovec first;

	if (n == -EFAULT) {
		first = line_first_page(iov, count);
		n = send_once(line->fd, &first, 1);
	}
	return (n == -EPIPE || n == -ECONNRESET) && has_unread(line) ? -EAGAIN : n;
}

ssize_t line_send(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n;

	assert(count <= IOV_MAX_LINE);
	if (unlikely(line->state != LINE_OPEN))
		return -ENOTCONN;
	if (unlikely(line->board_fd >= 0))
		return line_send_first(line, iov, count);
	n = (ssize_t)ring_put(&line->ring, iov, count);
	if (!n) {
		ring_tell(&line->ring, iov, count);
		n = send_pieces(line->fd, iov, count);
		if (unlikely(n < 0))
			n = send_failed(line, iov, count);
		line->ring.sent += n > 0 ? (uint64_t)n : 0;
	}
	board_knock(&line->board);
	return n;
}

static inline ssize_t recv_pieces(int fd, const struct iovec *iov, int count)
{
	return count == 1 ? plain_recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT) : recv_many(fd, iov, count);
}

/* Nothing came at the first try: mostly because nothing is there. */
__attribute__((noinline)) static ssize_t recv_after_all(struct line *line, const struct iovec *iov, int count)
{
	struct iovec first;
	ssize_t n = -1;

	while (n < 0 && errno == EINTR)
		n = recv_pieces(line->fd, iov, count);
	if (n < 0 && errno == EFAULT) {
		first = line_first_page(iov, count);
		do
			n = recv_pieces(line->fd, &first, 1);
		while (n < 0 && errno == EINTR);
	}
	if (n < 0)
		n = -errno;
	line->drained = n == -EAGAIN;
	line->tcp->received += n != -EAGAIN;
	line->ring.heard += n > 0 ? (uint64_t)n : 0;
	return n;
}

ssize_t line_recv_socket(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n = unlikely(line->hopes) ? line_recv_first(line, iov, count) : recv_pieces(line->fd, iov, count);

	if (n < 0)
		return recv_after_all(line, iov, count);
	line->tcp->received++;
	line->ring.heard += (uint64_t)n;
	line->drained = (size_t)n < iov[0].iov_len;
	return n;
}

ssize_t line_recv(struct line *line, const struct iovec *iov, int count)
{
	assert(count > 0 && count <= IOV_MAX_LINE && iov[count - 1].iov_len);
	if (line->state != LINE_OPEN)
		return -ENOTCONN;
	return line_has_ring(line) ? line_recv_either(line, iov, count) : line_recv_socket(line, iov, count);
}

size_t line_at_once(const struct line *line)
{
	return line->local ? LIMIT_DIGESTED_LOCAL : LIMIT_DIGESTED;
}

static void watch(struct line *line)
{
	struct epoll_event event = {
		.events = (line->deaf ? 0 : EPOLLIN) | (line->wanting ? EPOLLOUT : 0), .data.ptr = line,
	};

	if (epoll_ctl(line->tcp->data_set, EPOLL_CTL_MOD, line->fd, &event))
		assert(!"a socket that is in the set");
}

void want_ticks(struct tcp *tcp)
{
	if (tcp->ticking)
		return;
	tcp->ticking = true;
	tcp->config.kick(tcp->config.kick_arg);
}

void line_want_write(struct line *line)
{
	if (line->state != LINE_OPEN || line->wanting)
		return;
	line->untaken = -1;
	if (line->local)
		want_ticks(line->tcp);
	line->wanting = true;
	watch(line);
	line->tcp->watched++;
}

void line_wanted(struct line *line)
{
	line->wanting = false;
	watch(line);
	line->tcp->watched--;
}

void line_hear(struct line *line, bool on)
{
	if (line->state != LINE_OPEN || line->deaf == !on)
		return;
	line->deaf = !on;
	watch(line);
	line->tcp->watched += on ? -1u : 1;
	if (on && line->two_ways && ring_has(&line->ring))
		want_ticks(line->tcp);	/* no socket tells of it */
}

/* TCP_USER_TIMEOUT does this for TCP. A neighbour that reads little by little is there. Ticks are counted, and not the time, so
 * that two who were stopped together do not blame each other when they go on. */
bool line_stuck(struct line *line)
{
	uint64_t silence_ns = line->tcp->config.silence_ns;
	int untaken;

	if (ioctl(line->fd, SIOCOUTQ, &untaken))
		return false;
	if (untaken != line->untaken) {
		line->untaken = untaken;
		line->silent_ticks = 0;
	}
	return line->silent_ticks++ * TIME_MS(TCP_TICK_MS) >= (silence_ns ? silence_ns : TIME_SILENCE_NS);
}

/* Closing a TCP socket that has unread bytes, or gets some later, resets the connection, and bytes not yet delivered are
 * lost. So what comes is thrown away until what was sent has arrived. A Unix socket's bytes are at the peer when they are sent,
 * and stay. */
bool line_lingers(struct line *line)
{
	size_t drained = 0;
	ssize_t n;
	int unsent;

	if (line->local)
		return false;
	do {
		n = plain_recv(line->fd, NULL, DRAIN_BYTES, MSG_TRUNC | MSG_DONTWAIT);
		drained += n > 0 ? (size_t)n : 0;
	} while (n > 0 && drained < DRAIN_BYTES);
	if (n == 0 || (n < 0 && errno != EAGAIN))
		return false;
	return !ioctl(line->fd, SIOCOUTQ, &unsent) && unsent > 1; /* the end itself counts as one */
}

void line_close(struct line *line)
{
	struct tcp *tcp = line->tcp;
	bool open = line->state == LINE_OPEN;

	leave_set(line);
	line->conn = NULL;
	if (open)
		shutdown(line->fd, SHUT_WR);
	if (!open || !line_lingers(line)) {
		line_free(line);
		return;
	}
	link_out(&tcp->lines, line);
	line->state = LINE_LINGERING;
	line->linger_end_ns = monotonic_ns() + TIME_BYE_NS;
	link_in(&tcp->lingering, line);
	(void)enter_set(tcp->linger_set, line, 0); /* for want of memory a fork's child keeps it */
	tcp->changes++;
	want_ticks(tcp);
}
