/* SPDX-License-Identifier: BSD-2-Clause */
/* world.c - nodes, turns, and virtual time. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "tests/sim/harness/disk.h"
#include "tests/sim/harness/lines.h"
#include "tests/sim/harness/scarce.h"
#include "tests/sim/harness/tap.h"

enum { STUCK_ROUNDS = 20000, STEP_NS = 1000 };

uint64_t world_seed(uint64_t otherwise)
{
	const char *text = getenv("SIM_SEED");

	return text ? strtoull(text, NULL, 0) : otherwise;
}

struct world *world_open(uint64_t seed)
{
	struct world *world = calloc(1, sizeof(*world));

	assert(world);
	world->seed = seed;
	world->rnd.state = seed;
	world->now_ns = SIM_SECOND;
	world->until_ns = UINT64_MAX;
	world->next_port = 4000;
	world->weather = (struct weather){
		.capacity = 64 * 1024,
		.delay_max_ns = 20000,
		.dial_max_ns = 50000,
		.flush_max_ns = 200000,
	};
	return world;
}

void world_fail(const struct world *world, const char *format, ...)
{
	va_list args;

	if (world->storm)
		fprintf(stderr, "sim_random --replay %s at %llu ns: ", world->storm, (unsigned long long)world->now_ns);
	else
		fprintf(stderr, "SIM_SEED=%llu at %llu ns: ", (unsigned long long)world->seed, (unsigned long long)world->now_ns);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	for (int i = 0; i < world->faults; i++)
		fprintf(stderr, "  fault %d: kind %d cable %u dir %u at %llu %s\n", i, world->fault[i].kind, world->fault[i].cable,
			world->fault[i].dir, (unsigned long long)world->fault[i].at, world->fault[i].spent ? "(happened)" : "");
	abort();
}

static uint64_t node_now(void *arg)
{
	return ((const struct node *)arg)->world->now_ns;
}

struct node *node_open(struct world *world, const struct nic_config *config)
{
	struct nic_config own = config ? *config : (struct nic_config){ 0 };
	struct node *node = calloc(1, sizeof(*node));
	struct nic_clock clock = { .now_ns = node_now, .arg = node };
	struct nic *nic;
	int rc;

	assert(node && world->nodes < WORLD_NODES);
	node->world = world;
	node->digested = LIMIT_DIGESTED_LOCAL;
	node->id = world->nodes;
	own.front = &plain_front;
	own.debug |= getenv("SIM_TRACE") != NULL;
	own.flush = &disk_ops;
	own.flush_arg = node;
	rc = nic_open(&nic, &own, &lines_ops, node, &clock);
	WORLD_CHECK(world, !rc, "nic_open: %d", rc);
	node->nic = nic;
	world->node[world->nodes++] = node;
	return node;
}

void node_enter(struct node *node)
{
	WORLD_CHECK(node->world, driver_enter(nic_driver(node->nic)), "the driver role is not free");
}

void node_leave(struct node *node)
{
	driver_leave(nic_driver(node->nic));
}

void node_kill(struct node *node)
{
	node->dead = true;
	lines_kill(node);
}

void node_cut_off(struct node *node, bool off)
{
	node->cut_off = off;
	node->cut_off_ns = node->world->now_ns;
}

void node_close(struct node *node)
{
	int open;

	if (!node->nic)
		return;
	node_enter(node);
	nic_close(node->nic);
	node->nic = NULL;
	open = node->dead ? 0 : lines_open(node);
	WORLD_CHECK(node->world, !open, "node %d left %d lines open", node->id, open);
	node->dead = true;
}

void world_close(struct world *world)
{
	for (int i = 0; i < world->nodes; i++) {
		node_close(world->node[i]);
		disk_free(world->node[i]);
		free(world->node[i]);
	}
	lines_free(world);
	tap_free_all(world);
	free(world);
}

void node_look(struct node *node, bool on)
{
	if (nic_is_polling(node->nic) == on)
		return;
	node_enter(node);
	nic_set_polling(node->nic, on);
	node_leave(node);
}

bool node_run(struct node *node)
{
	struct world *world = node->world;
	uint64_t moves = world->moves;
	bool did = disk_run(node);

	scarce_begin(world);
	if (rnd_percent(&world->rnd, 70)) {
		node_look(node, true);
		did |= driver_run(nic_driver(node->nic)); /* the program polls */
	} else {
		node_enter(node); /* the NIC thread serves */
		did |= nic_work(node->nic);
		nic_set_polling(node->nic, false);
		nic_flush_acks(node->nic);
		node_leave(node);
	}
	scarce_end();
	return did || moves != world->moves;
}

