/* SPDX-License-Identifier: BSD-2-Clause */
/* traffic_ops.c - what a node does with its peers, and what becomes of it; see traffic.h. */
#include "tests/cluster/traffic.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE = sizeof(struct message) + BLOCK };
/* What a peer has of `out`. */
enum {
	OUT_NOTE = SENDS * MESSAGE,
	OUT_WRITE = OUT_NOTE + sizeof(struct message),
	OUT_READ = OUT_WRITE + BLOCK,
	OUT_ONE = OUT_READ + BLOCK,
	OUT_RESULT = OUT_ONE + 8,
	OUT_SIZE = (OUT_RESULT + 8 + 63) / 64 * 64,
};

static const char *const op_names[OPS] = { "a message", "a message", "a message",   "a message",
					   "a write",   "a read",    "an addition", "a note" };

void ops_open(void)
{
	region_open(&node.fabric, &node.rows, node.count * ROW, FI_REMOTE_READ | FI_REMOTE_WRITE, 1);
	region_open(&node.fabric, &node.out, node.count * (size_t)OUT_SIZE, FI_SEND | FI_RECV | FI_READ | FI_WRITE, 2);
}

static uint8_t *out(uint32_t to, size_t at)
{
	return node.out.bytes + to * (size_t)OUT_SIZE + at;
}

bool ops_any(const struct peer *peer)
{
	for (int i = 0; i < OPS; i++)
		if (peer->op[i].on)
			return true;
	return false;
}

/* Where the peer lets this node write. */
static uint64_t row(const struct peer *peer)
{
	return peer->hello.addr + node.self * (uint64_t)ROW;
}

static void began(struct peer *peer, struct op *op, uint32_t number)
{
	op->on = true;
	op->number = number;
	op->life = peer->known ? peer->hello.life : 0;
}

static struct message head(const struct peer *peer, enum kind kind)
{
	return (struct message){
		.kind = kind,
		.from = node.self,
		.life = node.life,
		.to_life = peer->known ? peer->hello.life : 0,
		.stream = peer->stream,
		.before = peer->before,
		.before_sent = peer->before_sent,
		.before_failed = peer->before_failed,
		.wants = !peer->known,
		.key = node.rows.key,
		.addr = node.rows.addr,
	};
}

void note_post(uint32_t to, enum kind kind)
{
	struct peer *peer = &node.peers[to];
	struct message message = head(peer, kind);

	message.number = peer->sent;
	message.wrote = peer->wrote;
	message.counter = peer->counts && !peer->unsure ? peer->counter : UINT64_MAX;
	memcpy(out(to, OUT_NOTE), &message, sizeof(message));
	began(peer, &peer->op[OP_NOTE], kind);
	fabric_send(&node.fabric, &node.out, to * (size_t)OUT_SIZE + OUT_NOTE, sizeof(message), peer->addr,
		    &peer->op[OP_NOTE].pending);
}

static void post_send(uint32_t to, int slot)
{
	struct peer *peer = &node.peers[to];
	struct message message = head(peer, KIND_DATA);
	size_t at = (size_t)slot * MESSAGE;

	message.number = ++peer->posted;
	message.length = message.number % 32 ? message.number * 37 % 2048 : BLOCK;
	memcpy(out(to, at), &message, sizeof(message));
	block_fill(out(to, at + sizeof(message)), message.length, node.self, message.number);
	began(peer, &peer->op[slot], message.number);
	fabric_send(&node.fabric, &node.out, to * (size_t)OUT_SIZE + at, sizeof(message) + message.length, peer->addr,
		    &peer->op[slot].pending);
}

static void post_write(uint32_t to)
{
	struct peer *peer = &node.peers[to];
	struct pending *pending = &peer->op[OP_WRITE].pending;
	uint32_t number = peer->wrote + 1;
	uint64_t data = (uint64_t)peer->stream << (NUMBER_BITS + RANK_BITS) | (uint64_t)node.self << NUMBER_BITS | number;
	ssize_t err;

	peer->length = number % 32 ? 1 + number * 53 % 4096 : BLOCK;
	block_fill(out(to, OUT_WRITE), peer->length, node.self, number);
	began(peer, &peer->op[OP_WRITE], number);
	pending->state = PENDING_BUSY;
	do {
		err = fi_writedata(node.fabric.ep, out(to, OUT_WRITE), peer->length, fi_mr_desc(node.out.mr), data, peer->addr,
				   row(peer), peer->hello.key, pending);
	} while (fabric_post_again(&node.fabric, err, "fi_writedata"));
}

static void post_read(uint32_t to)
{
	struct peer *peer = &node.peers[to];
	struct pending *pending = &peer->op[OP_READ].pending;
	ssize_t err;

	memset(out(to, OUT_READ), 0, peer->length);
	began(peer, &peer->op[OP_READ], peer->wrote);
	pending->state = PENDING_BUSY;
	do {
		err = fi_read(node.fabric.ep, out(to, OUT_READ), peer->length, fi_mr_desc(node.out.mr), peer->addr, row(peer),
			      peer->hello.key, pending);
	} while (fabric_post_again(&node.fabric, err, "fi_read"));
}

