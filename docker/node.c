/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - one of several nodes, each in a container of its own, that write to and read from each other.
 *
 *   emu-node SELF HOST:PORT HOST:PORT...	SELF counts from 0 and names the node's own entry
 *
 * All nodes get the same list. Every node registers an inbox that others may write and an outbox that they may read;
 * tells all others where (HELLO); writes a block into its place in every other's inbox and reads every other's outbox;
 * says so (WRITTEN); checks what arrived; and reports to node 0 (REPORT), which prints the table and lets all go (BYE).
 * Everything goes through libfabric: there is no other channel. Exit status 0 if all arrived intact. */
#include "docker/fabric.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES_MAX = 16, BLOCK = 4 << 20, NOTES_PER_PEER = 8 };
enum { HELLO_TRIES = 600, HELLO_PAUSE_MS = 100, HANG_GUARD_S = 300 };

enum note_kind { NOTE_HELLO, NOTE_WRITTEN, NOTE_REPORT, NOTE_BYE, NOTE_KINDS };

/* What a node did with, and found from, one peer. */
struct row {
	uint64_t written, read;		/* bytes that it wrote to and read from the peer */
	uint32_t arrived, intact;	/* the peer's block arrived intact; what was read was intact */
};

/* The only message. All nodes run the same build, so this is its own layout. */
struct note {
	uint32_t kind, from;
	uint64_t inbox_key, inbox_addr, outbox_key, outbox_addr;	/* HELLO */
	struct row rows[NODES_MAX];					/* REPORT */
};

struct peer {
	char *host, *port;
	fi_addr_t addr;
	bool has[NOTE_KINDS];		/* which notes have come from it */
	struct note hello;
	struct row rows[NODES_MAX];	/* by its REPORT; our own in our own entry */
};

struct node {
	uint32_t self, count;
	struct peer peers[NODES_MAX];
	struct fabric fabric;
	struct region inbox, outbox, work, notes;	/* notes: one to send from, then those to receive into */
	struct pending *receiving;
	uint32_t taken;					/* notes received so far */
};

/* Word i of the block that `from` gives to `to`; an outbox is `from` giving to itself. */
static uint64_t pattern(uint32_t from, uint32_t to, size_t i)
{
	uint64_t x = ((uint64_t)from << 40 | (uint64_t)to << 32) + i + 1;

	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

static void block_fill(uint8_t *block, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < BLOCK / sizeof(uint64_t); i++)
		memcpy(block + i * sizeof(uint64_t), &(uint64_t){ pattern(from, to, i) }, sizeof(uint64_t));
}

static bool block_intact(const uint8_t *block, uint32_t from, uint32_t to)
{
	uint64_t word;

	for (size_t i = 0; i < BLOCK / sizeof(uint64_t); i++) {
		memcpy(&word, block + i * sizeof(uint64_t), sizeof(word));
		if (word != pattern(from, to, i))
			return false;
	}
	return true;
}

static struct row *own_row(struct node *node, uint32_t peer)
{
	return &node->peers[node->self].rows[peer];
}

static void open_node(struct node *node)
{
	struct fabric *fabric = &node->fabric;
	uint32_t notes = node->count * NOTES_PER_PEER;

	fabric_open(fabric, node->peers[node->self].host, node->peers[node->self].port);
	region_open(fabric, &node->inbox, (size_t)node->count * BLOCK, FI_REMOTE_WRITE, 1);
	region_open(fabric, &node->outbox, BLOCK, FI_REMOTE_READ, 2);
	region_open(fabric, &node->work, BLOCK, FI_READ | FI_WRITE, 3);
	region_open(fabric, &node->notes, (notes + 1) * sizeof(struct note), FI_SEND | FI_RECV, 4);
	block_fill(node->outbox.bytes, node->self, node->self);

	node->receiving = calloc(notes, sizeof(*node->receiving));
	if (!node->receiving)
		give_up("out of memory");
	for (uint32_t i = 0; i < notes; i++)
		fabric_recv(fabric, &node->notes, (i + 1) * sizeof(struct note), sizeof(struct note),
			    &node->receiving[i]);
}

static void close_node(struct node *node)
{
	region_close(&node->inbox);
	region_close(&node->outbox);
	region_close(&node->work);
	region_close(&node->notes);
	fabric_close(&node->fabric);
	free(node->receiving);
}

/* Sends one note; returns 0, or -1 if the peer could not be reached. */
static int send_note(struct node *node, uint32_t to, enum note_kind kind)
{
	struct pending sending;
	struct note note = {
		.kind = kind, .from = node->self,
		.inbox_key = node->inbox.key, .inbox_addr = node->inbox.addr,
		.outbox_key = node->outbox.key, .outbox_addr = node->outbox.addr,
	};

	memcpy(note.rows, node->peers[node->self].rows, sizeof(note.rows));
	memcpy(node->notes.bytes, &note, sizeof(note));
	fabric_send(&node->fabric, &node->notes, 0, sizeof(note), node->peers[to].addr, &sending);
	return fabric_wait(&node->fabric, &sending);
}

static void take_note(struct node *node)
{
	struct note note;
	struct peer *peer;

	if (node->taken == node->count * NOTES_PER_PEER)
		give_up("more notes than there can be");
	if (fabric_wait(&node->fabric, &node->receiving[node->taken]))
		give_up("a receive failed");
	node->taken++;
	memcpy(&note, node->notes.bytes + node->taken * sizeof(note), sizeof(note));
	if (note.from >= node->count || note.kind >= NOTE_KINDS)
		give_up("a note makes no sense");

	peer = &node->peers[note.from];
	peer->has[note.kind] = true;
	if (note.kind == NOTE_HELLO)
		peer->hello = note;
	if (note.kind == NOTE_REPORT)
		memcpy(peer->rows, note.rows, sizeof(peer->rows));
}

