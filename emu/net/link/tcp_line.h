/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_line.h - inside the TCP link: tcp.c (sets, events), tcp_line.c (one byte stream), tcp_shm.c (shared segments),
 * tcp_shm_ring.c (their rings), tcp_listen.c, udp.c (ports). All [role]. */
#ifndef EMU_NET_TCP_LINE_H
#define EMU_NET_TCP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/net/link/tcp.h"
#include "emu/net/os/random.h"
#include "emu/net/shm/shm.h"
#include "emu/nic/base/hash.h"
#include "emu/nic/base/likely.h"
#include "emu/nic/base/limits.h"
#include "wire/chunk.h"

struct tcp;

/* Each object in the data set begins with its kind. */
enum watched { WATCHED_LINE, WATCHED_PORT };

enum { IOV_MAX_LINE = 64 }; /* link.h */

enum line_state {
	LINE_DIALING,   /* in the dial set until conn_up() or conn_down() */
	LINE_OPEN,      /* in the data set */
	LINE_JOINING,   /* likewise: trunk.h */
	LINE_CHANNEL,   /* has no stream, but a place in a trunk */
	LINE_BROKEN,    /* conn_down() was called; in no set, waits for close */
	LINE_LINGERING, /* closed by the device, which has forgotten it; in the linger set */
};

/* In LINE_JOINING: what has come of the peer's word. */
struct line_joining {
	struct wire_join join;
	uint8_t have;
	uint32_t ticks; /* it has waited so long */
};

struct line {
	enum watched kind; /* first */
	struct tcp *tcp;
	struct conn *conn;
	struct line *next, *prev; /* tcp->lines, or tcp->lingering */
	const struct stream_ops *ops;
	int fd;
	enum line_state state;
	int error;        /* of connect(), to be told by conn_down() */
	bool tx_blocked;  /* conn_writable() is owed */
	bool rx_paused;   /* conn_readable() is not wanted */
	bool expects_shm; /* dialled to a neighbour: the first bytes may bring a shared segment */
	int shm_fd;       /* to go with the first bytes; -1: none */
	struct shm shm;
	struct shm_ring ring;
	atomic_uint_fast64_t *executed; /* shm_executed(), for its own side */
	uint64_t ack_seen;              /* the last that the peer has stored */
	bool peer_has_shm;              /* the peer has the shared segment: bytes come by the ring, too */
	struct line *next_shm;          /* tcp->shms */
	int tx_unread;                  /* tx_blocked: bytes that a neighbour had not read at the last tick; -1: no tick yet */
	uint32_t stalled_ticks;         /* ticks in a row with the same `tx_unread` */
	uint64_t linger_end_ns;
	void (*reads)(struct line *line);  /* in the place of conn_readable(); NULL: that */
	struct trunk *trunk;               /* LINE_CHANNEL, LINE_JOINING: the one that it is in; without a conn: that it carries */
	uint32_t channel;                  /* in it */
	uint8_t process[WIRE_PROCESS_LEN]; /* dialled, and greeted, alone or as a carrier: where it leads to */
	struct hash_node by_channel;
	struct line *next_channel, *prev_channel, *next_blocked;
	struct line_joining joining;
};

struct listener {
	struct ep *ep;
	struct listener *next;
	int fd;
	int local; /* local.h; -1: none */
	struct bound bound;
};

struct tcp {
	struct tcp_config config;
	int data_set, dial_set, listen_set, linger_set;
	struct random random;
	struct line *lines, *lingering;
	struct line *shms; /* lines that have a shared segment */
	struct trunk *trunks;
	bool trunk_bytes;              /* a trunk has bytes to send */
	uint8_t trunk_in[TRUNK_BYTES]; /* what one has received, until it is read */
	unsigned int shm_count;
	uint8_t *shm_quota;              /* NULL: there are no shared segments */
	bool polling;                    /* the device polls often (link.h) */
	unsigned int polls_since_epoll;  /* polls since the sets were last polled */
	struct sockaddr_storage dialled; /* the last address dialled by TCP */
	unsigned int dials;              /* failed dials to it in a row */
	struct listener *listeners;
	struct port *ports;
	unsigned int count; /* of lines and lingering */
	unsigned int port_count;
	unsigned int dialing;
	unsigned int watched;  /* lines and ports that need the data set: tx_blocked ones, and lines that are rx_paused */
	unsigned int changes;  /* lines, ports or listeners freed: events that epoll_wait() returned before are stale */
	unsigned int received; /* receives of line_recv(), an end included: poll() sees whether there was any */
	bool ticking;          /* tcp_tick() was asked for and has not returned false */
	bool full;             /* accept() found no room, and that was logged */
};

