/* SPDX-License-Identifier: BSD-2-Clause */
/* wc.c - work completions of each opcode at both sides, and of each kind of failure: all fields, polled and by readers. */
#include <criterion/criterion.h>
#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "include/emu/emu.h"
#include "tests/verbs/qp_pair.h"

enum { A, B, BYTES = 8, ENTRIES = 4 };
#define IMM 0x01020304u

static struct qp_pair pair;
static struct ibv_cq_ex *extended[2]; /* NULL: ibv_poll_cq() */

static void begin(void)
{
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
}

/* Both sides complete in queues with all readers. */
static void begin_extended(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4 * QP_WR,
					    .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
							IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK };

	qp_pair_open(&pair);
	for (int side = A; side <= B; side++) {
		struct ibv_cq *before = pair.cq[side];

		extended[side] = ibv_create_cq_ex(pair.verbs.context, &attr);
		cr_assert_not_null(extended[side]);
		pair.cq[side] = ibv_cq_ex_to_cq(extended[side]);
		qp_replace(&pair, side, (struct ibv_qp_init_attr){ .cap = { QP_WR, QP_WR, 1, 1, 0 }, .sq_sig_all = 1 });
		cr_assert_eq(ibv_destroy_cq(before), 0);
	}
	qp_pair_meet(&pair);
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_wc, .init = begin, .fini = end, .timeout = 120);
TestSuite(verbs_wc_ex, .init = begin_extended, .fini = end, .timeout = 120);

/* --- what is wanted, and what comes --- */

static void read_fields(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cq->wr_id;
	wc->status = cq->status;
	wc->opcode = ibv_wc_read_opcode(cq);
	wc->vendor_err = ibv_wc_read_vendor_err(cq);
	wc->byte_len = ibv_wc_read_byte_len(cq);
	wc->wc_flags = ibv_wc_read_wc_flags(cq);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
	else
		wc->imm_data = ibv_wc_read_imm_data(cq);
	wc->qp_num = ibv_wc_read_qp_num(cq);
	wc->src_qp = ibv_wc_read_src_qp(cq);
	wc->slid = (uint16_t)ibv_wc_read_slid(cq);
	wc->sl = ibv_wc_read_sl(cq);
	wc->dlid_path_bits = ibv_wc_read_dlid_path_bits(cq);
}

static struct ibv_wc next(int side)
{
	struct ibv_poll_cq_attr attr = { 0 };
	time_t end_s = time(NULL) + 60;
	struct ibv_wc wc;
	int err;

	if (!extended[side]) {
		int got;

		memset(&wc, 0xff, sizeof(wc)); /* each field is written */
		while (!(got = ibv_poll_cq(pair.cq[side], 1, &wc)))
			cr_assert_lt(time(NULL), end_s, "nothing completes");
		cr_assert_eq(got, 1);
		return wc;
	}
	while ((err = ibv_start_poll(extended[side], &attr)) == ENOENT)
		cr_assert_lt(time(NULL), end_s, "nothing completes");
	cr_assert_eq(err, 0);
	read_fields(extended[side], &wc);
	ibv_end_poll(extended[side]);
	return wc;
}

static void is_next(int side, struct ibv_wc wanted)
{
	struct ibv_wc is = next(side);

	cr_assert(is.wr_id == wanted.wr_id && is.status == wanted.status, "request %d came with \"%s\"", (int)is.wr_id,
		  ibv_wc_status_str(is.status));
	cr_assert_eq(is.qp_num, pair.qp[side]->qp_num);
	cr_assert_eq(is.vendor_err, wanted.vendor_err, "%u", is.vendor_err);
	if (wanted.status)
		return; /* no other field of it is valid: ibv_poll_cq(3) */
	cr_assert(is.opcode == wanted.opcode && is.byte_len == wanted.byte_len, "opcode %d, %u bytes", (int)is.opcode, is.byte_len);
	cr_assert(is.wc_flags == wanted.wc_flags && is.imm_data == wanted.imm_data, "flags 0x%x", is.wc_flags);
	cr_assert(!is.src_qp && !is.pkey_index && !is.slid && !is.sl && !is.dlid_path_bits,
		  "these are UD's, or InfiniBand's links'");
}

static void no_more(int side)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc wc;

	if (extended[side])
		cr_assert_eq(ibv_start_poll(extended[side], &attr), ENOENT);
	else
		cr_assert_eq(ibv_poll_cq(pair.cq[side], 1, &wc), 0);
}

/* --- each opcode --- */

