/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_words.h - what two rsockets say to each other, as bytes (README.md has the meaning): the greeting, which is private data of
 * rdma_connect() and rdma_accept(), and control messages, which are sends; and the heads of datagrams. All numbers are big-endian.
 * What is here looks at the form alone; rs_queue.c, rs_iomap.c and rs_dgram.c judge what a peer says. */
#ifndef EMU_CM_RS_WORDS_H
#define EMU_CM_RS_WORDS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	RS_GREETING_BYTES = 32,
	RS_CONTROL_BYTES = 40,
	RS_HEAD_BYTES = 20,
	RS_VERSION = 1,
};

struct rs_greeting {
	uint64_t ring_at; /* where the peer's stream bytes are written to, by RDMA */
	uint32_t ring_key, ring_size;
	uint32_t slots;  /* receives that are posted */
	uint32_t iomaps; /* most mappings that will be told at a time */
};

enum rs_control_kind {
	RS_CREDIT = 1, /* no more than what each control message has */
	RS_END,        /* no stream bytes follow */
	RS_LEAVE,      /* likewise, and what is sent is not looked at */
	RS_MAP,
	RS_UNMAP,
	RS_CONTROLS
};

struct rs_control {
	enum rs_control_kind kind;
	uint32_t slots; /* receives that were posted again, and bytes of the ring that were read, since the last message */
	uint32_t room;
	uint32_t key; /* of MAP; `offset` is of UNMAP, too */
	uint64_t offset, at, length;
};

enum rs_head_kind {
	RS_MESSAGE = 1, /* the program's bytes follow */
	RS_ASK,         /* which queue pair has the port that this is sent to? */
	RS_HERE,        /* the answer */
	RS_HEADS
};

/* Of a datagram. */
struct rs_head {
	enum rs_head_kind kind;
	uint16_t port;  /* of a MESSAGE to a queue pair: the sender's */
	uint32_t qpn;   /* of HERE */
	uint64_t token; /* of HERE: that of ASK */
};

void rs_greeting_put(const struct rs_greeting *greeting, uint8_t bytes[RS_GREETING_BYTES]);
/* False: it is no greeting of a version that is known. */
bool rs_greeting_get(const uint8_t bytes[RS_GREETING_BYTES], struct rs_greeting *greeting);
void rs_control_put(const struct rs_control *control, uint8_t bytes[RS_CONTROL_BYTES]);
bool rs_control_get(const uint8_t bytes[RS_CONTROL_BYTES], struct rs_control *control);
void rs_head_put(const struct rs_head *head, uint8_t bytes[RS_HEAD_BYTES]);
bool rs_head_get(const uint8_t bytes[RS_HEAD_BYTES], struct rs_head *head);

#endif
