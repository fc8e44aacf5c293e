/* SPDX-License-Identifier: BSD-2-Clause */
/* cm.c - connected endpoints: from the request to the end. fi_cm(3). */
#include "tests/fi/ends.h"

#include <poll.h>
#include <stdlib.h>

Test(fi_cm, data_goes_both_ways_and_then_messages_do)
{
	struct sockaddr_storage name[2], peer[2];
	struct fid_ep *end[2];
	struct net net;

	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	for (int i = 0; i < 2; i++) {
		size_t length = sizeof(name[i]);

		RC(0, fi_getname(&end[i]->fid, &name[i], &length));
		length = sizeof(peer[i]);
		RC(0, fi_getpeer(end[i], &peer[i], &length));
		cr_assert_eq(length, sizeof(struct sockaddr_in));
		length = 1;
		RC(-FI_ETOOSMALL, fi_getpeer(end[i], &(char){ 0 }, &length));
	}
	cr_expect(!memcmp(&name[0], &peer[1], sizeof(struct sockaddr_in)));
	cr_expect(!memcmp(&name[1], &peer[0], sizeof(struct sockaddr_in)));
	cr_expect(!memcmp(&name[1], &net.name, sizeof(struct sockaddr_in))); /* which is what was asked */
	for (uint8_t i = 0; i < 20; i++)
		message(&net, end[i & 1], end[!(i & 1)], i);
	no_event(&net);
	close_ends(end);
	net_close(&net);
}

/* A port that was free a moment ago. */
static void free_address(struct net *net, struct sockaddr_in *name)
{
	size_t length = sizeof(*name);
	struct fid_pep *pep;

	RC(0, fi_passive_ep(net->fabric, net->info, &pep, NULL));
	RC(0, fi_pep_bind(pep, &net->eq->fid, 0));
	RC(0, fi_listen(pep));
	RC(0, fi_getname(&pep->fid, name, &length));
	RC(0, fi_close(&pep->fid));
}

