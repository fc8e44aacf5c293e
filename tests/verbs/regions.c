/* SPDX-License-Identifier: BSD-2-Clause */
/* regions.c - memory regions as peers meet them: rights, ranges and addresses, after changes, of device memory and descriptors. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, BYTES = 4096, WORD = 8, LOCAL = IBV_ACCESS_LOCAL_WRITE };
enum { WRITES = LOCAL | IBV_ACCESS_REMOTE_WRITE, ATOMICS = LOCAL | IBV_ACCESS_REMOTE_ATOMIC };
enum { ALL = WRITES | ATOMICS | IBV_ACCESS_REMOTE_READ };

static struct qp_pair pair;
static unsigned char *bytes; /* of B's */

static void begin(void)
{
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	bytes = pair.memory[B] + BYTES; /* not at the beginning of a region of the pair */
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_regions, .init = begin, .fini = end, .timeout = 120);

static struct ibv_mr *reg(int access)
{
	struct ibv_mr *mr = ibv_reg_mr(pair.verbs.pd, bytes, BYTES, access);

	cr_assert_not_null(mr);
	return mr;
}

/* A request of A's to that memory, and how it ends. After a failure both are connected anew. */
static void to_region(enum ibv_wr_opcode opcode, uint64_t at, uint32_t rkey, uint32_t length, enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = qp_request(&pair, A, opcode, 0, length, &sge), *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = at;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = at;
		wr.wr.rdma.rkey = rkey;
	}
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 0, status);
	for (int side = A; status && side <= B; side++)
		qp_to(&pair, side, IBV_QPS_RESET);
	if (status)
		qp_pair_meet(&pair);
}

static void reads(uint64_t at, const struct ibv_mr *mr, uint32_t length, enum ibv_wc_status status)
{
	to_region(IBV_WR_RDMA_READ, at, mr->rkey, length, status);
}

/* --- rights --- */

static enum ibv_wc_status as(bool allowed)
{
	return allowed ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR;
}

/* ibv_reg_mr(3): each right of its own. */
Test(verbs_regions, rights)
{
	static const int accesses[] = { 0, LOCAL, IBV_ACCESS_REMOTE_READ, WRITES, ATOMICS, WRITES | IBV_ACCESS_REMOTE_READ, ALL };

	for (size_t i = 0; i < sizeof(accesses) / sizeof(*accesses); i++) {
		int access = accesses[i];
		struct ibv_mr *mr = reg(access);
		uint64_t at = (uintptr_t)bytes;
		uint32_t rkey = mr->rkey;

		to_region(IBV_WR_RDMA_READ, at, rkey, WORD, as(access & IBV_ACCESS_REMOTE_READ));
		to_region(IBV_WR_RDMA_WRITE, at, rkey, WORD, as(access & IBV_ACCESS_REMOTE_WRITE));
		to_region(IBV_WR_ATOMIC_FETCH_AND_ADD, at, rkey, WORD, as(access & IBV_ACCESS_REMOTE_ATOMIC));
		to_region(IBV_WR_ATOMIC_CMP_AND_SWP, at, rkey, WORD, as(access & IBV_ACCESS_REMOTE_ATOMIC));
		cr_assert_eq(ibv_dereg_mr(mr), 0);
		to_region(IBV_WR_RDMA_READ, at, rkey, WORD, IBV_WC_REM_ACCESS_ERR);
	}
}

/* Of a queue pair of another PD it is none, with whatever rights. */
Test(verbs_regions, another_pd)
{
	struct ibv_pd *other = ibv_alloc_pd(pair.verbs.context);
	struct ibv_mr *mr = reg(ALL);

	reads((uintptr_t)bytes, mr, WORD, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, other, NULL, 0, 0), 0);
	reads((uintptr_t)bytes, mr, WORD, IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pair.verbs.pd, NULL, 0, 0), 0);
	reads((uintptr_t)bytes, mr, WORD, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_dealloc_pd(other), 0);
}

/* --- ranges and addresses --- */

