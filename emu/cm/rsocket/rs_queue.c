/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_queue.c - the queue pair of an rsocket: its buffers, what it posts and what completes, and credits (README.md). */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "emu/cm/rsocket/rs_dgram.h"

enum {
	COMPLETIONS_AT_ONCE = 16,
	PART_LEAST = 2048, /* a part of the stream is a quarter of the send buffer, so that its copying and its sending overlap */
	SPARE_SLOTS = 1,   /* for a credit */
};

/* --- opened and closed --- */

int rs_post_receive(struct rsocket *rs, struct ibv_qp *qp, uint64_t place, uint32_t size)
{
	struct ibv_sge to = { .addr = (uintptr_t)(rs->controls + place * size), .length = size, .lkey = rs->own_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = place, .sg_list = &to, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

static int open_buffers(struct rsocket *rs)
{
	size_t controls = (size_t)rs->receives * RS_CONTROL_BYTES;

	rs->ring = calloc(1, rs->ring_size);
	rs->outgoing = calloc(1, rs->outgoing_size + controls);
	rs->sent = calloc(rs->options.send_queue, sizeof(*rs->sent));
	if (!rs->ring || !rs->outgoing || !rs->sent)
		return ENOMEM;
	rs->controls = rs->outgoing + rs->outgoing_size;
	rs->ring_mr = ibv_reg_mr(rs->id->pd, rs->ring, rs->ring_size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!rs->ring_mr)
		return errno;
	rs->own_mr = ibv_reg_mr(rs->id->pd, rs->outgoing, rs->outgoing_size + controls, IBV_ACCESS_LOCAL_WRITE);
	return rs->own_mr ? 0 : errno;
}

int rs_cq_open(struct rsocket *rs, struct ibv_context *context, uint32_t size)
{
	int err;

	rs->completions = ibv_create_comp_channel(context);
	if (!rs->completions)
		return errno;
	err = fcntl(rs->completions->fd, F_SETFL, O_NONBLOCK) ? errno : rs_watch(rs, rs->completions->fd);
	if (err)
		return err;
	rs->cq = ibv_create_cq(context, (int)size, rs, rs->completions, 0);
	return rs->cq ? 0 : errno;
}

static int open_qp(struct rsocket *rs)
{
	const struct rs_options *options = &rs->options;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = options->send_queue,
			 .max_recv_wr = options->receive_queue,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = options->inline_bytes > RS_CONTROL_BYTES ? options->inline_bytes : RS_CONTROL_BYTES },
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};
	int err = rs_cq_open(rs, rs->id->verbs, options->send_queue + options->receive_queue);

	if (err)
		return err;
	attr.send_cq = attr.recv_cq = rs->cq;
	return rdma_create_qp(rs->id, NULL, &attr) ? errno : 0;
}

int rs_queues_open(struct rsocket *rs)
{
	int err;

	rs->ring_size = rs->options.receive_bytes;
	rs->outgoing_size = rs->options.send_bytes;
	rs->receives = rs->options.receive_queue;
	err = open_buffers(rs);
	if (!err)
		err = open_qp(rs);
	for (uint32_t i = 0; i < rs->receives && !err; i++)
		err = rs_post_receive(rs, rs->id->qp, i, RS_CONTROL_BYTES);
	if (err)
		rs_queues_close(rs);
	return err;
}

void rs_queues_close(struct rsocket *rs)
{
	if (rs->id && rs->id->qp)
		rdma_destroy_qp(rs->id);
	if (rs->cq)
		ibv_destroy_cq(rs->cq);
	if (rs->completions)
		ibv_destroy_comp_channel(rs->completions);
	if (rs->ring_mr)
		ibv_dereg_mr(rs->ring_mr);
	if (rs->own_mr)
		ibv_dereg_mr(rs->own_mr);
	rs->cq = NULL;
	rs->completions = NULL;
	rs->ring_mr = rs->own_mr = NULL;
	free(rs->ring);
	free(rs->outgoing);
	free(rs->sent);
	rs->ring = rs->outgoing = NULL;
	rs->sent = NULL;
}

/* --- the greeting --- */

void rs_greet(const struct rsocket *rs, uint8_t bytes[RS_GREETING_BYTES])
{
	const struct rs_greeting own = {
		.ring_at = (uintptr_t)rs->ring,
		.ring_key = rs->ring_mr->rkey,
		.ring_size = rs->ring_size,
		.slots = rs->receives,
		.iomaps = rs->options.iomaps,
	};

	rs_greeting_put(&own, bytes);
}

