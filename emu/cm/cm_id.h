/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_id.h - ids of rdma_cm and event channels: what they consist of, and what the files of this room share.
 *
 * cm_lock guards all of it, but for what says otherwise. It is taken before the driver role. What the device tells (vb_cm_tell)
 * comes with that role, so it takes no cm_lock: it adds an event to the id's channel, under told_lock, and rdma_get_cm_event() does
 * the rest in the program's thread (cm_event.c). */
#ifndef EMU_CM_ID_H
#define EMU_CM_ID_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

/* Of newer headers (RDMACM_1.4). */
int rdma_resolve_addrinfo(struct rdma_cm_id *id, const char *node, const char *service, const struct rdma_addrinfo *hints);
int rdma_query_addrinfo(struct rdma_cm_id *id, struct rdma_addrinfo **info);
int rdma_write_cm_event(struct rdma_cm_id *id, enum rdma_cm_event_type event, int status, uint64_t arg);
#pragma GCC visibility pop

#include "emu/verbs/cm/vb_cm.h"
#include "emu/verbs/device/vb_events.h"
#include "emu/verbs/device/vb_way.h"
#include "emu/verbs/start/vb_refuse.h"

/* Events and flags of newer headers. */
enum { CM_EVENT_ADDRINFO_RESOLVED = 16, CM_EVENT_ADDRINFO_ERROR, CM_EVENT_USER, CM_EVENT_INTERNAL };
enum { CM_RAI_SA = 0x10, CM_RAI_DNS = 0x20 };

enum {
	CM_UNREAD_MOST = 1024, /* requests, a listener, whatever rdma_listen() asks for; then they are rejected */
	CM_RD_ATOMIC_MOST = 128,
	CM_SEEKERS = 16, /* of a listener's; another takes the place of the oldest */
	CM_PSN_MASK = 0xffffff,
	CM_RETRIES_MOST = 7,
	CM_HOPS = 64,
	CM_REJECT_GIVEN_UP = 4,  /* InfiniBand's reasons: the asking side's time is over */
	CM_REJECT_NOBODY = 8,    /* no such service */
	CM_REJECT_CONSUMER = 28, /* the program's */
	CM_REJECT_VENDOR = 35,   /* vendor's options are not supported */
};

/* Where an id stands. cm_enter() is the only writer. */
enum id_state {
	ID_FRESH,      /* made */
	ID_BOUND,      /* has an own address, and a number */
	ID_ADDRESSED,  /* knows its peer's address and its own device */
	ID_ROUTED,     /* may connect */
	ID_LISTENING,  /* for good */
	ID_CONNECTING, /* has asked */
	ID_ANSWERED,   /* the program has the reply, and is to say that its queue pair is ready */
	ID_REQUESTED,  /* stands for a request that a listener has heard, to be answered */
	ID_ACCEPTED,   /* has replied; the asking side is to say that it is ready */
	ID_CONNECTED,  /* DISCONNECTED is to come; or a datagram service was found, or has said where it is */
	ID_OVER,       /* for good: rejected, failed or disconnected */
	ID_STATES
};

struct cm_group;

struct cm_channel {
	struct rdma_event_channel channel; /* first */
	struct vb_events events;
	unsigned int life;    /* cm_life when it was made, or came into this process by a fork */
	uint32_t told, acked; /* events that rdma_get_cm_event() has given out */
	atomic_uint takers;   /* threads in rdma_get_cm_event() */
	atomic_bool closed;
	bool polled;  /* closed, and did not block */
	bool retired; /* with cm_lock: closed, and all its events are acknowledged */
	struct check_record *check;
};

/* A number of rdma_cm at an address. Of this process several port spaces may have it. */
struct cm_number {
	struct vb_cm *cm;
	struct cm_number *next; /* of all; then of those that are to be ended */
	struct sockaddr_storage at;
	bool hears;
	struct cm_listener *listeners; /* told_lock, too */
	/* Those that were judged by a plan when they sought it (cm_plan.c), with the driver role: numbers, and a bit for each that
	 * hears nothing. */
	uint64_t sought[CM_SEEKERS];
	uint32_t silent;
	unsigned int turn;
};

/* An id that has a number, and what it has heard. */
struct cm_listener {
	struct cm_number *number;
	struct cm_listener *next; /* number->listeners */
	enum rdma_port_space space;
	bool ud;
	bool over;          /* another may take its place */
	unsigned int users; /* told_lock: the id that has opened it, and requests that are not answered yet */
	struct cm_id *id;   /* likewise; NULL: it hears nothing, yet or any more */
	uint32_t unread;    /* likewise */
};

