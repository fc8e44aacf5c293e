/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_dgram.c - datagram rsockets: made, bound, connected; messages sent and received. */
#include "emu/cm/rsocket/rs_dgram.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/verbs/cm/vb_cm.h"
#include "emu/verbs/device/vb_way.h"

enum {
	SENDS_LEAST = 4,
	LOOK_MOST = 64, /* messages of UDP that one look takes */
};

/* --- opened and closed --- */

int rs_dgram_open(struct rsocket *rs)
{
	struct rs_dgram *dgram = calloc(1, sizeof(*dgram));
	int err;

	rs->dgram = dgram;
	if (!dgram)
		return ENOMEM;
	dgram->end = &dgram->first;
	dgram->arrived = malloc(RS_UDP_MOST);
	dgram->udp = socket(rs->family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = dgram->udp < 0 ? errno : dgram->arrived ? 0 : ENOMEM;
	return err ? err : rs_watch(rs, dgram->udp);
}

static int open_memory(struct rsocket *rs)
{
	struct rs_dgram *dgram = rs->dgram;
	size_t size;

	dgram->sends = rs_least(rs->options.send_queue, rs->options.send_bytes / RS_UD_BYTES);
	if (dgram->sends < SENDS_LEAST)
		dgram->sends = SENDS_LEAST;
	rs->receives = rs->options.receive_queue;
	rs->outgoing_size = dgram->sends * RS_UD_BYTES;
	size = rs->outgoing_size + (size_t)rs->receives * RS_UD_SLOT;
	rs->outgoing = calloc(1, size);
	if (!rs->outgoing)
		return ENOMEM;
	rs->controls = rs->outgoing + rs->outgoing_size;
	rs->own_mr = ibv_reg_mr(dgram->pd, rs->outgoing, size, IBV_ACCESS_LOCAL_WRITE);
	return rs->own_mr ? 0 : errno;
}

static int open_ud_qp(struct rsocket *rs)
{
	struct rs_dgram *dgram = rs->dgram;
	struct ibv_qp_init_attr init = {
		.send_cq = rs->cq,
		.recv_cq = rs->cq,
		.cap = { .max_send_wr = dgram->sends, .max_recv_wr = rs->receives, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = RDMA_UDP_QKEY };
	int err;

	dgram->qp = ibv_create_qp(dgram->pd, &init);
	if (!dgram->qp)
		return errno;
	err = ibv_modify_qp(dgram->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	for (uint32_t i = 0; i < rs->receives && !err; i++)
		err = rs_post_receive(rs, dgram->qp, i, RS_UD_SLOT);
	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = ibv_modify_qp(dgram->qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return err ? err : ibv_modify_qp(dgram->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static void close_queues(struct rsocket *rs)
{
	struct rs_dgram *dgram = rs->dgram;

	if (dgram->qp)
		ibv_destroy_qp(dgram->qp);
	dgram->qp = NULL;
	rs_queues_close(rs);
	rs_peers_free(rs);
	if (dgram->pd)
		ibv_dealloc_pd(dgram->pd);
	dgram->pd = NULL;
}

/* The queue pair is made when it may be needed, as options that make it may be set before. */
static int dgram_queues_open(struct rsocket *rs)
{
	struct ibv_context *context;
	int err;

	if (rs->dgram->qp)
		return 0;
	context = vb_cm_device(0);
	if (!context)
		return errno;
	(void)setsockopt(rs->dgram->udp, SOL_SOCKET, SO_RCVBUF, &rs->options.receive_bytes, sizeof(int));
	rs->dgram->pd = ibv_alloc_pd(context);
	err = rs->dgram->pd ? open_memory(rs) : errno;
	if (!err)
		err = rs_cq_open(rs, context, rs->dgram->sends + rs->receives);
	if (!err)
		err = open_ud_qp(rs);
	if (err)
		close_queues(rs);
	return err;
}

void rs_dgram_free(struct rsocket *rs)
{
	struct rs_dgram *dgram = rs->dgram;

	if (!dgram)
		return;
	close_queues(rs);
	while (dgram->first)
		rs_dgram_received(rs);
	if (dgram->udp >= 0)
		close(dgram->udp);
	free(dgram->arrived);
	free(dgram);
}

/* --- named --- */

int rs_dgram_name(const struct rsocket *rs, struct sockaddr_storage *at)
{
	socklen_t length = sizeof(*at);

	memset(at, 0, sizeof(*at));
	return getsockname(rs->dgram->udp, (struct sockaddr *)at, &length) ? errno : 0;
}

int rs_dgram_bind(struct rsocket *rs, const struct sockaddr *at, socklen_t length)
{
	const int *reuse = &rs->options.reuse, *only = &rs->options.v6_only;
	int udp = rs->dgram->udp;

	if (setsockopt(udp, SOL_SOCKET, SO_REUSEADDR, reuse, sizeof(*reuse)) ||
	    (rs->family == AF_INET6 && setsockopt(udp, IPPROTO_IPV6, IPV6_V6ONLY, only, sizeof(*only))) || bind(udp, at, length))
		return errno;
	return dgram_queues_open(rs);
}

int rs_dgram_connect(struct rsocket *rs, const struct sockaddr *to, socklen_t length)
{
	struct rs_dgram *dgram = rs->dgram;

	if (connect(dgram->udp, to, length))
		return errno;
	dgram->connected = to->sa_family != AF_UNSPEC;
	if (dgram->connected)
		vb_ip_copy(&rs->peer, to);
	return dgram_queues_open(rs);
}

/* --- received --- */

/* From elsewhere than the peer of one that is connected it is dropped, as well as where there is no room for it. */
static void message_arrived(struct rsocket *rs, const struct sockaddr_storage *from, const uint8_t *bytes, size_t length)
{
	struct rs_dgram *dgram = rs->dgram;
	size_t size = sizeof(struct rs_message) + length;
	struct rs_message *message;

	if (rs->reads_end || size > rs->options.receive_bytes - rs_least(dgram->waiting, rs->options.receive_bytes))
		return;
	if (dgram->connected && (!vb_ip_same(&rs->peer, (const struct sockaddr *)from) ||
				 ((struct sockaddr_in *)&rs->peer)->sin_port != ((const struct sockaddr_in *)from)->sin_port))
		return;
	message = malloc(size);
	if (!message)
		return;
	message->next = NULL;
	message->from = *from;
	message->length = (uint32_t)length;
	memcpy(message->bytes, bytes, length);
	*dgram->end = message;
	dgram->end = &message->next;
	dgram->waiting += size;
	rs_ring(rs);
}

void rs_dgram_received(struct rsocket *rs)
{
	struct rs_dgram *dgram = rs->dgram;
	struct rs_message *message = dgram->first;

	dgram->first = message->next;
	if (!dgram->first)
		dgram->end = &dgram->first;
	dgram->waiting -= sizeof(*message) + message->length;
	free(message);
}

/* The sender of a message of the queue pair, whose buffer begins with a header. False: its address is of another family. */
static bool sender_of(const struct rsocket *rs, const struct ibv_wc *wc, uint8_t *grh, uint16_t port, struct sockaddr_storage *from)
{
	struct ibv_ah_attr attr;
	struct ibv_wc its = *wc;
	struct vb_gid own;

	if (ibv_init_ah_from_wc(rs->dgram->pd->context, 1, &its, (struct ibv_grh *)grh, &attr) ||
	    !vb_gid_get(attr.grh.sgid_index, &own))
		return false;
	vb_gid_address(&attr.grh.dgid, own.ifindex, from);
	if (rs->family == AF_INET6 && from->ss_family == AF_INET) {
		memset(from, 0, sizeof(*from));
		from->ss_family = AF_INET6;
		memcpy(&((struct sockaddr_in6 *)from)->sin6_addr, attr.grh.dgid.raw, sizeof(attr.grh.dgid.raw));
	}
	((struct sockaddr_in *)from)->sin_port = htons(port); /* at one place in both families */
	return from->ss_family == rs->family;
}

void rs_dgram_completed(struct rsocket *rs, const struct ibv_wc *wc)
{
	uint8_t *slot = rs->controls + wc->wr_id * RS_UD_SLOT;
	struct sockaddr_storage from;
	struct rs_head head;

	if (wc->wr_id == RS_SENT) {
		rs->sent_count--;
		return;
	}
	if (wc->status != IBV_WC_SUCCESS)
		return;
	if (wc->byte_len >= RS_GRH_BYTES + RS_HEAD_BYTES && rs_head_get(slot + RS_GRH_BYTES, &head) && head.kind == RS_MESSAGE &&
	    sender_of(rs, wc, slot, head.port, &from))
		message_arrived(rs, &from, slot + RS_GRH_BYTES + RS_HEAD_BYTES, wc->byte_len - RS_GRH_BYTES - RS_HEAD_BYTES);
	if (rs_post_receive(rs, rs->dgram->qp, wc->wr_id, RS_UD_SLOT))
		vb_inform("rsocket", "a datagram rsocket has a receive less: its queue pair takes none.");
}

static void take_udp(struct rsocket *rs, const struct sockaddr_storage *from, size_t length)
{
	const uint8_t *bytes = rs->dgram->arrived;
	struct rs_head head;

	if (length < RS_HEAD_BYTES || !rs_head_get(bytes, &head))
		return;
	if (head.kind == RS_MESSAGE)
		message_arrived(rs, from, bytes + RS_HEAD_BYTES, length - RS_HEAD_BYTES);
	else if (head.kind == RS_ASK)
		rs_peer_answer(rs, &head, from);
	else
		rs_peer_told(rs, &head, from);
}

void rs_dgram_look(struct rsocket *rs)
{
	for (int i = 0; i < LOOK_MOST; i++) {
		struct sockaddr_storage from = { 0 };
		socklen_t from_length = sizeof(from);
		ssize_t n = recvfrom(rs->dgram->udp, rs->dgram->arrived, RS_UDP_MOST, MSG_DONTWAIT, (struct sockaddr *)&from,
				     &from_length);

		if (n >= 0) {
			take_udp(rs, &from, (size_t)n);
			continue;
		}
		if (errno != EAGAIN && errno != EINTR) {
			rs->error = errno; /* ECONNREFUSED: nobody has the port of the peer that it is connected to */
			rs_ring(rs);
		}
		return;
	}
}

/* --- sent --- */

bool rs_dgram_can_send(const struct rsocket *rs)
{
	return !rs->dgram->qp || rs->sent_count < rs->dgram->sends;
}

static bool dgram_send_need_not_wait(const struct rsocket *rs)
{
	return rs_dgram_can_send(rs) || rs->sends_end;
}

static void note_port(const struct rsocket *rs)
{
	struct sockaddr_storage own;

	if (!rs->dgram->port && !rs_dgram_name(rs, &own))
		rs->dgram->port = ntohs(((struct sockaddr_in *)&own)->sin_port);
}

static int send_by_qp(struct rsocket *rs, const struct rs_peer *peer, uint32_t length,
		      void (*copy)(void *arg, void *to, uint32_t length), void *arg)
{
	struct rs_dgram *dgram = rs->dgram;
	uint8_t *slot = rs->outgoing + (size_t)dgram->send_next * RS_UD_BYTES;
	struct ibv_sge sge = { .addr = (uintptr_t)slot, .length = RS_HEAD_BYTES + length, .lkey = rs->own_mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = RS_SENT,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = peer->ah, .remote_qpn = peer->qpn, .remote_qkey = RDMA_UDP_QKEY },
	}, *bad;
	int err;

	note_port(rs);
	rs_head_put(&(struct rs_head){ .kind = RS_MESSAGE, .port = dgram->port }, slot);
	copy(arg, slot + RS_HEAD_BYTES, length);
	err = ibv_post_send(dgram->qp, &wr, &bad);
	if (err)
		return err;
	dgram->send_next = (dgram->send_next + 1) % dgram->sends;
	rs->sent_count++;
	return 0;
}

/* The kernel's room is short for a moment at most, so the lock is kept. */
static int send_by_udp(const struct rsocket *rs, const struct rs_peer *peer, size_t length, bool blocks,
		       void (*copy)(void *arg, void *to, uint32_t length), void *arg)
{
	struct pollfd on = { .fd = rs->dgram->udp, .events = POLLOUT };
	uint8_t *bytes = malloc(RS_HEAD_BYTES + length);
	int err;

	if (!bytes)
		return ENOMEM;
	rs_head_put(&(struct rs_head){ .kind = RS_MESSAGE }, bytes);
	copy(arg, bytes + RS_HEAD_BYTES, (uint32_t)length);
	do
		err = sendto(on.fd, bytes, RS_HEAD_BYTES + length, MSG_NOSIGNAL, (const struct sockaddr *)&peer->at,
			     vb_ip_length((const struct sockaddr *)&peer->at)) < 0
			      ? errno
			      : 0;
	while (err == EAGAIN && blocks && poll(&on, 1, -1) > 0);
	free(bytes);
	return err;
}

/* What forbids a message. */
static int send_check(struct rsocket *rs, size_t length, const struct sockaddr *to, socklen_t to_length)
{
	int err = rs->error;

	rs->error = 0;
	if (rs->closing)
		return EBADF;
	if (err)
		return err;
	if (rs->sends_end)
		return EPIPE;
	if (!to && !rs->dgram->connected)
		return EDESTADDRREQ;
	if (to && to_length < rs_address_least(rs))
		return EINVAL;
	if (to && to->sa_family != rs->family)
		return EAFNOSUPPORT;
	return length > RS_UDP_MOST - RS_HEAD_BYTES ? EMSGSIZE : 0;
}

int rs_dgram_send(struct rsocket *rs, size_t length, const struct sockaddr *to, socklen_t to_length, bool blocks,
		  void (*copy)(void *arg, void *to, uint32_t length), void *arg)
{
	struct sockaddr_storage at = rs->peer;
	struct rs_peer *peer;
	int err;

	rs_look(rs);
	err = send_check(rs, length, to, to_length);
	if (!err)
		err = dgram_queues_open(rs);
	if (!err)
		err = rs_await(rs, dgram_send_need_not_wait, blocks, -1);
	if (err)
		return err;
	if (rs->sends_end)
		return EPIPE;
	if (to)
		vb_ip_copy(&at, to);
	peer = rs_peer_get(rs, &at);
	if (!peer)
		return ENOMEM;
	if (rs_peer_known(peer) && length <= RS_UD_BYTES - RS_HEAD_BYTES)
		err = send_by_qp(rs, peer, (uint32_t)length, copy, arg);
	else
		err = send_by_udp(rs, peer, length, blocks, copy, arg);
	if (!err)
		rs_peer_ask(rs, peer);
	return err;
}
