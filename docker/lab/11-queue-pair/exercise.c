/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 11: exercise 1 again, in verbs: a write and a read over a queue pair. */
#include "lab_verbs.h"

enum { GREETING = 0, ANSWER = 64, ROOM = 64 }; /* places in the target's memory */

static void target(struct lab *lab)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	char *memory = calloc(1, LAB_BYTES);
	struct ibv_mr *mr = lab_register(lab, memory, LAB_BYTES, access);
	struct lab_region region = { .addr = (uintptr_t)memory, .key = mr->lkey, .length = LAB_BYTES }; /* BUG: one key of two */
	char done;

	strcpy(memory + ANSWER, "hello, initiator");
	lab_tell(lab, &region, sizeof(region));
	lab_hear(lab, &done, sizeof(done)); /* meanwhile this program does nothing at all */
	printf("target has: %s\n", memory + GREETING);
	MUST(ibv_dereg_mr(mr));
	free(memory);
}

/* Posts a request for ROOM bytes of the region `mr`, which begin at `local`, and of the peer's, which begin at `place`. */
static void post(struct lab *lab, enum ibv_wr_opcode opcode, struct ibv_mr *mr, char *local, const struct lab_region *region,
		 int place)
{
	struct ibv_sge sge = { .addr = (uintptr_t)local, .length = ROOM, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = opcode, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr.rdma.remote_addr = region->addr + place;
	wr.wr.rdma.rkey = (uint32_t)region->key;
	MUST(ibv_post_send(lab->qp, &wr, &bad));
}

static void initiator(struct lab *lab)
{
	char *memory = calloc(1, LAB_BYTES);
	struct ibv_mr *mr = lab_register(lab, memory, LAB_BYTES, IBV_ACCESS_LOCAL_WRITE);
	struct lab_region region;

	lab_hear(lab, &region, sizeof(region));
	strcpy(memory, "hello, target");
	post(lab, IBV_WR_RDMA_WRITE, mr, memory, &region, GREETING);
	lab_wait(lab);
	/* HOLE: read the target's ANSWER to memory + ANSWER, and wait for the completion. */
	printf("initiator has: %s\n", memory + ANSWER);
	lab_tell(lab, "", 1);
	MUST(ibv_dereg_mr(mr));
	free(memory);
}

int main(void)
{
	struct lab_place mine, peer;
	struct lab lab;

	lab_fork(&lab);
	mine = lab_open(&lab);
	lab_tell(&lab, &mine, sizeof(mine));
	lab_hear(&lab, &peer, sizeof(peer));
	lab_ready_to_receive(&lab, &peer, peer.psn);
	lab_ready_to_send(&lab, mine.psn);
	if (lab.side == LAB_TARGET)
		target(&lab);
	else
		initiator(&lab);
	return lab_close(&lab);
}
