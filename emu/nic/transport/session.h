/* SPDX-License-Identifier: BSD-2-Clause */
/* session.h - the ordered, exactly-once relation of one endpoint to one peer endpoint. It outlives connections.
 *
 * Owner:  the endpoint; made at the first op or the peer's HELLO, freed with the endpoint, or when it has ended, nothing
 *         refers to it, and another peer needs the room.
 * Thread: holder of the driver role.
 * The requester half sends this side's requests; the responder half executes the peer's. */
#ifndef EMU_NIC_SESSION_H
#define EMU_NIC_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "emu/nic/base/hash.h"
#include "emu/nic/base/must_use.h"
#include "emu/nic/ops/op.h"
#include "emu/nic/regions/access.h"
#include "wire/codec.h"

struct conn;
struct ep;
struct fault_peer;
struct message;
struct nic;
struct read_response;
struct rx;
struct session;
struct tagged_access;
struct verdict;

/* --- where a session stands, and how well its peer is known (session_state.c) ---
 * Two machines, as any state of one goes with any of the other: a session whose peer is known may wait for its next connection, and
 * be idle.
 *
 *           wanted             both HELLOs
 *   IDLE ------------> DIALING ------------> OPEN        The peer's dial opens a session that is IDLE or waits, too.
 *    ^ |                 ^                    |          From each state a cut or an end leads to IDLE.
 *    | | cut, and busy   | time is up         |
 *    | +---------> BACKOFF                    |
 *    +---------------- cut, ended ------------+
 *
 *                our HELLO sent         the peer's HELLO taken
 *   STRANGER ------------------> GREETED ------------------> KNOWN        An end leads from each state to STRANGER.
 *      +-------------------------------------------------------^
 */

enum session_state {
	SESSION_IDLE,    /* no connection, none wanted; answers to the peer wait for its dial */
	SESSION_DIALING, /* conn is being dialled, or both HELLOs are not through yet */
	SESSION_OPEN,    /* conn carries requests */
	SESSION_BACKOFF, /* no connection; dials again at retry_ns */
	SESSION_STATES
};

enum session_peer {
	PEER_STRANGER, /* instance, id and epoch are not valid, or are this side's offer */
	PEER_GREETED,  /* likewise, and a dial of ours has said HELLO */
	PEER_KNOWN,    /* they are valid */
	PEER_STATES
};

/* The only writers of the two states. Entering the present state is no change, and is not logged. */
void session_enter(struct session *session, enum session_state state);
void session_meet(struct session *session, enum session_peer peer);

/* --- the session (session.c) --- */

/* This side's requests. Lists are in order of seq, but for `pending`, which has no numbers yet. Fields that every op needs come
 * first, here and in the two structures below. */
struct requester {
	struct op_list pending;                /* not sent at all yet, or dropped by the peer and sent again */
	struct op *current;                    /* WRITE, RSEND with segments still to be sent; in no list */
	struct op *again;                      /* first of `reads` to be asked again after a cut; NULL: none */
	struct op_list sent;                   /* WRITE, SEND, ATOMIC: wait for the acknowledgement */
	struct op_list reads;                  /* READ: wait for data */
	struct op_list taken;                  /* tagged READ: TAKEN is to be sent, then they are in `sent` (op_is_taken()) */
	uint64_t next_seq;                     /* of the next segment */
	uint64_t acked;                        /* every request up to this one is answered or its verdict is here */
	uint64_t rnr_until_ns;                 /* 0: the peer is ready; EP_ORDER_NONE: no pending op waits, else the first may go */
	uint64_t rnr_wait_ns;                  /* doubles while it is not */
	uint32_t requests, reads_max, segment; /* the peer's grants */
	uint32_t eager;                        /* a message of at most so many bytes goes with its request */
	uint32_t awaited;                      /* ops by verdict, sent and not resolved */
	uint64_t verdict_seen;                 /* last verdict number received */
	uint64_t verdict_said;                 /* of them told to the peer */
	struct op_list parked;                 /* RTS, parked SEND, op_by_verdict(): wait for PULL, DONE, RESULT */
	uint32_t reads_open;                   /* READs not resolved */
	bool held;                             /* pending ops do not begin (ep_hold()) */
	uint64_t executed;                     /* every request up to this one, as the peer's last HELLO said; no resolution */
};

