/* SPDX-License-Identifier: BSD-2-Clause */
/* ibv_mr.c - regions: rights that depend on each other, memory, addresses, and the two keys: V13 to V24. */
#include "tests/rules/verbs/vworld.h"

#include <sys/mman.h>

enum { UNKNOWN = 1 << 18, LENGTH = 4096 };

static char memory[LENGTH] __attribute__((aligned(4096)));

VDEVICE(V13_remote_writes_need_the_local_right)
{
	V_NULL(EINVAL, ibv_reg_mr(w->side[0].pd, memory, LENGTH, IBV_ACCESS_REMOTE_WRITE));
	V_NULL(EINVAL, ibv_reg_mr(w->side[0].pd, memory, LENGTH, IBV_ACCESS_REMOTE_ATOMIC));
	V_NULL(EINVAL, ibv_reg_mr(w->side[0].pd, memory, LENGTH, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE));
	V_RC(0, ibv_dereg_mr(v_region(w->side[0].pd, memory, LENGTH, IBV_ACCESS_REMOTE_READ)));
	V_RC(0, ibv_dereg_mr(v_region(w->side[0].pd, memory, LENGTH, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_LOCAL_WRITE)));
}

VDEVICE(V14_unknown_rights_are_refused_but_for_optional_ones)
{
	unsigned optional = IBV_ACCESS_RELAXED_ORDERING | 1 << 29; /* the last of the optional range */

	CHECK(!ibv_reg_mr(w->side[0].pd, memory, LENGTH, IBV_ACCESS_LOCAL_WRITE | UNKNOWN), "the bits 0x%x register", UNKNOWN);
	CHECK(errno == EINVAL || errno == EOPNOTSUPP, "errno %d (%s)", errno, strerror(errno));
	V_RC(0, ibv_dereg_mr(v_region(w->side[0].pd, memory, LENGTH, IBV_ACCESS_LOCAL_WRITE | optional)));
}

VPAIR(V15_a_region_without_rights_may_be_sent_from)
{
	struct ibv_mr *mr = v_region(w->side[0].pd, w->side[0].bytes, LENGTH, 0);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	sge.lkey = mr->lkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[1].bytes, 0x10, 64), "the bytes have not arrived");
	V_RC(0, ibv_dereg_mr(mr));
}

VDEVICE(V16_memory_that_is_not_there_does_not_register)
{
	char *gone = mmap(NULL, 2 * LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(gone != MAP_FAILED, "no memory");
	munmap(gone + LENGTH, LENGTH);
	V_NULL(EFAULT, ibv_reg_mr(w->side[0].pd, gone + LENGTH, LENGTH, IBV_ACCESS_LOCAL_WRITE));
	V_NULL(EFAULT, ibv_reg_mr(w->side[0].pd, gone, 2 * LENGTH, IBV_ACCESS_LOCAL_WRITE));
	V_RC(0, ibv_dereg_mr(v_region(w->side[0].pd, gone, LENGTH, IBV_ACCESS_LOCAL_WRITE)));
}

VDEVICE(V17_a_range_does_not_wrap)
{
	CHECK(!ibv_reg_mr(w->side[0].pd, memory, SIZE_MAX - 4096, IBV_ACCESS_LOCAL_WRITE), "a range that wraps registers");
}

VDEVICE(V18_a_region_says_what_it_is)
{
	struct ibv_mr *mr = v_region(w->side[0].pd, memory + 5, 99, IBV_ACCESS_LOCAL_WRITE);

	CHECK(mr->addr == memory + 5 && mr->length == 99, "%zu bytes at %p", mr->length, mr->addr);
	CHECK(mr->pd == w->side[0].pd && mr->context == w->context, "not the objects that were given");
	V_RC(0, ibv_dereg_mr(mr));
}

VDEVICE(V19_regions_have_keys_of_their_own)
{
	struct ibv_mr *mrs[32];

	for (int i = 0; i < 32; i++) {
		mrs[i] = v_region(w->side[0].pd, memory, LENGTH, V_ALL);
		for (int j = 0; j < i; j++)
			CHECK(mrs[i]->rkey != mrs[j]->rkey && mrs[i]->lkey != mrs[j]->lkey, "regions %d and %d have one key", i, j);
	}
	for (int i = 0; i < 32; i++)
		V_RC(0, ibv_dereg_mr(mrs[i]));
}

static void need_two_keys(const struct ibv_mr *mr)
{
	if (mr->lkey == mr->rkey)
		NOT_APPLICABLE("the device has one key for both");
}

VPAIR(V20_a_local_key_opens_nothing_to_peers)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	need_two_keys(w->side[1].mr);
	wr.wr.rdma.rkey = w->side[1].mr->lkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
}

VPAIR(V20_a_remote_key_is_no_local_one)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	need_two_keys(w->side[0].mr);
	sge.lkey = w->side[0].mr->rkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_LOC_PROT_ERR);
}

