/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp.c - the link: its epoll sets, and the events that they give to the device. */
#include "emu/net/link/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include "emu/net/link/tcp_line.h"
#include "emu/net/link/trunk.h"
#include "emu/net/os/monotonic.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/cancel.h"

enum {
	EVENTS = 64,
	/* Up to so many sockets are read one by one. An empty recv() was measured at 330 ns, epoll_wait() at 150 ns without an
	 * event, but at 600 ns with one, and then comes the recv(): with two sockets most polls would cost more than the set. */
	DIRECT_SOCKETS = 1,
};

socklen_t tcp_address_length(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int tcp_data_fd(const struct tcp *tcp)
{
	return tcp->data_set;
}

int tcp_dial_fd(const struct tcp *tcp)
{
	return tcp->dial_set;
}

int tcp_listen_fd(const struct tcp *tcp)
{
	return tcp->listen_set;
}

int tcp_linger_fd(const struct tcp *tcp)
{
	return tcp->linger_set;
}

bool tcp_readable(const struct tcp *tcp)
{
	struct epoll_event event;

	return nocancel_peek(tcp->data_set, &event, 1) > 0;
}

/* After any callback a pointer out of `events` may be stale. Skipped events come again, as the sets are
 * level-triggered. */
int tcp_finish_dials(struct tcp *tcp)
{
	struct epoll_event events[EVENTS];
	unsigned int changes = tcp->changes;
	int count = nocancel_peek(tcp->dial_set, events, EVENTS), done = 0;

	while (done < count && tcp->changes == changes) {
		struct line *line = events[done++].data.ptr;
		int error = line_dial_result(line);

		if (error)
			conn_down(line->conn, error);
		else
			conn_up(line->conn);
	}
	return done;
}

/* Only while no line is rx_paused. If a line or port is freed meanwhile, the rest waits for the next poll. */
static int poll_each(struct tcp *tcp)
{
	unsigned int changes = tcp->changes, received = tcp->received;
	struct port *next_port;
	struct line *next;
	int count = 0;

	for (struct line *line = tcp->lines; line; line = next) {
		next = line->next;
		if (line->state != LINE_OPEN && line->state != LINE_JOINING)
			continue;
		line_readable(line);
		if (tcp->changes != changes)
			return 1;
	}
	for (struct port *port = tcp->ports; port && tcp->changes == changes; port = next_port) {
		next_port = port->next; /* a delivery may close its port */
		count += port_deliver(port, EPOLLIN);
	}
	return count + (int)(tcp->received - received);
}

static int deliver(struct line *line, uint32_t events)
{
	struct tcp *tcp = line->tcp;
	unsigned int changes = tcp->changes, received = tcp->received;
	int count = 0;

	if (line->tx_blocked && line->state != LINE_JOINING && events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) {
		line_cancel_want_write(line);
		line_writable(line);
		count++;
	}
	if (tcp->changes == changes && line->rx_paused && events & (EPOLLERR | EPOLLHUP)) {
		line_down(line, ECONNRESET); /* epoll reports these unasked */
		return count + 1;
	}
	if (tcp->changes == changes && events & ~(uint32_t)EPOLLOUT)
		line_readable(line);
	return count + (tcp->changes != changes || tcp->received != received);
}

static int poll_set(struct tcp *tcp)
{
	struct epoll_event events[EVENTS];
	unsigned int changes = tcp->changes;
	int ready = nocancel_peek(tcp->data_set, events, EVENTS), count = 0;

	for (int i = 0; i < ready && tcp->changes == changes; i++) {
		const enum watched *kind = events[i].data.ptr;

		if (*kind == WATCHED_PORT)
			count += port_deliver(events[i].data.ptr, events[i].events);
		else
			count += deliver(events[i].data.ptr, events[i].events);
	}
	return count;
}

static int tcp_poll(void *link)
{
	struct tcp *tcp = link;
	int count = tcp->dialing ? tcp_finish_dials(tcp) : 0;

	if (tcp->polling)
		count += shm_all_acks(tcp);
	if (shm_all_tell(tcp))
		return count + rings_read_all(tcp);
	tcp->polls_since_epoll = 0;
	count += rings_read(tcp);
	return count + (tcp->count + tcp->port_count <= DIRECT_SOCKETS && !tcp->watched ? poll_each(tcp) : poll_set(tcp));
}

bool tcp_drop_stuck(struct tcp *tcp)
{
	for (struct line *line = tcp->lines; line; line = line->next) {
		if (line->state == LINE_JOINING ? line_join_is_late(line)
						: line->ops->neighbour && line->tx_blocked && line_stuck(line)) {
			line_down(line, ETIMEDOUT);
			return true; /* more lines may be freed with it; the next tick checks the others */
		}
	}
	return false;
}

bool tcp_read_on(struct tcp *tcp)
{
	return !tcp->polling && rings_read_on(tcp);
}

static bool any_waits(const struct tcp *tcp)
{
	for (const struct line *line = tcp->lines; line; line = line->next)
		if (line->state == LINE_JOINING || (line->ops->neighbour && line->tx_blocked))
			return true;
	return false;
}

bool tcp_tick(struct tcp *tcp)
{
	uint64_t now_ns = monotonic_ns();
	struct line *next;

	for (struct line *line = tcp->lingering; line; line = next) {
		next = line->next;
		if (now_ns >= line->linger_end_ns || !line_lingers(line))
			line_free(line);
	}
	tcp->ticking = tcp->lingering || any_waits(tcp) || (!tcp->polling && rings_have(tcp));
	return tcp->ticking;
}

static void tcp_random(void *link, void *bytes, size_t length)
{
	struct tcp *tcp = link;

	random_bytes(&tcp->random, bytes, length);
}

static void tcp_log(void *link, int level, const char *text)
{
	struct tcp *tcp = link;
	int state;

	if (!tcp->config.log)
		return;
	state = cancel_off();
	tcp->config.log((enum nic_log)level, text);
	cancel_back(state);
}

static uint32_t dials_most(void *link)
{
	struct rlimit files;

	(void)link;
	if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= LIMIT_CONNECTIONS)
		return LIMIT_CONNECTIONS;
	return files.rlim_cur < DIALS_SHARE ? 1 : (uint32_t)files.rlim_cur / DIALS_SHARE;
}

