/* SPDX-License-Identifier: BSD-2-Clause */
/* device_memory.c - regions over DMA-bufs of emulated devices (emu/hmem.h), which the CPU does not reach. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emu/cuda/cuda_calls.h"
#include "include/emu/hmem.h"
#include "tests/verbs/qp_pair.h"

enum {
	A,
	B,
	ALL = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	SIZE = 3 * EMU_HMEM_PAGE
};

#define IOVA UINT64_C(0x40000000)

static struct qp_pair pair;
static char *device; /* SIZE bytes of it */
static struct ibv_mr *mr;

/* What the CPU sees of a word of the device's memory; stores one there. */
static uint64_t word_at(size_t at)
{
	uint64_t word;

	cr_assert_eq(emu_hmem_copy(&word, device + at, sizeof(word)), 0);
	return word;
}

static void put_word(size_t at, uint64_t word)
{
	cr_assert_eq(emu_hmem_copy(device + at, &word, sizeof(word)), 0);
}

static struct ibv_mr *region_of(int fd, uint64_t offset, size_t length)
{
	struct ibv_mr *region = ibv_reg_dmabuf_mr(pair.verbs.pd, offset, length, IOVA, fd, ALL);

	cr_assert_not_null(region);
	cr_assert_eq(close(fd), 0);
	return region;
}

static void open_all(void)
{
	void *addr;
	uint64_t offset;
	int fd;

	setenv("FI_EMU_HMEM", "cuda:1", 1);
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, SIZE, &addr), 0);
	device = addr;
	cr_assert_eq(emu_hmem_export(device, &fd, &offset), 0);
	mr = region_of(fd, offset, SIZE);
}

static void close_all(void)
{
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(emu_hmem_free(device), 0);
	qp_pair_close(&pair);
}

TestSuite(verbs_device_memory, .init = open_all, .fini = close_all, .timeout = 60);

/* A's request, with a word of its own memory, or of the device's where `lkey` is of that. */
static void request(enum ibv_wr_opcode opcode, uint64_t local, uint32_t lkey, uint64_t remote, uint32_t rkey,
		    enum ibv_wc_status status)
{
	struct ibv_sge sge = { local, sizeof(uint64_t), lkey };
	struct ibv_send_wr wr = { .wr_id = 7, .opcode = opcode, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 5;
		wr.wr.atomic.swap = 77;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 7, status);
}

static void to_device(enum ibv_wr_opcode opcode, size_t at, enum ibv_wc_status status)
{
	request(opcode, (uintptr_t)pair.memory[A], pair.mr[A]->lkey, IOVA + at, mr->rkey, status);
}

static uint64_t *own_word(int side)
{
	return (uint64_t *)(void *)pair.memory[side];
}

Test(verbs_device_memory, peers_write_and_read_it)
{
	*own_word(A) = 0x1122334455667788;
	to_device(IBV_WR_RDMA_WRITE, EMU_HMEM_PAGE + 8, IBV_WC_SUCCESS);
	cr_assert_eq(word_at(EMU_HMEM_PAGE + 8), 0x1122334455667788);
	cr_assert_eq(word_at(EMU_HMEM_PAGE), 0);
	put_word(SIZE - 8, 99);
	to_device(IBV_WR_RDMA_READ, SIZE - 8, IBV_WC_SUCCESS);
	cr_assert_eq(*own_word(A), 99);
}

/* A NIC that has them seen late (FI_EMU_ORDER=rc) keeps the order of the queue pair. */
Test(verbs_device_memory_late, reads_find_what_was_written_before, .timeout = 60)
{
	setenv("FI_EMU_ORDER", "rc", 1);
	open_all();
	for (uint64_t i = 0; i < 50; i++) {
		*own_word(A) = i + 1;
		to_device(IBV_WR_RDMA_WRITE, 8 * i, IBV_WC_SUCCESS);
		*own_word(A) = 0;
		to_device(IBV_WR_RDMA_READ, 8 * i, IBV_WC_SUCCESS);
		cr_assert_eq(*own_word(A), i + 1);
	}
	close_all();
}

Test(verbs_device_memory, atomics_work_on_it)
{
	put_word(64, 5);
	to_device(IBV_WR_ATOMIC_CMP_AND_SWP, 64, IBV_WC_SUCCESS);
	cr_assert_eq(*own_word(A), 5);
	cr_assert_eq(word_at(64), 77);
	to_device(IBV_WR_ATOMIC_FETCH_AND_ADD, 64, IBV_WC_SUCCESS);
	cr_assert_eq(*own_word(A), 77);
	cr_assert_eq(word_at(64), 82);
}

Test(verbs_device_memory, no_byte_past_its_end_is_reached)
{
	to_device(IBV_WR_RDMA_WRITE, SIZE - 4, IBV_WC_REM_ACCESS_ERR);
	cr_assert_eq(word_at(SIZE - 8), 0);
}