struct cm_id {
	struct rdma_cm_id id; /* first */
	enum id_state state;
	bool sync;                  /* made without a channel: calls wait for their event */
	struct cm_channel *channel; /* told_lock, too */
	struct vb_cm *cm;           /* its connection's endpoint; NULL: none yet */
	struct cm_listener *listener;
	struct vb_gid own; /* its device's address, once it has one */
	unsigned int own_index;
	union ibv_gid peer_gid;
	struct vb_cm_request request; /* REQUESTED */
	uint32_t psn, peer_psn, peer_qpn;
	bool knows_peer; /* the four below, too */
	uint8_t responder_resources, initiator_depth, retry_count, rnr_retry_count;
	bool leaves; /* LEAVE was said */
	bool asked_with_qp;
	atomic_bool end_told;      /* the end of the connection waits in the channel, or was read */
	bool heard_up, heard_down; /* what the device has told of the connection; for plans, with the driver role */
	uint8_t tos, ack_timeout;
	bool has_ack_timeout, reuse, afonly;
	struct ibv_ece local_ece, remote_ece;
	struct ibv_sa_path_rec path;
	struct ibv_qp_init_attr *wish; /* of a listener: the queue pairs of its requests; NULL: the program makes them */
	struct ibv_pd *wish_pd;
	bool srq_has_cq; /* the shared receive queue, one of XRC, completes at recv_cq of the id */
	struct cm_group *groups;
	struct rdma_addrinfo *info; /* of rdma_resolve_addrinfo(); NULL: none yet */
	uint32_t told, acked;       /* its events: rdma_destroy_id() waits for them */
	struct check_record *check;
	unsigned int life; /* cm_life when it was made */
};

/* What waits in a channel, and then what rdma_get_cm_event() gives out. */
struct told_event {
	struct vb_event link; /* first */
	struct rdma_cm_event pub;
	struct cm_id *id;           /* whose acknowledgements count it: of a request the listener */
	struct cm_channel *channel; /* that has given it out */
	struct check_record *check; /* until it is acknowledged; NULL: that is not the program's */
	struct cm_group *group;     /* the id joins it */
	bool plain;                 /* `pub` is ready; else `kind` and what follows are what the device has told */
	enum vb_cm_kind kind;
	int err;
	bool has_said;
	struct wire_rdma_fields said;
	struct vb_cm_request request;
	struct cm_listener *listener; /* of a request: one of its users */
	struct vb_cm_planned planned;
	uint64_t due_ns; /* of one that is late */
	uint8_t data[WIRE_CM_DATA_MAX];
};

extern unsigned int cm_life;      /* moves in a fork's child */
extern pthread_mutex_t told_lock; /* a leaf, but for that of events */

static inline struct cm_id *cm_id_of(struct rdma_cm_id *id)
{
	return (struct cm_id *)id;
}
static inline struct cm_channel *cm_channel_of(struct rdma_event_channel *channel)
{
	return (struct cm_channel *)channel;
}

/* For datagrams: its peers are looked up, and not connected. */
static inline bool cm_is_ud(const struct cm_id *id)
{
	return id->id.qp_type == IBV_QPT_UD;
}

/* What there is a field of three bits for: more is the most, as with the kernel. */
static inline uint8_t cm_retries(uint8_t wanted)
{
	return wanted < CM_RETRIES_MOST ? wanted : CM_RETRIES_MOST;
}

/* A call fails: -1 and errno, after a line of log. */
#define cm_refuse(errnum, call, ...) (vb_refuse(errnum, call, __VA_ARGS__), -1)
/* An errno as the calls of librdmacm return it. */
int cm_result(int err);

/* --- cm_id.c --- */

/* Takes cm_lock; gives it back, and then ends listeners without users. In between the thread cannot be cancelled. */
void cm_hold(void);
void cm_let_go(void);
/* With cm_lock, which others may have meanwhile: waits until cm_acked() was called. */
void cm_await_ack(void);
void cm_acked(void);
void cm_enter(struct cm_id *id, enum id_state state);
/* -1: the id is NULL, or in no state of the set of bits; `wanted` says what is to be done before. */
int cm_check(struct cm_id *id, uint32_t states, const char *call, const char *wanted);
/* A new one. NULL: no memory. */
struct cm_id *cm_id_new(struct cm_channel *channel, void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type);
/* rdma_create_id(), with the type of queue pairs that goes with RDMA_PS_IB. */
int cm_create(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context, enum rdma_port_space ps,
	      enum ibv_qp_type qp_type);
/* With cm_lock: when the last user goes, so does the listener; with the last one of a number cm_let_go() ends that. */
void cm_listener_put(struct cm_listener *listener);
/* With cm_lock: one of a new number, or of one that this process has at that address in other port spaces. NULL: no memory. */
struct cm_listener *cm_listener_new(struct cm_number *number, const struct cm_id *id);
struct cm_number *cm_number_shared(const struct sockaddr_storage *at, const struct cm_id *id);
/* With cm_lock: it stays until it has no listener any more. */
void cm_number_add(struct cm_number *number);
/* The own device from here on; a default PD comes with it. 0 or an errno. */
int cm_take_device(struct cm_id *id, const struct vb_gid *own, unsigned int index);
void cm_give_device(struct cm_id *id);
/* With cm_lock: the XRC domain that ids have where the program has none. NULL with errno. */
struct ibv_xrcd *cm_default_xrcd(void);

