/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 12: two queue pairs find each other, and a write hangs all the same. */
#include "lab_verbs.h"

enum { ROOM = 64 };

/* Brings the queue pair from INIT to RTS. */
static void meet(struct lab *lab)
{
	struct lab_place mine = lab_open(lab), peer;

	lab_tell(lab, &mine, sizeof(mine));
	lab_hear(lab, &peer, sizeof(peer));
	lab_ready_to_receive(lab, &peer, mine.psn); /* BUG: whose requests does this queue pair receive? */
	lab_ready_to_send(lab, mine.psn);
}

static void target(struct lab *lab)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	char *memory = calloc(1, LAB_BYTES), done;
	struct ibv_mr *mr = lab_register(lab, memory, LAB_BYTES, access);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = mr->rkey, .length = LAB_BYTES };

	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done));
	printf("target has: %s\n", memory);
	MUST(ibv_dereg_mr(mr));
	free(memory);
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct ibv_mr *mr = lab_register(lab, memory, LAB_BYTES, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = ROOM, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	strcpy(memory, "hello, target");
	wr.wr.rdma.remote_addr = region.addr;
	wr.wr.rdma.rkey = (uint32_t)region.key;
	MUST(ibv_post_send(lab->qp, &wr, &bad));
	lab_wait(lab);
	lab_tell(lab, "", 1);
	MUST(ibv_dereg_mr(mr));
	free(memory);
}

int main(void)
{
	struct lab lab;

	lab_fork(&lab);
	meet(&lab);
	if (lab.side == LAB_TARGET)
		target(&lab);
	else
		initiator(&lab);
	return lab_close(&lab);
}