const struct link_ops tcp_link = {
	.dial = line_dial,
	.dials_most = dials_most,
	.send = line_send,
	.recv = line_recv,
	.at_once = line_at_once,
	.want_write = line_want_write,
	.set_readable = line_set_readable,
	.store_ack = line_store_ack,
	.stored_ack = line_stored_ack,
	.note_executed = line_note_executed,
	.peer_executed = line_peer_executed,
	.set_polling = shm_all_set_polling,
	.close = line_close,
	.join = line_join,
	.shares = line_shares,
	.flush = trunks_flush,
	.kind = line_kind,
	.came_to = line_came_to,
	.listen = listener_open,
	.unlisten = listener_close,
	.bind = port_open,
	.unbind = port_close,
	.send_datagram = port_emit,
	.recv_datagram = port_take,
	.bind_groups = groups_open,
	.hear_group = groups_hear,
	.groups_by = groups_by,
	.poll = tcp_poll,
	.random = tcp_random,
	.log = tcp_log,
};

int tcp_bound_open(struct tcp *tcp, const struct sockaddr_storage *at, int (*bind)(const struct sockaddr_storage *at, bool reuse))
{
	int fd = bound_open(&tcp->config.bound, at, bind);

	if (fd == -EADDRINUSE && tcp->config.bound.first)
		tcp_log(tcp, NIC_LOG_WARN, "the port, or each port of the range, is in use (FI_EMU_PORTS)");
	return fd;
}