int rs_greeted(struct rsocket *rs, const void *data, size_t length)
{
	struct rs_greeting *to = &rs->to;

	if (length < RS_GREETING_BYTES || !rs_greeting_get(data, to) || to->slots < RS_QUEUE_LEAST || to->slots > RS_QUEUE_MOST ||
	    !to->ring_size || to->ring_size > RS_BUFFER_MOST || to->iomaps > RS_IOMAPS_MOST)
		return vb_refuse(EPROTO, "rsocket", "the peer is no rsocket of emu: its private data is no greeting of version %d.",
				 RS_VERSION);
	rs->targets = to->iomaps ? calloc(to->iomaps, sizeof(*rs->targets)) : NULL;
	if (to->iomaps && !rs->targets)
		return ENOMEM;
	rs->slots = to->slots;
	rs->room = to->ring_size;
	return 0;
}

/* --- what completes --- */

static void broken(struct rsocket *rs, const char *what)
{
	vb_inform("rsocket", "the connection is reset: the peer breaks the protocol of rsockets (emu/cm/rsocket/README.md): %s.",
		  what);
	rs_fail(rs, ECONNRESET);
}

static void take_stream(struct rsocket *rs, uint32_t length, uint32_t written)
{
	if (length != written)
		broken(rs, "the length of a part is another than what was written");
	else if (!length || length > rs->ring_size - rs->unread - rs->room_owed)
		broken(rs, "it has written more than it was given room for");
	else if (rs->end_heard)
		broken(rs, "it goes on after its end");
	else
		rs->unread += length;
}

static void take_control(struct rsocket *rs, uint64_t place, uint32_t length)
{
	struct rs_control control;

	if (length != RS_CONTROL_BYTES || !rs_control_get(rs->controls + place * RS_CONTROL_BYTES, &control))
		broken(rs, "a control message is malformed");
	else if (control.slots > rs->to.slots - rs->slots || control.room > rs->to.ring_size - rs->room)
		broken(rs, "it gives more credit than was used");
	else if ((control.kind == RS_MAP || control.kind == RS_UNMAP) && !rs_iomap_told(rs, &control))
		broken(rs, "it maps more than it has said to, or unmaps what is not mapped");
	if (rs->state == RS_OVER)
		return;
	rs->slots += control.slots;
	rs->room += control.room;
	rs->leave_heard |= control.kind == RS_LEAVE;
	rs->end_heard |= control.kind == RS_END || control.kind == RS_LEAVE;
}

static void take_received(struct rsocket *rs, const struct ibv_wc *wc)
{
	if (rs->state == RS_ACCEPTED) /* its READY is on its way */
		rs_enter(rs, RS_UP);
	if (rs->state != RS_UP)
		return;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)
		take_stream(rs, ntohl(wc->imm_data), wc->byte_len);
	else
		take_control(rs, wc->wr_id, wc->byte_len);
	if (rs->state != RS_UP)
		return;
	rs->slots_owed++;
	if (rs_post_receive(rs, rs->id->qp, wc->wr_id, RS_CONTROL_BYTES))
		rs_fail(rs, ECONNRESET);
}

static void take_sent(struct rsocket *rs)
{
	rs->held -= rs->sent[rs->sent_first];
	rs->sent_first = (rs->sent_first + 1) % rs->options.send_queue;
	rs->sent_count--;
}

static void take_wc(struct rsocket *rs, const struct ibv_wc *wc)
{
	if (wc->wr_id == RS_SENT)
		take_sent(rs);
	if (wc->status == IBV_WC_SUCCESS && wc->wr_id != RS_SENT) {
		take_received(rs, wc);
	} else if (wc->status != IBV_WC_SUCCESS && (rs->state == RS_UP || rs->state == RS_ACCEPTED)) {
		vb_inform("rsocket", "the connection is reset: %s.", ibv_wc_status_str(wc->status));
		rs_fail(rs, ECONNRESET);
	}
}

bool rs_poll(struct rsocket *rs)
{
	struct ibv_wc wc[COMPLETIONS_AT_ONCE];
	bool came = false;
	int n;

	do {
		n = ibv_poll_cq(rs->cq, COMPLETIONS_AT_ONCE, wc);
		for (int i = 0; i < n; i++)
			(rs->dgram ? rs_dgram_completed : take_wc)(rs, &wc[i]);
		came |= n > 0;
	} while (n == COMPLETIONS_AT_ONCE);
	if (came) {
		rs_say_due(rs);
		rs_ring(rs);
	}
	return came;
}