/* Writes 64 bytes to byte 128 of side 1's region, at `remote` of `mr`; and from there, at the local address. */
static void write_at(struct vworld *w, struct ibv_mr *mr, uint64_t base, enum ibv_wc_status status)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	wr.wr.rdma.rkey = mr->rkey;
	wr.wr.rdma.remote_addr = base + 128;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, status);
	if (status)
		return;
	CHECK(v_is(w->side[1].bytes + 128, 0x10, 64), "the bytes are not where the address leads");
	CHECK(w->side[1].bytes[127] == 0x11 && w->side[1].bytes[192] == 0x11, "bytes beside the range have changed");
	memset(w->side[1].bytes + 128, 0x33, 64);
	wr = v_request(w, 1, IBV_WR_RDMA_WRITE, 0, 64, &sge);
	sge.addr = base + 128;
	sge.lkey = mr->lkey;
	v_send(w->side[1].qp, &wr);
	v_done(w->side[1].send_cq, 0, IBV_WC_SUCCESS);
	CHECK(v_is(w->side[0].bytes, 0x33, 64), "other bytes than those of the address were sent");
}

VPAIR(V21_the_addresses_of_a_region_begin_where_it_says)
{
	const uint64_t iova = UINT64_C(0x7000000) + ((uintptr_t)w->side[1].bytes & 4095);
	struct ibv_mr *mr = ibv_reg_mr_iova(w->side[1].pd, w->side[1].bytes, LENGTH, iova, V_ALL);

	if (!mr && errno == EOPNOTSUPP)
		NOT_APPLICABLE("the device has no ibv_reg_mr_iova");
	CHECK(mr, "ibv_reg_mr_iova: %s", strerror(errno));
	write_at(w, mr, iova, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
}

VDEVICE(V135_iova_is_as_far_in_a_page_as_the_address)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(w->side[0].pd, memory + 64, 64, 0x7000000 + 64, V_ALL);

	if (!mr && errno == EOPNOTSUPP)
		NOT_APPLICABLE("the device has no ibv_reg_mr_iova");
	CHECK(mr, "ibv_reg_mr_iova: %s", strerror(errno));
	V_RC(0, ibv_dereg_mr(mr));
	V_NULL(EINVAL, ibv_reg_mr_iova(w->side[0].pd, memory + 64, 64, 0x7000000, V_ALL));
	V_NULL(EINVAL, ibv_reg_mr_iova(w->side[0].pd, memory + 64, 64, 0, V_ALL));
	V_NULL(EINVAL, ibv_reg_mr_iova(w->side[0].pd, memory, 64, 0x7000001, V_ALL));
}

VPAIR(V21_the_virtual_address_is_then_none)
{
	const uint64_t iova = UINT64_C(0x7000000) + ((uintptr_t)w->side[1].bytes & 4095);
	struct ibv_mr *mr = ibv_reg_mr_iova(w->side[1].pd, w->side[1].bytes, LENGTH, iova, V_ALL);

	if (!mr && errno == EOPNOTSUPP)
		NOT_APPLICABLE("the device has no ibv_reg_mr_iova");
	CHECK(mr, "ibv_reg_mr_iova: %s", strerror(errno));
	write_at(w, mr, (uintptr_t)w->side[1].bytes, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V22_zero_based_addresses_begin_at_0)
{
	struct ibv_mr *mr = ibv_reg_mr(w->side[1].pd, w->side[1].bytes, LENGTH, V_ALL | IBV_ACCESS_ZERO_BASED);

	if (!mr)
		NOT_APPLICABLE("the device has no zero-based regions: %s", strerror(errno));
	write_at(w, mr, 0, IBV_WC_SUCCESS);
	V_RC(0, ibv_dereg_mr(mr));
}

VPAIR(V23_regions_of_one_memory_have_rights_of_their_own)
{
	struct ibv_mr *reads = v_region(w->side[1].pd, w->side[1].bytes, LENGTH, IBV_ACCESS_REMOTE_READ);
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_READ, 0, 64, &sge);

	v_works(w);
	wr.wr.rdma.rkey = reads->rkey;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_SUCCESS);
	wr.opcode = IBV_WR_RDMA_WRITE;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	V_RC(0, ibv_dereg_mr(reads));
}

VPAIR(V24_a_region_that_has_ended_opens_nothing)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	V_RC(0, ibv_dereg_mr(w->side[1].mr));
	w->side[1].mr = NULL;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_REM_ACCESS_ERR);
	CHECK(v_is(w->side[1].bytes, 0x11, 64), "bytes were written");
}

VPAIR(V24_a_region_that_has_ended_is_no_source)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = v_request(w, 0, IBV_WR_RDMA_WRITE, 0, 64, &sge);

	V_RC(0, ibv_dereg_mr(w->side[0].mr));
	w->side[0].mr = NULL;
	v_send(w->side[0].qp, &wr);
	v_done(w->side[0].send_cq, 0, IBV_WC_LOC_PROT_ERR);
}
