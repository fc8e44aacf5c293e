/* SPDX-License-Identifier: BSD-2-Clause */
/* litmus_world.c - opening and closing what a test needs. */
#include "tools/litmus/litmus_world.h"

#include <errno.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void litmus_die(const char *format, ...)
{
	va_list list;

	fflush(stdout);
	fputs("emu_litmus: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(2);
}

void litmus_must(long rc, const char *call)
{
	if (rc)
		litmus_die("%s: %s", call, fi_strerror((int)-rc));
}

static struct fi_info *find_emu(const struct litmus *test, uint64_t order)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	int rc;

	if (hints)
		hints->fabric_attr->prov_name = strdup("emu");
	if (!hints || !hints->fabric_attr->prov_name)
		litmus_die("out of memory");
	hints->caps = FI_TAGGED | FI_RMA | FI_ATOMIC | test->caps;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
	rc = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	if (rc)
		litmus_die("fi_getinfo finds no provider emu (%s): run emu_litmus under emurun", fi_strerror(-rc));
	return info;
}

bool world_has_verb(const struct litmus *test, enum verb verb)
{
	for (unsigned i = 0; i < SIDES * STEPS; i++)
		if (test->steps[i / STEPS][i % STEPS].verb == verb)
			return true;
	return false;
}

static void counters_open(struct litmus_world *world, const struct litmus *test, struct litmus_side *side)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };

	if (world_has_verb(test, COUNT))
		litmus_must(fi_cntr_open(world->domain, &attr, &side->counter, NULL), "fi_cntr_open");
	if (world_has_verb(test, MET))
		litmus_must(fi_cntr_open(world->domain, &attr, &side->met, NULL), "fi_cntr_open");
}

static void endpoint_open(struct litmus_world *world, struct litmus_side *side, unsigned i)
{
	uint8_t name[64];
	size_t size = sizeof(name);

	litmus_must(fi_endpoint(world->domain, world->info, &side->ep[i], NULL), "fi_endpoint");
	litmus_must(fi_ep_bind(side->ep[i], &world->av->fid, 0), "fi_ep_bind");
	litmus_must(fi_ep_bind(side->ep[i], &side->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	if (side->counter)
		litmus_must(fi_ep_bind(side->ep[i], &side->counter->fid, FI_SEND | FI_READ | FI_WRITE), "fi_ep_bind");
	if (side->met)
		litmus_must(fi_ep_bind(side->ep[i], &side->met->fid, FI_REMOTE_WRITE), "fi_ep_bind");
	litmus_must(fi_enable(side->ep[i]), "fi_enable");
	litmus_must(fi_getname(&side->ep[i]->fid, name, &size), "fi_getname");
	if (fi_av_insert(world->av, name, 1, &side->address[i], 0, NULL) != 1)
		litmus_die("fi_av_insert does not take an address");
}

static bool has_second_endpoint(const struct step *steps)
{
	for (unsigned i = 0; i < STEPS; i++)
		if (steps[i].ep)
			return true;
	return false;
}

/* A shared mapping of a file, as persistent memory is one. */
static uint8_t *shared_open(size_t bytes)
{
	FILE *file = tmpfile();
	void *memory = MAP_FAILED;

	if (file && !ftruncate(fileno(file), (off_t)bytes))
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (memory == MAP_FAILED)
		litmus_die("no memory for a region: %s", strerror(errno));
	fclose(file);
	return memory;
}

void world_open(struct litmus_world *world, const struct litmus *test, uint64_t order, size_t bytes)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .size = 1 << 14 };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	*world = (struct litmus_world){ .info = find_emu(test, order), .bytes = bytes };
	litmus_must(fi_fabric(world->info->fabric_attr, &world->fabric, NULL), "fi_fabric");
	litmus_must(fi_domain(world->fabric, world->info, &world->domain, NULL), "fi_domain");
	litmus_must(fi_av_open(world->domain, &av_attr, &world->av, NULL), "fi_av_open");
	for (; world->sides < SIDES && test->steps[world->sides][0].verb; world->sides++) {
		struct litmus_side *side = &world->side[world->sides];

		side->memory = shared_open(bytes);
		litmus_must(fi_cq_open(world->domain, &cq_attr, &side->cq, NULL), "fi_cq_open");
		litmus_must(fi_mr_reg(world->domain, side->memory, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, world->sides + 1,
				      test->caps & FI_RMA_PMEM, &side->mr, NULL),
			    "fi_mr_reg");
		side->key = fi_mr_key(side->mr);
		counters_open(world, test, side);
		endpoint_open(world, side, 0);
		if (has_second_endpoint(test->steps[world->sides]))
			endpoint_open(world, side, 1);
	}
}

void world_close(struct litmus_world *world)
{
	for (unsigned i = 0; i < world->sides; i++) {
		struct litmus_side *side = &world->side[i];

		for (unsigned e = 0; e < ENDPOINTS; e++)
			if (side->ep[e])
				litmus_must(fi_close(&side->ep[e]->fid), "fi_close");
		if (side->counter)
			litmus_must(fi_close(&side->counter->fid), "fi_close");
		if (side->met)
			litmus_must(fi_close(&side->met->fid), "fi_close");
		litmus_must(fi_close(&side->mr->fid), "fi_close");
		litmus_must(fi_close(&side->cq->fid), "fi_close");
		munmap(side->memory, world->bytes);
	}
	litmus_must(fi_close(&world->av->fid), "fi_close");
	litmus_must(fi_close(&world->domain->fid), "fi_close");
	litmus_must(fi_close(&world->fabric->fid), "fi_close");
	fi_freeinfo(world->info);
}
