/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.c - one libfabric endpoint, its regions and its ops; see fabric.h. */
#include "docker/fabric.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum { PATIENCE_S = 60, PAUSE_MS = 100 };

_Noreturn void give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void check(int64_t err, const char *what)
{
	if (err < 0)
		give_up("%s: %s", what, fi_strerror((int)-err));
}

void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static struct fi_info *make_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		give_up("out of memory");
	hints->caps = FI_MSG | FI_RMA;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	hints->fabric_attr->prov_name = getenv("FI_PROVIDER") ? strdup(getenv("FI_PROVIDER")) : NULL;
	return hints;
}

static struct fi_info *find_info(const char *host, const char *port)
{
	struct fi_info *hints = make_hints(), *info = NULL;
	int err = -FI_ENODATA;

	for (int tries = 0; tries < PATIENCE_S * 1000 / PAUSE_MS; tries++) {
		err = fi_getinfo(FI_VERSION(1, 17), host, port, FI_SOURCE, hints, &info);
		if (!err)
			break;
		pause_ms(PAUSE_MS);
	}
	if (err)
		give_up("no provider for %s:%s: %s", host, port, fi_strerror(-err));
	fi_freeinfo(hints);
	return info;
}

void fabric_open(struct fabric *fabric, const char *host, const char *port)
{
	struct fi_av_attr av = { .type = FI_AV_UNSPEC };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_UNSPEC, .size = 256 };

	fabric->info = find_info(host, port);
	check(fi_fabric(fabric->info->fabric_attr, &fabric->fabric, NULL), "fi_fabric");
	check(fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL), "fi_domain");
	check(fi_av_open(fabric->domain, &av, &fabric->av, NULL), "fi_av_open");
	check(fi_cq_open(fabric->domain, &cq, &fabric->cq, NULL), "fi_cq_open");
	check(fi_endpoint(fabric->domain, fabric->info, &fabric->ep, NULL), "fi_endpoint");
	check(fi_ep_bind(fabric->ep, &fabric->av->fid, 0), "binding the address vector");
	check(fi_ep_bind(fabric->ep, &fabric->cq->fid, FI_TRANSMIT | FI_RECV), "binding the completion queue");
	check(fi_enable(fabric->ep), "fi_enable");
}

void fabric_close(struct fabric *fabric)
{
	check(fi_close(&fabric->ep->fid), "closing the endpoint");
	check(fi_close(&fabric->cq->fid), "closing the completion queue");
	check(fi_close(&fabric->av->fid), "closing the address vector");
	check(fi_close(&fabric->domain->fid), "closing the domain");
	check(fi_close(&fabric->fabric->fid), "closing the fabric");
	fi_freeinfo(fabric->info);
}

fi_addr_t fabric_peer(struct fabric *fabric, const char *host, const char *port)
{
	fi_addr_t addr;

	for (int tries = 0; tries < PATIENCE_S * 1000 / PAUSE_MS; tries++) {
		if (fi_av_insertsvc(fabric->av, host, port, &addr, 0, NULL) == 1)
			return addr;
		pause_ms(PAUSE_MS);
	}
	give_up("no address for %s:%s", host, port);
}

void region_open(struct fabric *fabric, struct region *region, size_t len, uint64_t access, uint64_t key_wanted)
{
	int mode = fabric->info->domain_attr->mr_mode;

	region->len = len;
	region->bytes = calloc(1, len);
	if (!region->bytes)
		give_up("out of memory");
	check(fi_mr_reg(fabric->domain, region->bytes, len, access, 0, key_wanted, 0, &region->mr, NULL), "fi_mr_reg");
	if (mode & FI_MR_ENDPOINT) {
		check(fi_mr_bind(region->mr, &fabric->ep->fid, 0), "fi_mr_bind");
		check(fi_mr_enable(region->mr), "fi_mr_enable");
	}
	region->key = fi_mr_key(region->mr);
	region->addr = mode & FI_MR_VIRT_ADDR ? (uintptr_t)region->bytes : 0;
}

void region_close(struct region *region)
{
	check(fi_close(&region->mr->fid), "closing a region");
	free(region->bytes);
}

/* Takes what has completed and marks the ops. */
static void fabric_poll(struct fabric *fabric)
{
	struct fi_cq_entry done;
	struct fi_cq_err_entry failed = { 0 };
	struct pending *pending;
	ssize_t got = fi_cq_sread(fabric->cq, &done, 1, NULL, PAUSE_MS);
	char text[512];

	if (got == 1) {
		pending = done.op_context;
		pending->state = PENDING_DONE;
	} else if (got == -FI_EAVAIL) {
		check(fi_cq_readerr(fabric->cq, &failed, 0), "fi_cq_readerr");
		pending = failed.op_context;
		pending->state = PENDING_FAILED;
		fprintf(stderr, "%s: %s\n", fi_strerror(failed.err), fi_cq_strerror(fabric->cq, failed.prov_errno,
			failed.err_data, text, sizeof(text)));
	} else if (got != -FI_EAGAIN && got != -FI_EINTR) {
		check(got, "fi_cq_sread");
	}
}

int fabric_wait(struct fabric *fabric, struct pending *pending)
{
	while (pending->state == PENDING_BUSY)
		fabric_poll(fabric);
	return pending->state == PENDING_DONE ? 0 : -1;
}

/* After a post: true if it is to be tried again, since the queue was full. */
static int post_again(struct fabric *fabric, ssize_t err, const char *what)
{
	if (err == -FI_EAGAIN) {
		fabric_poll(fabric);
		return 1;
	}
	check(err, what);
	return 0;
}

void fabric_send(struct fabric *fabric, struct region *from, size_t offset, size_t len, fi_addr_t to,
		 struct pending *pending)
{
	ssize_t err;

	pending->state = PENDING_BUSY;
	do {
		err = fi_send(fabric->ep, from->bytes + offset, len, fi_mr_desc(from->mr), to, pending);
	} while (post_again(fabric, err, "fi_send"));
}

void fabric_recv(struct fabric *fabric, struct region *into, size_t offset, size_t len, struct pending *pending)
{
	ssize_t err;

	pending->state = PENDING_BUSY;
	do {
		err = fi_recv(fabric->ep, into->bytes + offset, len, fi_mr_desc(into->mr), FI_ADDR_UNSPEC, pending);
	} while (post_again(fabric, err, "fi_recv"));
}

void fabric_write(struct fabric *fabric, struct region *from, size_t len, fi_addr_t to, uint64_t addr, uint64_t key,
		  struct pending *pending)
{
	ssize_t err;

	pending->state = PENDING_BUSY;
	do {
		err = fi_write(fabric->ep, from->bytes, len, fi_mr_desc(from->mr), to, addr, key, pending);
	} while (post_again(fabric, err, "fi_write"));
}

void fabric_read(struct fabric *fabric, struct region *into, size_t len, fi_addr_t from, uint64_t addr, uint64_t key,
		 struct pending *pending)
{
	ssize_t err;

	pending->state = PENDING_BUSY;
	do {
		err = fi_read(fabric->ep, into->bytes, len, fi_mr_desc(into->mr), from, addr, key, pending);
	} while (post_again(fabric, err, "fi_read"));
}
