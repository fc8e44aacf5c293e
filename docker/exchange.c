/* SPDX-License-Identifier: BSD-2-Clause */
/* exchange.c - what each node does: it registers an inbox that others may write and an outbox that they may read; tells
 * all others where (HELLO); writes a block into its place in every other's inbox and reads every other's outbox; says so
 * (WRITTEN); checks what arrived; and reports (REPORT). */
#include "docker/node.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK_MAX = 4 << 20, INBOX_MAX = 64 << 20, MIB = 1 << 20 };

size_t block_size(uint32_t count)
{
	size_t share = INBOX_MAX / count / 4096 * 4096;

	return share < BLOCK_MAX ? share : BLOCK_MAX;
}

/* Word i of the block that `from` gives to `to`; an outbox is `from` giving to itself. */
static uint64_t pattern(uint32_t from, uint32_t to, size_t i)
{
	uint64_t x = ((uint64_t)from << 40 | (uint64_t)to << 32) + i + 1;

	x *= 0x9e3779b97f4a7c15u;
	return x ^ x >> 29;
}

static void block_fill(const struct node *node, uint8_t *block, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < node->block / sizeof(uint64_t); i++)
		memcpy(block + i * sizeof(uint64_t), &(uint64_t){ pattern(from, to, i) }, sizeof(uint64_t));
}

static bool block_intact(const struct node *node, const uint8_t *block, uint32_t from, uint32_t to)
{
	uint64_t word;

	for (size_t i = 0; i < node->block / sizeof(uint64_t); i++) {
		memcpy(&word, block + i * sizeof(uint64_t), sizeof(word));
		if (word != pattern(from, to, i))
			return false;
	}
	return true;
}

static struct row *own_row(struct node *node, uint32_t peer)
{
	return &node->peers[node->self].report.report.rows[peer];
}

/* A number of bytes in a file, at the start of it or after a word; or otherwise. */
static uint64_t number_in(const char *path, const char *word, uint64_t otherwise)
{
	FILE *file = fopen(path, "r");
	char line[128];
	unsigned long long value;
	uint64_t found = otherwise;
	size_t skip = strlen(word);

	while (file && fgets(line, sizeof(line), file)) {
		if (!strncmp(line, word, skip) && sscanf(line + skip, "%llu", &value) == 1) {
			found = value;
			break;
		}
	}
	if (file)
		fclose(file);
	return found;
}

/* What is left here, by the machine and by the container's limit of either generation. */
static uint64_t memory_left(void)
{
	uint64_t left = number_in("/proc/meminfo", "MemAvailable:", UINT64_MAX >> 10) << 10;
	uint64_t v2 = number_in("/sys/fs/cgroup/memory.max", "", UINT64_MAX);
	uint64_t v1 = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", "", UINT64_MAX);

	if (v2 < left)
		left = v2;
	return v1 < left ? v1 : left;
}

static void open_regions(struct node *node)
{
	uint64_t need = (node->count + 2) * node->block, left = memory_left();

	if (need > left)
		node_fail(node, "%u nodes take %zu MiB in %s, which has %zu MiB: fewer nodes (--scale), or more memory",
			  node->count, (size_t)(need / MIB), node->peers[node->self].place.name, (size_t)(left / MIB));
	region_open(&node->fabric, &node->inbox, node->count * node->block, FI_REMOTE_WRITE, 1);
	region_open(&node->fabric, &node->outbox, node->block, FI_REMOTE_READ, 2);
	region_open(&node->fabric, &node->work, node->block, FI_READ | FI_WRITE, 3);
	block_fill(node, node->outbox.bytes, node->self, node->self);
}

static void greet(struct node *node, uint32_t to)
{
	struct note note = {
		.kind = NOTE_HELLO,
		.hello = { node->inbox.key, node->inbox.addr, node->outbox.key, node->outbox.addr },
	};
	struct wait wait;

	wait_begin(&wait, node->wait_s, "%s to answer", node->peers[to].place.name);
	if (notes_send_first(node, to, &note, &wait))
		node_fail(node, "%s does not answer %s: %s", node->peers[to].place.name, node->peers[node->self].place.name,
			  fabric_why());
}

static void await_hello(struct node *node, uint32_t peer)
{
	struct wait wait;

	wait_begin(&wait, node->wait_s, "%s to say where it may be written", node->peers[peer].place.name);
	if (!notes_await(node, peer, NOTE_HELLO, &wait))
		node_fail(node, "%s waited %d s for %s", node->peers[node->self].place.name, node->wait_s, wait.what);
}

static void exchange(struct node *node, uint32_t with)
{
	const struct note *hello = &node->peers[with].hello;
	struct row *row = own_row(node, with);
	struct pending moving;

	block_fill(node, node->work.bytes, node->self, with);
	fabric_write(&node->fabric, &node->work, node->block, node->peers[with].addr,
		     hello->hello.inbox_addr + node->self * node->block, hello->hello.inbox_key, &moving);
	row->written = fabric_wait(&node->fabric, &moving) ? 0 : node->block;

	memset(node->work.bytes, 0, node->block);
	fabric_read(&node->fabric, &node->work, node->block, node->peers[with].addr, hello->hello.outbox_addr,
		    hello->hello.outbox_key, &moving);
	row->read = fabric_wait(&node->fabric, &moving) ? 0 : node->block;
	row->intact = block_intact(node, node->work.bytes, with, with);
}

static void tell_written(struct node *node, uint32_t peer)
{
	struct note note = { .kind = NOTE_WRITTEN };

	if (notes_send(node, peer, &note))
		node_fail(node, "%s went away: %s", node->peers[peer].place.name, fabric_why());
}

static void check_inbox(struct node *node, uint32_t peer)
{
	struct wait wait;

	wait_begin(&wait, node->wait_s, "%s to write its block", node->peers[peer].place.name);
	if (!notes_await(node, peer, NOTE_WRITTEN, &wait))
		node_fail(node, "%s waited %d s for %s", node->peers[node->self].place.name, node->wait_s, wait.what);
	own_row(node, peer)->arrived = block_intact(node, node->inbox.bytes + peer * node->block, peer, node->self);
}

static void report(struct node *node)
{
	struct note *note = &node->peers[node->self].report;
	struct wait wait;

	note->kind = NOTE_REPORT;
	if (notes_send(node, node->boss, note))
		give_up("%s went away: %s", node->peers[node->boss].place.name, fabric_why());
	wait_begin(&wait, node->wait_s * 2, "%s to have all reports", node->peers[node->boss].place.name);
	if (!notes_await(node, node->boss, NOTE_BYE, &wait))
		give_up("waited %d s for %s", node->wait_s * 2, wait.what);
}

/* Calls step(node, peer) for all peers but this node itself. Each begins with the one after it, so that not all turn to
 * the same one at the same time. */
static void for_peers(struct node *node, void (*step)(struct node *, uint32_t))
{
	for (uint32_t i = 1; i < node->count; i++)
		step(node, (node->self + i) % node->count);
}

bool node_exchange(struct node *node)
{
	int64_t began;
	bool good = true;

	node->block = block_size(node->count);
	open_regions(node);
	for_peers(node, greet);
	for_peers(node, await_hello);
	began = clock_ms();
	for_peers(node, exchange);
	node->peers[node->self].report.report.took_ms = (uint64_t)(clock_ms() - began);
	for_peers(node, tell_written);
	for_peers(node, check_inbox);
	if (node->self == node->boss)
		good = table_collect(node);
	else
		report(node);
	region_close(&node->inbox);
	region_close(&node->outbox);
	region_close(&node->work);
	return good;
}