/* Is there something to send before all that is pending? Without branches, as it is asked after each frame that comes in. */
static inline bool requester_urgent(const struct requester *req)
{
	return (uintptr_t)req->current | (uintptr_t)req->again | (uintptr_t)req->taken.first;
}

/* The message whose segments arrive as RSEND (target_rsend.c). */
struct rsend_state {
	bool open; /* more segments are to come */
	bool lost; /* its receive has ended since, and the sender is to hear that */
	bool invalidate;
	uint8_t flags;          /* FIRST and LAST aside */
	struct rx *rx;          /* the receive that it has taken; NULL: it has failed, or is refused, and the rest is drained */
	uint64_t seq;           /* of its first segment */
	uint64_t length, moved; /* moved: bytes of it in the segments before */
	uint64_t cq_data, auth; /* of every segment, as are `invalidate` and `flags` */
};

/* The WRITE message whose segments arrive. */
struct write_state {
	struct access ask; /* the whole of it, with the region that it met */
	uint64_t moved;    /* bytes of it in the segments before */
	uint64_t cq_data;
	bool open;     /* more segments are to come */
	bool refused;  /* they are drained */
	bool counted;  /* its region is bound to something */
	uint8_t flags; /* of every segment, FIRST and LAST aside */
	struct rx *rx; /* EP_RULE_DATA_RECEIVES: the receive that its CQ data takes; else NULL */
};

/* How the WRITE under way is held back (held.c). */
struct hold {
	uint64_t late_at_ns; /* of a write that is open (races.h); 0: it is not late */
	uint64_t draw;       /* 0: it is not */
	uint64_t wait_ns, jitter_ns;
	uint64_t from_ns; /* not seen before */
};

/* Frames that are to be sent, beside those of lists. */
enum due_frame {
	DUE_RNR = 0x1,
	DUE_PAIR = 0x2,
	DUE_ACK = 0x4, /* of verdicts: before requests, which a program may post as fast as they are answered (WIRE-47) */
};

/* The peer's requests. */
struct responder {
	uint64_t seen;                                    /* last request executed */
	struct verdict *unsent;                           /* first of `verdicts` not sent on this connection */
	struct read_response *responses, *responses_last; /* DATA to be sent */
	uint32_t pulls_due;                               /* of `pulls`: PULL to be sent */
	uint32_t owed_requests;                           /* executed since the last frame that acknowledged */
	uint64_t owed_bytes;
	bool ack_now;         /* acknowledge even if nothing else is to be sent */
	bool quick;           /* the last acknowledgement was stored, and no frame has gone since: the program does not answer */
	bool rnr;             /* RNR was sent: requests other than seen + 1 are dropped */
	bool deaf;            /* a queue pair's, until the session ends: all requests are dropped, and nobody is told */
	uint8_t due;          /* enum due_frame */
	struct cq_node *slot; /* see complete_reserve() */
	struct rsend_state rsend;
	struct write_state write;
	uint64_t named;                           /* the context of the last request's first segment (WIRE-164) */
	uint64_t generation;                      /* from the first request of a session to its end; no other one has this number */
	struct verdict *verdicts, *verdicts_last; /* kept until acknowledged, by number */
	uint64_t verdict_next;
	uint32_t verdict_count;
	uint32_t reads_open;
	uint32_t commits_open; /* WRITEs with COMMIT to be answered */
	struct message *pulls; /* matched messages whose payload is asked for or arrives */
	uint64_t read_told;    /* the last READ whose event was made: asked again after a cut, it makes none (EP_REGION_EVENTS) */
	struct hold hold;
	uint64_t held_until_ns;       /* what is held back so far is seen by then */
	uint32_t held;                /* so many pieces in nic->held */
	uint32_t opens;               /* accesses in nic->opens (open_access.c) */
	uint64_t open_seq;            /* from this request on nothing is answered, for those; 0: all is */
	struct tagged_access *tagged; /* receives that requests have taken and not ended yet */
};

