/* SPDX-License-Identifier: BSD-2-Clause */
/* rs.h - an rsocket: what it consists of, and what the files of this room share.
 *
 * One for a stream is an id of rdma_cm with a channel of its own and, once it connects, a queue pair with one completion queue; one
 * for datagrams (rs_dgram.h) has no id, and stays RS_FRESH. Its number is an epoll descriptor that is readable when one of its
 * channels is. Its `lock` guards all of it; calls of librdmacm and libibverbs are made with it. No lock of the table is held
 * meanwhile. Functions return 0 or a positive errno unless they say otherwise; those with "locked" want the lock. */
#ifndef EMU_CM_RS_H
#define EMU_CM_RS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#include <rdma/rsocket.h>
#pragma GCC visibility pop

#include "emu/cm/rsocket/rs_words.h"
#include "emu/verbs/device/vb_limits.h"
#include "emu/verbs/start/vb_refuse.h"

enum {
	RS_QUEUE_LEAST = 4, /* work requests of a queue: half of them are two credits at least (README.md) */
	RS_QUEUE_MOST = VB_MAX_QP_WR,
	RS_BUFFER_LEAST = 256,
	RS_BUFFER_MOST = 1 << 30, /* bytes */
	RS_INLINE_MOST = VB_MAX_INLINE,
	RS_IOMAPS_MOST = 1024,
	RS_MEET_MS = 2000,   /* rclose() waits so long for a peer that has not seen yet that it was accepted, */
	RS_DRAIN_MS = 15000, /* and, without SO_LINGER, so long until what was sent has arrived */
};

/* rs_enter() is the only writer. */
enum rs_state {
	RS_FRESH,      /* made, or bound */
	RS_LISTENING,  /* for good */
	RS_CONNECTING, /* its peer's address, route or answer is waited for */
	RS_ACCEPTED,   /* the peer is to say that it is ready: then it may be sent to */
	RS_UP,         /* connected */
	RS_OVER,       /* for good: failed, or the peer has gone; what was received may be read */
};

struct rs_options {
	uint32_t receive_bytes, send_bytes; /* SO_RCVBUF, SO_SNDBUF */
	uint32_t send_queue, receive_queue, inline_bytes, iomaps;
	int reuse, keepalive, oob_inline, no_delay, keep_idle, keep_interval, keep_count, v6_only, max_segment;
	struct linger linger;
	uint8_t traffic_class; /* of RDMA_ROUTE */
	uint32_t poll_us;      /* a call polls so long before it sleeps */
};

/* Memory that the peer's riowrite() reaches, or that was registered alone. */
struct rs_iomap {
	struct rs_iomap *next;
	void *at;
	size_t length;
	bool told; /* to the peer, at `offset` */
	uint64_t offset;
	struct ibv_mr *mr;
};

/* Memory of the peer's that riowrite() reaches. `length` 0: none. */
struct rs_target {
	uint64_t offset, at, length;
	uint32_t key;
};

struct rs_dgram;

struct rsocket {
	int fd;
	unsigned int users; /* of the table's lock: calls, and the table itself */
	pthread_mutex_t lock;
	enum rs_state state;
	sa_family_t family;
	struct rs_options options;
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct rs_dgram *dgram; /* NULL: it is for a stream */
	struct sockaddr_storage peer;
	int error;                   /* SO_ERROR */
	bool nonblocking, connected; /* connected: it was, so rdma_disconnect() is due */
	bool told_up;                /* rconnect() has said so */
	bool reads_end, sends_end;   /* rshutdown() */
	bool end_said, leave_said, end_heard, leave_heard;
	bool closing;          /* rclose() */
	unsigned int sleepers; /* calls that sleep on `fd` */
	bool rung;             /* they are awake all: an ever readable descriptor is in `fd` until the last one has seen it */

	struct ibv_comp_channel *completions;
	struct ibv_cq *cq;
	bool armed;

	/* What arrives: `unread` bytes of the ring from `read_at`; those that were read are owed to the peer */
	uint8_t *ring;
	struct ibv_mr *ring_mr;
	uint32_t ring_size, read_at, unread, room_owed;
	uint8_t *controls; /* of each receive, one */
	uint32_t receives, slots_owed;

	/* What is sent: `held` bytes of `outgoing` before `write_at` are the device's; each work request holds so many: `sent`. */
	uint8_t *outgoing;
	struct ibv_mr *own_mr; /* `outgoing` and `controls`, which are one allocation */
	uint32_t outgoing_size, write_at, held;
	uint32_t *sent, sent_first, sent_count;

	struct rs_greeting to; /* the peer's */
	uint32_t slots, room;  /* messages and bytes that it takes */
	uint32_t place;        /* in its ring */

