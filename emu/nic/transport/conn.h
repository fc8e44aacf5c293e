/* SPDX-License-Identifier: BSD-2-Clause */
/* conn.h - one connection: bytes to frames to the session's halves, and back.
 *
 * Owner:  the nic. Made by session_want() or conn_accept(), ended by conn_close(), freed at the end of the slice, so
 *         that callers up the stack may still look at its state.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_CONN_H
#define EMU_NIC_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/device/link.h"
#include "emu/nic/memory/place.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/transport/sendq.h"
#include "emu/nic/transport/session.h"
#include "wire/stream.h"

struct auth_tokens;
struct conn;
struct conn_kept;
struct secret_memory;
struct wire_secret;
struct wire_target;
struct wire_target_fields;

/* --- where a connection stands (conn_state.c) ---
 *
 *             line is up             HELLOs (and proofs)
 *   DIALING ------------> GREETING ---------------------> OPEN
 *      |     (accepted: at once)                           |
 *      +----------------------+----------------------------+---> CLOSED, for good
 */

enum conn_state {
	CONN_DIALING,  /* waits for conn_up(); has a session */
	CONN_GREETING, /* waits for the peer's HELLO and proof; dialled: our HELLO is sent and there is a session */
	CONN_OPEN,     /* both HELLOs are through, and both proofs */
	CONN_CLOSED,   /* to be freed */
	CONN_STATES
};

/* The only writer of the state. */
void conn_enter(struct conn *conn, enum conn_state state);

/* --- the connection (conn.c, conn_recv.c) --- */

/* Where the payload under way goes. */
enum sink {
	SINK_DROP,    /* nowhere */
	SINK_WRITE,   /* into a region */
	SINK_MESSAGE, /* into a receive buffer or the buffer of an unexpected message */
	SINK_READ,    /* into the local buffer of a READ */
	SINK_PULL,    /* into the receive buffer of a message that is pulled */
	SINK_OWN,     /* into the device's own buffer: ATOMIC; CONNECT, ACCEPT, REJECT */
	SINK_RESULT,  /* into the result buffer of an ATOMIC */
};

struct incoming {
	enum sink sink;
	bool fault;              /* its memory could not be written: the rest is dropped */
	bool skip;               /* a request that is not executed: dropped after RNR, or a duplicate */
	bool repeat;             /* a READ that is asked again */
	struct refusal why;      /* the request is refused, said at its end */
	bool counts;             /* fault plan: it is a new request */
	struct fault_op faulted; /* as the fault plan's rules see it */
	bool reported;           /* likewise, as reports see it: it is to be counted, */
	uint8_t kind;            /* of that enum op_kind, */
	bool starts;             /* no further part of one, */
	uint64_t asks;           /* of so many bytes */
	uint64_t waits_ns;       /* conn_waits: until then */
	struct wire_head head;   /* of the frame under way */
	bool last;               /* DATA: completes the message */
	struct place place;
	struct message *message; /* SINK_MESSAGE, SINK_PULL */
	struct op *op;           /* SINK_READ, SINK_RESULT */
	uint64_t verdict, ref;   /* RESULT */
	uint8_t byte;            /* SINK_PULL: an answer of one byte, perhaps of no message (WIRE-72) */
	void *own;               /* SINK_OWN: target_atomic.c's or target_cm.c's, malloc'd */
};

/* Fields that every frame needs come first: those of sending in front of `out`, those of receiving behind it. */
struct conn {
	struct nic *nic;
	struct session *session; /* NULL until HELLO, if accepted */
	struct line *line;
	enum conn_state state;
	bool dialled; /* by this side */
	bool head_digest, payload_digest;
	bool tagged_rma;            /* the peer takes WRITE and READ with TAGGED */
	bool joins;                 /* our HELLO offers it: see link.h */
	bool walled;                /* our HELLO says that the peer is not dialled */
	bool blocked;               /* conn_writable() was asked for */
	bool throttled;             /* is not read (guess.c) */
	bool busy;                  /* is in the nic's list of connections with something to send */
	bool turn;                  /* data and requests take turns */
	bool bulk;                  /* the last bytes received were a long payload's */
	bool plenty;                /* they were SLICE_RECV_BYTES or more */
	uint64_t ack_sent;          /* head.ack of the last frame sent */
	struct auth_tokens *tokens; /* once a secret is proved, and of XRC, which has none (auth_tokens_name()); else NULL */
	struct conn *next_busy;
	struct sendq out;
	struct ep *ep;
	struct conn_kept *kept;   /* the frame under way waits; what comes behind its head is here */
	uint64_t moved, moved_ns; /* see evict.c */
	uint64_t seen_at_open;    /* requests executed before this connection */
	struct stream stream;
	struct incoming in;
	uint64_t epoch; /* of the session, as our HELLO said (dialled) */
	uint64_t greet_by_ns;
	struct conn *next, *prev; /* all connections of the nic */
	struct conn *next_dead;
	struct proof *proof; /* with a secret, while it is not proved; else NULL */
};

