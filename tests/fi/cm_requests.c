/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_requests.c - connection requests: their data, their answers, and what comes to nothing. fi_cm(3). */
#include "tests/fi/ends.h"

Test(fi_cm_requests, rejected_with_data)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_cm_entry entry;
	struct event event;
	struct fid_ep *ep;
	uint32_t kind;
	struct net net;

	net_open(&net);
	net_listen(&net);
	for (int round = 0; round < 2; round++) {
		ep = ep_new(&net, net.info);
		RC(0, fi_connect(ep, &net.name, NULL, 0));
		event = expect(&net, FI_CONNREQ, net.pep);
		cr_assert(!event.length);
		RC(0, fi_reject(net.pep, event.info->handle, "not you", 7));
		RC(-FI_EINVAL, fi_reject(net.pep, event.info->handle, NULL, 0)); /* answered already */
		RC(-FI_EINVAL, fi_endpoint(net.domain, event.info, &(struct fid_ep *){ 0 }, NULL));
		fi_freeinfo(event.info);
		if (round) { /* the event queue's own buffer */
			RC(-FI_EAVAIL, fi_eq_sread(net.eq, &kind, &entry, sizeof(entry), GUARD_MS, 0));
			RC(sizeof(error), fi_eq_readerr(net.eq, &error, 0));
			cr_assert(error.err == FI_ECONNREFUSED && error.err_data_size == 7);
			cr_assert(error.fid == &ep->fid && !memcmp(error.err_data, "not you", 7));
		} else {
			event = expect(&net, 0, ep);
			cr_assert(event.err == FI_ECONNREFUSED && event.length == 7 && !memcmp(event.data, "not you", 7));
		}
		RC(-FI_ESHUTDOWN, fi_inject(ep, "", 0, 0));
		RC(-FI_EOPBADSTATE, fi_connect(ep, &net.name, NULL, 0)); /* once in its life */
		RC(0, fi_close(&ep->fid));
	}
	net_close(&net);
}

Test(fi_cm_requests, refused_where_nobody_listens)
{
	struct event event;
	struct fid_ep *ep;
	struct net net;

	net_open(&net);
	net_listen(&net);
	RC(0, fi_close(&net.pep->fid));
	net.pep = NULL;
	ep = ep_new(&net, net.info);
	RC(0, fi_connect(ep, &net.name, NULL, 0));
	event = expect(&net, 0, ep);
	cr_assert(event.err == FI_ECONNREFUSED && !event.length, "%s", fi_strerror(event.err));
	RC(0, fi_close(&ep->fid));
	net_close(&net);
}

Test(fi_cm_requests, refused_by_who_is_no_passive_endpoint)
{
	struct sockaddr_storage name;
	size_t length = sizeof(name);
	struct fid_ep *end[2], *ep;
	struct event event;
	struct net net;

	net_open(&net);
	net_listen(&net);
	connected(&net, end);
	RC(0, fi_getname(&end[0]->fid, &name, &length));
	ep = ep_new(&net, net.info);
	RC(0, fi_connect(ep, &name, NULL, 0));
	event = expect(&net, 0, ep);
	cr_assert(event.err == FI_ECONNREFUSED || event.err == FI_ETIMEDOUT, "%s", fi_strerror(event.err));
	RC(0, fi_close(&ep->fid));
	message(&net, end[0], end[1], 3);
	close_ends(end);
	net_close(&net);
}

Test(fi_cm_requests, closing_the_passive_endpoint_rejects_who_waits)
{
	struct event event[2];
	struct fid_ep *ep[2];
	struct net net;

	net_open(&net);
	net_listen(&net);
	for (int i = 0; i < 2; i++) {
		ep[i] = ep_new(&net, net.info);
		RC(0, fi_connect(ep[i], &net.name, NULL, 0));
		event[i] = expect(&net, FI_CONNREQ, net.pep);
	}
	RC(0, fi_close(&net.pep->fid));
	net.pep = NULL;
	for (int i = 0; i < 2; i++) {
		RC(FI_ECONNREFUSED, expect(&net, 0, NULL).err);
		RC(-FI_EINVAL, fi_endpoint(net.domain, event[i].info, &(struct fid_ep *){ 0 }, NULL));
		fi_freeinfo(event[i].info);
	}
	close_ends(ep);
	net_close(&net);
}

