/* SPDX-License-Identifier: BSD-2-Clause */
/* ep.h - what an endpoint consists of: its sessions, its receives, its queues and counters. nic.h has its attributes and the calls
 * that open it and post to it; emu/nic/endpoint does what they ask.
 * Owner:  the nic. Thread: holder of the driver role, but for cm.gate. */
#ifndef EMU_NIC_EP_H
#define EMU_NIC_EP_H

#include <stdatomic.h>

#include "emu/nic/base/hash.h"
#include "emu/nic/base/pool.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/ops/op.h"
#include "wire/codec.h"

struct collectives;
struct port;
struct service;
struct session;

/* Where a connection-oriented endpoint stands towards its one peer. cm_enter() is the only writer.
 *
 *          ep_connect()             ACCEPT came
 *   IDLE ---------------> ASKING ----------------> UP
 *    | +----------------> ACCEPTING ---------------^|
 *    |     ep_accept()        |     ACCEPT arrived  |
 *    +------------------------+---------------------+---> DOWN, for good
 */
enum cm_state {
	CM_IDLE,      /* no peer knows of it; receives may be posted. A passive endpoint stays here */
	CM_ASKING,    /* CONNECT is to be sent, or waits for its answer */
	CM_ACCEPTING, /* ACCEPT is on its way: the peer may send, this side not yet */
	CM_UP,
	CM_DOWN, /* for good */
	CM_STATES
};

struct cm {
	enum cm_state state;
	atomic_int gate;       /* result of posts of ops: 0 when up, else a negative errno. Written under the role */
	struct session *asked; /* ASKING: with the passive endpoint */
	struct session *peer;  /* from ACCEPTING or UP on */
	uint64_t request;
	uint64_t until_ns; /* ASKING, and the passive endpoint is gone: so long ACCEPT may still come. Else 0 */
};

/* A queue pair's, beside its struct cm, whose states it uses so: IDLE: RESET and INIT; UP: RTR and RTS; DOWN: in error, until it is
 * reset. The peer's is known while the session is open. */
struct pairing {
	uint32_t qpn;
	struct wire_pair_fields own, peer;
	struct op *first, *last; /* its ops, in the order of posts (in_order.c) */
	bool knocked;            /* the peer was turned away, as the program was not ready for it: it is called back */
	bool heard;              /* CM_HEARD was told */
	bool asked;              /* while this side may not send: the peer was dialled, to hear whether it may */
	uint64_t look_ns;        /* likewise: the next look whether both wait; 0: none */
	/* The first failure ends all. Booleans, as each goes with any state of struct cm. */
	bool stopped; /* EP_RULE_UNRELIABLE or datagrams: an op has failed here: those behind it are cancelled, until ep_go_on() */
	bool halting; /* something has failed: nothing that was posted later is carried out, and no request of the peer */
	bool flushed; /* what was under way then has ended */
	bool failed;  /* an op's failure was told: later ones are told as cancelled */
	bool cancelling;            /* in_order.c is at it */
	bool draining;              /* it is held (ep_hold()), and what had begun has not ended yet */
	bool silent;                /* it is being reset: ops end untold */
	bool overran;               /* a completion of its own, or of another at its queue, was lost */
	enum refusal_cause refused; /* why a request of the peer was refused, until it is reset; else REFUSAL_NONE */
	/* One for datagrams has no peer, and of the above `qpn`, `halting`, `stopped`, `silent` and `overran` alone. */
	uint32_t qkey;
	bool held;                  /* ep_hold() */
	struct dgram_group *groups; /* that it is attached to */
};

/* The queue pairs that share a listener, by the low 8 bits of their numbers; NULL where there is none. */
struct pairs {
	struct ep *at[256];
	uint8_t next; /* is tried first */
};

/* Why a datagram does not reach its receive. */
enum dgram_end {
	DGRAM_LOST,       /* as nic_config.dgram_loss asks, before it left */
	DGRAM_UNSENT,     /* the outside did not take it */
	DGRAM_MALFORMED,  /* breaks the protocol */
	DGRAM_NO_RECEIVE, /* the endpoint does not receive */
	DGRAM_SECRET,     /* it is not tagged by the secret, or by another one */
	DGRAM_AUTH,       /* it shows another authorization key */
	DGRAM_FULL,       /* there is no room for its completion */
	DGRAM_UNEXPECTED, /* no receive is posted for it */
	/* Between queue pairs: */
	DGRAM_NO_PAIR,   /* none has that number here */
	DGRAM_NOT_READY, /* it does not receive in its state */
	DGRAM_QKEY,      /* it has another Q_Key */
	DGRAM_TOO_LONG,  /* longer than the receive, which stays */
	DGRAM_UNPLUGGED, /* nic_unplug() */
	DGRAM_ENDS
};

/* The part of an endpoint that is opened with ep_attr.datagrams, or is a listener of such queue pairs; else all of it is idle. */
struct dgram {
	struct port *port;          /* of queue pairs: their listener's, for all of them */
	struct port *groups[2];     /* of a listener, of IPv4 and IPv6: for what is sent to groups; NULL: not open */
	struct op_list waiting;     /* for the port to take more */
	uint64_t draws;             /* state of the generator of losses */
	uint64_t ended[DGRAM_ENDS]; /* how many so */
};

/* A transmit context: the room for ops under way, of one endpoint or shared by several. Everything else of an op is its endpoint's.
 * The pool's taking side is the submit lock's; users are counted by any thread. */
struct stx {
	struct pool *ops;
	atomic_uint users; /* endpoints */
};

struct ep {
	struct nic *nic;
	struct ep *next;
	struct ep_attr attr;
	struct sockaddr_storage name; /* canonical listening address */
	void *listener;
	uint8_t instance[WIRE_ID_LEN];
	struct ep_timing timing;
	struct stx *stx;          /* its own, or a shared one */
	struct srx *srx;          /* likewise */
	struct session *sessions; /* all but `self`, in no order */
	struct hash by_peer;      /* the same */
	uint64_t hash_secret[2];
	struct session *self; /* answering end towards itself, made when needed */
	uint32_t session_count;
	uint32_t sweep_at; /* with so many sessions they are swept for some that have ended, */
	uint64_t swept_ns; /* and the last sweep was then */
	/* The session last posted to: most programs talk to the same peer many times in a row. */
	struct session *last;
	uint64_t last_dest, last_stamp;
	struct cm cm;                    /* connection-oriented; else idle */
	struct pairing *pairing;         /* queue pair; else NULL */
	struct pairs *pairs;             /* ep_attr.pairs; else NULL */
	struct dgram dgram;              /* unreliable datagrams; then there are no sessions, and no listener */
	struct service *services;        /* of a manager: those that it has, and its questions for others (service.h) */
	struct collectives *collectives; /* NULL: without EP_COLLECTIVE */
	struct {
		struct srx *srx;
		struct cq *rx_cq;
		struct pd *pd;
	} home; /* ep_attr.xrc: what it was opened with (messages/xrc.c) */
	bool closing;
	bool apart; /* its ops find their way otherwise than by the AV: connected, datagrams, closing */
};

/* A connected endpoint, or a passive one that such a one has asked. */
static inline bool ep_has_one_peer(const struct ep *ep)
{
	return ep->attr.cm && !ep->pairing && !ep->attr.manages;
}

static inline bool ep_loses(const struct ep *ep)
{
	return ep->attr.rules & EP_RULE_UNRELIABLE;
}

#endif