	struct rs_iomap *iomaps;
	struct rs_target *targets; /* to.iomaps of them */
};

static inline uint32_t rs_least(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}
/* The length of an address of its family. */
static inline socklen_t rs_address_least(const struct rsocket *rs)
{
	return rs->family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}
/* A call fails: -1 and errno; or the value, if err is 0. */
static inline int rs_result(int err, int value)
{
	if (!err)
		return value;
	errno = err;
	return -1;
}

/* --- rs_table.c --- */

/* A new one in the table, with an epoll descriptor and a channel, as rs_hold() gives it. NULL with errno. */
struct rsocket *rs_new(sa_family_t family);
/* The rsocket of that number, for a call; NULL with EBADF. With it rs_put() is due. */
struct rsocket *rs_get(int fd);
/* Likewise, locked, and rs_leave() is due. */
struct rsocket *rs_hold(int fd);
void rs_put(struct rsocket *rs);
void rs_leave(struct rsocket *rs);
/* No call finds it any more. When the last one that has it gives it back, it is freed. False: it was done already. */
bool rs_unlist(struct rsocket *rs);
/* Into the epoll descriptor. */
int rs_watch(struct rsocket *rs, int fd);

/* --- rs_wait.c, locked --- */

void rs_enter(struct rsocket *rs, enum rs_state state);
/* The connection ends, with an error. */
void rs_fail(struct rsocket *rs, int err);
/* Looks at what has come: completions and, of a socket that does not listen, events. */
void rs_look(struct rsocket *rs);
/* Sleepers on `fd` look again. */
void rs_ring(struct rsocket *rs);
/* To be called around a sleep on `fd`, which is without the lock. */
void rs_sleep_begin(struct rsocket *rs);
void rs_sleep_end(struct rsocket *rs);
/* Sleeps until `ready`, without the lock: 0, EAGAIN (not `blocks`), ETIMEDOUT, EINTR, or EBADF: it was closed meanwhile. */
int rs_await(struct rsocket *rs, bool (*ready)(const struct rsocket *rs), bool blocks, int64_t timeout_ms);
int64_t rs_now_us(void);

/* --- rs_meet.c, locked --- */

/* Does what an event of a socket asks for that connects, or is connected. */
void rs_event(struct rsocket *rs, const struct rdma_cm_event *event);
/* A request waits, perhaps. */
bool rs_has_request(const struct rsocket *rs);

/* --- rs_queue.c, locked --- */

#define RS_SENT UINT64_MAX /* wr_id; that of a receive is its place in `controls` */
/* To that place of `controls`, which are of `size` bytes each. */
int rs_post_receive(struct rsocket *rs, struct ibv_qp *qp, uint64_t place, uint32_t size);
/* A completion queue, and its channel. */
int rs_cq_open(struct rsocket *rs, struct ibv_context *context, uint32_t size);
/* The queue pair of an id that has a device, buffers, and receives that are posted. */
int rs_queues_open(struct rsocket *rs);
void rs_queues_close(struct rsocket *rs);
void rs_greet(const struct rsocket *rs, uint8_t bytes[RS_GREETING_BYTES]);
/* Takes the peer's. EPROTO, after a line of log. */
int rs_greeted(struct rsocket *rs, const void *data, size_t length);
/* True: something has come. */
bool rs_poll(struct rsocket *rs);
bool rs_can_send(const struct rsocket *rs);
bool rs_can_write(const struct rsocket *rs); /* to a target */
/* A part of the stream, or a write to `target`, as much of `length` as there is place for; copy() copies it to memory of the
 * device's. 0: none. */
uint32_t rs_post(struct rsocket *rs, uint32_t length, const struct rs_target *target,
		 void (*copy)(void *arg, void *to, uint32_t length), void *arg);
/* A control message, for which rs_can_say() is true. */
bool rs_can_say(const struct rsocket *rs);
void rs_say(struct rsocket *rs, struct rs_control *control);
/* What is due by itself: credits, and the end. Nothing is due to a peer that has left. */
void rs_say_due(struct rsocket *rs);

/* --- rs_iomap.c, locked --- */

/* MAP and UNMAP. False: the peer breaks the protocol. */
bool rs_iomap_told(struct rsocket *rs, const struct rs_control *control);
void rs_iomaps_free(struct rsocket *rs);

/* --- rs_data.c, locked --- */

/* A read of the stream would not wait. */
bool rs_can_read(const struct rsocket *rs);
/* The error of a send: that of SO_ERROR, which is over then, or what the state asks for. 0: it may wait, or go on. */
int rs_send_error(struct rsocket *rs);
/* 0 or EOPNOTSUPP, after a line of log. */
int rs_check_flags(int flags, int known, const char *call);

/* --- rs_option.c --- */

void rs_options_init(struct rs_options *options);

#endif