/* NULL without memory. Dials if `session` is given, else takes the accepted line. */
MUST_USE struct conn *conn_dial(struct session *session);
/* Ends it: no event comes after; the session, if it still has this conn, is told with session_cut() unless `silent`. */
void conn_close(struct conn *conn, int error, bool silent);
/* The same with a BYE before, sent as far as the line takes it at once. */
void conn_bye(struct conn *conn, enum wire_bye_reason reason, const char *text, bool silent);
/* The peer broke the protocol: one log line and BYE naming the reason; its session's ops go on by a new connection. */
void conn_broken(struct conn *conn, const char *reason);
/* In the place of such a reason: there is no memory here to do what the peer asked. The peer broke nothing; its connection is
 * cut, and that is logged. */
extern const char conn_no_memory[];
/* In that place, by a frame with payload, the place of which is known: all that follows its head is taken when
 * conn->in.waits_ns is over. */
extern const char conn_waits[];
/* Those whose time is over go on; asks for the next timer. */
void conn_kept_tick(struct nic *nic);
/* It goes on now, or never. */
void conn_go_on(struct conn *conn);
void conn_drop_kept(struct conn *conn);
/* Something to send came up: conn_transmit() will be called in this slice or a later one. */
void conn_busy(struct conn *conn);
/* Fills and flushes, one slice at most. True if bytes left. */
bool conn_transmit(struct conn *conn);
/* Sends the owed acknowledgement as a stored one (link.h). False: a frame is to carry it. */
bool conn_store_ack(struct conn *conn);
/* Memory of `owner` (op or region) is given back: nothing of it is sent any more. */
void conn_revoke(struct conn *conn, const void *owner, enum wire_status status);
/* Where the next frame is to be written: room for a head with body, `copied` bytes of payload, `runs` lent runs and a
 * trailer. NULL: not now. */
MUST_USE void *conn_frame_begin(struct conn *conn, size_t copied, unsigned runs);
/* The frame of `length` bytes written there is complete but for acknowledgement and digest, which are set. */
void conn_frame_end(struct conn *conn, size_t length);
const char *conn_name(const struct conn *conn, char *text, size_t size);

/* --- how authorization keys are shown (auth_tokens.c) ---
 * On a connection that has proved a shared secret (WIRE-106): by tokens that are good for this connection and direction alone, and
 * tell no reader anything of the key. */

/* Makes them from a greeting that is through. NULL without memory. */
MUST_USE struct auth_tokens *auth_tokens_open(struct secret_memory *memory, const struct wire_secret *secret, const void *frames,
					      size_t length, bool dialled);
/* NULL: there are none. */
void auth_tokens_close(struct auth_tokens *tokens, struct secret_memory *memory);

/* Of a connection whose requests name receive contexts (ep_attr.xrc): in the place of tokens. */
void auth_tokens_name(struct conn *conn) __attribute__((cold));

/* The token for auth.h's `auth`, not 0; there are some. */
uint64_t auth_token(struct auth_tokens *tokens, uint64_t auth);

/* The number that a frame carries for auth.h's `auth`: `auth` itself if there is no secret. */
static inline uint64_t auth_shown(const struct conn *conn, uint64_t auth)
{
	return unlikely(auth && conn->tokens) ? auth_token(conn->tokens, auth) : auth;
}

/* And back: AUTH_STRANGE if it stands for no key that this process has. */
uint64_t auth_of_token(struct auth_tokens *tokens, uint64_t shown);
static inline uint64_t auth_taken(const struct conn *conn, uint64_t shown)
{
	return shown && conn->tokens ? auth_of_token(conn->tokens, shown) : shown;
}
/* A target as frames carry it, with its authorization turned into auth.h's `auth`. */
void auth_get_target(struct conn *conn, const struct wire_target *target, struct wire_target_fields *fields);

#endif