/* tcp_line.c. A new line takes fd, also if it fails: 0 or -errno. */
int line_new(struct tcp *tcp, int fd, const struct stream_ops *ops, struct line **line);
int line_dial(void *link, const struct sockaddr_storage *to, struct conn *conn, struct line **line);
int line_open(struct line *line); /* enters the data set */
/* The result of a dial: 0 or a positive errno. */
int line_dial_result(struct line *line);
ssize_t line_send(struct line *line, const struct iovec *iov, int count);
ssize_t line_recv(struct line *line, const struct iovec *iov, int count);
ssize_t line_recv_stream(struct line *line, const struct iovec *iov, int count); /* line_recv() of one that is LINE_JOINING, too */
ssize_t line_recv_socket(struct line *line, const struct iovec *iov, int count);
/* The part up to the first page's end: the kernel gives -EFAULT for a whole chunk if any page of it is missing, but the
 * device wants to know of the first byte. */
struct iovec line_first_page(const struct iovec *iov, int count);
size_t line_at_once(const struct line *line);
void want_ticks(struct tcp *tcp); /* asks for calls of tcp_tick() */
void line_want_write(struct line *line);
void line_set_readable(struct line *line, bool on);
void line_cancel_want_write(struct line *line); /* takes that back */
const char *line_kind(const struct line *line);
bool line_came_to(const struct line *line, struct sockaddr_storage *at);
bool line_shares(const struct line *line);
void line_close(struct line *line);
void line_drop_stream(struct line *line); /* one that has greeted becomes a LINE_CHANNEL */
/* conn_readable(), conn_writable(), conn_down(), or what a trunk has in their place. */
static inline void line_readable(struct line *line)
{
	if (unlikely(line->reads != NULL))
		line->reads(line);
	else
		conn_readable(line->conn);
}
void line_writable(struct line *line);
void line_down(struct line *line, int error);
void line_free(struct line *line);
bool line_lingers(struct line *line); /* are its bytes still on the way? */
bool line_stuck(struct line *line);   /* a tick, of a neighbour, and tx_blocked: has the neighbour taken nothing for too long? */

/* tcp_shm.c. line_store_ack() to line_peer_executed(), shm_all_set_polling() are the link's. */
void shm_all_open(struct tcp *tcp);
void shm_all_close(struct tcp *tcp);
void line_give_shm(struct line *line); /* accepted from a neighbour: makes one, if there is room */
void line_drop_shm(struct line *line); /* there may be none */
/* line_send() with a shared segment to go with the first bytes, and recvmsg() of first bytes that one may come with. */
ssize_t line_send_first(struct line *line, const struct iovec *iov, int count);
ssize_t line_recv_first(struct line *line, const struct iovec *iov, int count);
bool line_store_ack(struct line *line, uint64_t number);
bool line_stored_ack(struct line *line, uint64_t *number);
void line_note_executed(struct line *line, uint64_t number);
uint64_t line_peer_executed(const struct line *line);
void line_place_executed(struct line *line); /* its segment or its trunk is another now */
void shm_all_set_polling(void *link, bool on);
int shm_all_acks(struct tcp *tcp); /* conn_ack_stored() for each new stored acknowledgement; how many */
/* True: the shared segments alone may be trusted in this poll (rings_read_all()). They do not tell of the end of a stream, so
 * every SLICE_SHM polls it is false. */
bool shm_all_tell(struct tcp *tcp);

