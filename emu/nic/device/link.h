/* SPDX-License-Identifier: BSD-2-Clause */
/* link.h - the outside as the device sees it: byte streams to peers, ports for datagrams, the log, random bytes.
 *
 * What carries bytes, each over the next:
 *   session     two endpoints, for life (session.h)
 *   connection  the session's present way to the peer: struct conn, from HELLO to its end (conn.h)
 *   line        a connection's byte stream, as the device and its link name it: struct line, the link's
 *   channel     of a line that shares its stream: its place in a trunk (emu/net/link/trunk.h). Others have a stream of their own
 *   trunk       a stream that the lines between two processes share: a multiplexed connection
 *   stream      a TCP or Unix socket, with rings in shared memory between neighbours
 *
 * The device calls these with the driver role held; none of them blocks or is a cancellation point (cancel.h), none calls
 * back into the device (except poll, flush, join and set_polling), none takes ownership of memory. A `line` is one byte stream; it
 * belongs to the link, the device frees it with close(). Events come in through link_events below, also under the role. emu/net
 * implements this over TCP and Unix sockets, tests/sim in memory. */
#ifndef EMU_NIC_LINK_H
#define EMU_NIC_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "emu/nic/base/must_use.h"

struct conn;
struct ep;
struct line;
struct nic;
struct port;

