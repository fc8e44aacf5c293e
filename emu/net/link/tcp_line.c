/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_line.c - one byte stream, of whichever kind (struct stream_ops): dial, send, receive, close. */
#include "emu/net/link/tcp_line.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/sockios.h>

#include "emu/net/link/trunk.h"
#include "emu/net/os/monotonic.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/limits.h"

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

int line_new(struct tcp *tcp, int fd, const struct stream_ops *ops, struct line **out)
{
	struct line *line = tcp->count < LIMIT_CONNECTIONS ? calloc(1, sizeof(*line)) : NULL;

	if (!line) {
		nocancel_close(fd);
		return -ENOMEM;
	}
	ops->set_options(fd, tcp->config.silence_ns);
	line->ops = ops;
	line->tcp = tcp;
	line->fd = fd;
	line->state = LINE_BROKEN;
	line->shm_fd = -1;
	link_in(&tcp->lines, line);
	tcp->count++;
	*out = line;
	return 0;
}

void line_free(struct line *line)
{
	struct tcp *tcp = line->tcp;

	line_drop_shm(line);
	link_out(line->state == LINE_LINGERING ? &tcp->lingering : &tcp->lines, line);
	if (line->state == LINE_LINGERING)
		epoll_ctl(tcp->linger_set, EPOLL_CTL_DEL, line->fd, NULL);
	nocancel_close(line->fd);
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
		tcp->watched -= line->tx_blocked + line->rx_paused;
		line->tx_blocked = false;
	} else if (line->state == LINE_JOINING) {
		epoll_ctl(tcp->data_set, EPOLL_CTL_DEL, line->fd, NULL);
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

static int begin_dial(struct tcp *tcp, const struct sockaddr_storage *to, const struct stream_ops **ops, int *error)
{
	static const struct stream_ops *const dial_order[] = { &stream_local, &stream_tcp };
	int fd = -ECONNREFUSED;

	for (size_t i = 0; i < sizeof(dial_order) / sizeof(dial_order[0]) && fd < 0; i++) {
		*ops = dial_order[i];
		if (tcp->config.local || !(*ops)->neighbour)
			fd = (*ops)->dial(tcp, to, error);
	}
	return fd;
}

/* An error that connect() returns at once is reported by conn_down() later, since the device counts refusals there. The dial set
 * reports a failed socket just like a connected one. */
int line_dial(void *link, const struct sockaddr_storage *to, struct conn *conn, struct line **out)
{
	const struct stream_ops *ops;
	struct tcp *tcp = link;
	struct line *line;
	int error = 0, fd = begin_dial(tcp, to, &ops, &error), err;

	if (fd < 0)
		return fd;
	err = line_new(tcp, fd, ops, &line);
	if (err)
		return err;
	line->conn = conn;
	line->expects_shm = ops->neighbour;
	line->error = error;
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

int line_dial_result(struct line *line)
{
	socklen_t length = sizeof(int);
	int error = line->error;

	assert(line->state == LINE_DIALING);
	if (!error && getsockopt(line->fd, SOL_SOCKET, SO_ERROR, &error, &length))
		error = errno;
	if (!error && line->ops->met_itself && line->ops->met_itself(line->fd))
		error = ECONNREFUSED;
	leave_set(line);
	if (!error)
		error = -line_open(line);
	if (!error)
		line->tcp->dials = 0;
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

	return nocancel_sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* For a single piece the calls without an iovec are 150 ns cheaper. */
static ssize_t line_send_socket(int fd, const struct iovec *iov, int count)
{
	return likely(count == 1) ? nocancel_send(fd, iov->iov_base, iov->iov_len, MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0)
				  : send_many(fd, iov, count);
}

__attribute__((noinline)) static ssize_t recv_many(int fd, const struct iovec *iov, int count)
{
	struct msghdr message = { .msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)count };

	return nocancel_recvmsg(fd, &message, MSG_DONTWAIT);
}

static ssize_t send_once(int fd, const struct iovec *iov, int count)
{
	ssize_t n;

	do
		n = line_send_socket(fd, iov, count);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

/* Counts bytes that are here, not those that are only announced. */
static bool has_unread(struct line *line)
{
	uint64_t by_socket;
	int bytes;

	return (!ioctl(line->fd, SIOCINQ, &bytes) && bytes > 0) ||
	       (line->peer_has_shm && shm_ring_next(&line->ring, &by_socket) == RING_ITSELF);
}

/* Retries line_send() according to errno: as it is, or the first page alone. A peer that has gone may have answered before: its
 * last bytes are read first, and only then is the stream broken. */
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
		return line->trunk || line->state == LINE_JOINING ? trunk_send(line, iov, count) : -ENOTCONN;
	if (unlikely(line->shm_fd >= 0))
		return line_send_first(line, iov, count);
	n = (ssize_t)shm_ring_put(&line->ring, iov, count);
	if (!n) {
		shm_ring_tell(&line->ring, iov, count);
		n = line_send_socket(line->fd, iov, count);
		if (unlikely(n < 0))
			n = send_failed(line, iov, count);
		line->ring.sent += n > 0 ? (uint64_t)n : 0;
	}
	return n;
}

static inline ssize_t recv_pieces(int fd, const struct iovec *iov, int count)
{
	return count == 1 ? nocancel_recv(fd, iov->iov_base, iov->iov_len, MSG_DONTWAIT) : recv_many(fd, iov, count);
}

/* The first try got nothing: mostly because nothing is there. */
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
	line->tcp->received += n != -EAGAIN;
	line->ring.received += n > 0 ? (uint64_t)n : 0;
	return n;
}

ssize_t line_recv_socket(struct line *line, const struct iovec *iov, int count)
{
	ssize_t n = unlikely(line->expects_shm) ? line_recv_first(line, iov, count) : recv_pieces(line->fd, iov, count);

	if (n < 0)
		return recv_after_all(line, iov, count);
	line->tcp->received++;
	line->ring.received += (uint64_t)n;
	return n;
}

ssize_t line_recv(struct line *line, const struct iovec *iov, int count)
{
	assert(count > 0 && count <= IOV_MAX_LINE && iov[count - 1].iov_len);
	if (unlikely(line->state != LINE_OPEN))
		return line->state == LINE_CHANNEL ? trunk_recv(line, iov, count) : -ENOTCONN;
	return line_recv_stream(line, iov, count);
}

ssize_t line_recv_stream(struct line *line, const struct iovec *iov, int count)
{
	return line_has_ring(line) ? line_recv_either(line, iov, count) : line_recv_socket(line, iov, count);
}

size_t line_at_once(const struct line *line)
{
	return line->ops->at_once;
}

static void line_watch(struct line *line)
{
	struct epoll_event event = {
		.events = (line->rx_paused ? 0 : EPOLLIN) | (line->tx_blocked ? EPOLLOUT : 0),
		.data.ptr = line,
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
	if (line->tx_blocked)
		return;
	if (line->state != LINE_OPEN) {
		line->tx_blocked = line->state == LINE_JOINING || line->state == LINE_CHANNEL;
		if (line->state == LINE_CHANNEL)
			trunk_want_write(line);
		return;
	}
	line->tx_unread = -1;
	if (line->ops->neighbour)
		want_ticks(line->tcp);
	line->tx_blocked = true;
	line_watch(line);
	line->tcp->watched++;
}

void line_cancel_want_write(struct line *line)
{
	line->tx_blocked = false;
	line_watch(line);
	line->tcp->watched--;
}

void line_set_readable(struct line *line, bool on)
{
	if ((line->state != LINE_OPEN && line->state != LINE_CHANNEL) || line->rx_paused == !on)
		return;
	line->rx_paused = !on;
	if (line->state == LINE_CHANNEL) {
		trunk_set_readable(line);
		return;
	}
	line_watch(line);
	line->tcp->watched += on ? -1u : 1;
	if (on && line->peer_has_shm && shm_ring_has(&line->ring))
		want_ticks(line->tcp); /* no socket reports the ring's bytes */
}

/* TCP_USER_TIMEOUT does this for TCP. A neighbour that reads slowly is not stuck. Ticks are counted instead of time: so when two
 * processes are stopped together and go on, neither finds the other stuck. */
bool line_stuck(struct line *line)
{
	uint64_t silence_ns = line->tcp->config.silence_ns;
	int tx_unread;

	if (ioctl(line->fd, SIOCOUTQ, &tx_unread))
		return false;
	if (tx_unread != line->tx_unread) {
		line->tx_unread = tx_unread;
		line->stalled_ticks = 0;
	}
	return line->stalled_ticks++ * TIME_MS(TCP_TICK_MS) >= (silence_ns ? silence_ns : TIME_SILENCE_NS);
}

bool line_lingers(struct line *line)
{
	return line->ops->lingers && line->ops->lingers(line->fd);
}

bool line_shares(const struct line *line)
{
	return line->state == LINE_CHANNEL;
}

/* A socket for both families has IPv4 in the form of IPv6. */
static void unmap(struct sockaddr_storage *at)
{
	struct sockaddr_in6 in6 = *(struct sockaddr_in6 *)at;
	struct sockaddr_in *in = (struct sockaddr_in *)at;

	if (at->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
		return;
	memset(at, 0, sizeof(*at));
	in->sin_family = AF_INET;
	in->sin_port = in6.sin6_port;
	memcpy(&in->sin_addr, in6.sin6_addr.s6_addr + 12, sizeof(in->sin_addr));
}

bool line_came_to(const struct line *line, struct sockaddr_storage *at)
{
	socklen_t length = sizeof(*at);

	if (line->state != LINE_OPEN || line->ops->neighbour || getsockname(line->fd, (struct sockaddr *)at, &length))
		return false;
	unmap(at);
	bound_known(&line->tcp->config.bound, at);
	return true;
}

const char *line_kind(const struct line *line)
{
	const struct line *stream = line->state == LINE_CHANNEL ? line->trunk->carrier : line;

	if (!stream->ops->neighbour)
		return "tcp";
	return shm_shared(&stream->shm) ? "shm" : "unix";
}

void line_writable(struct line *line)
{
	if (line->conn)
		conn_writable(line->conn);
	else
		trunk_flush(line->trunk);
}

void line_down(struct line *line, int error)
{
	if (line->conn)
		conn_down(line->conn, error);
	else
		trunk_down(line->trunk, error);
}

/* No flag that the data set knows is set while a line joins. */
void line_drop_stream(struct line *line)
{
	struct tcp *tcp = line->tcp;

	epoll_ctl(tcp->data_set, EPOLL_CTL_DEL, line->fd, NULL);
	nocancel_close(line->fd);
	line->fd = -1;
	line_drop_shm(line);
	link_out(&tcp->lines, line);
	line->state = LINE_CHANNEL;
	tcp->count--;
	tcp->changes++;
}

void line_close(struct line *line)
{
	struct tcp *tcp = line->tcp;
	bool open = line->state == LINE_OPEN || line->state == LINE_JOINING;

	if (line->conn && line->trunk)
		trunk_leave(line);
	if (line->state == LINE_CHANNEL) {
		free(line);
		return;
	}
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
	(void)enter_set(tcp->linger_set, line, 0); /* fails for want of memory: a fork's child keeps it then */
	tcp->changes++;
	want_ticks(tcp);
}
