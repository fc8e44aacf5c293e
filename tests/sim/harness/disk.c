/* SPDX-License-Identifier: BSD-2-Clause */
/* disk.c - flushes in virtual time. */
#include "tests/sim/harness/disk.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

struct write_out {
	struct write_out *next;
	struct flush *flush;
	uint64_t due_ns;
};

static void disk_begin(void *arg, struct flush *flush)
{
	struct node *node = arg;
	struct world *world = node->world;
	struct write_out *out = malloc(sizeof(*out));

	assert(out && flush->count);
	*out = (struct write_out){
		.next = node->disk,
		.flush = flush,
		.due_ns = world->now_ns + rnd_below(&world->rnd, world->weather.flush_max_ns + 1),
	};
	node->disk = out;
	node->flushes++;
}

const struct flush_ops disk_ops = { .begin = disk_begin };

static void finish(struct node *node, struct flush *flush)
{
	struct world *world = node->world;
	bool fails = world->weather.flush_fail_percent && rnd_percent(&world->rnd, world->weather.flush_fail_percent);

	flush->result = fails ? -EIO : 0;
	if (!fails && world->durable && !atomic_load(&flush->unwanted))
		world->durable(world->durable_arg, flush);
	nic_flushed(node->nic, flush);
}

bool disk_run(struct node *node)
{
	struct write_out **at = &node->disk, *out;
	bool did = false;

	while ((out = *at)) {
		if (node->disk_stuck || out->due_ns > node->world->now_ns) {
			at = &out->next;
			continue;
		}
		*at = out->next;
		finish(node, out->flush);
		free(out);
		did = true;
		at = &node->disk; /* it may have begun others */
	}
	return did;
}

uint64_t disk_next_ns(const struct node *node)
{
	uint64_t next = UINT64_MAX;

	for (const struct write_out *out = node->disk; out && !node->disk_stuck; out = out->next)
		next = out->due_ns < next ? out->due_ns : next;
	return next;
}

void disk_free(struct node *node)
{
	struct write_out *out;

	while ((out = node->disk)) {
		node->disk = out->next;
		free(out);
	}
}