/* --- what is posted --- */

static bool has_wr(const struct rsocket *rs)
{
	return rs->sent_count < rs->options.send_queue;
}

bool rs_can_send(const struct rsocket *rs)
{
	return rs_can_say(rs) && !rs->leave_heard && rs->room && rs->held < rs->outgoing_size;
}

bool rs_can_write(const struct rsocket *rs)
{
	return rs->state == RS_UP && !rs->leave_heard && has_wr(rs) && rs->held < rs->outgoing_size;
}

bool rs_can_say(const struct rsocket *rs)
{
	return rs->state == RS_UP && has_wr(rs) && rs->slots > SPARE_SLOTS;
}

static bool post_wr(struct rsocket *rs, struct ibv_send_wr *wr, uint32_t holds)
{
	struct ibv_send_wr *bad;

	wr->wr_id = RS_SENT;
	if (ibv_post_send(rs->id->qp, wr, &bad)) {
		rs_fail(rs, ECONNRESET);
		return false;
	}
	rs->sent[(rs->sent_first + rs->sent_count) % rs->options.send_queue] = holds;
	rs->sent_count++;
	rs->held += holds;
	return true;
}

/* The longest part that may be posted now. It is inline, or is to be held in `outgoing`. */
static uint32_t part_length(const struct rsocket *rs, uint32_t length, const struct rs_target *target, bool *held)
{
	uint32_t quarter = rs->outgoing_size / 4, part = rs_least(length, quarter > PART_LEAST ? quarter : PART_LEAST);

	if (!target) {
		part = rs_least(part, rs->room);
		part = rs_least(part, rs->to.ring_size - rs->place);
	}
	*held = part > rs->options.inline_bytes;
	if (*held) {
		part = rs_least(part, rs->outgoing_size - rs->held);
		part = rs_least(part, rs->outgoing_size - rs->write_at);
	}
	return part;
}

uint32_t rs_post(struct rsocket *rs, uint32_t length, const struct rs_target *target,
		 void (*copy)(void *arg, void *to, uint32_t length), void *arg)
{
	bool held;
	uint32_t part = part_length(rs, length, target, &held);
	uint8_t small[RS_INLINE_MOST], *from = held ? rs->outgoing + rs->write_at : small;
	struct ibv_sge sge = { .addr = (uintptr_t)from, .length = part, .lkey = rs->own_mr->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = target ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_WRITE_WITH_IMM,
		.send_flags = held ? 0 : IBV_SEND_INLINE,
		.imm_data = htonl(part),
		.wr.rdma = { .remote_addr = target ? target->at : rs->to.ring_at + rs->place,
			     .rkey = target ? target->key : rs->to.ring_key },
	};

	if (!part)
		return 0;
	copy(arg, from, part);
	if (!post_wr(rs, &wr, held ? part : 0))
		return 0;
	if (held)
		rs->write_at = (rs->write_at + part) % rs->outgoing_size;
	if (!target) {
		rs->slots--;
		rs->room -= part;
		rs->place = (rs->place + part) % rs->to.ring_size;
	}
	return part;
}

void rs_say(struct rsocket *rs, struct rs_control *control)
{
	uint8_t bytes[RS_CONTROL_BYTES];
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = sizeof(bytes) };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE };

	control->slots = rs->slots_owed;
	control->room = rs->room_owed;
	rs_control_put(control, bytes);
	if (!post_wr(rs, &wr, 0))
		return;
	rs->slots--;
	rs->slots_owed = rs->room_owed = 0;
}

void rs_say_due(struct rsocket *rs)
{
	struct rs_control end = { .kind = rs->reads_end ? RS_LEAVE : RS_END }, credit = { .kind = RS_CREDIT };
	bool said = rs->reads_end ? rs->leave_said : rs->end_said;

	if (rs->leave_heard)
		return;
	if (rs->sends_end && !said && rs_can_say(rs)) {
		rs->end_said = true;
		rs->leave_said = rs->reads_end;
		rs_say(rs, &end);
	}
	if (rs->state == RS_UP && has_wr(rs) && rs->slots &&
	    (rs->slots_owed >= rs->receives / 2 || rs->room_owed >= (rs->ring_size + 1) / 2))
		rs_say(rs, &credit);
}
