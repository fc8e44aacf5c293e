/* SPDX-License-Identifier: BSD-2-Clause */
/* notes.c - the messages between nodes; see node.h. */
#include "docker/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each peer sends one of each kind; a receive is posted again as soon as its note is taken. */
enum { RECEIVES = 2 * NODES_MAX };

static void receive(struct node *node, uint32_t i)
{
	fabric_recv(&node->fabric, &node->notes, (i + 1) * sizeof(struct note), sizeof(struct note), &node->receiving[i]);
}

void notes_open(struct node *node, const struct place *at, const char *port)
{
	fabric_open(&node->fabric, at, port);
	region_open(&node->fabric, &node->notes, (RECEIVES + 1) * sizeof(struct note), FI_SEND | FI_RECV, 4);
	node->receiving = calloc(RECEIVES, sizeof(*node->receiving));
	if (!node->receiving)
		give_up("out of memory");
	for (uint32_t i = 0; i < RECEIVES; i++)
		receive(node, i);
}

void notes_close(struct node *node)
{
	region_close(&node->notes);
	fabric_close(&node->fabric);
	free(node->receiving);
}

void notes_meet(struct node *node, uint32_t peer, const struct place *place)
{
	node->peers[peer].place = *place;
	node->peers[peer].addr = fabric_peer(&node->fabric, place);
}

int notes_send(struct node *node, uint32_t to, struct note *note)
{
	struct pending sending;

	note->from = node->self;
	memcpy(node->notes.bytes, note, sizeof(*note));
	fabric_send(&node->fabric, &node->notes, 0, sizeof(*note), node->peers[to].addr, &sending);
	return fabric_wait(&node->fabric, &sending);
}

static void end_if_told(const struct node *node)
{
	if (node->peers[node->boss].has[NOTE_TROUBLE])
		give_up("told to end: %s", node->peers[node->boss].trouble);
}

int notes_send_first(struct node *node, uint32_t to, struct note *note, const struct wait *wait)
{
	while (notes_send(node, to, note)) {
		if (!wait_goes_on(wait))
			return -1;
		end_if_told(node);
		notes_take(node);
	}
	return 0;
}

bool notes_take(struct node *node)
{
	struct pending *pending = &node->receiving[node->next];
	struct note note;
	struct peer *peer;

	if (pending->state == PENDING_BUSY)
		fabric_poll(&node->fabric);
	if (pending->state == PENDING_BUSY)
		return false;
	if (pending->state == PENDING_FAILED)
		give_up("a receive failed: %s", fabric_why());
	memcpy(&note, node->notes.bytes + (node->next + 1) * sizeof(note), sizeof(note));
	receive(node, node->next);
	node->next = (node->next + 1) % RECEIVES;
	if (note.from > TABLE || note.kind >= NOTE_KINDS)
		give_up("a note makes no sense: do all nodes run the same image?");

	peer = &node->peers[note.from];
	peer->has[note.kind] = true;
	if (note.kind == NOTE_START)
		node->start = note;
	else if (note.kind == NOTE_HELLO)
		peer->hello = note;
	else if (note.kind == NOTE_REPORT)
		peer->report = note;
	else if (note.kind == NOTE_TROUBLE)
		memcpy(peer->trouble, note.trouble, sizeof(peer->trouble) - 1);
	return true;
}

bool notes_await(struct node *node, uint32_t from, enum note_kind kind, const struct wait *wait)
{
	while (!node->peers[from].has[kind]) {
		end_if_told(node);
		if (!wait_goes_on(wait))
			return false;
		notes_take(node);
	}
	return true;
}

void node_fail(struct node *node, const char *format, ...)
{
	struct note note = { .kind = NOTE_TROUBLE };
	va_list args;

	va_start(args, format);
	vsnprintf(note.trouble, sizeof(note.trouble), format, args);
	va_end(args);
	if (node->boss == TABLE && node->self != TABLE)
		notes_send(node, TABLE, &note);
	give_up("%s", note.trouble);
}