static void await_note(struct node *node, uint32_t from, enum note_kind kind)
{
	while (!node->peers[from].has[kind])
		take_note(node);
}

/* A peer that has not started yet refuses, so HELLO alone is tried more than once. */
static void greet(struct node *node, uint32_t to)
{
	for (int tries = 0; tries < HELLO_TRIES; tries++) {
		if (!send_note(node, to, NOTE_HELLO))
			return;
		pause_ms(HELLO_PAUSE_MS);
	}
	give_up("%s does not answer", node->peers[to].host);
}

static void exchange(struct node *node, uint32_t with)
{
	const struct note *hello = &node->peers[with].hello;
	struct row *row = own_row(node, with);
	struct pending moving;

	block_fill(node->work.bytes, node->self, with);
	fabric_write(&node->fabric, &node->work, BLOCK, node->peers[with].addr,
		     hello->inbox_addr + (uint64_t)node->self * BLOCK, hello->inbox_key, &moving);
	row->written = fabric_wait(&node->fabric, &moving) ? 0 : BLOCK;

	memset(node->work.bytes, 0, BLOCK);
	fabric_read(&node->fabric, &node->work, BLOCK, node->peers[with].addr, hello->outbox_addr, hello->outbox_key,
		    &moving);
	row->read = fabric_wait(&node->fabric, &moving) ? 0 : BLOCK;
	row->intact = block_intact(node->work.bytes, with, with);
}

/* Prints a line for each pair; true if all is well. */
static bool print_table(const struct node *node)
{
	bool good = true;

	printf("%-10s %-10s %12s %8s %12s %8s\n", "node", "peer", "written B", "intact", "read B", "intact");
	for (uint32_t from = 0; from < node->count; from++) {
		for (uint32_t to = 0; to < node->count; to++) {
			const struct row *row = &node->peers[from].rows[to];
			uint32_t arrived = node->peers[to].rows[from].arrived;

			if (from == to)
				continue;
			printf("%-10s %-10s %12" PRIu64 " %8s %12" PRIu64 " %8s\n", node->peers[from].host,
			       node->peers[to].host, row->written, arrived ? "yes" : "NO", row->read,
			       row->intact ? "yes" : "NO");
			good = good && row->written == BLOCK && arrived && row->read == BLOCK && row->intact;
		}
	}
	printf("%s\n", good ? "all moved and intact" : "NOT all moved and intact");
	return good;
}

/* Calls step(node, peer) for all peers but this node itself. */
static void for_peers(struct node *node, void (*step)(struct node *, uint32_t))
{
	for (uint32_t i = 0; i < node->count; i++) {
		if (i != node->self)
			step(node, i);
	}
}

static void meet(struct node *node, uint32_t peer)
{
	node->peers[peer].addr = fabric_peer(&node->fabric, node->peers[peer].host, node->peers[peer].port);
}

static void await_hello(struct node *node, uint32_t peer)
{
	await_note(node, peer, NOTE_HELLO);
}

static void tell_written(struct node *node, uint32_t peer)
{
	if (send_note(node, peer, NOTE_WRITTEN))
		give_up("%s went away", node->peers[peer].host);
}

static void check_inbox(struct node *node, uint32_t peer)
{
	await_note(node, peer, NOTE_WRITTEN);
	own_row(node, peer)->arrived = block_intact(node->inbox.bytes + (size_t)peer * BLOCK, peer, node->self);
}

static void collect(struct node *node, uint32_t peer)
{
	await_note(node, peer, NOTE_REPORT);
}

static void let_go(struct node *node, uint32_t peer)
{
	if (send_note(node, peer, NOTE_BYE))
		give_up("%s went away", node->peers[peer].host);
}

static bool run(struct node *node)
{
	bool good = true;

	for_peers(node, meet);
	for_peers(node, greet);
	for_peers(node, await_hello);
	for_peers(node, exchange);
	for_peers(node, tell_written);
	for_peers(node, check_inbox);
	if (node->self == 0) {
		for_peers(node, collect);
		good = print_table(node);
		for_peers(node, let_go);
	} else {
		if (send_note(node, 0, NOTE_REPORT))
			give_up("node 0 went away");
		await_note(node, 0, NOTE_BYE);
	}
	return good;
}

int main(int argc, char **argv)
{
	static struct node node;
	bool good;

	node.count = argc > 2 ? (uint32_t)argc - 2 : 0;
	node.self = argc > 2 ? (uint32_t)strtoul(argv[1], NULL, 10) : 0;
	if (node.count < 2 || node.count > NODES_MAX || node.self >= node.count)
		give_up("usage: emu-node SELF HOST:PORT HOST:PORT...   (2 to %d nodes)", NODES_MAX);
	for (uint32_t i = 0; i < node.count; i++) {
		node.peers[i].host = strtok(argv[i + 2], ":");
		node.peers[i].port = strtok(NULL, ":");
		if (!node.peers[i].port)
			give_up("%s: no :PORT", argv[i + 2]);
	}
	alarm(HANG_GUARD_S);
	setvbuf(stdout, NULL, _IOLBF, 0);
	open_node(&node);
	printf("%s: provider %s, inbox key 0x%" PRIx64 "\n", node.peers[node.self].host,
	       node.fabric.info->fabric_attr->prov_name, node.inbox.key);
	good = run(&node);
	close_node(&node);
	return good ? 0 : 1;
}
