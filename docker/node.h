/* SPDX-License-Identifier: BSD-2-Clause */
/* node.h - what a node, or the table, knows of itself and of the others, and the notes by which they talk.
 * Thread: one. Errors: node_fail() and give_up() end the program. */
#ifndef EMU_DOCKER_NODE_H
#define EMU_DOCKER_NODE_H

#include "docker/fabric.h"
#include "docker/place.h"
#include "docker/wait.h"

enum {
	TABLE = NODES_MAX, /* the entry of the table, where there is one beside the nodes */
	NODE_WAIT_S = 60,  /* unless EMU_WAIT_S says otherwise */
	TROUBLE_SIZE = 400,
};

enum note_kind {
	NOTE_START,   /* the table tells a node its rank and its peers */
	NOTE_HELLO,   /* where others may write and read */
	NOTE_WRITTEN, /* a block is in the receiver's inbox */
	NOTE_REPORT,  /* what a node did and found */
	NOTE_BYE,     /* the table has all reports */
	NOTE_TROUBLE, /* a sentence: it is in vain to go on */
	NOTE_KINDS
};

/* What a node did with, and found from, one peer. */
struct row {
	uint64_t written, read;   /* bytes that it wrote to and read from the peer */
	uint32_t arrived, intact; /* the peer's block arrived intact; what was read was intact */
};

/* The only message. All nodes run the same build, so this is its own layout. */
struct note {
	uint32_t kind, from;
	union {
		struct {
			uint32_t self, count;
			struct place table, nodes[NODES_MAX];
		} start;
		struct {
			uint64_t inbox_key, inbox_addr, outbox_key, outbox_addr;
		} hello;
		struct {
			uint64_t took_ms;
			struct row rows[NODES_MAX];
		} report;
		char trouble[TROUBLE_SIZE];
	};
};

struct peer {
	struct place place;
	fi_addr_t addr;
	bool has[NOTE_KINDS];      /* which notes have come from it */
	struct note hello, report; /* these two; our own report in our own entry */
	char trouble[TROUBLE_SIZE];
};

struct node {
	uint32_t self, count;
	uint32_t boss; /* which entry collects the reports: TABLE, or 0 where there is none */
	int wait_s;
	size_t block; /* bytes that each node writes to each other */
	struct peer peers[NODES_MAX + 1];
	struct fabric fabric;
	struct region inbox, outbox, work, notes; /* notes: one to send from, then those to receive into */
	struct pending *receiving;
	uint32_t next;     /* which receive completes next */
	struct note start; /* what the table sent */
};

/* Opens the endpoint and begins to receive notes. */
void notes_open(struct node *node, const struct place *at, const char *port);
void notes_close(struct node *node);

/* Makes a peer known under its place. */
void notes_meet(struct node *node, uint32_t peer, const struct place *place);

/* Sends one note, whose kind and content are filled in; returns 0, or -1 if the peer could not be reached. */
int notes_send(struct node *node, uint32_t to, struct note *note);

/* As before, again and again while the peer refuses, for it may not have begun yet; -1 when the wait is over. */
int notes_send_first(struct node *node, uint32_t to, struct note *note, const struct wait *wait);

/* Takes one note, or returns after a short time if there is none. True if one was taken. */
bool notes_take(struct node *node);

/* Takes notes until that one has come; false when the wait is over. A node to which the table has sent TROUBLE ends. */
bool notes_await(struct node *node, uint32_t from, enum note_kind kind, const struct wait *wait);

/* Tells the table, if there is one, and ends the program with status 1. */
_Noreturn void node_fail(struct node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The node's part from the moment it knows its peers: move, check, report. True if all was well, as far as it knows. */
bool node_exchange(struct node *node);

/* Takes the reports that are due; the first trouble, or the end of the wait, is told to all and printed. Then prints
 * the table, and lets the nodes go. True if all is well. */
bool table_collect(struct node *node);

/* The table's whole run for the nodes of these names, each HOST or HOST:PORT. */
bool table_run(struct node *node, char **names, size_t count);

/* Bytes that each node writes to each other: less where there are many, to bound the memory. */
size_t block_size(uint32_t count);

#endif
