/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_again.c - fi_connect() and fi_accept() that find no room in a shared transmit context, and are repeated. fi_cm(3). */
#include "tests/fi/ends.h"

#include <stdlib.h>

enum { ROOM = 4, LONG = 1 << 20 }; /* too long for the peer to keep: waits for a receive, with its room */

/* A connection whose end[0] shares a transmit context of little room with the endpoints of the test. */
struct crowd {
	struct net net;
	struct fid_stx *stx;
	struct fid_ep *end[2];
	uint8_t *bytes;
	unsigned sent;
};

static void share(struct fi_info *info)
{
	info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	info->tx_attr->size = ROOM;
}

static struct fid_ep *sharer(struct crowd *c, struct fi_info *info)
{
	struct fid_ep *ep;

	share(info);
	ep = ep_new(&c->net, info);
	RC(0, fi_ep_bind(ep, &c->stx->fid, 0));
	return ep;
}

static void crowd_open(struct crowd *c)
{
	struct fi_info *info;
	struct event event;

	memset(c, 0, sizeof(*c));
	c->bytes = calloc(1, LONG);
	cr_assert(c->bytes);
	net_open(&c->net);
	net_listen(&c->net);
	info = fi_dupinfo(c->net.info);
	share(info);
	RC(0, fi_stx_context(c->net.domain, info->tx_attr, &c->stx, NULL));
	c->end[0] = sharer(c, info);
	fi_freeinfo(info);
	RC(0, fi_connect(c->end[0], &c->net.name, NULL, 0));
	event = expect(&c->net, FI_CONNREQ, c->net.pep);
	c->end[1] = ep_new(&c->net, event.info);
	fi_freeinfo(event.info);
	RC(0, fi_accept(c->end[1], NULL, 0));
	expect(&c->net, FI_CONNECTED, NULL);
	expect(&c->net, FI_CONNECTED, NULL);
}

/* All of the shared room is taken. */
static void fill(struct crowd *c)
{
	while (fi_send(c->end[0], c->bytes, LONG, NULL, 0, c->bytes) == 0)
		c->sent++;
	cr_assert(c->sent);
	RC(-FI_EAGAIN, fi_send(c->end[0], c->bytes, LONG, NULL, 0, c->bytes));
}

/* All of it is free again. */
static void drain(struct crowd *c)
{
	uint8_t *in = malloc(LONG);

	cr_assert(in);
	for (; c->sent; c->sent--) {
		struct fi_cq_msg_entry entry;
		unsigned seen = 0;

		RC(0, fi_recv(c->end[1], in, LONG, NULL, 0, in));
		while (seen < 2) {
			ssize_t got = fi_cq_read(c->net.cq, &entry, 1);

			cr_assert(got == 1 || got == -FI_EAGAIN, "%zd", got);
			seen += got == 1;
		}
	}
	free(in);
}

static void crowd_close(struct crowd *c)
{
	close_ends(c->end);
	RC(0, fi_close(&c->stx->fid));
	net_close(&c->net);
	free(c->bytes);
}

Test(fi_cm_again, a_connect_that_found_no_room_is_repeated)
{
	struct fi_info *info;
	struct fid_ep *end[2];
	struct event event;
	struct crowd c;

	crowd_open(&c);
	info = fi_dupinfo(c.net.info);
	end[0] = sharer(&c, info);
	fi_freeinfo(info);
	fill(&c);
	for (int i = 0; i < 3; i++)
		RC(-FI_EAGAIN, fi_connect(end[0], &c.net.name, "who", 3));
	RC(-FI_ENOTCONN, fi_shutdown(end[0], 0));
	drain(&c);
	RC(0, fi_connect(end[0], &c.net.name, "who", 3));
	event = expect(&c.net, FI_CONNREQ, c.net.pep);
	end[1] = ep_new(&c.net, event.info);
	fi_freeinfo(event.info);
	RC(0, fi_accept(end[1], NULL, 0));
	expect(&c.net, FI_CONNECTED, NULL);
	expect(&c.net, FI_CONNECTED, NULL);
	message(&c.net, end[0], end[1], 7);
	close_ends(end);
	crowd_close(&c);
}

/* The request waits as long as it is not answered: it can be accepted, or rejected in the end. */
Test(fi_cm_again, an_accept_that_found_no_room_is_repeated)
{
	struct event event[2];
	struct fid_ep *asks[2], *accepts[2];
	struct crowd c;

	crowd_open(&c);
	for (int i = 0; i < 2; i++) {
		asks[i] = ep_new(&c.net, c.net.info);
		RC(0, fi_connect(asks[i], &c.net.name, NULL, 0));
		event[i] = expect(&c.net, FI_CONNREQ, c.net.pep);
		accepts[i] = sharer(&c, event[i].info);
	}
	fill(&c);
	for (int i = 0; i < 2; i++) {
		RC(-FI_EAGAIN, fi_accept(accepts[i], NULL, 0));
		RC(-FI_EAGAIN, fi_accept(accepts[i], NULL, 0));
	}
	RC(0, fi_reject(c.net.pep, event[1].info->handle, "no", 2));
	cr_assert_eq(expect(&c.net, 0, asks[1]).err, FI_ECONNREFUSED);
	drain(&c);
	RC(0, fi_accept(accepts[0], NULL, 0));
	RC(-FI_EOPBADSTATE, fi_accept(accepts[0], NULL, 0));
	RC(-FI_ECONNREFUSED, fi_accept(accepts[1], NULL, 0));
	expect(&c.net, FI_CONNECTED, NULL);
	expect(&c.net, FI_CONNECTED, NULL);
	message(&c.net, asks[0], accepts[0], 8);
	for (int i = 0; i < 2; i++) {
		fi_freeinfo(event[i].info);
		RC(0, fi_close(&asks[i]->fid));
		RC(0, fi_close(&accepts[i]->fid));
	}
	crowd_close(&c);
}
