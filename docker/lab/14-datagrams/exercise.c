/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercise 14: a question and an answer by datagrams. */
#include "lab_verbs.h"

enum { ROOM = 64, QKEY = 0x1ab };

static struct ibv_mr *buffer(struct lab *lab)
{
	return lab_register(lab, calloc(1, LAB_BYTES), LAB_BYTES, IBV_ACCESS_LOCAL_WRITE);
}

static void post_receive(struct lab *lab, struct ibv_mr *mr, uint32_t length)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = length, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST(ibv_post_recv(lab->qp, &wr, &bad));
}

/* Sends ROOM bytes from the beginning of `mr`, and waits until they have left. */
static void send_to(struct lab *lab, struct ibv_ah *ah, uint32_t qpn, struct ibv_mr *mr)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = ROOM, .lkey = mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = QKEY;
	MUST(ibv_post_send(lab->qp, &wr, &bad));
	lab_wait(lab);
}

/* The message that came to the beginning of `mr`. */
static const char *message(const struct ibv_mr *mr)
{
	return (const char *)mr->addr; /* BUG: what else came? */
}

/* Knows nothing of its peer before that asks. */
static void target(struct lab *lab)
{
	struct lab_place mine = lab_open_datagrams(lab, QKEY);
	struct ibv_mr *in = buffer(lab), *out = buffer(lab);
	struct ibv_wc wc;

	post_receive(lab, in, ROOM); /* BUG: what comes is longer */
	lab_tell(lab, &mine, sizeof(mine));
	if (lab_wait_a_while(lab, &wc)) {
		printf("target has: %s\n", message(in));
		strcpy(out->addr, "it is this one");
		/* HOLE: make an address handle of the completion, send_to() the queue pair that it names, and destroy it. */
	} else {
		printf("target has nothing\n");
	}
	MUST(ibv_dereg_mr(in));
	MUST(ibv_dereg_mr(out));
}

static void initiator(struct lab *lab)
{
	struct ibv_ah_attr path = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 1 } };
	struct ibv_mr *in, *out;
	struct lab_place peer;
	struct ibv_wc wc;
	struct ibv_ah *ah;

	lab_open_datagrams(lab, QKEY);
	in = buffer(lab);
	out = buffer(lab);
	lab_hear(lab, &peer, sizeof(peer));
	path.grh.dgid = peer.gid;
	ah = NEED(ibv_create_ah(lab->pd, &path));
	post_receive(lab, in, ROOM); /* BUG: as above */
	strcpy(out->addr, "which queue pair is this?");
	send_to(lab, ah, peer.qpn, out);
	if (lab_wait_a_while(lab, &wc))
		printf("initiator has: %s\n", message(in));
	else
		printf("initiator has nothing\n");
	MUST(ibv_destroy_ah(ah));
	MUST(ibv_dereg_mr(in));
	MUST(ibv_dereg_mr(out));
}

int main(void)
{
	struct lab lab;

	lab_fork(&lab);
	if (lab.side == LAB_TARGET)
		target(&lab);
	else
		initiator(&lab);
	return lab_close(&lab);
}
