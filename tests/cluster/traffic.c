/* SPDX-License-Identifier: BSD-2-Clause */
/* traffic.c - a node under steady traffic with all others: traffic SELF PLACE...
 *
 * SELF counts from 0 and names the node's own place. A place is HOST:PORT; `*:PORT' as the own one: the provider chooses the
 * address; `*': the port as well; `-' for another node: it is no peer. Names are resolved anew whenever a peer was lost.
 * SIGTERM: finish, together with the others. SIGINT: leave at once, without a word to anybody.
 * EMU_MORTAL: the nodes, as in 2,3, that may be lost; ops with others may not fail.
 * What happens is printed, and at the end a table. Exit status 0 only if nothing was lost, doubled or damaged. */
#include "tests/cluster/traffic.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node node;
static volatile sig_atomic_t finish, leave;

void wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("WRONG: ", stdout);
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	node.bad = true;
}

static uint8_t block_byte(size_t i, uint32_t from, uint32_t number)
{
	return (uint8_t)(i * 7 + (i >> 8) + from * 31u + number * 101u);
}

void block_fill(uint8_t *block, size_t length, uint32_t from, uint32_t number)
{
	for (size_t i = 0; i < length; i++)
		block[i] = block_byte(i, from, number);
}

bool block_intact(const uint8_t *block, size_t length, uint32_t from, uint32_t number)
{
	for (size_t i = 0; i < length; i++)
		if (block[i] != block_byte(i, from, number))
			return false;
	return true;
}

static void take_signal(int signal)
{
	*(signal == SIGTERM ? &finish : &leave) = 1;
}

static bool is_peer(uint32_t i)
{
	return i != node.self && node.peers[i].host;
}

/* May it be lost? */
static bool is_mortal(uint32_t i)
{
	char list[256], one[16];

	snprintf(list, sizeof(list), ",%s,", getenv("EMU_MORTAL") ? getenv("EMU_MORTAL") : "");
	snprintf(one, sizeof(one), ",%u,", i);
	return strstr(list, one);
}

/* Where the name leads now; false if nowhere. */
static bool find(struct peer *peer)
{
	struct place place;

	if (!place_find(peer->host, peer->port, &place, 1))
		return false;
	if (peer->addr != FI_ADDR_UNSPEC && place_same(&place, &peer->place))
		return true;
	if (peer->addr != FI_ADDR_UNSPEC)
		fabric_check(fi_av_remove(node.fabric.av, &peer->addr, 1, 0), "fi_av_remove");
	peer->place = place;
	peer->addr = fabric_peer(&node.fabric, &place);
	return true;
}

/* Brings the relation to a peer a step forward. */
static void relate(uint32_t i)
{
	struct peer *peer = &node.peers[i];
	bool idle = !ops_any(peer);

	if (peer->op[OP_NOTE].on || peer->bye_sent)
		return;
	if (peer->owes || (!peer->talks && !peer->greeted)) {
		if (!peer->talks && (!idle || !find(peer)))
			return;
		peer->owes = false;
		note_post(i, KIND_HELLO);
	} else if (!peer->talks && idle && peer->known) {
		stream_open(i);
	} else if (node.finishes && peer->talks && idle && !peer->final_sent) {
		note_post(i, KIND_FINAL);
	} else if (node.finishes && peer->final_sent && peer->final_heard) {
		note_post(i, KIND_BYE);
	}
}

/* Prints how many messages have come from each. */
static void tell(void)
{
	fputs("heard", stdout);
	for (uint32_t i = 0; i < node.count; i++)
		printf(" %" PRIu64, node.peers[i].all_heard);
	putchar('\n');
}

/* Those that are lost are not waited for. */
static bool all_over(void)
{
	for (uint32_t i = 0; i < node.count; i++) {
		const struct peer *peer = &node.peers[i];

		if (is_peer(i) && !(peer->bye_sent && peer->bye_heard) && !(is_mortal(i) && !peer->talks && !peer->final_heard))
			return false;
	}
	return true;
}