static void post_add(uint32_t to)
{
	struct peer *peer = &node.peers[to];
	struct pending *pending = &peer->op[OP_ADD].pending;
	void *desc = fi_mr_desc(node.out.mr);
	ssize_t err;

	memcpy(out(to, OUT_ONE), &(uint64_t){ 1 }, sizeof(uint64_t));
	began(peer, &peer->op[OP_ADD], 0);
	pending->state = PENDING_BUSY;
	do {
		err = fi_fetch_atomic(node.fabric.ep, out(to, OUT_ONE), 1, desc, out(to, OUT_RESULT), desc, peer->addr,
				      row(peer) + BLOCK, peer->hello.key, FI_UINT64, FI_SUM, pending);
	} while (fabric_post_again(&node.fabric, err, "fi_fetch_atomic"));
}

void ops_post(uint32_t to)
{
	struct peer *peer = &node.peers[to];

	for (int slot = 0; slot < SENDS; slot++)
		if (!peer->op[slot].on)
			post_send(to, slot);
	/* One block there: it is written, and then read. */
	if (!peer->op[OP_WRITE].on && !peer->op[OP_READ].on) {
		if (peer->written)
			post_read(to);
		else
			post_write(to);
	}
	if (!peer->op[OP_ADD].on)
		post_add(to);
}

void stream_open(uint32_t to)
{
	struct peer *peer = &node.peers[to];
	uint32_t now = (uint32_t)clock_ms();

	peer->before = peer->stream;
	peer->before_sent = peer->sent;
	peer->before_failed = peer->posted - peer->sent;
	peer->stream = now > peer->stream ? now : peer->stream + 1;
	peer->posted = peer->sent = peer->wrote = 0;
	peer->written = false;
	if (peer->counter_life != peer->hello.life) { /* another process, or the first: its counter may be of our last life */
		peer->counts = peer->unsure = false;
		peer->counter_life = peer->hello.life;
	}
	peer->talks = true;
	peer->streams++;
	printf("talks to %u\n", to);
}

static void note_done(uint32_t to, enum kind kind)
{
	struct peer *peer = &node.peers[to];

	if (kind == KIND_HELLO)
		peer->greeted = true;
	else if (kind == KIND_FINAL)
		peer->final_sent = true;
	else
		peer->bye_sent = true;
}

static void added(uint32_t to)
{
	struct peer *peer = &node.peers[to];
	uint64_t was;

	memcpy(&was, out(to, OUT_RESULT), sizeof(was));
	if (peer->counts && was != peer->counter && !(peer->unsure && was == peer->counter + 1))
		wrong("the counter at %u is %llu, and this node has brought it to %llu", to, (unsigned long long)was,
		      (unsigned long long)peer->counter);
	peer->unsure = false;
	peer->counts = true;
	peer->counter = was + 1;
	peer->all_added++;
}

static void ended_well(uint32_t to, int which)
{
	struct peer *peer = &node.peers[to];
	struct op *op = &peer->op[which];

	node.moved++;
	if (which < SENDS) {
		peer->sent++;
		peer->all_sent++;
	} else if (which == OP_WRITE) {
		peer->wrote++;
		peer->all_wrote++;
		peer->written = true;
	} else if (which == OP_READ) {
		peer->written = false;
		if (!block_intact(out(to, OUT_READ), peer->length, node.self, op->number))
			wrong("what was read back from %u is not what was written: write %u", to, op->number);
	} else if (which == OP_ADD) {
		added(to);
	} else {
		note_done(to, op->number);
	}
}

/* The stream ends. A failure with a process that has gone tells nothing about the one that is there now. */
static void ended_badly(uint32_t to, int which)
{
	struct peer *peer = &node.peers[to];
	struct op *op = &peer->op[which];

	if (which == OP_NOTE && op->number == KIND_HELLO) {
		if (strcmp(peer->why, fabric_why()) != 0)
			printf("does not reach %u: %s\n", to, fabric_why());
		snprintf(peer->why, sizeof(peer->why), "%s", fabric_why());
		peer->failed++;
		peer->greeted = false;
		return;
	}
	peer->failed++;
	if (which == OP_ADD && peer->counter_life == op->life)
		peer->unsure = true;
	if (peer->talks)
		printf("lost %u: %s failed: %s\n", to, op_names[which], fabric_why());
	peer->talks = false;
	if (peer->known && op->life == peer->hello.life)
		peer->known = peer->greeted = false;
}

void ops_judge(uint32_t to)
{
	struct peer *peer = &node.peers[to];

	for (int i = 0; i < OPS; i++) {
		struct op *op = &peer->op[i];

		if (!op->on || op->pending.state == PENDING_BUSY)
			continue;
		op->on = false;
		if (op->pending.state == PENDING_DONE)
			ended_well(to, i);
		else
			ended_badly(to, i);
	}
}
