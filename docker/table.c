/* SPDX-License-Identifier: BSD-2-Clause */
/* table.c - who is there, and what all of them did: finds the nodes by name, starts them, and prints their reports. */
#include "docker/node.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { SETTLE_MS = 3000, LIST_SIZE = 160 };

/* The hosts to be asked for, and those that were found. One more than there may be is room enough to see that. */
struct search {
	const char *hosts[NODES_MAX], *ports[NODES_MAX];
	size_t names;
	const char *missing; /* the first name that does not resolve */
	struct place found[NODES_MAX];
	size_t count; /* may be more than NODES_MAX, of which found[] has none */
	struct place seen[NODES_MAX]; /* all that were found at any time, but for those past NODES_MAX */
	size_t seen_count;
};

static void remember(struct search *search, const struct place *place)
{
	for (size_t i = 0; i < search->seen_count; i++) {
		if (place_same(&search->seen[i], place))
			return;
	}
	if (search->seen_count < NODES_MAX)
		search->seen[search->seen_count++] = *place;
}

static void look(struct search *search)
{
	size_t count = 0;

	search->missing = NULL;
	for (size_t i = 0; i < search->names; i++) {
		size_t used = count < NODES_MAX ? count : NODES_MAX;
		size_t more = place_find(search->hosts[i], search->ports[i], search->found + used, NODES_MAX - used);

		if (!more && !search->missing)
			search->missing = search->hosts[i];
		count += more;
	}
	search->count = count;
	if (count > NODES_MAX)
		give_up("%zu nodes are there, and a table takes at most %d: start fewer (--scale node=%d)", count, NODES_MAX,
			NODES_MAX);
	place_name_all(search->found, search->count);
	for (size_t i = 0; i < search->count; i++)
		remember(search, &search->found[i]);
}

/* Appends a name and a comma, while there is room. */
static void list_add(char list[LIST_SIZE], const char *name)
{
	size_t used = strlen(list);

	if (used + strlen(name) + sizeof(", ...") < LIST_SIZE)
		sprintf(list + used, "%s%s", used ? ", " : "", name);
	else if (used && !strstr(list, "..."))
		strcat(list, " ...");
}

static _Noreturn void too_few(const struct search *search, int expected, int wait_s)
{
	char list[LIST_SIZE] = "";

	for (size_t i = 0; i < search->count; i++)
		list_add(list, search->found[i].name);
	if (search->missing)
		give_up("the name `%s' does not resolve, after %d s: start that service, in the table's network (docker compose ps "
			"shows what runs)",
			search->missing, wait_s);
	if (expected)
		give_up("%zu of %d nodes (EMU_NODES) came in %d s: %s. Start the others (--scale node=%d), or wait longer "
			"(EMU_WAIT_S)",
			search->count, expected, wait_s, list, expected);
	give_up("only %s came in %d s, and it takes two: start more (--scale node=4)", list, wait_s);
}

/* The table is told to stop. Compose tells all so when one container has ended: then this says which, and does not return. */
static void name_ended(const struct place *places, size_t count)
{
	char list[LIST_SIZE] = "";

	for (size_t i = 0; i < count && i < NODES_MAX; i++) {
		if (!place_stands(&places[i]))
			list_add(list, places[i].name);
	}
	if (*list)
		give_up("stopped, and %s had ended before: see the log there (docker compose logs), and start all anew", list);
}

/* Waits until as many have come as EMU_NODES says, or, without it, until no more come for SETTLE_MS. */
static void await_nodes(struct search *search, int wait_s)
{
	int expected = setting("EMU_NODES", 2, NODES_MAX, 0);
	int64_t since = clock_ms();
	struct wait wait;
	size_t before = 0;

	wait_begin(&wait, wait_s, "the nodes to have addresses");
	for (;; wait_pause()) {
		if (wait_stopped())
			name_ended(search->seen, search->seen_count);
		look(search);
		if (expected && search->count > (size_t)expected)
			give_up("%zu nodes are there, and EMU_NODES is %d: set it to %zu, or start fewer (--scale node=%d)",
				search->count, expected, search->count, expected);
		if (search->count != before) {
			since = clock_ms();
			printf("table: %zu node%s there\n", search->count, search->count == 1 ? " is" : "s are");
		}
		before = search->count;
		if (!search->missing && (expected ? before == (size_t)expected : before > 1 && clock_ms() - since >= SETTLE_MS))
			return;
		if (!wait_goes_on(&wait))
			too_few(search, expected, wait_s);
	}
}

