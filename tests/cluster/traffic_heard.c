/* SPDX-License-Identifier: BSD-2-Clause */
/* traffic_heard.c - what a node hears from its peers: each number once, in order, with its bytes; see traffic.h. */
#include "tests/cluster/traffic.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGE = sizeof(struct message) + BLOCK };

static void receive(uint32_t i)
{
	fabric_recv(&node.fabric, &node.in, i * (size_t)MESSAGE, MESSAGE, &node.receive[i]);
}

/* A write has arrived here. */
static void written_here(uint64_t data)
{
	uint32_t number = data & ((1u << NUMBER_BITS) - 1), from = data >> NUMBER_BITS & ((1u << RANK_BITS) - 1);
	uint32_t stream = (uint32_t)(data >> (NUMBER_BITS + RANK_BITS));
	struct peer *peer = &node.peers[from % NODES_MAX];

	if (from >= node.count) {
		wrong("a write came with the data %#llx, which no node gives", (unsigned long long)data);
		return;
	}
	if (stream > peer->writes.stream)
		peer->writes = (struct heard){ stream, 0 };
	if (stream != peer->writes.stream || number != peer->writes.number + 1)
		wrong("write %u of stream %u of %u came after write %u of stream %u", number, stream, from, peer->writes.number,
		      peer->writes.stream);
	peer->writes.number = number;
	peer->all_written_here++;
	node.moved++;
}

void heard_open(void)
{
	node.fabric.on_data = written_here;
	region_open(&node.fabric, &node.in, RECEIVES * (size_t)MESSAGE, FI_RECV, 3);
	for (uint32_t i = 0; i < RECEIVES; i++)
		receive(i);
}

/* The first message of a later stream: is of the one before all here that ended well there, and no more than was sent? */
static void stream_begins(struct peer *peer, const struct message *message)
{
	struct heard *heard = &peer->messages;

	if (message->stream <= heard->stream)
		return;
	if (heard->stream && heard->stream == message->before &&
	    (heard->number < message->before_sent || heard->number > message->before_sent + message->before_failed))
		wrong("of the stream before %u came from %u, of which %u ended well and %u failed", heard->number, message->from,
		      message->before_sent, message->before_failed);
	*heard = (struct heard){ message->stream, 0 };
}

static void hear_hello(struct peer *peer, const struct message *message)
{
	if (peer->hello.life && message->life != peer->hello.life)
		printf("%u is another process\n", message->from);
	if (message->life != peer->hello.life)
		peer->talks = peer->greeted = false;
	peer->hello = *message;
	peer->known = true;
	if (message->wants)
		peer->owes = true;
	else
		peer->greeted = true;
}

static void hear_data(struct peer *peer, const struct message *message, size_t room)
{
	stream_begins(peer, message);
	if (message->stream != peer->messages.stream || message->number != peer->messages.number + 1)
		wrong("message %u of stream %u of %u came after message %u of stream %u", message->number, message->stream,
		      message->from, peer->messages.number, peer->messages.stream);
	else if (message->length > room ||
		 !block_intact((const uint8_t *)(message + 1), message->length, message->from, message->number))
		wrong("message %u of %u has other bytes than were sent", message->number, message->from);
	peer->messages.number = message->number;
	peer->all_heard++;
	node.moved++;
}

static void hear_final(struct peer *peer, const struct message *message)
{
	uint64_t counter;

	memcpy(&counter, node.rows.bytes + message->from * (size_t)ROW + BLOCK, sizeof(counter));
	stream_begins(peer, message);
	if (message->number != peer->messages.number)
		wrong("%u has sent %u messages, of which %u are here", message->from, message->number, peer->messages.number);
	if (message->wrote != (peer->writes.stream == message->stream ? peer->writes.number : 0))
		wrong("%u has written %u times, and %u writes are here", message->from, message->wrote, peer->writes.number);
	if (message->counter != UINT64_MAX && message->counter != counter)
		wrong("%u has brought its counter to %llu, which is %llu here", message->from, (unsigned long long)message->counter,
		      (unsigned long long)counter);
	peer->final_heard = true;
}

static void hear(const struct message *message)
{
	struct peer *peer = &node.peers[message->from % NODES_MAX];

	if (message->from >= node.count || message->kind > KIND_BYE) {
		wrong("a message makes no sense: kind %u from %u", message->kind, message->from);
		return;
	}
	if (message->to_life ? message->to_life != node.life : message->kind != KIND_HELLO) {
		wrong("a message from %u came that was meant for another process here", message->from);
		return;
	}
	if (message->kind == KIND_HELLO)
		hear_hello(peer, message);
	else if (message->kind == KIND_DATA)
		hear_data(peer, message, BLOCK);
	else if (message->kind == KIND_FINAL)
		hear_final(peer, message);
	else
		peer->bye_heard = true;
}

/* In the order of posting, which is the order of arrival. A receive fails whose sender has gone in the middle. */
void heard_take(void)
{
	while (node.receive[node.next].state != PENDING_BUSY) {
		if (node.receive[node.next].state == PENDING_DONE)
			hear((const struct message *)(node.in.bytes + node.next * (size_t)MESSAGE));
		receive(node.next);
		node.next = (node.next + 1) % RECEIVES;
	}
}
