/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_atomics.c - the two atomics on 8 bytes: V107 to V110. */
#include "tests/rules/verbs/vworld.h"

static uint64_t *word(struct vworld *w, int side)
{
	return (uint64_t *)(void *)w->side[side].bytes;
}

/* The value that comes back. */
static uint64_t atomic(struct vworld *w, enum ibv_wr_opcode opcode, uint64_t compare_add, uint64_t swap)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, opcode, 0, 8, &sge);

	wr.wr.atomic.compare_add = compare_add;
	wr.wr.atomic.swap = swap;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	return *word(w, 0);
}

VPAIR(V107_fetch_and_add_returns_what_was_there)
{
	uint64_t got;

	*word(w, 1) = 40;
	got = atomic(w, IBV_WR_ATOMIC_FETCH_AND_ADD, 2, 0);
	CHECK(got == 40 && *word(w, 1) == 42, "it returned %llu, and left %llu", (unsigned long long)got,
	      (unsigned long long)*word(w, 1));
	got = atomic(w, IBV_WR_ATOMIC_FETCH_AND_ADD, UINT64_MAX, 0);
	CHECK(got == 42 && *word(w, 1) == 41, "it returned %llu, and left %llu", (unsigned long long)got,
	      (unsigned long long)*word(w, 1));
	CHECK(v_is(w->side[1].bytes + 8, 0x11, 64), "bytes beside it have changed");
}

VPAIR(V108_compare_and_swap_swaps_what_is_equal)
{
	uint64_t got;

	*word(w, 1) = 40;
	got = atomic(w, IBV_WR_ATOMIC_CMP_AND_SWP, 41, 1);
	CHECK(got == 40 && *word(w, 1) == 40, "unequal: it returned %llu, and left %llu", (unsigned long long)got,
	      (unsigned long long)*word(w, 1));
	got = atomic(w, IBV_WR_ATOMIC_CMP_AND_SWP, 40, UINT64_MAX);
	CHECK(got == 40 && *word(w, 1) == UINT64_MAX, "equal: it returned %llu, and left %llu", (unsigned long long)got,
	      (unsigned long long)*word(w, 1));
}

static void misaligned(struct vworld *w, enum ibv_wr_opcode opcode)
{
	v_does(w, 0, opcode, 4, 8, IBV_WC_REM_INV_REQ_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 64) && v_is(w->side[0].bytes, 0x10, 64), "bytes have changed");
}

VPAIR(V109_the_address_of_an_addition_is_aligned)
{
	misaligned(w, IBV_WR_ATOMIC_FETCH_AND_ADD);
}
VPAIR(V109_the_address_of_a_swap_is_aligned)
{
	misaligned(w, IBV_WR_ATOMIC_CMP_AND_SWP);
}

/* Both sides add to one word of side 1, side 1 by its peer. */
VPAIR(V110_additions_of_two_queue_pairs_all_count)
{
	enum { ADDS = 200 };
	uint64_t sent[2] = { 0 }, done[2] = { 0 };

	*word(w, 1) = 0;
	while (done[0] < ADDS || done[1] < ADDS)
		for (int side = 0; side < 2; side++) {
			struct ibv_sge sge;
			struct ibv_send_wr wr = v_request(w, side, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, &sge);
			struct ibv_wc wc;

			wr.wr.atomic.remote_addr = (uintptr_t)word(w, 1);
			wr.wr.atomic.rkey = w->side[1].mr->rkey;
			wr.wr.atomic.compare_add = 1;
			sge.addr += 64;
			while (sent[side] < ADDS && sent[side] - done[side] < V_WR) {
				v_send(w->side[side].qp, &wr);
				sent[side]++;
			}
			while (ibv_poll_cq(w->side[side].send_cq, 1, &wc) == 1) {
				CHECK(wc.status == IBV_WC_SUCCESS, "status %d", (int)wc.status);
				done[side]++;
			}
		}
	CHECK(*word(w, 1) == 2 * ADDS, "%llu in place of %d", (unsigned long long)*word(w, 1), 2 * ADDS);
}