/* Tells the nodes that it is in vain to go on. A node that cannot be reached needs no telling. */
static void tell_trouble(struct node *node, const char *trouble)
{
	struct note note = { .kind = NOTE_TROUBLE };

	fprintf(stderr, "%s\n", trouble);
	snprintf(note.trouble, sizeof(note.trouble), "%s", trouble);
	for (uint32_t i = 0; i < node->count; i++) {
		if (i != node->self && !node->peers[i].has[NOTE_TROUBLE] && node->peers[i].addr != FI_ADDR_UNSPEC)
			notes_send(node, i, &note);
	}
}

static bool start(struct node *node, const struct search *search)
{
	struct note note = { .kind = NOTE_START, .start.count = node->count };
	char text[PLACE_TEXT_SIZE], trouble[TROUBLE_SIZE];
	struct wait wait;

	fabric_place(&node->fabric, &note.start.table);
	memcpy(note.start.nodes, search->found, sizeof(note.start.nodes));
	for (uint32_t i = 0; i < node->count; i++)
		node->peers[i].addr = FI_ADDR_UNSPEC;
	for (uint32_t i = 0; i < node->count; i++) {
		notes_meet(node, i, &search->found[i]);
		note.start.self = i;
		wait_begin(&wait, node->wait_s, "%s to answer at %s", search->found[i].name, place_text(&search->found[i], text));
		if (!notes_send_first(node, i, &note, &wait))
			continue;
		snprintf(trouble, sizeof(trouble),
			 "%.56s has the address %s and does not answer there, after %d s (%.180s): see "
			 "its log, and start it anew",
			 search->found[i].name, text, node->wait_s, fabric_why());
		node->peers[i].addr = FI_ADDR_UNSPEC;
		tell_trouble(node, trouble);
		return false;
	}
	return true;
}

static void name_silent(const struct node *node, char trouble[TROUBLE_SIZE])
{
	char list[LIST_SIZE] = "";

	for (uint32_t i = 0; i < node->count; i++) {
		if (i != node->self && !node->peers[i].has[NOTE_REPORT])
			list_add(list, node->peers[i].place.name);
	}
	snprintf(trouble, TROUBLE_SIZE, "no report for %d s from %s: see the log there, or wait longer (EMU_WAIT_S)", node->wait_s,
		 list);
}

/* As name_ended(), of the nodes whose reports are missing. */
static void name_ended_silent(const struct node *node)
{
	struct place places[NODES_MAX];
	size_t count = 0;

	for (uint32_t i = 0; i < node->count; i++) {
		if (i != node->self && !node->peers[i].has[NOTE_REPORT])
			places[count++] = node->peers[i].place;
	}
	name_ended(places, count);
}

/* Counts the reports. True if there is trouble, which is said in words. */
static bool any_trouble(const struct node *node, uint32_t *reports, char trouble[TROUBLE_SIZE])
{
	*reports = 0;
	for (uint32_t i = 0; i < node->count; i++) {
		*reports += i == node->self || node->peers[i].has[NOTE_REPORT];
		if (node->peers[i].has[NOTE_TROUBLE]) {
			snprintf(trouble, TROUBLE_SIZE, "%.56s: %.300s", node->peers[i].place.name, node->peers[i].trouble);
			return true;
		}
	}
	return false;
}

static bool await_reports(struct node *node)
{
	uint32_t reports = 0, before = UINT32_MAX;
	char trouble[TROUBLE_SIZE];
	struct wait wait;

	for (;;) {
		if (any_trouble(node, &reports, trouble))
			break;
		if (reports == node->count)
			return true;
		if (wait_stopped())
			name_ended_silent(node);
		if (reports != before) {
			name_silent(node, trouble);
			wait_begin(&wait, node->wait_s, "the reports of %u nodes", node->count - reports);
		}
		before = reports;
		if (!wait_goes_on(&wait))
			break;
		notes_take(node);
	}
	tell_trouble(node, trouble);
	return false;
}

