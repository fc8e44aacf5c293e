/* SPDX-License-Identifier: BSD-2-Clause */
/* node.c - one of several nodes, each in a container of its own, that write to and read from each other; or the table,
 * which finds the nodes, gives each its rank and its peers, and prints what they did.
 *
 *   emu-node --table NAME...	NAME: a host name, of which each address is a node, or HOST:PORT
 *   emu-node --join [HOST:PORT]	a node that waits for the table; without an address the provider chooses
 *   emu-node SELF HOST:PORT HOST:PORT...	SELF counts from 0 and names the node's own entry; node 0 prints the table
 *
 * EMU_NODES: how many nodes the table waits for; without it, until no more come. EMU_WAIT_S: seconds that each wait may
 * take. EMU_FAMILY: 4 or 6, for hosts that have addresses of both kinds.
 * Everything goes through libfabric: there is no other channel. Exit status 0 if all arrived intact. */
#include "docker/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void usage(void)
{
	give_up("usage: emu-node --table NAME[:PORT]...\n"
		"       emu-node --join [HOST:PORT]\n"
		"       emu-node SELF HOST:PORT HOST:PORT...   (2 to %d nodes)",
		NODES_MAX);
}

/* The first address of a name, waiting while it does not resolve yet. */
static void find_one(const struct node *node, char *text, struct place *out)
{
	struct wait wait;
	const char *host, *port;

	if (!place_split(text, &host, &port))
		give_up("`%s' is not HOST:PORT", text);
	wait_begin(&wait, node->wait_s, "the name `%s' to resolve", host);
	while (!place_find(host, port, out, 1)) {
		if (!wait_goes_on(&wait))
			give_up("the name `%s' does not resolve, after %d s: start that host, in this network", host, node->wait_s);
		wait_pause();
	}
	snprintf(out->name, sizeof(out->name), "%.55s", host);
}

static bool run_listed(struct node *node, int argc, char **argv)
{
	struct place places[NODES_MAX];
	char *end;
	bool good;

	node->self = (uint32_t)strtoul(argv[1], &end, 10);
	node->count = (uint32_t)argc - 2;
	if (*end || node->count < 2 || node->count > NODES_MAX || node->self >= node->count)
		usage();
	for (uint32_t i = 0; i < node->count; i++)
		find_one(node, argv[i + 2], &places[i]);
	notes_open(node, &places[node->self], NULL);
	for (uint32_t i = 0; i < node->count; i++)
		notes_meet(node, i, &places[i]);
	printf("%s: provider %s\n", places[node->self].name, node->fabric.info->fabric_attr->prov_name);
	good = node_exchange(node);
	notes_close(node);
	return good;
}

static bool run_joining(struct node *node, char *at)
{
	struct place place;
	struct wait wait;
	char text[PLACE_TEXT_SIZE];
	bool good;

	wait_stop_later();
	if (at)
		find_one(node, at, &place);
	notes_open(node, at ? &place : NULL, PLACE_PORT);
	fabric_place(&node->fabric, &place);
	printf("node: listens at %s, and waits for the table (for at most %d s)\n", place_text(&place, text), 2 * node->wait_s);
	node->boss = TABLE;
	wait_begin(&wait, 2 * node->wait_s, "the table to start this node at %s", text);
	if (!notes_await(node, TABLE, NOTE_START, &wait))
		give_up("no table has started the node at %s in %d s: start the service `table', in this network; a table that has "
			"begun already does not take it",
			text, 2 * node->wait_s);
	node->self = node->start.start.self;
	node->count = node->start.start.count;
	if (node->count < 2 || node->count > NODES_MAX || node->self >= node->count)
		give_up("what the table says makes no sense: do all run the same image?");
	notes_meet(node, TABLE, &node->start.start.table);
	snprintf(node->peers[TABLE].place.name, PLACE_NAME_SIZE, "the table");
	for (uint32_t i = 0; i < node->count; i++)
		notes_meet(node, i, &node->start.start.nodes[i]);
	printf("node: is %s, rank %u of %u\n", node->peers[node->self].place.name, node->self, node->count);
	good = node_exchange(node);
	notes_close(node);
	return good;
}

int main(int argc, char **argv)
{
	static struct node node;
	bool good;

	setvbuf(stdout, NULL, _IOLBF, 0);
	wait_setup();
	node.wait_s = setting("EMU_WAIT_S", WAIT_S_MIN, WAIT_S_MAX, NODE_WAIT_S);
	if (argc > 2 && !strcmp(argv[1], "--table"))
		good = table_run(&node, argv + 2, (size_t)argc - 2);
	else if ((argc == 2 || argc == 3) && !strcmp(argv[1], "--join"))
		good = run_joining(&node, argv[2]);
	else if (argc > 3 && argv[1][0] != '-')
		good = run_listed(&node, argc, argv);
	else
		usage();
	return good ? 0 : 1;
}