/* As InfiniBand tells them: the initiator's byte_len is that of what came to it, and 0 else. */
static const struct {
	enum ibv_wr_opcode opcode;
	enum ibv_wc_opcode sent;
	uint32_t came;
	bool takes; /* a receive */
	enum ibv_wc_opcode received;
	unsigned int flags;
} kinds[] = {
	{ IBV_WR_SEND, IBV_WC_SEND, 0, true, IBV_WC_RECV, 0 },
	{ IBV_WR_SEND_WITH_IMM, IBV_WC_SEND, 0, true, IBV_WC_RECV, IBV_WC_WITH_IMM },
	{ IBV_WR_SEND_WITH_INV, IBV_WC_SEND, 0, true, IBV_WC_RECV, IBV_WC_WITH_INV },
	{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE, 0, false, 0, 0 },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE, 0, true, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM },
	{ IBV_WR_RDMA_READ, IBV_WC_RDMA_READ, BYTES, false, 0, 0 },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP, BYTES, false, 0, 0 },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD, BYTES, false, 0, 0 },
	{ IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV, 0, false, 0, 0 },
};

static struct ibv_send_wr request(enum ibv_wr_opcode opcode, const struct ibv_mr *spare, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = qp_request(&pair, A, opcode, 0, BYTES, sge);

	wr.wr_id = 10;
	switch (opcode) {
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		wr.imm_data = htobe32(IMM);
		break;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		wr.invalidate_rkey = spare->rkey;
		wr.num_sge = opcode != IBV_WR_LOCAL_INV;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		wr.wr.atomic.remote_addr = (uintptr_t)pair.memory[B];
		wr.wr.atomic.rkey = pair.mr[B]->rkey;
		break;
	default:
		break;
	}
	return wr;
}

static void each_opcode(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct ibv_mr *spare = ibv_reg_mr(pair.verbs.pd, pair.memory[B], BYTES, IBV_ACCESS_REMOTE_READ);
		struct ibv_wc sent = { .wr_id = 10, .opcode = kinds[i].sent, .byte_len = kinds[i].came };
		struct ibv_wc received = {
			.wr_id = 20, .opcode = kinds[i].received, .byte_len = BYTES, .wc_flags = kinds[i].flags
		};
		struct ibv_sge sge;
		struct ibv_send_wr wr = request(kinds[i].opcode, spare, &sge), *bad;

		if (kinds[i].flags & IBV_WC_WITH_IMM)
			received.imm_data = htobe32(IMM);
		if (kinds[i].flags & IBV_WC_WITH_INV)
			received.invalidated_rkey = spare->rkey;
		if (kinds[i].takes)
			qp_receive(&pair, B, 2 * BYTES, 20);
		cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
		is_next(A, sent);
		if (kinds[i].takes)
			is_next(B, received);
		no_more(A);
		no_more(B);
		cr_assert_eq(ibv_dereg_mr(spare), 0);
	}
}

Test(verbs_wc, each_opcode)
{
	each_opcode();
}

Test(verbs_wc_ex, each_opcode)
{
	each_opcode();
}

/* --- what fails --- */

static struct ibv_wc failed(uint64_t wr_id, enum ibv_wc_status status, enum emu_cause cause)
{
	return (struct ibv_wc){ .wr_id = wr_id, .status = status, .vendor_err = cause };
}

static void both_again(void)
{
	qp_to(&pair, A, IBV_QPS_RESET);
	qp_to(&pair, B, IBV_QPS_RESET);
	qp_pair_meet(&pair);
}

/* The first that fails, and what was behind it: of the requests, and of the receives. vendor_err is the cause. */
static void each_failure(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, &sge), *bad;

	wr.wr_id = 1;
	wr.wr.rdma.rkey ^= 1;
	qp_receive(&pair, A, BYTES, 3);
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_post(&pair, A, IBV_WR_SEND, 0, BYTES, 2);
	is_next(A, failed(1, IBV_WC_REM_ACCESS_ERR, EMU_CAUSE_UNKNOWN_KEY));
	for (int flushed = 0; flushed < 2; flushed++) {
		struct ibv_wc wc = next(A);

		cr_assert(wc.wr_id == 2 || wc.wr_id == 3);
		cr_assert(wc.status == IBV_WC_WR_FLUSH_ERR && wc.vendor_err == EMU_CAUSE_CANCELLED &&
			  wc.qp_num == pair.qp[A]->qp_num);
	}
	both_again();
	qp_post(&pair, A, IBV_WR_RDMA_READ, QP_SPAN - 1, 2, 1);
	is_next(A, failed(1, IBV_WC_REM_ACCESS_ERR, EMU_CAUSE_RANGE));
	both_again();
	wr.wr.rdma.rkey ^= 1;
	sge.lkey ^= 1;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	is_next(A, failed(1, IBV_WC_LOC_PROT_ERR, EMU_CAUSE_SOURCE_FAULT));
	both_again();
	qp_receive(&pair, B, BYTES, 5);
	qp_receive(&pair, B, BYTES, 6);
	qp_post(&pair, A, IBV_WR_SEND, 0, BYTES + 1, 1);
	is_next(A, failed(1, IBV_WC_REM_INV_REQ_ERR, EMU_CAUSE_MESSAGE_LONG));
	is_next(B, failed(5, IBV_WC_LOC_LEN_ERR, EMU_CAUSE_TRUNCATED));
	is_next(B, failed(6, IBV_WC_WR_FLUSH_ERR, EMU_CAUSE_CANCELLED));
}