bool node_logged(const struct node *node, const char *part)
{
	for (uint32_t i = 0; i < NODE_LOG_LINES; i++)
		if (strstr(node->log[i], part))
			return true;
	return false;
}

static bool runs(const struct node *node)
{
	return !node->dead && !node->asleep;
}

/* The time of the next event: on a stream, or a timer of a device. */
static uint64_t next_ns(const struct world *world)
{
	uint64_t next = lines_next_ns(world);

	for (int i = 0; i < world->nodes; i++) {
		uint64_t due = runs(world->node[i]) ? nic_deadline(world->node[i]->nic) : UINT64_MAX;

		next = due < next ? due : next;
		due = runs(world->node[i]) ? disk_next_ns(world->node[i]) : UINT64_MAX;
		next = due < next ? due : next;
	}
	return next;
}

/* All nodes were idle: lets time pass. */
static bool world_wait(struct world *world)
{
	uint64_t next = next_ns(world);

	if (next == UINT64_MAX)
		return false;
	next = next < world->until_ns ? next : world->until_ns;
	if (next > world->now_ns) {
		world->now_ns = next;
		world->stuck = 0;
		return true;
	}
	WORLD_CHECK(world, world->stuck++ < STUCK_ROUNDS, "stuck: something is due since %llu ns, and no node acts",
		    (unsigned long long)next);
	return true;
}

static struct node *pick(struct world *world)
{
	if (world->idle) {
		world->turn = (world->turn + 1) % world->nodes;
		return world->node[world->turn];
	}
	return world->node[rnd_below(&world->rnd, (uint64_t)world->nodes)];
}

bool world_breaks(const struct world *world)
{
	return world->weather.cut_mean || world->weather.flip_mean || world->weather.scarce_permille;
}

bool world_idle(const struct world *world)
{
	return world->idle >= 2 * world->nodes;
}

bool world_step(struct world *world)
{
	struct node *node = pick(world);

	world->now_ns += rnd_below(&world->rnd, STEP_NS);
	if (runs(node) && node_run(node)) {
		world->idle = 0;
		world->stuck = 0;
		lines_sweep(world);
		return true;
	}
	if (!world_idle(world)) {
		world->idle++;
		return true;
	}
	world->idle = 0;
	return world_wait(world);
}

bool world_run(struct world *world, bool (*done)(void *arg), void *arg, uint64_t limit_ns)
{
	uint64_t until = world->now_ns + limit_ns;

	while (!done(arg)) {
		if (world->now_ns >= until)
			return false;
		if (!world_step(world))
			return done(arg);
	}
	return true;
}

void world_pass(struct world *world, uint64_t ns)
{
	uint64_t until = world->now_ns + ns;

	world_until(world, until);
	while (world->now_ns < until && world_step(world))
		;
	world_until(world, UINT64_MAX);
}

void world_until(struct world *world, uint64_t ns)
{
	world->until_ns = ns;
}

void world_fault(struct world *world, enum fault_kind kind, uint32_t cable, uint8_t dir, uint64_t at)
{
	assert(world->faults < WORLD_FAULTS);
	world->fault[world->faults++] = (struct fault){ .kind = kind, .cable = cable, .dir = dir, .at = at, .bits = 0x10 };
}

void world_poison(struct world *world, void *base, size_t length)
{
	assert(world->poisons < WORLD_POISONS && !mprotect(base, length, PROT_NONE));
	world->poison[world->poisons++] = (struct poison){ .base = base, .length = length };
}

void world_heal(struct world *world, void *base)
{
	for (int i = 0; i < world->poisons; i++) {
		if (world->poison[i].base != base)
			continue;
		mprotect(base, world->poison[i].length, PROT_READ | PROT_WRITE);
		world->poison[i] = world->poison[--world->poisons];
		return;
	}
}
