/* SPDX-License-Identifier: BSD-2-Clause */
/* test_conn.c - a connection by itself: what it takes and gives in one go, and what is left of it once it is closed. */
#include <criterion/criterion.h>
#include <errno.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/transport/conn.h"
#include "tests/sim/harness/bed.h"
#include "tests/sim/harness/scarce.h"

enum { WRITES = 64 };

/* Two that have met; the device of the first is in the test's hands. */
struct stage {
	struct bed bed;
	struct region *region; /* of the second */
	struct node *node;
	struct nic *nic;
	struct conn *conn;
};

static struct job *post(struct job *job)
{
	cr_assert(job && !job_post(job));
	return job;
}

static void stage_open(struct stage *stage, uint64_t seed)
{
	struct bed *bed = &stage->bed;

	bed_open(bed, seed, 2, NULL, NULL);
	stage->region = region_open(bed->party[1], 4096, 1, BED_BOTH, false, 0);
	post(job_rma(bed->party[0], stage->region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed->model, BED_LIMIT_NS);
	stage->node = bed->node[0];
	stage->nic = stage->node->nic;
	stage->conn = stage->nic->conns;
	node_enter(stage->node);
}

static void stage_close(struct stage *stage)
{
	node_leave(stage->node);
	model_end(stage->bed.model, BED_LIMIT_NS);
	bed_close(&stage->bed);
}

/* A frame acknowledges, so that no other one has to, but for verdicts. */
Test(conn, that_acknowledges)
{
	struct stage stage;
	struct session *session;

	stage_open(&stage, 2);
	session = stage.conn->session;
	for (int verdict = 0; verdict < 2; verdict++) {
		session->rsp.owed_requests = session->rsp.owed_bytes = 1;
		session->rsp.ack_now = true;
		session->req.verdict_seen += (uint64_t)verdict;
		conn_frame_end(stage.conn, wire_put_ack(conn_frame_begin(stage.conn, 0, 0), 0));
		cr_assert_eq(session->rsp.ack_now, verdict);
		cr_assert_eq(session->rsp.owed_requests, 0);
		cr_assert_eq(session->rsp.owed_bytes, 0);
		session->req.verdict_seen -= (uint64_t)verdict;
	}
	conn_busy(stage.conn);
	stage_close(&stage);
}

static int sends;

static ssize_t count_send(struct line *line, const struct iovec *iov, int count)
{
	(void)line;
	(void)iov;
	(void)count;
	sends++;
	return -EAGAIN;
}

/* The stream is full: nothing is tried until there is room. */
Test(conn, that_is_blocked)
{
	struct stage stage;
	struct link_ops link;

	stage_open(&stage, 3);
	link = stage.nic->link;
	stage.nic->link.send = count_send;
	conn_frame_end(stage.conn, wire_put_ack(conn_frame_begin(stage.conn, 0, 0), 0));
	for (int i = 0; i < 2; i++) {
		conn_transmit(stage.conn);
		cr_assert(stage.conn->blocked);
		cr_assert_eq(sends, 1);
	}
	stage.nic->link = link;
	conn_writable(stage.conn);
	cr_assert_not(stage.conn->blocked);
	stage_close(&stage);
}

/* With nothing in its queue nothing would wake it. */
Test(conn, that_has_no_memory)
{
	struct stage stage;
	struct session *session;
	struct world *world;

	stage_open(&stage, 4);
	world = stage.bed.world;
	session = stage.conn->session;
	sendq_spares_free(&stage.nic->spares);
	session->rsp.ack_now = true;
	session->rsp.owed_requests = 1;
	world->weather.scarce_permille = 1000;
	world->weather.scarce_left = 1;
	scarce_begin(world);
	stage.nic->pace.slicing = true;
	cr_assert_not(conn_transmit(stage.conn));
	scarce_end();
	cr_assert_eq(stage.conn->state, CONN_CLOSED);
	stage.nic->pace.slicing = false;
	stage_close(&stage);
}

static ssize_t result;

static ssize_t give(struct line *line, const struct iovec *iov, int count)
{
	(void)line;
	(void)iov;
	(void)count;
	return result;
}

/* The link's answer about a stream: nothing now, or the end, and why. */
Test(conn, that_receives_nothing)
{
	static const struct {
		ssize_t result;
		bool open, faulted, refused;
	} gets[] = {
		{ -EAGAIN, true, false, false }, { -EINTR, true, false, false },       { -EFAULT, true, true, false },
		{ 0, false, false, false },      { -ECONNRESET, false, false, false }, { -ECONNREFUSED, false, false, true },
	};

	for (size_t i = 0; i < sizeof(gets) / sizeof(gets[0]); i++) {
		struct stage stage;
		struct session *session;
		struct link_ops link;

		stage_open(&stage, 5);
		session = stage.conn->session;
		link = stage.nic->link;
		stage.nic->link.recv = give;
		stage.nic->pace.slicing = true;
		result = gets[i].result;
		conn_readable(stage.conn);
		cr_expect_eq(stage.conn->state == CONN_OPEN, gets[i].open, "result %zd", result);
		cr_expect_eq(stage.conn->in.fault, gets[i].faulted, "result %zd", result);
		cr_expect_eq(session->refused_dials, gets[i].refused, "result %zd", result);
		stage.nic->pace.slicing = false;
		stage.nic->link = link;
		stage_close(&stage);
	}
}

/* Sending says so, too. */
Test(conn, that_breaks_as_it_sends)
{
	struct stage stage;
	struct link_ops link;

	stage_open(&stage, 6);
	link = stage.nic->link;
	stage.nic->link.send = give;
	stage.nic->pace.slicing = true;
	result = -EPIPE;
	conn_frame_end(stage.conn, wire_put_ack(conn_frame_begin(stage.conn, 0, 0), 0));
	conn_transmit(stage.conn);
	cr_assert_eq(stage.conn->state, CONN_CLOSED);
	stage.nic->pace.slicing = false;
	stage.nic->link = link;
	stage_close(&stage);
}

/* What the receiver of WRITEs of that length, which are all there before it looks, has received aside, and by how many calls. */
static void received(uint64_t length, uint64_t *aside, uint64_t *calls)
{
	const struct nic_config config = { .digest = NIC_DIGEST_HEAD };
	struct region *region;
	struct node *to;
	struct bed bed;

	bed_open(&bed, 8, 2, &config, NULL);
	bed.world->weather.chunk_max = 0;
	bed.world->weather.capacity = 2 * WRITES * SLICE_RECV_BYTES;
	region = region_open(bed.party[1], WRITES * SLICE_RECV_BYTES, 1, BED_BOTH, false, 0);
	post(job_rma(bed.party[0], region, OP_WRITE, 0, 8, POST_COMPLETE, 1));
	model_end(bed.model, BED_LIMIT_NS);
	to = bed.node[1];
	to->asleep = true;
	for (uint64_t i = 0; i < WRITES; i++)
		post(job_rma(bed.party[0], region, OP_WRITE, i * SLICE_RECV_BYTES, length, POST_COMPLETE, 1));
	model_pass(bed.model, SIM_SECOND / 100);
	cr_assert_eq(tap_count(bed.world, TAP_WRITE), 1 + WRITES);
	to->aside = to->receives = 0;
	to->asleep = false;
	model_end(bed.model, BED_LIMIT_NS);
	*aside = to->aside;
	*calls = to->receives;
	bed_close(&bed);
}

/* Behind a long payload little is taken that has its place elsewhere, once its head comes alone. Short ones come many at once,
 * and where many came, more: but for the first call four times as many. */
Test(conn, that_receives_long_ones_and_short)
{
	uint64_t aside, calls;

	received(SLICE_RECV_BYTES, &aside, &calls);
	cr_assert_leq(aside, WRITES / 2 * SLICE_RECV_BYTES, "%llu bytes", (unsigned long long)aside);
	received(SLICE_RECV_BYTES - 1, &aside, &calls);
	cr_assert_geq(aside, WRITES / 4 * 3 * SLICE_RECV_BYTES, "%llu bytes", (unsigned long long)aside);
	received(SLICE_RECV_BYTES / 4, &aside, &calls);
	cr_assert_leq(calls, WRITES / 8, "%llu calls", (unsigned long long)calls);
}

/* Many short ones came at once, and then long ones one by one: but for the first they have their place. */
Test(conn, that_receives_long_ones_after_many_short)
{
	struct region *region;
	struct node *to;
	struct bed bed;

	bed_open(&bed, 8, 2, NULL, NULL);
	bed.world->weather.chunk_max = 0;
	bed.world->weather.capacity = 4 * LIMIT_SEGMENT;
	region = region_open(bed.party[1], LIMIT_SEGMENT, 1, BED_BOTH, false, 0);
	to = bed.node[1];
	to->asleep = true;
	for (uint64_t i = 0; i < WRITES; i++)
		post(job_rma(bed.party[0], region, OP_WRITE, i * 1024, 1024, POST_COMPLETE, 1));
	model_pass(bed.model, SIM_SECOND / 100);
	to->asleep = false;
	model_end(bed.model, BED_LIMIT_NS);
	for (uint64_t i = 0; i < WRITES; i++) {
		to->aside = 0;
		to->asleep = true;
		post(job_rma(bed.party[0], region, OP_WRITE, 0, LIMIT_SEGMENT / 2, POST_COMPLETE, 1));
		model_pass(bed.model, SIM_SECOND / 100);
		to->asleep = false;
		model_end(bed.model, BED_LIMIT_NS);
		cr_assert(!i || to->aside <= SLICE_RECV_BYTES + LIMIT_COPY, "%llu bytes of number %llu",
			  (unsigned long long)to->aside, (unsigned long long)i);
	}
	bed_close(&bed);
}

/* For the log: by the session's peer, once there is one. */
Test(conn, that_is_named)
{
	char text[64], name[64];
	struct session *session;
	struct stage stage;

	stage_open(&stage, 7);
	session = stage.conn->session;
	address_text(&stage.bed.party[1]->name, name, sizeof(name));
	cr_assert_str_eq(conn_name(stage.conn, text, sizeof(text)), name);
	stage.conn->session = NULL;
	cr_assert_str_eq(conn_name(stage.conn, text, sizeof(text)), "a peer that said no HELLO");
	stage.conn->session = session;
	stage_close(&stage);
}

/* Until the end of the slice it is still there, and code that comes upon it leaves it alone. */
Test(conn, that_is_closed)
{
	struct stage stage;
	struct conn *conn;

	stage_open(&stage, 1);
	conn = stage.conn;
	stage.nic->pace.slicing = true;
	conn_close(conn, 0, true);
	conn_up(conn);
	conn_readable(conn);
	conn_busy(conn);
	cr_assert_not(conn_transmit(conn));
	conn_broken(conn, "a reason");
	conn_bye(conn, WIRE_BYE_CLOSED, "a reason", true);
	conn_down(conn, ECONNRESET);
	cr_assert_eq(conn->state, CONN_CLOSED);
	cr_assert_eq(stage.nic->conn_count, 0);
	cr_assert_eq(stage.nic->dead, conn);
	cr_assert_null(conn->next_dead);
	cr_assert_null(stage.nic->busy);
	cr_assert_null(conn->out.buffer);
	cr_assert_eq(stage.node->warns, 0);
	stage.nic->pace.slicing = false;
	stage_close(&stage);
}