/* Prints a line for a node, and one more for each peer with which something went wrong; true if nothing did. */
static bool print_node(const struct node *node, uint32_t i)
{
	const struct peer *peer = &node->peers[i];
	uint64_t written = 0, read = 0;
	uint32_t arrived = 0, intact = 0, others = node->count - 1;
	char text[PLACE_TEXT_SIZE];

	if (i != node->self && !peer->has[NOTE_REPORT]) {
		printf("%4u  %-22s %-22s no report\n", i, peer->place.name, place_text(&peer->place, text));
		return false;
	}
	for (uint32_t to = 0; to < node->count; to++) {
		if (to == i)
			continue;
		written += peer->report.report.rows[to].written;
		read += peer->report.report.rows[to].read;
		intact += peer->report.report.rows[to].intact;
		arrived += node->peers[to].report.report.rows[i].arrived;
	}
	printf("%4u  %-22s %-22s %12" PRIu64 " %3u of %-3u %12" PRIu64 " %3u of %-3u %6" PRIu64 "\n", i, peer->place.name,
	       place_text(&peer->place, text), written, arrived, others, read, intact, others, peer->report.report.took_ms);
	for (uint32_t to = 0; to < node->count; to++) {
		if (to != i && !node->peers[to].report.report.rows[i].arrived)
			printf("      what it wrote to %s did not arrive intact\n", node->peers[to].place.name);
		if (to != i && !peer->report.report.rows[to].intact)
			printf("      what it read from %s is not intact\n", node->peers[to].place.name);
	}
	return arrived == others && intact == others && written == others * node->block && read == others * node->block;
}

static bool print_table(const struct node *node)
{
	bool good = true;

	printf("\n%4s  %-22s %-22s %12s %-10s %12s %-10s %6s\n", "rank", "node", "address", "written B", "  intact", "read B",
	       "  intact", "ms");
	for (uint32_t i = 0; i < node->count; i++)
		good &= print_node(node, i);
	printf("%s: %u nodes, %zu B each way between each two\n", good ? "all moved and intact" : "NOT all moved and intact",
	       node->count, node->block);
	return good;
}

bool table_collect(struct node *node)
{
	struct note bye = { .kind = NOTE_BYE };
	bool came = await_reports(node);
	bool good = print_table(node) && came;

	/* A node that cannot be told has ended by itself: its report is here, and nothing is lost. */
	for (uint32_t i = 0; came && i < node->count; i++) {
		if (i != node->self)
			notes_send(node, i, &bye);
	}
	return good;
}

/* Says which nodes have come since the start; true if none has. */
static bool none_late(struct search *search, const struct node *node)
{
	bool none = true;

	look(search);
	for (size_t i = 0; i < search->count; i++) {
		bool known = false;

		for (uint32_t k = 0; k < node->count && !known; k++)
			known = place_same(&search->found[i], &node->peers[k].place);
		if (!known)
			fprintf(stderr,
				"%s came late and was left out: set EMU_NODES to the number of nodes, which is waited for\n",
				search->found[i].name);
		none &= known;
	}
	return none;
}

bool table_run(struct node *node, char **names, size_t count)
{
	static struct search search;
	bool good;

	if (count > NODES_MAX)
		give_up("%zu names are given, and a table takes at most %d nodes", count, NODES_MAX);
	search.names = count;
	for (size_t i = 0; i < count; i++) {
		if (!place_split(names[i], &search.hosts[i], &search.ports[i]))
			give_up("`%s' is neither HOST nor HOST:PORT", names[i]);
	}
	printf("table: looks for nodes named %s (for at most %d s)\n", names[0], node->wait_s);
	await_nodes(&search, node->wait_s);
	node->self = node->boss = TABLE;
	node->count = (uint32_t)search.count;
	node->block = block_size(node->count);
	notes_open(node, NULL, NULL);
	printf("table: starts %u nodes by provider %s\n", node->count, node->fabric.info->fabric_attr->prov_name);
	good = start(node, &search) && table_collect(node) && none_late(&search, node);
	notes_close(node);
	return good;
}
