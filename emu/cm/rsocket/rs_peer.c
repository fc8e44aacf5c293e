/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_peer.c - the peers of a datagram rsocket: which queue pair has their port, and the way to it. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "emu/cm/rsocket/rs_dgram.h"
#include "emu/verbs/device/vb_way.h"

/* Another process may have a peer's port by and by, and its messages must not be lost for long. */
enum {
	ASK_AGAIN_US = 10 * 1000,
	RENEW_US = 1000 * 1000,
	FORGET_US = 2 * RENEW_US,
};
enum { HOPS = 64, QPN_MOST = 0xffffff };

static bool same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return vb_ip_same(a, (const struct sockaddr *)b) &&
	       ((const struct sockaddr_in *)a)->sin_port == ((const struct sockaddr_in *)b)->sin_port;
}

static void peer_free(struct rs_peer *peer)
{
	if (peer->ah)
		ibv_destroy_ah(peer->ah);
	free(peer);
}

/* A new one, in front. */
static struct rs_peer *peer_new(struct rs_dgram *dgram, const struct sockaddr_storage *at)
{
	struct rs_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->at = *at;
	if (getrandom(&peer->token, sizeof(peer->token), 0) != (ssize_t)sizeof(peer->token)) {
		free(peer);
		return NULL;
	}
	peer->next = dgram->peers;
	dgram->peers = peer;
	return peer;
}

struct rs_peer *rs_peer_get(struct rsocket *rs, const struct sockaddr_storage *at)
{
	struct rs_peer **place = &rs->dgram->peers, *peer;
	unsigned int count = 0;

	while (*place && !same_address(&(*place)->at, at) && count < RS_PEERS_MOST - 1) {
		place = &(*place)->next;
		count++;
	}
	peer = *place;
	if (peer)
		*place = peer->next;
	if (peer && same_address(&peer->at, at)) {
		peer->next = rs->dgram->peers;
		rs->dgram->peers = peer;
		return peer;
	}
	if (peer)
		peer_free(peer);
	return peer_new(rs->dgram, at);
}

bool rs_peer_known(const struct rs_peer *peer)
{
	return peer->qpn && rs_now_us() - peer->told_us < FORGET_US;
}

/* One that is lost is asked again. ECONNREFUSED, of one that is connected, is of what was sent before. */
static void say_head(struct rsocket *rs, const struct rs_head *head, const struct sockaddr_storage *to)
{
	uint8_t bytes[RS_HEAD_BYTES];

	rs_head_put(head, bytes);
	if (sendto(rs->dgram->udp, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to,
		   vb_ip_length((const struct sockaddr *)to)) < 0 &&
	    errno == ECONNREFUSED)
		rs->error = ECONNREFUSED;
}

void rs_peer_ask(struct rsocket *rs, struct rs_peer *peer)
{
	int64_t now_us = rs_now_us();
	bool known = peer->qpn && now_us - peer->told_us < RENEW_US;

	if (known || (peer->asked_us && now_us - peer->asked_us < ASK_AGAIN_US))
		return;
	peer->asked_us = now_us;
	say_head(rs, &(struct rs_head){ .kind = RS_ASK, .token = peer->token }, &peer->at);
}

void rs_peer_answer(struct rsocket *rs, const struct rs_head *asked, const struct sockaddr_storage *from)
{
	if (rs->dgram->qp)
		say_head(rs, &(struct rs_head){ .kind = RS_HERE, .qpn = rs->dgram->qp->qp_num, .token = asked->token }, from);
}

/* By the device, from the address that the rsocket is bound to. NULL: there is no way. */
static struct ibv_ah *way_to(const struct rsocket *rs, const struct sockaddr_storage *at)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.hop_limit = HOPS };
	struct sockaddr_storage bound, from, plain;
	struct vb_gid own;
	int index;

	if (rs_dgram_name(rs, &bound))
		return NULL;
	vb_ip_gid(&bound, &attr.grh.dgid);
	vb_gid_address(&attr.grh.dgid, ((const struct sockaddr_in6 *)&bound)->sin6_scope_id, &from);
	vb_ip_gid(at, &attr.grh.dgid);
	vb_gid_address(&attr.grh.dgid, ((const struct sockaddr_in6 *)at)->sin6_scope_id, &plain);
	index = vb_ip_way((const struct sockaddr *)&plain, &from, &own);
	if (index < 0)
		return NULL;
	attr.grh.sgid_index = (uint8_t)index;
	return ibv_create_ah(rs->dgram->pd, &attr);
}

void rs_peer_told(struct rsocket *rs, const struct rs_head *head, const struct sockaddr_storage *from)
{
	struct rs_peer *peer = rs->dgram->peers;

	while (peer && (peer->token != head->token || !same_address(&peer->at, from)))
		peer = peer->next;
	if (!peer)
		return;
	if (!peer->ah)
		peer->ah = way_to(rs, &peer->at);
	peer->qpn = peer->ah ? head->qpn & QPN_MOST : 0;
	peer->told_us = rs_now_us();
}

void rs_peers_free(struct rsocket *rs)
{
	while (rs->dgram->peers) {
		struct rs_peer *peer = rs->dgram->peers;

		rs->dgram->peers = peer->next;
		peer_free(peer);
	}
}
