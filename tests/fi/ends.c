/* SPDX-License-Identifier: BSD-2-Clause */
/* ends.c - see ends.h. */
#include "tests/fi/ends.h"

#include <time.h>

struct fi_info *msg_info(uint64_t caps)
{
	struct want want = { .caps = caps };
	struct fi_info *hints = world_hints(&want), *info;

	hints->ep_attr->type = FI_EP_MSG;
	hints->addr_format = FI_SOCKADDR_IN;
	RC(0, world_getinfo(&want, hints, &info));
	return info;
}

void net_open(struct net *net)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG };

	world_need_emu();
	memset(net, 0, sizeof(*net));
	net->info = msg_info(FI_MSG | FI_RMA);
	RC(0, fi_fabric(net->info->fabric_attr, &net->fabric, NULL));
	RC(0, fi_eq_open(net->fabric, &eq_attr, &net->eq, NULL));
	RC(0, fi_domain(net->fabric, net->info, &net->domain, NULL));
	RC(0, fi_cq_open(net->domain, &cq_attr, &net->cq, NULL));
	RC(0, fi_passive_ep(net->fabric, net->info, &net->pep, NULL));
	RC(0, fi_pep_bind(net->pep, &net->eq->fid, 0));
}

void net_listen(struct net *net)
{
	size_t length = sizeof(net->name);

	RC(0, fi_listen(net->pep));
	RC(0, fi_getname(&net->pep->fid, &net->name, &length));
}

void net_close(struct net *net)
{
	if (net->pep)
		RC(0, fi_close(&net->pep->fid));
	RC(0, fi_close(&net->cq->fid));
	RC(0, fi_close(&net->domain->fid));
	RC(0, fi_close(&net->eq->fid));
	RC(0, fi_close(&net->fabric->fid));
	fi_freeinfo(net->info);
}

struct fid_ep *ep_new(struct net *net, struct fi_info *info)
{
	struct fid_ep *ep;

	RC(0, fi_endpoint(net->domain, info, &ep, NULL));
	RC(0, fi_ep_bind(ep, &net->eq->fid, 0));
	RC(0, fi_ep_bind(ep, &net->cq->fid, FI_TRANSMIT | FI_RECV));
	return ep;
}

struct event expect(struct net *net, uint32_t kind, const void *fid)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + DATA_MAX];
	} got;
	struct fi_eq_err_entry error = { 0 };
	struct event event = { 0 };
	ssize_t size;

	size = fi_eq_sread(net->eq, &event.kind, &got, sizeof(got), GUARD_MS, 0);
	if (size == -FI_EAVAIL) {
		event.kind = 0;
		error.err_data = event.data;
		error.err_data_size = sizeof(event.data);
		RC(sizeof(error), fi_eq_readerr(net->eq, &error, 0));
		event.err = error.err;
		event.fid = error.fid;
		event.length = error.err_data_size;
	} else {
		cr_assert(size >= (ssize_t)sizeof(got.entry), "no event: %zd", size);
		event.fid = got.entry.fid;
		event.info = got.entry.info;
		event.length = (size_t)size - sizeof(got.entry);
		memcpy(event.data, got.entry.data, event.length);
	}
	cr_assert(event.kind == kind, "event %u with error %d, expected %u", event.kind, event.err, kind);
	cr_assert(!fid || event.fid == fid, "event %u about another object", kind);
	return event;
}

void no_event(struct net *net)
{
	struct fi_eq_cm_entry entry;
	uint32_t kind;

	RC(-FI_EAGAIN, fi_eq_read(net->eq, &kind, &entry, sizeof(entry), 0));
}

void connected(struct net *net, struct fid_ep *end[2])
{
	struct event event;

	end[0] = ep_new(net, net->info);
	RC(0, fi_connect(end[0], &net->name, "who", 3));
	event = expect(net, FI_CONNREQ, net->pep);
	cr_assert(event.length == 3 && !memcmp(event.data, "who", 3));
	end[1] = ep_new(net, event.info);
	fi_freeinfo(event.info);
	RC(0, fi_accept(end[1], "me", 2));
	for (int i = 0; i < 2; i++) { /* in either order */
		event = expect(net, FI_CONNECTED, NULL);
		if (event.fid == &end[0]->fid)
			cr_assert(event.length == 2 && !memcmp(event.data, "me", 2));
		else
			cr_assert(event.fid == &end[1]->fid && !event.length);
	}
}

void close_ends(struct fid_ep *end[2])
{
	RC(0, fi_close(&end[0]->fid));
	RC(0, fi_close(&end[1]->fid));
}

int complete(struct net *net, const void *context)
{
	struct fi_cq_msg_entry entry;
	struct fi_cq_err_entry error = { 0 };
	time_t end = time(NULL) + GUARD_MS / 1000;
	ssize_t got;

	do {
		got = fi_cq_read(net->cq, &entry, 1);
	} while (got == -FI_EAGAIN && time(NULL) < end);
	if (got != -FI_EAVAIL) {
		RC(1, got);
		cr_assert(entry.op_context == context, "another op has completed");
		return 0;
	}
	RC(1, fi_cq_readerr(net->cq, &error, 0));
	cr_assert(error.op_context == context, "another op has failed: %s", fi_strerror(error.err));
	return error.err;
}

void message(struct net *net, struct fid_ep *from, struct fid_ep *to, uint8_t fill)
{
	uint8_t out[BYTES], in[BYTES] = { 0 };

	memset(out, fill, BYTES);
	RC(0, fi_recv(to, in, BYTES, NULL, FI_ADDR_UNSPEC, in));
	RC(0, fi_inject(from, out, BYTES, FI_ADDR_UNSPEC));
	RC(0, complete(net, in));
	cr_assert(!memcmp(in, out, BYTES), "other bytes came than were sent");
}