struct session {
	struct ep *ep;
	struct conn *conn;        /* DIALING and OPEN */
	struct conn *question;    /* asks which endpoint is there: claim.c; NULL: none */
	struct fault_peer *fault; /* NULL: there is no fault plan; &fault_watching: nor this, and ops are traced or reported */
	enum session_state state;
	enum session_peer peer_is;
	/* Booleans, as each of the eight goes with any state: its kind for life, its mishaps, and the lists that it is in. */
	bool target_only;       /* the answering end of an endpoint that addresses itself */
	bool answer_lost;       /* an answer was lost for want of memory: ends with its connection */
	bool takes_collectives; /* the peer's HELLO says so, */
	bool hears_waits;       /* and that */
	bool walled;            /* a connection was wanted that only the peer may make (av_wall()): told by session_tick() */
	bool holds, peer_holds; /* the own HELLO says WIRE_HOLDS, the peer's does */
	bool dials_for_both;    /* the peer's HELLO says that it does not dial: after a cut this side does, for ops of the peer */
	struct requester req;
	struct responder rsp;
	struct session *next_timed, *next_owing;
	bool timed, owing;                          /* is in the nic's list of sessions with timers, with acknowledgements due */
	bool dialled_idle;                          /* dialled while nothing was under way: all its ops may begin anew */
	uint16_t known_port;                        /* the peer's, if not that of `peer` (WIRE-29); 0: none */
	uint32_t peer_needs_no;                     /* of WIRE_NEEDS_NO, as its HELLO says */
	uint32_t failed_conns;                      /* consecutive connections lost to a protocol error or a session given up */
	uint64_t down_ns;                           /* length of the outage before this connection; 0: a request got on since */
	uint64_t down_since_ns;                     /* the outage began then; 0: a connection is up, or none was tried */
	uint64_t seen_running_ns;                   /* while down: when session_tick() was last here */
	uint64_t retry_ns;                          /* BACKOFF */
	uint32_t refused_dials;                     /* in a row */
	uint32_t messages;                          /* that came by it and are not freed */
	uint32_t words;                             /* of ep_say(), under way */
	uint32_t kept;                              /* what lasts there (ep_keep()) */
	uint32_t awaited;                           /* receives of collectives that wait for a message of this peer */
	uint64_t source, source_auth, source_stamp; /* the peer's index in the AV with that key, as of that generation */
	struct session *next, *prev;                /* all sessions of the endpoint */
	struct hash_node by_peer;
	struct sockaddr_storage peer;  /* canonical: as HELLO advertises it and the AV holds it */
	uint8_t instance[WIRE_ID_LEN]; /* the peer's */
	uint64_t id;
	uint64_t epoch;          /* connections so far */
	uint64_t opened;         /* the last epoch that was opened */
	uint64_t fault_wake_ns;  /* by the plan, something may leave then; 0: nothing waits for that */
	uint64_t fault_sent_ns;  /* by the plan, all bytes sent have left the line */
	uint64_t ask_ns;         /* no question before then, */
	uint64_t ask_wait_ns;    /* which is so long after the last one; 0: that was answered */
	uint32_t late;           /* ops that have ended, and by the plan are told of later */
	uint64_t fault_until_ns; /* by the plan, no connection before then; UINT64_MAX: while the port is down, and when it is up */
	uint64_t fault_then_ns;  /* it is this again */
};

/* The session of `ep` with the peer at that canonical address; made if it is not there. NULL: limit or memory. */
MUST_USE struct session *session_get(struct ep *ep, const struct sockaddr_storage *peer);
/* Is it with this session that the endpoint dials, perhaps itself? */
bool session_dials(const struct ep *ep, uint64_t id);
/* The answering end for an endpoint that addresses itself. */
MUST_USE struct session *session_self(struct ep *ep);
/* Is the peer behind a firewall (av_wall())? It dials, and is not dialled. */
bool session_walled(const struct session *session);
/* So many dials in a row that are refused end a session of this endpoint (pairing.c). */
uint32_t pairing_dials_most(const struct ep *ep);
/* Wants a connection: dials if there is none. */
void session_want(struct session *session);
/* The conn is through both HELLOs: goes on where the peer's HELLO says. NULL, or the breach of the protocol. */
MUST_USE const char *session_resume(struct session *session, struct conn *conn, const struct wire_hello_fields *hello);
/* The conn is gone (it has been taken from the session): dials again, waits, or gives up. */
void session_cut(struct session *session, int error);
/* Ends the relation: all ops complete with `cause`, all state goes; the next op begins a new one. */
void session_end(struct session *session, enum refusal_cause cause);
/* The peer has given the session up: ops that were sent fail, since it is unknown what became of them; the others begin a
 * new session. */
