/* SPDX-License-Identifier: BSD-2-Clause */
/* world.c - one of each object. */
#include "tests/fi/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { GUARD_S = 30 }; /* a hang guard, no promise of speed */

void world_need_emu(void)
{
	const char *provider = getenv("FI_PROVIDER");

	if (provider && strcmp(provider, "emu"))
		cr_skip_test("about the provider emu alone");
}

bool world_has(uint32_t api)
{
	return fi_version() >= api;
}

struct fi_info *world_hints(const struct want *want)
{
	struct fi_info *hints = fi_allocinfo();

	cr_assert(hints);
	hints->ep_attr->type = want->type ? want->type : FI_EP_RDM;
	hints->caps = want->caps;
	hints->domain_attr->mr_mode = want->mr_mode;
	hints->tx_attr->op_flags = want->op_flags;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = want->msg_order;
	hints->ep_attr->mem_tag_format = want->tag_format;
	hints->fabric_attr->prov_name = strdup("emu");
	return hints;
}

int world_getinfo(const struct want *want, struct fi_info *hints, struct fi_info **info)
{
	int err = fi_getinfo(want->api ? want->api : FI_VERSION(1, 17), NULL, NULL, 0, hints, info);

	fi_freeinfo(hints);
	return err;
}

static void open_queues(struct world *world, const struct want *want)
{
	struct fi_eq_attr eq_attr = { .flags = want->eq_flags, .wait_obj = want->wait_obj };
	struct fi_cq_attr cq_attr = {
		.format = want->format ? want->format : FI_CQ_FORMAT_TAGGED,
		.wait_obj = want->wait_obj,
	};
	struct fi_cntr_attr cntr_attr = { .wait_obj = want->wait_obj };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE, .flags = want->av_flags };

	RC(0, fi_eq_open(world->fabric, &eq_attr, &world->eq, NULL));
	RC(0, fi_cq_open(world->domain, &cq_attr, &world->cq, NULL));
	RC(0, fi_cntr_open(world->domain, &cntr_attr, &world->cntr, NULL));
	RC(0, fi_av_open(world->domain, &av_attr, &world->av, NULL));
}

void world_open_disabled(struct world *world, const struct want *want)
{
	world_need_emu();
	memset(world, 0, sizeof(*world));
	RC(0, world_getinfo(want, world_hints(want), &world->info));
	if (want->fabric_api)
		world->info->fabric_attr->api_version = want->fabric_api;
	RC(0, fi_fabric(world->info->fabric_attr, &world->fabric, NULL));
	RC(0, fi_domain(world->fabric, world->info, &world->domain, NULL));
	open_queues(world, want);
	RC(0, fi_endpoint(world->domain, world->info, &world->ep, NULL));
	RC(0, fi_ep_bind(world->ep, &world->av->fid, 0));
	RC(0, fi_ep_bind(world->ep, &world->cq->fid, FI_TRANSMIT | FI_RECV | want->bind));
	RC(0, fi_ep_bind(world->ep, &world->cntr->fid, FI_SEND | FI_RECV | FI_READ | FI_WRITE));
	RC(0, fi_ep_bind(world->ep, &world->eq->fid, 0));
}

void world_enable(struct world *world)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);

	RC(0, fi_enable(world->ep));
	RC(0, fi_getname(&world->ep->fid, &name, &length));
	RC(1, fi_av_insert(world->av, &name, 1, &world->self, 0, NULL));
}

void world_open(struct world *world, const struct want *want)
{
	world_open_disabled(world, want);
	world_enable(world);
}

void world_close(struct world *world)
{
	if (world->ep) /* a test may have closed it */
		RC(0, fi_close(&world->ep->fid));
	RC(0, fi_close(&world->av->fid));
	RC(0, fi_close(&world->cntr->fid));
	RC(0, fi_close(&world->cq->fid));
	RC(0, fi_close(&world->domain->fid)); /* to which a test may have bound the event queue */
	RC(0, fi_close(&world->eq->fid));
	RC(0, fi_close(&world->fabric->fid));
	fi_freeinfo(world->info);
}

ssize_t world_next(struct world *world, void *entry)
{
	time_t end = time(NULL) + GUARD_S;
	ssize_t got;

	do {
		got = fi_cq_read(world->cq, entry, 1);
	} while (got == -FI_EAGAIN && time(NULL) < end);
	cr_assert(got != -FI_EAGAIN, "nothing completes");
	return got;
}

int world_catch_log(const char *level)
{
	int fd = memfd_create("log", 0);

	setenv("FI_LOG_LEVEL", level, 1);
	cr_assert(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
	return fd;
}

const char *world_logged(int log)
{
	static char text[1 << 16];
	ssize_t got;

	fflush(stderr);
	got = pread(log, text, sizeof(text) - 1, 0);
	cr_assert(got >= 0);
	text[got] = '\0';
	cr_assert(!ftruncate(log, 0) && !lseek(log, 0, SEEK_SET));
	return text;
}
