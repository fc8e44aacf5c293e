/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_kit.c - see verbs_kit.h. */
#include "tests/races/verbs/verbs_kit.h"

#include <string.h>

#include "tests/races/verbs/verbs_kit_impl.h"

enum { SHARED = 256 };

struct mine mine;

const struct race_set *const race_sets[] = { &verbs_remote,  &verbs_target, &verbs_local,     &verbs_receives,
					     &verbs_objects, &verbs_memory, &verbs_processes, NULL };

const struct wanted *wanted(void)
{
	return race_this->want;
}

void kit_round(unsigned round)
{
	(void)round;
	wanted()->round();
}

void share(unsigned from, void *bytes, size_t length)
{
	uint8_t all[RACE_SIDES * SHARED];

	NEED(length <= SHARED);
	race_swap(bytes, all, length);
	memcpy(bytes, all + from * length, length);
}

/* --- requests --- */

struct ibv_sge part(unsigned at, unsigned length)
{
	return (struct ibv_sge){ (uintptr_t)mine.memory + at, length, mine.mr->lkey };
}

struct ibv_send_wr request(unsigned to, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length,
			   struct ibv_sge *sge)
{
	struct ibv_send_wr wr = { .opcode = opcode, .send_flags = IBV_SEND_SIGNALED, .sg_list = sge, .num_sge = 1 };
	const struct remote *there = &mine.remote[to];

	*sge = part(at, length);
	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = there->at + remote;
		wr.wr.atomic.rkey = there->rkey;
		wr.wr.atomic.compare_add = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.swap = 1;
	} else if (wanted()->type != IBV_QPT_UD) {
		wr.wr.rdma.remote_addr = there->at + remote;
		wr.wr.rdma.rkey = there->rkey;
	}
	return wr;
}

void post(unsigned to, unsigned lane, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (wanted()->type == IBV_QPT_UD) {
		wr->wr.ud.ah = mine.ah[to];
		wr->wr.ud.remote_qpn = mine.remote[to].qp_num[race_self][lane];
		wr->wr.ud.remote_qkey = QKEY;
	}
	NEED(!ibv_post_send(mine.qp[to][lane], wr, &bad));
}

void begin_as(unsigned to, unsigned lane, unsigned flags, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = request(to, opcode, at, remote, length, &sge);

	wr.send_flags = flags;
	post(to, lane, &wr);
}

void begin(unsigned to, unsigned lane, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length)
{
	begin_as(to, lane, IBV_SEND_SIGNALED, opcode, at, remote, length);
}

static void await(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	NEED(n == 1 && wc.status == IBV_WC_SUCCESS);
}

void finish(unsigned lane)
{
	await(mine.sends[lane]);
}

void does(unsigned to, unsigned lane, enum ibv_wr_opcode opcode, unsigned at, unsigned remote, unsigned length)
{
	begin(to, lane, opcode, at, remote, length);
	finish(lane);
}

void expects(unsigned from, unsigned lane, unsigned at, unsigned length)
{
	struct ibv_sge sge = part(at, length);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	if (mine.srq)
		NEED(!ibv_post_srq_recv(mine.srq, &wr, &bad));
	else
		NEED(!ibv_post_recv(mine.qp[from][lane], &wr, &bad));
}

void received(unsigned lane)
{
	await(mine.receives[lane]);
}

/* --- its own memory --- */

void look(unsigned at, unsigned length)
{
	const volatile uint8_t *bytes = mine.memory + at;

	for (unsigned i = 0; i < length; i++)
		(void)bytes[i];
}

void fill(unsigned at, unsigned length, unsigned value)
{
	volatile uint8_t *bytes = mine.memory + at;

	for (unsigned i = 0; i < length; i++)
		bytes[i] = (uint8_t)value;
}

void poll_byte(unsigned at, unsigned before)
{
	const volatile uint8_t *byte = mine.memory + at;

	while (*byte == before)
		;
}

uint64_t word(unsigned at)
{
	return *(volatile uint64_t *)(mine.memory + at);
}