/* To the last byte of the region, which begins at this address, and not one further on either side. */
static void holds(uint64_t at, const struct ibv_mr *mr, uint32_t length)
{
	reads(at, mr, length, IBV_WC_SUCCESS);
	reads(at, mr, length + 1, IBV_WC_REM_ACCESS_ERR);
	reads(at + length - 1, mr, 1, IBV_WC_SUCCESS);
	reads(at + length, mr, 1, IBV_WC_REM_ACCESS_ERR);
	reads(at - 1, mr, 1, IBV_WC_REM_ACCESS_ERR);
}

Test(verbs_regions, ranges)
{
	struct ibv_mr *mr = reg(ALL);

	holds((uintptr_t)bytes, mr, BYTES);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes + 100, 50, 0), 0);
	holds((uintptr_t)bytes + 100, mr, 50);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_regions, addresses_of_its_own)
{
	const uint64_t iova = UINT64_C(0x10000000) + (uintptr_t)bytes % (uintptr_t)sysconf(_SC_PAGESIZE);
	struct ibv_mr *mr = ibv_reg_mr_iova(pair.verbs.pd, bytes, BYTES, iova, ALL);

	memset(bytes, 6, BYTES);
	holds(iova, mr, BYTES);
	cr_assert_eq(pair.memory[A][0], 6);
	to_region(IBV_WR_RDMA_READ, (uintptr_t)bytes, mr->rkey, WORD, IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	mr = reg(ALL | IBV_ACCESS_ZERO_BASED);
	bytes[7] = 7;
	reads(7, mr, 1, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[A][0], 7);
	reads(0, mr, BYTES, IBV_WC_SUCCESS);
	reads(0, mr, BYTES + 1, IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes + 7, 1, 0), 0);
	reads(0, mr, 1, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[A][0], 7, "it is zero-based still");
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

Test(verbs_regions, all_memory)
{
	struct ibv_mr *mr = ibv_reg_mr(pair.verbs.pd, NULL, SIZE_MAX, ALL | IBV_ACCESS_ON_DEMAND);

	bytes[0] = 8;
	reads((uintptr_t)bytes, mr, BYTES, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[A][0], 8);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

/* --- changes --- */

Test(verbs_regions, access_that_changes)
{
	struct ibv_mr *mr = reg(IBV_ACCESS_REMOTE_READ);
	uint64_t at = (uintptr_t)bytes;

	to_region(IBV_WR_RDMA_WRITE, at, mr->rkey, WORD, IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, WRITES), 0);
	to_region(IBV_WR_RDMA_WRITE, at, mr->rkey, WORD, IBV_WC_SUCCESS);
	to_region(IBV_WR_RDMA_READ, at, mr->rkey, WORD, IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, bytes + WORD, WORD, 0), 0);
	to_region(IBV_WR_RDMA_WRITE, at + WORD, mr->rkey, WORD, IBV_WC_SUCCESS); /* its access stays */
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, bytes, BYTES, WRITES), 0);
	to_region(IBV_WR_RDMA_WRITE, at, mr->rkey, WORD, IBV_WC_REM_ACCESS_ERR); /* its addresses stay, too */
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

/* What is refused changes nothing that a peer could see. */
Test(verbs_regions, changes_that_are_refused)
{
	const int translation = IBV_REREG_MR_CHANGE_TRANSLATION;
	struct ibv_mr *mr = reg(ALL);

	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, bytes, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, NULL, BYTES, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, translation | 1 << 7, NULL, bytes, 1, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, 0, NULL, bytes, 1, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, bytes, 1, LOCAL), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_rereg_mr(mr, translation, NULL, (void *)(uintptr_t)-WORD, BYTES, 0), IBV_REREG_MR_ERR_CMD);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE), IBV_REREG_MR_ERR_CMD);
	holds((uintptr_t)bytes, mr, BYTES);
	to_region(IBV_WR_RDMA_WRITE, (uintptr_t)bytes, mr->rkey, BYTES, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
}

/* --- of other memory --- */