void session_forgotten(struct session *session);
/* The peer's endpoint was closed, in good order. Ops of which it has executed nothing may be meant for the next endpoint at that
 * address, of which the program has heard sooner than this device of the end of the one before: if one is there, they begin a
 * session with it. */
void session_left(struct session *session);
/* Another endpoint answers at the peer's address: ops meant for the old one fail; those posted after the connection with
 * it was lost begin a session with the new. */
void session_replaced(struct session *session);
/* Something to be done or answered that needs a connection? */
bool session_busy(const struct session *session);
/* Timers; returns when the next is due, UINT64_MAX: none. */
uint64_t session_tick(struct session *session, uint64_t now_ns);
/* Has session_tick() called for it at that time, if not before. */
void session_time(struct session *session, uint64_t at_ns);
/* A request of either side has made progress: the peer does not merely greet. */
static inline void session_got_on(struct session *session)
{
	session->failed_conns = 0;
	session->down_ns = 0;
}
/* An acknowledgement of requests or verdicts is owed to the peer. */
void session_owe(struct session *session);
/* Sends an acknowledgement that is still owed now; it may have gone with other frames since. */
void session_flush_ack(struct session *session);
/* Writes all answers and acknowledgements that are owed into the connection's queue, as far as there is room. */
void session_say_owed(struct session *session);
/* Writes the next frame that is to be sent into the connection's queue. False: nothing (more) to send now. */
bool session_fill(struct session *session, struct conn *conn);
/* The acknowledgement that a frame sent now may carry. */
uint64_t session_ack(const struct session *session);
/* The peer's index in the AV by the authorization that it shows (auth.h), AV_NONE if it is not there. */
uint64_t session_source(struct session *session, uint64_t auth);
/* The peer's HELLO says by which port it is in address vectors. */
void session_known_by(struct session *session, uint16_t port);
/* "192.0.2.1:4711" */
const char *session_name(const struct session *session, char *text, size_t size);
void session_free(struct session *session);

/* --- verdicts of one session: numbered, kept until the peer has acknowledged them, sent again after a cut (verdict.c) --- */

struct verdict {
	struct verdict *next;
	uint8_t op;                    /* WIRE_NAK, WIRE_PARK, WIRE_DONE, WIRE_RESULT */
	struct wire_nak_fields fields; /* but for NAK: verdict and ref alone */
	uint32_t length;               /* RESULT: of its payload */
	uint8_t result[];
};

/* Does a refusal end this queue pair? One that loses what it refuses ends by what has harmed the receive alone; all else is as if
 * it had not come. */
bool verdict_halts(const struct session *session, enum refusal_cause cause);
/* NULL, or the breach of the protocol: the peer does not acknowledge its verdicts. Also without memory for one: then the session
 * ends with its connection, since its initiator would wait for ever, and its ops fail. */
MUST_USE const char *verdict_refuse(struct session *session, uint64_t ref, const struct refusal *why);
MUST_USE const char *verdict_add(struct session *session, uint8_t op, uint64_t ref);
/* Why the session ends where one of these failed, and there is no frame to answer for. */
enum refusal_cause verdict_lack(const struct session *session);
/* A RESULT to be filled in: made before the request is executed, since afterwards nothing may fail. The caller's until
 * verdict_keep(), or free(). NULL and *broken: no memory, or the peer does not acknowledge. */
MUST_USE struct verdict *verdict_new(struct session *session, uint32_t length, const char **broken);
/* Numbers it, and keeps it, which never fails. */
void verdict_keep(struct session *session, struct verdict *verdict, uint64_t ref);
/* Every verdict up to `number` has arrived there. */
MUST_USE const char *verdict_acked(struct session *session, uint64_t number);
/* Sends the next one that this connection has not seen. */
bool verdict_fill(struct session *session, struct conn *conn);
/* On a new connection whose HELLO says that `number` was seen. False: it cannot be. */
bool verdict_resume(struct session *session, uint64_t number);
void verdict_flush(struct session *session);

#endif