Test(fi_cm_requests, more_data_than_fits_is_cut)
{
	uint8_t data[DATA_MAX + 44];
	struct event event;
	struct fid_ep *ep;
	size_t size = 0, length = sizeof(size);
	struct net net;

	net_open(&net);
	RC(0, fi_getopt(&net.pep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &length));
	cr_assert_eq(size, DATA_MAX);
	net_listen(&net);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7);
	ep = ep_new(&net, net.info);
	RC(0, fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &size, &length));
	cr_assert_eq(size, DATA_MAX);
	RC(0, fi_connect(ep, &net.name, data, sizeof(data)));
	event = expect(&net, FI_CONNREQ, net.pep);
	cr_assert(event.length == DATA_MAX && !memcmp(event.data, data, DATA_MAX));
	RC(0, fi_reject(net.pep, event.info->handle, data, sizeof(data)));
	fi_freeinfo(event.info);
	event = expect(&net, 0, ep);
	cr_assert(event.length == DATA_MAX && !memcmp(event.data, data, DATA_MAX));
	RC(0, fi_close(&ep->fid));
	net_close(&net);
}

Test(fi_cm_requests, events_are_read_without_their_data)
{
	struct fi_eq_cm_entry entry;
	struct fid_ep *ep;
	uint32_t kind;
	struct net net;

	net_open(&net);
	net_listen(&net);
	ep = ep_new(&net, net.info);
	RC(0, fi_connect(ep, &net.name, "data", 4));
	RC(sizeof(entry), fi_eq_sread(net.eq, &kind, &entry, sizeof(entry), GUARD_MS, 0));
	cr_assert_eq(kind, FI_CONNREQ);
	cr_assert(entry.info->nic);
	cr_expect_str_eq(entry.info->nic->device_attr->name, entry.info->domain_attr->name);
	fi_freeinfo(entry.info);
	RC(0, fi_close(&ep->fid));
	net_close(&net);
}

Test(fi_cm_requests, the_backlog_bounds_who_waits)
{
	struct event event[2];
	struct fid_ep *ep[3];
	int backlog = 0;
	struct net net;

	net_open(&net);
	RC(-FI_EINVAL, fi_control(&net.pep->fid, FI_BACKLOG, &backlog));
	backlog = 2;
	RC(0, fi_control(&net.pep->fid, FI_BACKLOG, &backlog));
	net_listen(&net);
	for (int i = 0; i < 3; i++)
		ep[i] = ep_new(&net, net.info);
	for (int i = 0; i < 2; i++) {
		RC(0, fi_connect(ep[i], &net.name, NULL, 0));
		event[i] = expect(&net, FI_CONNREQ, net.pep);
	}
	RC(0, fi_connect(ep[2], &net.name, NULL, 0));
	RC(FI_ECONNREFUSED, expect(&net, 0, ep[2]).err);
	RC(0, fi_reject(net.pep, event[0].info->handle, NULL, 0));
	RC(FI_ECONNREFUSED, expect(&net, 0, ep[0]).err);
	for (int i = 0; i < 2; i++)
		fi_freeinfo(event[i].info);
	for (int i = 0; i < 3; i++)
		RC(0, fi_close(&ep[i]->fid));
	net_close(&net);
}