/* --- cm_addr.c --- */

/* Takes the number of the id's own address, 0: any. 0 or an errno. */
int cm_take_number(struct cm_id *id);
/* RDMA_OPTION_IB_PATH: the program's in the place of rdma_resolve_route(). 0 or an errno. */
int cm_take_path(struct cm_id *id, const void *value, size_t length);
/* The path record of an id that knows both addresses. */
void cm_make_path(struct cm_id *id);

/* --- cm_channel.c --- */

struct cm_channel *cm_channel_new(void);
void cm_channel_free(struct cm_channel *channel);
/* An event that the library makes itself: 0 or ENOMEM. */
int cm_tell(struct cm_id *id, enum rdma_cm_event_type type, int status);
/* MULTICAST_JOIN, or MULTICAST_ERROR, is to come, unless the plan loses it (*told false): 0 or ENOMEM. */
int cm_tell_group(struct cm_id *id, struct cm_group *group, bool *told);
/* Likewise of one that the caller has shown to the plan. */
int cm_tell_planned(struct cm_id *id, enum rdma_cm_event_type type, int status, const struct vb_cm_planned *planned);
/* With cm_lock: the answer to a request that no id stands for. The event is the caller's. */
void cm_event_reject(struct told_event *event, uint32_t reason);
/* A synchronous call waits for its event, which is id->event then: 0, or -1 with errno. Without cm_lock. */
int cm_complete(struct cm_id *id);
/* All that waits for the id is gone, but requests, which are rejected. */
void cm_drop_events(struct cm_id *id);

/* --- cm_event.c --- */

/* Owners: a struct cm_id; a struct cm_number. */
vb_cm_tell cm_connection_told, cm_number_told;
/* With cm_lock: does what an event asks for. False: there is nothing to tell the program. */
bool cm_event_take(struct told_event *event);

/* --- cm_plan.c --- */

/* With the driver role: what the device tells of an id, or of a listener (NULL), is shown to the plan. False: it is lost. */
bool cm_plan_told(struct told_event *event, struct cm_id *id);
/* 0; or the errno of the error that comes in the place of this event by the plan, which says how late it is. */
int cm_plan_error(int type, struct vb_cm_planned *planned);
/* Is one that seeks the number answered? */
bool cm_plan_answers(struct cm_number *number, uint64_t seeks);
/* With told_lock: the event waits in its id's channel, as the plan has it. */
void cm_deliver(struct told_event *event);
/* With told_lock: those that are late, in their order, taken out, as vb_events_drop() does it. */
struct told_event *cm_late_drop(bool (*of)(const struct vb_event *event, const void *arg), const void *arg);
void cm_plans_forked(void);

/* --- cm_qp.c --- */

/* The id's queue pair, if it has one, becomes ready to receive and to send: 0 or an errno. */
int cm_qp_ready(struct cm_id *id);
void cm_qp_err(struct cm_id *id);

/* --- cm_connect.c --- */

int cm_reject_request(struct cm_id *id, uint32_t reason, const void *data, uint8_t length);
/* With cm_lock: says it to the listener at the peer's number, with both addresses. 0 or an errno. */
int cm_ask(struct cm_id *id, struct wire_rdma_fields *say);
/* The request has its answer. */
void cm_request_over(struct cm_id *id, enum id_state state);

/* --- cm_ud.c --- */

/* With cm_lock: asks for a datagram service, or says which queue pair has it. 0 or an errno. */
int cm_look_up(struct cm_id *id, const struct rdma_conn_param *param);
int cm_say_found(struct cm_id *id, const struct rdma_conn_param *param);
/* Is it a word to listeners of this kind? */
bool cm_is_wanted(const struct cm_id *listens, const struct wire_rdma_fields *said);
/* What turns down a request or a lookup, for a reason of InfiniBand's. */
struct wire_rdma_fields cm_rejection(enum wire_rdma_kind asked, uint32_t reason);
/* The way to that GID from the id's own address. */
void cm_fill_ah(const struct cm_id *id, const union ibv_gid *to, struct ibv_ah_attr *ah);
/* The end of a lookup: its status if it has found nothing, a number, negative if it is an errno; else 0. */
int cm_lookup_status(const struct told_event *event);
/* Likewise; as cm_event_take(). */
bool cm_told_found(struct told_event *event, struct cm_id *id);

/* --- cm_group.c --- */

/* As cm_event_take(). */
bool cm_group_take(struct told_event *event);
void cm_group_acked(struct cm_group *group);
/* When none of their events is left. The queue pair, which has gone before, has left them. */
void cm_groups_free(struct cm_id *id);

#endif
