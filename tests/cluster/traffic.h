/* SPDX-License-Identifier: BSD-2-Clause */
/* traffic.h - one node of a cluster under steady traffic, and what it knows of each other node.
 *
 * Each node does four things with each other node, again and again: it sends numbered messages, writes numbered blocks with
 * remote CQ data, reads its block back, and adds one to a counter. The numbers of one *stream* begin with 1. A stream ends when
 * an op fails or the peer is another process; the next stream says how far the one before it came.
 * Thread: one. Errors: wrong() says what is not right, and goes on; give_up() ends the program. */
#ifndef EMU_TESTS_CLUSTER_TRAFFIC_H
#define EMU_TESTS_CLUSTER_TRAFFIC_H

#include "docker/fabric.h"

enum {
	SENDS = 4, /* messages under way to one peer */
	OP_WRITE = SENDS,
	OP_READ,
	OP_ADD,
	OP_NOTE, /* a message without a number */
	OPS,
	RECEIVES = 128,
	BLOCK = 32768,    /* longest payload of a message, and of a write */
	ROW = BLOCK + 64, /* what a peer reaches here: a block, and the counter behind it */
	NUMBER_BITS = 24, /* of the remote CQ data; above it the sender's rank, and its stream */
	RANK_BITS = 8,
	TICK_MS = 10,  /* ops are posted so often */
	TELL_MS = 200, /* what was heard is printed so often */
	GUARD_S = 120, /* the program gives up when nothing has moved for so long */
};

enum kind { KIND_HELLO, KIND_DATA, KIND_FINAL, KIND_BYE };

/* All nodes run the same build, so this is its own layout. */
struct message {
	uint32_t kind, from;
	uint64_t life, to_life; /* of the sender's process; of the process that it takes the receiver for, 0: it does not know */
	uint32_t stream, number;
	uint32_t before, before_sent; /* the stream before this one, and how many of its messages ended well */
	uint32_t before_failed;
	uint32_t wants;         /* HELLO: the sender does not know where it may write */
	uint64_t key, addr;     /* HELLO: where the receiver may write */
	uint32_t wrote, length; /* FINAL: how many writes ended well; DATA: bytes that follow */
	uint64_t counter;       /* FINAL: what the counter must be; UINT64_MAX: not known */
};

struct op {
	struct pending pending;
	bool on;
	uint32_t number; /* of a write; the kind of a note */
	uint64_t life;   /* of the peer that it was posted to */
};

struct heard {
	uint32_t stream, number;
};

struct peer {
	const char *host, *port; /* NULL: no peer */
	fi_addr_t addr;
	struct place place;
	struct op op[OPS];

	/* What this node does with it. */
	bool talks, greeted, owes; /* a stream is open; it has our HELLO; it waits for our HELLO */
	bool known;                /* `hello` is of the process that is there, as far as we know */
	struct message hello;
	uint32_t stream, posted, sent, wrote, length; /* in this stream; length of the last write */
	uint32_t before, before_sent, before_failed;
	bool written, counts, unsure; /* a write waits to be read back; `counter` is known; an addition failed, or did not */
	uint64_t counter, counter_life;
	char why[512]; /* it was not reached the last time */

	/* What this node hears from it. */
	struct heard messages, writes;
	bool final_sent, final_heard, bye_sent, bye_heard;

	/* In the life of this process. */
	uint64_t all_sent, all_heard, all_wrote, all_written_here, all_added, failed, streams;
};

struct node {
	uint32_t self, count;
	uint64_t life;
	bool finishes, bad;
	uint64_t moved; /* ops that ended well, and messages that came */
	struct peer peers[NODES_MAX];
	struct fabric fabric;
	struct region rows, out, in;
	struct pending receive[RECEIVES];
	uint32_t next; /* which receive is looked at next */
};

extern struct node node;

void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same bytes at each end. */
void block_fill(uint8_t *block, size_t length, uint32_t from, uint32_t number);
bool block_intact(const uint8_t *block, size_t length, uint32_t from, uint32_t number);

/* --- traffic_ops.c --- */

void ops_open(void);
bool ops_any(const struct peer *peer);
/* Looks at what has ended, with and without success. */
void ops_judge(uint32_t to);
/* Posts what is due in an open stream. */
void ops_post(uint32_t to);
void note_post(uint32_t to, enum kind kind);
/* Opens a stream to a peer that is known and greeted, with no op under way. */
void stream_open(uint32_t to);

/* --- traffic_heard.c --- */

void heard_open(void);
/* Takes the messages that have come. */
void heard_take(void);

#endif
