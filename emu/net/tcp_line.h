/* SPDX-License-Identifier: BSD-2-Clause */
/* tcp_line.h - inside the TCP link: tcp.c (sets, events), tcp_line.c (one byte stream), tcp_board.c (what two lines share),
 * tcp_ring.c (what goes through that), tcp_listen.c; udp.h has its ports. All [role]. */
#ifndef EMU_NET_TCP_LINE_H
#define EMU_NET_TCP_LINE_H

#include "emu/net/board.h"
#include "emu/net/tcp.h"

/* What is in the data set begins with its kind. */
enum watched { WATCHED_LINE, WATCHED_PORT };

enum line_state {
	LINE_DIALING,	/* in the dial set until conn_up() or conn_down() */
	LINE_OPEN,	/* in the data set */
	LINE_BROKEN,	/* conn_down() was said; in no set, waits for close */
	LINE_LINGERING,	/* closed by the device, which has forgotten it; in the linger set */
};

struct line {
	enum watched kind;		/* first */
	struct tcp *tcp;
	struct conn *conn;
	struct line *next, *prev;	/* tcp->lines, or tcp->lingering */
	int fd;
	enum line_state state;
	int error;			/* of connect(), to be told by conn_down() */
	bool wanting;			/* conn_writable() is owed */
	bool deaf;			/* conn_readable() is not wanted */
	bool local;			/* local.h */
	bool hopes;			/* local, dialled: the first bytes may bring a board */
	int board_fd;			/* to go with the first bytes; -1: none */
	struct board board;
	struct ring ring;
	bool two_ways;			/* the peer has the board: what comes, comes by the ring, too */
	bool drained;			/* nothing was left when it was last received from */
	struct line *next_board;	/* tcp->boards */
	int untaken;			/* local and wanting: so much lay at the neighbour at the last tick; -1: there was none */
	uint32_t silent_ticks;		/* at which so much lay there */
	uint64_t linger_end_ns;
};

struct listener {
	struct ep *ep;
	struct listener *next;
	int fd;
	int local;			/* local.h; -1: none */
};

struct tcp {
	struct tcp_config config;
	int data_set, dial_set, listen_set, linger_set;
	struct line *lines, *lingering;
	struct line *boards;	/* those of lines that have one */
	unsigned int board_count;
	uint8_t *board_rooms;	/* NULL: boards are not to be had */
	bool looks;		/* the device does: polls come often (link.h) */
	unsigned int unasked;	/* polls since the sets were asked */
	struct listener *listeners;
	struct port *ports;
	unsigned int count;	/* of lines and lingering */
	unsigned int port_count;
	unsigned int dialing;
	unsigned int watched;	/* what only the data set tells: lines and ports that are wanting, lines that are deaf */
	unsigned int changes;	/* lines, ports or listeners freed: what epoll_wait() returned before is stale */
	unsigned int received;	/* counts what line_recv() got, be it the end: poll() sees whether there was anything */
	bool ticking;		/* tcp_tick() was asked for and has not said no */
	bool full;		/* accept() found no room, and that was said */
};

/* tcp_line.c. A new line takes fd, also if it fails: 0 or -errno. */
int  line_new(struct tcp *tcp, int fd, bool local, struct line **line);
int  line_dial(void *link, const struct sockaddr_storage *to, struct conn *conn, struct line **line);
int  line_open(struct line *line);	/* enters the data set */
/* The dial's end: 0 or a positive errno. */
int  line_dial_result(struct line *line);
ssize_t line_send(struct line *line, const struct iovec *iov, int count);
ssize_t line_recv(struct line *line, const struct iovec *iov, int count);
ssize_t line_recv_socket(struct line *line, const struct iovec *iov, int count);
/* The part up to the first page's end: the kernel gives -EFAULT for a whole chunk if any page of it is missing, but the
 * device wants to know of the first byte. */
struct iovec line_first_page(const struct iovec *iov, int count);
size_t line_at_once(const struct line *line);
void want_ticks(struct tcp *tcp);	/* tcp_tick() is to be called */
void line_want_write(struct line *line);
void line_hear(struct line *line, bool on);
void line_wanted(struct line *line);	/* takes that back */
void line_close(struct line *line);
void line_free(struct line *line);
bool line_lingers(struct line *line);	/* are its bytes still on the way? */
bool line_stuck(struct line *line);	/* a tick: local and wanting; has the neighbour taken nothing for too long? */

/* tcp_board.c. line_note(), line_noted(), boards_look() are the link's. */
void boards_open(struct tcp *tcp);
void boards_close(struct tcp *tcp);
void line_give_board(struct line *line);	/* accepted and local: makes one, if there is room */
void line_drop_board(struct line *line);	/* there may be none */
/* line_send() with a board to go with the first bytes, and recvmsg() of first bytes that one may come with. */
ssize_t line_send_first(struct line *line, const struct iovec *iov, int count);
ssize_t line_recv_first(struct line *line, const struct iovec *iov, int count);
bool line_note(struct line *line, uint64_t number);
bool line_noted(struct line *line, uint64_t *number);
void boards_look(void *link, bool on);
int  boards_notes(struct tcp *tcp);	/* tells of what is noted; how many */
/* Do boards tell of all that may have come? Not of the end of a stream, so sometimes they do not. If so: receives what there is. */
bool boards_tell(struct tcp *tcp);
int  boards_knocked(struct tcp *tcp);

/* tcp_ring.c */
bool line_has_ring(struct line *line);	/* the peer has the board: what comes may come by its ring */
ssize_t line_recv_either(struct line *line, const struct iovec *iov, int count);	/* line_recv(), then */
bool rings_read(struct tcp *tcp);	/* what is there, a receive each; was there anything? */
bool rings_read_on(struct tcp *tcp);	/* the same, again and again up to SLICE_RINGS times */
bool rings_have(const struct tcp *tcp);	/* is anything there that would be heard? */

/* tcp_listen.c */
int  listener_open(void *link, struct sockaddr_storage *at, struct ep *ep, void **listener);
void listener_close(void *link, void *listener);

socklen_t tcp_address_length(const struct sockaddr_storage *address);

#endif