Test(verbs_wc, each_failure)
{
	each_failure();
}

Test(verbs_wc_ex, each_failure)
{
	each_failure();
}

/* --- from one entry to the next --- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The poll's entries, until it finds no more: their times lie between its begin and its end, and in their order. */
static uint64_t poll_all(uint64_t begun_ns, uint64_t seen)
{
	uint64_t last_ns = begun_ns;
	int err = 0;

	for (; !err; err = ibv_next_poll(extended[A]), seen++) {
		cr_assert(extended[A]->wr_id == seen && !extended[A]->status);
		cr_assert_eq(ibv_wc_read_opcode(extended[A]), IBV_WC_RDMA_WRITE);
		cr_assert_neq(ibv_wc_read_completion_wallclock_ns(extended[A]), 0);
		cr_assert_geq(ibv_wc_read_completion_ts(extended[A]), last_ns);
		last_ns = ibv_wc_read_completion_ts(extended[A]);
	}
	cr_assert_eq(err, ENOENT);
	cr_assert_leq(last_ns, now_ns());
	ibv_end_poll(extended[A]);
	return seen;
}

Test(verbs_wc_ex, several_in_one_poll)
{
	struct ibv_poll_cq_attr attr = { 0 };
	time_t end_s = time(NULL) + 60;

	for (uint64_t i = 0; i < ENTRIES; i++)
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, i);
	for (uint64_t seen = 0; seen < ENTRIES;) {
		uint64_t begun_ns = now_ns();
		int err = ibv_start_poll(extended[A], &attr);

		cr_assert(err ? err == ENOENT && time(NULL) < end_s : true);
		if (!err)
			seen = poll_all(begun_ns, seen);
	}
	no_more(A);
}

static atomic_int polls_begun, polls_got;

static void *polls_next(void *wr_id)
{
	struct ibv_poll_cq_attr attr = { 0 };

	atomic_store(&polls_begun, 1);
	while (ibv_start_poll(extended[A], &attr) == ENOENT)
		sched_yield();
	atomic_store(&polls_got, 1);
	*(uint64_t *)wr_id = extended[A]->wr_id;
	ibv_end_poll(extended[A]);
	return NULL;
}

/* V117 */
Test(verbs_wc_ex, a_thread_that_polls_keeps_others_out)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint64_t next = 0;
	pthread_t thread;

	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 1);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 2);
	while (ibv_start_poll(extended[A], &attr))
		sched_yield();
	cr_assert_eq(pthread_create(&thread, NULL, polls_next, &next), 0);
	while (!atomic_load(&polls_begun))
		sched_yield();
	for (int i = 0; i < 1000; i++)
		sched_yield();
	cr_assert(!atomic_load(&polls_got) && extended[A]->wr_id == 1);
	ibv_end_poll(extended[A]);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(next, 2);
	no_more(A);
}

/* A program that says that it has one thread may poll in a poll: no lock is held. */
Test(verbs_wc_ex, polls_of_one_thread)
{
	struct ibv_cq_init_attr_ex init = { .cqe = 4,
					    .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					    .flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(pair.verbs.context, &init);
	struct ibv_poll_cq_attr attr = { 0 };
	time_t end_s = time(NULL) + 60;
	struct ibv_wc wc;

	qp_replace(&pair, A,
		   (struct ibv_qp_init_attr){ .send_cq = ibv_cq_ex_to_cq(cq), .cap = { 2, 1, 1, 1, 0 }, .sq_sig_all = 1 });
	qp_to(&pair, B, IBV_QPS_RESET);
	qp_pair_meet(&pair);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 1);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, BYTES, 2);
	while (ibv_start_poll(cq, &attr))
		cr_assert_lt(time(NULL), end_s, "nothing completes");
	while (!ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc))
		cr_assert_lt(time(NULL), end_s, "nothing completes");
	cr_assert(cq->wr_id == 1 && wc.wr_id == 2);
	ibv_end_poll(cq);
	qp_replace(&pair, A, (struct ibv_qp_init_attr){ .cap = { 1, 1, 1, 1, 0 } });
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}