Test(fi_cm_requests, calls_out_of_order)
{
	struct sockaddr_in none = { .sin_family = AF_INET };
	struct sockaddr_storage addr;
	size_t length = sizeof(addr);
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fid_av *av;
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct net net;

	net_open(&net);
	RC(0, fi_endpoint(net.domain, net.info, &ep, NULL));
	RC(0, fi_ep_bind(ep, &net.cq->fid, FI_TRANSMIT | FI_RECV));
	RC(-FI_ENOEQ, fi_enable(ep));
	RC(0, fi_ep_bind(ep, &net.eq->fid, 0));
	RC(0, fi_av_open(net.domain, &av_attr, &av, NULL));
	RC(-FI_EINVAL, fi_ep_bind(ep, &av->fid, 0));
	RC(-FI_ENOTCONN, fi_getpeer(ep, &addr, &length));
	RC(-FI_ENOTCONN, fi_shutdown(ep, 0));
	RC(-FI_EBADFLAGS, fi_shutdown(ep, 1));
	RC(-FI_EINVAL, fi_accept(ep, NULL, 0)); /* whose request? */
	RC(-FI_EINVAL, fi_connect(ep, NULL, NULL, 0));
	RC(-FI_EINVAL, fi_connect(ep, &none, NULL, 0));     /* no port */
	RC(-FI_EINVAL, fi_connect(ep, &net.name, NULL, 0)); /* of no family yet */
	RC(0, fi_enable(ep));
	RC(-FI_ENOTCONN, fi_inject(ep, "", 0, 0));
	net_listen(&net);
	RC(-FI_EINVAL, fi_connect(ep, &net.name, NULL, 4)); /* no data there */
	RC(-FI_EOPBADSTATE, fi_listen(net.pep));
	RC(-FI_EOPBADSTATE, fi_setname(&net.pep->fid, &none, sizeof(none)));
	RC(-FI_EINVAL, fi_pep_bind(net.pep, &net.eq->fid, 0));
	RC(-FI_EINVAL, fi_reject(net.pep, &ep->fid, NULL, 0)); /* not a request */
	RC(-FI_EBUSY, fi_close(&net.eq->fid));
	RC(0, fi_passive_ep(net.fabric, net.info, &pep, NULL));
	RC(-FI_ENOEQ, fi_listen(pep));
	RC(-FI_EOPBADSTATE, fi_getname(&pep->fid, &addr, &length));
	RC(-FI_EBUSY, fi_close(&net.fabric->fid));
	RC(0, fi_close(&pep->fid));
	net.info->ep_attr->type = FI_EP_RDM;
	RC(-FI_EINVAL, fi_passive_ep(net.fabric, net.info, &pep, NULL));
	RC(0, fi_close(&ep->fid));
	RC(0, fi_close(&av->fid));
	net_close(&net);
}

Test(fi_cm_requests, one_request_is_accepted_once)
{
	struct fid_ep *asks, *first, *second;
	struct event event;
	struct net net;

	net_open(&net);
	net_listen(&net);
	asks = ep_new(&net, net.info);
	RC(0, fi_connect(asks, &net.name, NULL, 0));
	event = expect(&net, FI_CONNREQ, net.pep);
	first = ep_new(&net, event.info);
	second = ep_new(&net, event.info);
	RC(-FI_EOPBADSTATE, fi_connect(first, &net.name, NULL, 0)); /* it is there to accept */
	RC(0, fi_accept(first, NULL, 0));
	RC(-FI_ECONNREFUSED, fi_accept(second, NULL, 0));
	RC(-FI_EOPBADSTATE, fi_accept(first, NULL, 0));
	fi_freeinfo(event.info);
	expect(&net, FI_CONNECTED, NULL);
	expect(&net, FI_CONNECTED, NULL);
	message(&net, asks, first, 7);
	RC(0, fi_close(&second->fid));
	RC(0, fi_close(&first->fid));
	RC(0, fi_close(&asks->fid));
	net_close(&net);
}

Test(fi_cm_requests, accepting_who_has_left)
{
	struct fid_ep *asks, *ep;
	struct event event;
	struct net net;

	net_open(&net);
	net_listen(&net);
	asks = ep_new(&net, net.info);
	RC(0, fi_connect(asks, &net.name, NULL, 0));
	event = expect(&net, FI_CONNREQ, net.pep);
	RC(0, fi_close(&asks->fid));
	ep = ep_new(&net, event.info);
	fi_freeinfo(event.info);
	RC(0, fi_accept(ep, NULL, 0));
	RC(FI_ECONNREFUSED, expect(&net, 0, ep).err);
	RC(0, fi_close(&ep->fid));
	net_close(&net);
}