/* fi_getinfo(3), handle. */
Test(fi_cm, an_endpoint_takes_the_address_of_a_passive_one)
{
	struct sockaddr_in wanted, got;
	size_t length = sizeof(got);
	struct fi_info *hints, *info;
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct net net;

	net_open(&net);
	net_listen(&net);
	free_address(&net, &wanted);
	RC(0, fi_passive_ep(net.fabric, net.info, &pep, NULL));
	RC(0, fi_setname(&pep->fid, &wanted, sizeof(wanted)));
	hints = fi_dupinfo(net.info);
	free(hints->src_addr);
	hints->src_addr = NULL;
	hints->src_addrlen = 0;
	hints->handle = &net.domain->fid;
	RC(-FI_ENODATA, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	hints->handle = &pep->fid;
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	cr_assert(info->handle == &pep->fid && !info->next);
	cr_assert(!memcmp(info->src_addr, &wanted, sizeof(wanted)));
	ep = ep_new(&net, info);
	RC(0, fi_close(&pep->fid));
	RC(0, fi_connect(ep, &net.name, NULL, 0));
	RC(0, fi_getname(&ep->fid, &got, &length));
	cr_assert(!memcmp(&got, &wanted, sizeof(wanted)));
	fi_freeinfo(expect(&net, FI_CONNREQ, net.pep).info);
	RC(-FI_EINVAL, fi_endpoint(net.domain, info, &ep, NULL)); /* the passive endpoint has gone */
	fi_freeinfo(info);
	fi_freeinfo(hints);
	RC(0, fi_close(&ep->fid));
	net_close(&net);
}

Test(fi_cm, remote_memory_of_the_peer)
{
	uint8_t there[BYTES] = { 0 }, here[BYTES];
	struct fid_ep *end[2];
	struct fid_mr *mr;
	struct net net;

	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	memset(here, 9, BYTES);
	RC(0, fi_mr_reg(net.domain, there, BYTES, FI_REMOTE_WRITE, 0, 1, 0, &mr, NULL));
	RC(0, fi_write(end[0], here, BYTES, NULL, 0, 0, fi_mr_key(mr), here));
	RC(0, complete(&net, here));
	cr_assert(!memcmp(there, here, BYTES));
	RC(0, fi_write(end[1], here, BYTES, NULL, FI_ADDR_UNSPEC, 1, fi_mr_key(mr), here));
	RC(FI_EACCES, complete(&net, here));
	RC(0, fi_close(&mr->fid));
	close_ends(end);
	net_close(&net);
}

/* Endpoints that do not listen for requests refuse them: connected ones and those of datagrams. */
/* As libfabric's own providers do, and its fi_cm_data expects, the side that leaves is told as well. */
Test(fi_cm, shutdown_is_told_to_both_sides_once)
{
	uint8_t buffer[2][BYTES];
	struct fid_ep *end[2];
	struct net net;

	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	message(&net, end[0], end[1], 1);
	RC(0, fi_recv(end[0], buffer[0], BYTES, NULL, 0, buffer[0]));
	RC(0, fi_shutdown(end[0], 0));
	RC(FI_ECANCELED, complete(&net, buffer[0])); /* before the call returned */
	expect(&net, FI_SHUTDOWN, NULL);
	expect(&net, FI_SHUTDOWN, NULL);
	for (int i = 0; i < 2; i++) {
		RC(-FI_ESHUTDOWN, fi_send(end[i], buffer[i], BYTES, NULL, 0, buffer[i]));
		RC(0, fi_recv(end[i], buffer[i], BYTES, NULL, 0, buffer[i]));
		RC(FI_ECANCELED, complete(&net, buffer[i]));
	}
	RC(0, fi_shutdown(end[0], 0)); /* nothing more to do */
	RC(0, fi_shutdown(end[1], 0));
	no_event(&net);
	close_ends(end);
	no_event(&net);
	net_close(&net);
}

/* A message sent before the shutdown arrives, even if no receive was posted for it. */
Test(fi_cm, what_was_injected_before_shutdown_is_received_after_it)
{
	uint8_t in[BYTES] = { 0 };
	struct fid_ep *end[2];
	struct net net;

	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	for (char c = 'a'; c < 'd'; c++)
		RC(0, fi_inject(end[0], &c, 1, 0));
	RC(0, fi_shutdown(end[0], 0));
	expect(&net, FI_SHUTDOWN, NULL);
	expect(&net, FI_SHUTDOWN, NULL);
	for (char c = 'a'; c < 'd'; c++) {
		RC(0, fi_recv(end[1], in, BYTES, NULL, 0, in));
		RC(0, complete(&net, in));
		cr_assert_eq(in[0], c);
	}
	RC(0, fi_recv(end[1], in, BYTES, NULL, 0, in));
	RC(FI_ECANCELED, complete(&net, in));
	close_ends(end);
	net_close(&net);
}

/* A message that nobody asks for waits at its sender: closing ends it, and what the peer has posted. */
Test(fi_cm, closed_with_ops_in_flight)
{
	enum { LONG = 1 << 20 };
	uint8_t *out = calloc(1, LONG), in[BYTES];
	struct fid_ep *end[2];
	struct net net;

	cr_assert(out);
	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	RC(0, fi_send(end[0], out, LONG, NULL, 0, out));
	RC(0, fi_recv(end[0], in, BYTES, NULL, 0, in));
	RC(0, fi_close(&end[0]->fid));
	for (int i = 0; i < 2; i++) {
		struct fi_cq_err_entry error = { 0 };
		struct fi_cq_msg_entry entry;

		RC(-FI_EAVAIL, fi_cq_read(net.cq, &entry, 1));
		RC(1, fi_cq_readerr(net.cq, &error, 0));
		cr_assert_eq(error.err, FI_ECANCELED);
	}
	expect(&net, FI_SHUTDOWN, end[1]);
	RC(0, fi_close(&end[1]->fid));
	net_close(&net);
	free(out);
}

/* A reader without room for data gets what it has room for. */
Test(fi_cm, many_connections_of_one_passive_endpoint)
{
	enum { MANY = 40 };
	struct fid_ep *end[MANY][2];
	struct net net;

	net_open(&net);
	net_listen(&net);
	for (int i = 0; i < MANY; i++)
		connected(&net, end[i]);
	for (int i = 0; i < MANY; i++)
		message(&net, end[i][i & 1], end[i][!(i & 1)], (uint8_t)i);
	for (int i = 0; i < MANY; i++)
		close_ends(end[i]);
	net_close(&net);
}

/* A request goes to the endpoint that accepts it first. */
/* The endpoint that asked may have gone when the answer comes. */
/* A thread that sleeps on the event queue, in fi_eq_sread() or on its descriptor, must drive the device. */
Test(fi_cm, asleep_under_manual_progress)
{
	struct pollfd pollfd = { .events = POLLIN };
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fi_eq_cm_entry entry;
	struct fid *fids[1];
	struct fid_ep *end[2], *ep;
	uint32_t kind;
	struct net net;
	ssize_t got;

	setenv("FI_EMU_PROGRESS", "manual", 1);
	net_open(&net);
	RC(0, fi_close(&net.pep->fid));
	RC(0, fi_close(&net.eq->fid));
	RC(0, fi_eq_open(net.fabric, &attr, &net.eq, NULL));
	RC(0, fi_passive_ep(net.fabric, net.info, &net.pep, NULL));
	RC(0, fi_pep_bind(net.pep, &net.eq->fid, 0));
	net_listen(&net);
	connected(&net, end);
	fids[0] = &net.eq->fid;
	RC(0, fi_control(fids[0], FI_GETWAIT, &pollfd.fd));
	ep = ep_new(&net, net.info);
	RC(0, fi_connect(ep, &net.name, NULL, 0));
	while ((got = fi_eq_read(net.eq, &kind, &entry, sizeof(entry), 0)) == -FI_EAGAIN)
		if (!fi_trywait(net.fabric, fids, 1))
			RC(1, poll(&pollfd, 1, GUARD_MS));
	RC(sizeof(entry), got);
	cr_assert_eq(kind, FI_CONNREQ);
	fi_freeinfo(entry.info);
	RC(0, fi_close(&ep->fid));
	close_ends(end);
	net_close(&net);
}

/* The types of endpoints, where none is asked for: reliable datagrams first, unreliable ones last. Of connected ones no peer
 * need be told apart. */
Test(fi_cm, infos)
{
	struct want want = { .caps = FI_MSG };
	struct fi_info *hints = world_hints(&want), *list, *info;
	static const enum fi_ep_type order[] = { FI_EP_RDM, FI_EP_MSG, FI_EP_DGRAM };
	size_t seen = 0;

	world_need_emu();
	hints->ep_attr->type = FI_EP_UNSPEC;
	RC(0, world_getinfo(&want, hints, &list));
	cr_assert_eq(list->ep_attr->type, FI_EP_RDM);
	for (info = list; info; info = info->next) {
		seen += info->ep_attr->type != order[seen];
		cr_assert(seen < 3 && info->ep_attr->type == order[seen]);
	}
	cr_assert_eq(seen, 2);
	fi_freeinfo(list);
	info = msg_info(0);
	cr_assert(!(info->caps & (FI_SOURCE | FI_DIRECTED_RECV)) && info->caps & FI_TAGGED);
	fi_freeinfo(info);
	hints = world_hints(&(struct want){ .caps = FI_MSG | FI_SOURCE });
	hints->ep_attr->type = FI_EP_MSG;
	RC(-FI_ENODATA, world_getinfo(&want, hints, &info));
	hints = world_hints(&want);
	hints->ep_attr->type = FI_EP_MSG;
	hints->ep_attr->rx_ctx_cnt = 2;
	RC(-FI_ENODATA, world_getinfo(&want, hints, &info));
}