Test(verbs_regions, atomics_on_device_memory)
{
	struct ibv_alloc_dm_attr attr = { .length = BYTES };
	struct ibv_dm *dm = ibv_alloc_dm(pair.verbs.context, &attr);
	struct ibv_mr *mr = ibv_reg_dm_mr(pair.verbs.pd, dm, 64, BYTES - 64, ALL | IBV_ACCESS_ZERO_BASED);
	uint64_t word = 40;
	struct ibv_sge sge = { (uintptr_t)pair.memory[A], WORD, pair.mr[A]->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_not_null(mr);
	wr.wr.atomic.remote_addr = WORD;
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.compare_add = 2;
	cr_assert_eq(ibv_memcpy_to_dm(dm, 64 + WORD, &word, sizeof(word)), 0);
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert_eq(memcmp(pair.memory[A], &word, sizeof(word)), 0);
	cr_assert_eq(ibv_memcpy_from_dm(&word, dm, 64 + WORD, sizeof(word)), 0);
	cr_assert_eq(word, 42);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_free_dm(dm), 0);
}

Test(verbs_regions, device_memory)
{
	struct ibv_alloc_dm_attr attr = { .length = BYTES };
	struct ibv_dm *dm = ibv_alloc_dm(pair.verbs.context, &attr);
	struct ibv_mr *mr = ibv_reg_dm_mr(pair.verbs.pd, dm, 64, BYTES - 64, ALL | IBV_ACCESS_ZERO_BASED);
	uint32_t word = 0x01020304;

	cr_assert_eq(ibv_memcpy_to_dm(dm, 64, &word, sizeof(word)), 0);
	reads(0, mr, sizeof(word), IBV_WC_SUCCESS);
	cr_assert_eq(memcmp(pair.memory[A], &word, sizeof(word)), 0);
	to_region(IBV_WR_RDMA_WRITE, BYTES - 64 - sizeof(word), mr->rkey, sizeof(word), IBV_WC_SUCCESS);
	cr_assert_eq(ibv_memcpy_from_dm(&word, dm, BYTES - sizeof(word), sizeof(word)), 0);
	cr_assert_eq(word, 0x01020304);
	reads(0, mr, BYTES - 63, IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(ibv_free_dm(dm), EBUSY);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_free_dm(dm), 0);
}

Test(verbs_regions, bytes_of_a_descriptor)
{
	int fd = memfd_create("region", 0);
	unsigned char *own = mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct ibv_mr *mr;

	cr_assert_eq(ftruncate(fd, 2 * BYTES), 0);
	mr = ibv_reg_dmabuf_mr(pair.verbs.pd, BYTES, BYTES, 0x20000000, fd, ALL);
	cr_assert_not_null(mr);
	own[BYTES + 9] = 9;
	holds(0x20000000, mr, BYTES);
	reads(0x20000009, mr, 1, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[A][0], 9);
	pair.memory[A][0] = 10;
	to_region(IBV_WR_RDMA_WRITE, 0x20000000, mr->rkey, 1, IBV_WC_SUCCESS);
	cr_assert_eq(own[BYTES], 10);
	cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	close(fd);
}

/* What is read from the null region is zero, and what comes to it goes nowhere. */
Test(verbs_regions, no_memory)
{
	struct ibv_mr *null = ibv_alloc_null_mr(pair.verbs.pd);
	struct ibv_sge sge = { 12345, WORD, null->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)pair.memory[B];
	wr.wr.rdma.rkey = pair.mr[B]->rkey;
	memset(pair.memory[B], 5, 2 * WORD);
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert(!pair.memory[B][0] && !pair.memory[B][WORD - 1] && pair.memory[B][WORD] == 5);
	wr.opcode = IBV_WR_RDMA_READ;
	wr.wr.rdma.remote_addr += WORD;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	wr.opcode = IBV_WR_RDMA_WRITE;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	cr_assert_eq(pair.memory[B][WORD], 0, "it is zeros still");
	cr_assert_eq(ibv_dereg_mr(null), 0);
}
