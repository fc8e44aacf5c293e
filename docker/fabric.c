/* SPDX-License-Identifier: BSD-2-Clause */
/* fabric.c - one libfabric endpoint, its regions and its ops; see fabric.h. */
#include "docker/fabric.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

static char why[512];

void fabric_check(int64_t err, const char *what)
{
	if (err < 0)
		give_up("%s: %s", what, fi_strerror((int)-err));
}

static struct fi_info *make_hints(uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		give_up("out of memory");
	hints->caps = FI_MSG | FI_RMA | caps;
	hints->mode = FI_CONTEXT | FI_CONTEXT2;
	hints->ep_attr->type = FI_EP_RDM;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
	hints->fabric_attr->prov_name = getenv("FI_PROVIDER") ? strdup(getenv("FI_PROVIDER")) : NULL;
	return hints;
}

static struct fi_info *find_info(uint64_t caps, const struct place *at, const char *port)
{
	struct fi_info *hints = make_hints(caps), *info = NULL;
	char host[NI_MAXHOST], service[NI_MAXSERV], text[PLACE_TEXT_SIZE] = "an address that the provider chooses";
	int family = at ? at->at.any.sa_family : place_family();
	int err;

	if (family != AF_UNSPEC)
		hints->addr_format = family == AF_INET6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
	if (at) {
		getnameinfo(&at->at.any, place_len(at), host, sizeof(host), service, sizeof(service),
			    NI_NUMERICHOST | NI_NUMERICSERV);
		place_text(at, text);
	}
	err = fi_getinfo(FI_VERSION(1, 17), at ? host : NULL, at ? service : port, at || port ? FI_SOURCE : 0, hints, &info);
	if (err)
		give_up("no provider (FI_PROVIDER=%s) listens at %s%s: %s", getenv("FI_PROVIDER") ? getenv("FI_PROVIDER") : "",
			text,
			at                   ? ", which must be an address of this host"
			: family == AF_INET6 ? " of IPv6, which the network must have (enable_ipv6)"
					     : "",
			fi_strerror(-err));
	fi_freeinfo(hints);
	return info;
}

void fabric_open(struct fabric *fabric, const struct place *at, const char *port)
{
	struct fi_av_attr av = { .type = FI_AV_UNSPEC };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_UNSPEC, .size = 256 };

	fabric->info = find_info(fabric->caps, at, port);
	fabric_check(fi_fabric(fabric->info->fabric_attr, &fabric->fabric, NULL), "fi_fabric");
	fabric_check(fi_domain(fabric->fabric, fabric->info, &fabric->domain, NULL), "fi_domain");
	fabric_check(fi_av_open(fabric->domain, &av, &fabric->av, NULL), "fi_av_open");
	fabric_check(fi_cq_open(fabric->domain, &cq, &fabric->cq, NULL), "fi_cq_open");
	fabric_check(fi_endpoint(fabric->domain, fabric->info, &fabric->ep, NULL), "fi_endpoint");
	fabric_check(fi_ep_bind(fabric->ep, &fabric->av->fid, 0), "binding the address vector");
	fabric_check(fi_ep_bind(fabric->ep, &fabric->cq->fid, FI_TRANSMIT | FI_RECV), "binding the completion queue");
	fabric_check(fi_enable(fabric->ep), "listening (a port in use belongs to another program here)");
}

void fabric_close(struct fabric *fabric)
{
	fabric_check(fi_close(&fabric->ep->fid), "closing the endpoint");
	fabric_check(fi_close(&fabric->cq->fid), "closing the completion queue");
	fabric_check(fi_close(&fabric->av->fid), "closing the address vector");
	fabric_check(fi_close(&fabric->domain->fid), "closing the domain");
	fabric_check(fi_close(&fabric->fabric->fid), "closing the fabric");
	fi_freeinfo(fabric->info);
}

void fabric_place(struct fabric *fabric, struct place *out)
{
	size_t len = sizeof(out->at);

	memset(out, 0, sizeof(*out));
	fabric_check(fi_getname(&fabric->ep->fid, &out->at, &len), "fi_getname");
}

fi_addr_t fabric_peer(struct fabric *fabric, const struct place *place)
{
	char text[PLACE_TEXT_SIZE];
	fi_addr_t addr;

	if (fi_av_insert(fabric->av, &place->at, 1, &addr, 0, NULL) != 1)
		give_up("%s is no address for this endpoint", place_text(place, text));
	return addr;
}