/* Requests and receives name it by its lkey, whose addresses begin at the iova. */
Test(verbs_device_memory, it_is_a_local_buffer)
{
	struct ibv_sge sge = { IOVA + 128, sizeof(uint64_t), mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 8, .sg_list = &sge, .num_sge = 1 }, *bad;

	put_word(0, 21);
	request(IBV_WR_RDMA_WRITE, IOVA, mr->lkey, (uintptr_t)pair.memory[B], pair.mr[B]->rkey, IBV_WC_SUCCESS);
	cr_assert_eq(*own_word(B), 21);
	*own_word(B) = 22;
	request(IBV_WR_RDMA_READ, IOVA + 8, mr->lkey, (uintptr_t)pair.memory[B], pair.mr[B]->rkey, IBV_WC_SUCCESS);
	cr_assert_eq(word_at(8), 22);
	*own_word(B) = 5;
	request(IBV_WR_ATOMIC_CMP_AND_SWP, IOVA + 16, mr->lkey, (uintptr_t)pair.memory[B], pair.mr[B]->rkey, IBV_WC_SUCCESS);
	cr_assert_eq(word_at(16), 5);
	cr_assert_eq(*own_word(B), 77);
	cr_assert_eq(ibv_post_recv(pair.qp[B], &recv, &bad), 0);
	request(IBV_WR_SEND, IOVA + 8, mr->lkey, 0, 0, IBV_WC_SUCCESS);
	qp_done(&pair, B, 8, IBV_WC_SUCCESS);
	cr_assert_eq(word_at(128), 22);
}

/* The address is of the device, and no memory of the process. */
Test(verbs_device_memory, its_address_is_not_registered)
{
	errno = 0;
	cr_assert_null(ibv_reg_mr(pair.verbs.pd, device, SIZE, ALL));
	cr_assert_eq(errno, EFAULT);
}

Test(verbs_device_memory, a_region_begins_in_an_allocation)
{
	struct ibv_mr *part;
	uint64_t offset;
	int fd;

	cr_assert_eq(emu_hmem_export(device + EMU_HMEM_PAGE, &fd, &offset), 0);
	cr_assert_eq(offset, EMU_HMEM_PAGE);
	part = region_of(fd, offset, EMU_HMEM_PAGE);
	*own_word(A) = 3;
	request(IBV_WR_RDMA_WRITE, (uintptr_t)pair.memory[A], pair.mr[A]->lkey, IOVA, part->rkey, IBV_WC_SUCCESS);
	cr_assert_eq(word_at(EMU_HMEM_PAGE), 3);
	cr_assert_eq(ibv_dereg_mr(part), 0);
}

/* As a DMA-buf keeps what it exports. */
Test(verbs_device_memory, a_region_keeps_memory_that_is_freed)
{
	void *addr;

	cr_assert_eq(emu_hmem_free(device), 0);
	*own_word(A) = 44;
	to_device(IBV_WR_RDMA_WRITE, 0, IBV_WC_SUCCESS);
	*own_word(A) = 0;
	to_device(IBV_WR_RDMA_READ, 0, IBV_WC_SUCCESS);
	cr_assert_eq(*own_word(A), 44);
	cr_assert_eq(emu_hmem_alloc(EMU_HMEM_CUDA, 0, SIZE, &addr), 0);
	device = addr;
	cr_assert_eq(word_at(0), 0);
}

Test(verbs_device_memory, by_the_call_of_CUDA)
{
	struct ibv_mr *region;
	void *context;
	uintptr_t at;
	int fd;

	cr_assert_eq(cuInit(0), 0);
	cr_assert_eq(cuDevicePrimaryCtxRetain(&context, 0), 0);
	cr_assert_eq(cuCtxSetCurrent(context), 0);
	cr_assert_eq(cuMemAlloc_v2(&at, SIZE), 0);
	cr_assert_eq(cuMemGetHandleForAddressRange(&fd, at, SIZE, HANDLE_DMA_BUF_FD, 0), 0);
	region = region_of(fd, 0, SIZE);
	*own_word(A) = 6;
	request(IBV_WR_RDMA_WRITE, (uintptr_t)pair.memory[A], pair.mr[A]->lkey, IOVA, region->rkey, IBV_WC_SUCCESS);
	*own_word(A) = 0;
	cr_assert_eq(cuMemcpyDtoH_v2(pair.memory[A], at, sizeof(uint64_t)), 0);
	cr_assert_eq(*own_word(A), 6);
	cr_assert_eq(ibv_dereg_mr(region), 0);
	cr_assert_eq(cuMemFree_v2(at), 0);
	cr_assert_eq(cuDevicePrimaryCtxRelease_v2(0), 0);
}