struct link_ops {
	/* Begins to connect `from` the endpoint's own address `to` a peer. Returns 0 and *line; the result comes as
	 * conn_up() or conn_down(), never from inside this call. Returns -errno if not even that can be tried. */
	int (*dial)(void *link, const struct sockaddr_storage *to, struct conn *conn, struct line **line);
	/* So many dials may be under way at a time, until both sides have greeted: where both sides dial much at once, each needs
	 * descriptors to accept the other's. At least 1. NULL: any number. */
	uint32_t (*dials_most)(void *link);
	/* Sends some or all of the bytes; -EAGAIN if none can be sent now (conn_writable() will come), also if the peer has gone
	 * and its last bytes are still to be received; -EFAULT if some of the memory cannot be read and nothing was sent, other
	 * -errno if the stream is broken. At most 64 iovecs. */
	ssize_t (*send)(struct line *line, const struct iovec *iov, int count);
	/* Receives bytes; 0: the peer closed; -EAGAIN: nothing; -EFAULT: some of the memory given cannot be written
	 * and nothing was consumed; other -errno: broken. */
	ssize_t (*recv)(struct line *line, const struct iovec *iov, int count);
	/* So many bytes of payload are best digested, and then sent, at once. */
	size_t (*at_once)(const struct line *line);
	/* Asks for conn_writable() when send() would take bytes again; one event for one call. */
	void (*want_write)(struct line *line);
	/* Turns conn_readable() on or off (receive flow control). While it is off, conn_down() still tells of a broken stream. */
	void (*set_readable)(struct line *line, bool on);
	/* Stores a number where the peer's polls find it, as by conn_ack_stored(), without receiving; of several the last counts.
	 * It may overtake bytes that were sent. False: there is no such place, or the peer does not poll. */
	bool (*store_ack)(struct line *line, uint64_t number);
	/* A number that the peer has stored and that was not yet told? */
	bool (*stored_ack)(struct line *line, uint64_t *number);
	/* Notes, for peer_executed() alone, that an acknowledgement of that number may be made, before this side's program hears of
	 * what was executed. Nothing where there is no place for it. */
	void (*note_executed)(struct line *line, uint64_t number);
	/* The last that the peer has noted so; 0: nothing. For a line that ends: the peer may have had no time for more. */
	uint64_t (*peer_executed)(const struct line *line);
	/* Closes; bytes that send() has taken are still delivered. No event for its conn comes after this. */
	void (*close)(struct line *line);
	/* The line has greeted, nothing waits to be sent by it, and no more comes from a dialler before its link has decided: lines
	 * between the same two processes may share a stream from here on. `peer`: its instance id, which begins with its process. 0
	 * or -errno. NULL: no line shares anything. */
	int (*join)(struct line *line, bool dialled, const uint8_t *peer);
	/* True: it shares a stream, and closing it alone frees no descriptor. NULL: no line shares anything. */
	bool (*shares)(const struct line *line);
	/* Lines that share a stream have sent what they had for now; may call conn_writable(). Unless `all`, bytes may be kept for
	 * others to join them where the peer has not answered those before. True: some are kept. May be NULL. */
	bool (*flush)(void *link, bool all);
	/* The kind of stream, in a word ("tcp"). NULL: the link has no words. */
	const char *(*kind)(const struct line *line);
	/* The own address that an accepted stream came to, as peers know it. False: it is not known. NULL: of no line. */
	bool (*came_to)(const struct line *line, struct sockaddr_storage *at);
	/* Begins to listen at *at (port 0: any) for `ep`, writes the real address back; accepted streams come as
	 * conn_accept(). Called while the endpoint is being enabled; returns 0 or -errno. */
	int (*listen)(void *link, struct sockaddr_storage *at, struct ep *ep, void **listener);
	void (*unlisten)(void *link, void *listener);
	/* Opens a port for datagrams at *at (port 0: any) for `ep`, writes the real address back; datagrams that arrive are told
	 * as ep_readable(). AF_UNSPEC: at all addresses of both families. `hears`: where nobody is at an address that it has sent
	 * to, recv_datagram() may return -ECONNREFUSED. Returns 0 or -errno. */
	int (*bind)(void *link, struct sockaddr_storage *at, bool hears, struct ep *ep, struct port **port);
	void (*unbind)(struct port *port);
	/* Sends one datagram, whole, and forgets it: 0; -EAGAIN: not now (ep_writable() will come); other -errno: it is lost. */
	int (*send_datagram)(struct port *port, const struct sockaddr_storage *to, const void *bytes, size_t length);
	/* Receives one datagram, of which at most `room` bytes are kept, and where an answer goes to (NULL: not wanted): its whole
	 * length; -EAGAIN: none; other -errno: it is lost. */
	ssize_t (*recv_datagram)(struct port *port, void *bytes, size_t room, struct sockaddr_storage *from);
	/* Opens a port for what is sent to groups of that family at LINK_GROUP_PORT, which all processes of a host have together.
	 * It hears none yet. The functions of ports hold for it. 0 or -errno. NULL: the link has no groups. */
	int (*bind_groups)(void *link, int family, struct ep *ep, struct port **port);
	/* Such a port hears a group at an interface, by its index, or does so no more. 0 or -errno. */
	int (*hear_group)(struct port *port, const struct sockaddr_storage *group, uint32_t interface, bool join);
	/* Datagrams of such a port leave by this interface from now on, and are heard on this host, too. 0 or -errno. */
	int (*groups_by)(struct port *port, uint32_t interface);
	/* Delivers the events of lines and ports (conn_readable and so on), at most one slice each. Returns the number of
	 * events delivered. */
	int (*poll)(void *link);
	/* Tells peers whether this process polls shared memory often, so that they may store acknowledgements for poll() to find.
	 * Switching off delivers those that are there. */
	void (*set_polling)(void *link, bool on);
	/* Fills with bytes that cannot be guessed. */
	void (*random)(void *link, void *bytes, size_t length);
	/* One line of log; level as in enum nic_log. */
	void (*log)(void *link, int level, const char *text);
};

enum { LINK_GROUP_PORT = 4792 }; /* WIRE-154 */

enum nic_log { NIC_LOG_WARN, NIC_LOG_INFO, NIC_LOG_DEBUG };

/* Events, called by the link with the driver role held. */
void conn_up(struct conn *conn);              /* the dial succeeded */
void conn_down(struct conn *conn, int error); /* dial failed or stream broke; error is a positive errno */
void conn_readable(struct conn *conn);
void conn_writable(struct conn *conn);                 /* closes nothing */
void conn_moved(struct conn *conn, struct line *line); /* its bytes go by this line from now on, which is its to close */
void conn_ack_stored(struct conn *conn, uint64_t number);
void ep_readable(struct ep *ep, struct port *port); /* which is its own */
void ep_writable(struct ep *ep);
/* A peer connected to ep's listener. Returns the conn that takes the line, or NULL: the link closes the line. */
MUST_USE struct conn *conn_accept(struct ep *ep, struct line *line);
/* There is no descriptor for a peer that connects to ep's listener. True: lines were closed, try again. */
bool ep_make_room(struct ep *ep);

#endif