/* tcp_shm_ring.c. A ring that was never opened has nothing. */
bool line_open_ring(struct line *line);             /* false: the peer is not known to have the shared segment yet */
static inline bool line_has_ring(struct line *line) /* bytes may come by the peer's ring */
{
	return line->peer_has_shm || line_open_ring(line);
}
ssize_t line_recv_either(struct line *line, const struct iovec *iov, int count); /* line_recv(), then */
int rings_read(struct tcp *tcp);        /* one receive for each ring that has bytes; the number of events */
int rings_read_all(struct tcp *tcp);    /* and for each line whose peer has announced bytes by the socket */
bool rings_read_on(struct tcp *tcp);    /* the same, again and again up to SLICE_RINGS times */
bool rings_have(const struct tcp *tcp); /* has a ring bytes for a line that is not rx_paused? */

/* tcp.c: bound_open(), with a line of log where the range has no port left. */
int tcp_bound_open(struct tcp *tcp, const struct sockaddr_storage *at, int (*bind)(const struct sockaddr_storage *at, bool reuse));

/* tcp_listen.c */
int listener_open(void *link, struct sockaddr_storage *at, struct ep *ep, void **listener);
void listener_close(void *link, void *listener);
/* A socket of this type for that address, and what to bind it to. AF_UNSPEC: at all addresses of both families, or of IPv4 where
 * there is no IPv6. Or -errno. */
int tcp_socket_for(const struct sockaddr_storage *at, int type, struct sockaddr_storage *real);
/* The address to dial for `to`, which may be the advertised address of a listener of ours. */
const struct sockaddr_storage *listener_real(const struct tcp *tcp, const struct sockaddr_storage *to);

socklen_t tcp_address_length(const struct sockaddr_storage *address);

/* --- What a kind of stream does in its own way. tcp_line.c has all that streams have in common. A new kind is a table of
 * these, a place in dial_order (tcp_line.c), and a listener (tcp_listen.c). All [role]. --- */

struct stream_ops {
	/* Begins to connect. A non-blocking descriptor, the caller's; *error is then 0, or a positive errno that ends the dial. Or
	 * -errno: streams of this kind do not lead there. */
	int (*dial)(struct tcp *tcp, const struct sockaddr_storage *to, int *error);
	int (*accept)(int listener); /* as accept4(); non-blocking */
	/* Sets the options of a stream, dialled or accepted. silence_ns as in struct tcp_config. */
	void (*set_options)(int fd, uint64_t silence_ns);
	bool (*met_itself)(int fd); /* has a dial that succeeded met its own end? NULL: it never does */
	/* May both lead to the same process? What the kernel knows of the peers, which may say anything. */
	bool (*same_peer)(int fd, int other);
	bool (*lingers)(int fd); /* after the close: are bytes still on the way? NULL: never */
	size_t at_once;          /* bytes of payload that are best digested, and then sent, at once */
	/* To a neighbour: it shares memory. The kernel does not tell of a neighbour that takes nothing; a tick does. */
	bool neighbour;
};

extern const struct stream_ops stream_tcp, stream_local; /* stream_tcp.c, local.c */

/* --- ports for datagrams of the device's link, over UDP sockets. All [role]. --- */

struct port {
	enum watched kind; /* first: the data set's pointers lead to it */
	struct tcp *tcp;
	struct ep *ep;
	struct port *next;
	int fd;             /* in the data set */
	bool tx_blocked;    /* ep_writable() is owed */
	uint32_t interface; /* of groups: datagrams leave by it; 0: none was named */
	bool taken;         /* a datagram was received since port_deliver() last cleared this */
	struct bound bound;
};

/* The four port functions of link_ops. */
int port_open(void *link, struct sockaddr_storage *at, bool hears, struct ep *ep, struct port **port);
void port_close(struct port *port);
int port_emit(struct port *port, const struct sockaddr_storage *to, const void *bytes, size_t length);
ssize_t port_take(struct port *port, void *bytes, size_t room, struct sockaddr_storage *from);
/* A port of that socket, which it takes, also if it fails. 0 or -errno. */
int port_new(struct tcp *tcp, int fd, struct ep *ep, struct port **port);
/* And those of groups (udp_group.c). */
int groups_open(void *link, int family, struct ep *ep, struct port **port);
int groups_hear(struct port *port, const struct sockaddr_storage *group, uint32_t interface, bool join);
int groups_by(struct port *port, uint32_t interface);

/* Passes the data set's `events` to the endpoint. Returns the number of events passed. */
int port_deliver(struct port *port, uint32_t events);

#endif