void region_open(struct fabric *fabric, struct region *region, size_t len, uint64_t access, uint64_t key_wanted)
{
	int mode = fabric->info->domain_attr->mr_mode;

	region->len = len;
	region->bytes = calloc(1, len);
	if (!region->bytes)
		give_up("out of memory");
	fabric_check(fi_mr_reg(fabric->domain, region->bytes, len, access, 0, key_wanted, 0, &region->mr, NULL), "fi_mr_reg");
	if (mode & FI_MR_ENDPOINT) {
		fabric_check(fi_mr_bind(region->mr, &fabric->ep->fid, 0), "fi_mr_bind");
		fabric_check(fi_mr_enable(region->mr), "fi_mr_enable");
	}
	region->key = fi_mr_key(region->mr);
	region->addr = mode & FI_MR_VIRT_ADDR ? (uintptr_t)region->bytes : 0;
}

void region_close(struct region *region)
{
	fabric_check(fi_close(&region->mr->fid), "closing a region");
	free(region->bytes);
}

void fabric_poll(struct fabric *fabric)
{
	struct fi_cq_data_entry done;
	struct fi_cq_err_entry failed = { 0 };
	struct pending *pending;
	ssize_t got = fi_cq_sread(fabric->cq, &done, 1, NULL, fabric->poll_ms ? fabric->poll_ms : WAIT_PAUSE_MS);
	char text[400], *end;

	if (got == 1 && (done.flags & FI_REMOTE_CQ_DATA) && !(done.flags & FI_RECV)) {
		if (fabric->on_data)
			fabric->on_data(done.data);
	} else if (got == 1) {
		pending = done.op_context;
		pending->state = PENDING_DONE;
	} else if (got == -FI_EAVAIL) {
		fabric_check(fi_cq_readerr(fabric->cq, &failed, 0), "fi_cq_readerr");
		pending = failed.op_context;
		pending->state = PENDING_FAILED;
		snprintf(why, sizeof(why), "%s: %s", fi_strerror(failed.err),
			 fi_cq_strerror(fabric->cq, failed.prov_errno, failed.err_data, text, sizeof(text)));
		end = strstr(why, ". "); /* the first sentence is enough */
		if (end)
			*end = '\0';
	} else if (got != -FI_EAGAIN && got != -FI_EINTR) {
		fabric_check(got, "fi_cq_sread");
	}
}

int fabric_wait(struct fabric *fabric, struct pending *pending)
{
	while (pending->state == PENDING_BUSY)
		fabric_poll(fabric);
	return pending->state == PENDING_DONE ? 0 : -1;
}

const char *fabric_why(void)
{
	return why;
}

bool fabric_post_again(struct fabric *fabric, ssize_t err, const char *what)
{
	if (err == -FI_EAGAIN) {
		fabric_poll(fabric);
		return true;
	}
	fabric_check(err, what);
	return false;
}

/* Posts until the queue takes it. */
#define POST(fabric, pending, name, call)        \
	do                                       \
		(pending)->state = PENDING_BUSY; \
	while (fabric_post_again(fabric, call, name))

void fabric_send(struct fabric *fabric, struct region *from, size_t offset, size_t len, fi_addr_t to, struct pending *pending)
{
	POST(fabric, pending, "fi_send", fi_send(fabric->ep, from->bytes + offset, len, fi_mr_desc(from->mr), to, pending));
}

void fabric_recv(struct fabric *fabric, struct region *into, size_t offset, size_t len, struct pending *pending)
{
	POST(fabric, pending, "fi_recv",
	     fi_recv(fabric->ep, into->bytes + offset, len, fi_mr_desc(into->mr), FI_ADDR_UNSPEC, pending));
}

void fabric_write(struct fabric *fabric, struct region *from, size_t len, fi_addr_t to, uint64_t addr, uint64_t key,
		  struct pending *pending)
{
	POST(fabric, pending, "fi_write", fi_write(fabric->ep, from->bytes, len, fi_mr_desc(from->mr), to, addr, key, pending));
}

void fabric_read(struct fabric *fabric, struct region *into, size_t len, fi_addr_t from, uint64_t addr, uint64_t key,
		 struct pending *pending)
{
	POST(fabric, pending, "fi_read", fi_read(fabric->ep, into->bytes, len, fi_mr_desc(into->mr), from, addr, key, pending));
}