static void give_up_if_stuck(void)
{
	static struct wait wait;
	static uint64_t moved = UINT64_MAX;

	if (node.moved != moved)
		wait_begin(&wait, GUARD_S, "anything to move");
	moved = node.moved;
	if (!wait_goes_on(&wait)) {
		tell();
		give_up("nothing has moved for %d s", GUARD_S);
	}
}

static void run(void)
{
	int64_t tick_ms = 0, tell_ms = 0;

	while (!leave && !(node.finishes && all_over())) {
		bool due = clock_ms() >= tick_ms;

		fabric_poll(&node.fabric);
		heard_take();
		if (due)
			tick_ms = clock_ms() + TICK_MS;
		for (uint32_t i = 0; i < node.count; i++) {
			if (!is_peer(i))
				continue;
			ops_judge(i);
			relate(i);
			if (due && node.peers[i].talks && !node.finishes)
				ops_post(i);
		}
		if (clock_ms() >= tell_ms) {
			tell();
			tell_ms = clock_ms() + TELL_MS;
		}
		node.finishes |= finish;
		give_up_if_stuck();
	}
}

static void print_table(void)
{
	printf("%4s %-24s %8s %8s %8s %8s %8s %7s %7s\n", "node", "place", "sent", "heard", "wrote", "written", "added", "failed",
	       "streams");
	for (uint32_t i = 0; i < node.count; i++) {
		const struct peer *peer = &node.peers[i];
		char text[PLACE_TEXT_SIZE] = "?";

		if (!is_peer(i))
			continue;
		printf("%4u %-24s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %7" PRIu64 " %7" PRIu64 "\n", i,
		       peer->addr == FI_ADDR_UNSPEC ? text : place_text(&peer->place, text), peer->all_sent, peer->all_heard,
		       peer->all_wrote, peer->all_written_here, peer->all_added, peer->failed, peer->streams);
		if (!is_mortal(i) && (peer->streams != 1 || !peer->all_heard || !peer->all_sent))
			wrong("the traffic with %u, which lives, has broken down or was none", i);
	}
	printf(node.bad ? "NOT all right\n" : "all right\n");
}

static void open_all(char *self)
{
	struct peer *own = &node.peers[node.self];
	struct place at;
	char text[PLACE_TEXT_SIZE];

	node.life = (uint64_t)clock_ms();
	node.fabric.caps = FI_ATOMIC;
	node.fabric.poll_ms = TICK_MS;
	if (self[0] == '*') {
		fabric_open(&node.fabric, NULL, self[1] == ':' ? self + 2 : NULL);
	} else {
		if (!place_find(own->host, own->port, &at, 1))
			give_up("the own name `%s' does not resolve", own->host);
		fabric_open(&node.fabric, &at, NULL);
	}
	ops_open();
	heard_open();
	fabric_place(&node.fabric, &at);
	printf("node %u is at %s\n", node.self, place_text(&at, text));
}

static void close_all(void)
{
	region_close(&node.rows);
	region_close(&node.out);
	region_close(&node.in);
	fabric_close(&node.fabric);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = take_signal };
	char *end;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	node.self = argc > 1 ? (uint32_t)strtoul(argv[1], &end, 10) : 0;
	node.count = argc > 2 ? (uint32_t)argc - 2 : 0;
	if (node.count < 2 || node.count > NODES_MAX || *end || node.self >= node.count)
		give_up("usage: traffic SELF PLACE PLACE...   (2 to %d nodes)", NODES_MAX);
	for (uint32_t i = 0; i < node.count; i++) {
		struct peer *peer = &node.peers[i];
		char *place = argv[i + 2];

		peer->addr = FI_ADDR_UNSPEC;
		if (strcmp(place, "-") != 0 && place[0] != '*' && !place_split(place, &peer->host, &peer->port))
			give_up("`%s' is not HOST:PORT", place);
	}
	open_all(argv[node.self + 2]);
	run();
	if (leave) /* the provider's own end is all that its peers see */
		exit(0);
	tell();
	print_table();
	close_all();
	return node.bad;
}
