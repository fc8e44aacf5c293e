/* SPDX-License-Identifier: BSD-2-Clause */
/* most.c - as many objects as the device says that there may be, and a message as long as one may be. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, MOST = 1 << 18, TILE = 2 << 20 };
#define MAX_MSG (UINT32_C(1) << 31)

static struct qp_pair pair;

static void begin(void)
{
	qp_pair_open(&pair);
}

static void end(void)
{
	qp_pair_close(&pair);
}

TestSuite(verbs_most, .init = begin, .fini = end, .timeout = 600);

/* --- objects --- */

struct kind {
	void *(*make)(void);
	int (*end)(void *object);
	int most, there; /* max_ of ibv_query_device(); those of the pair */
	const char *limit;
};

static void *objects[MOST];

/* As many as there may be, then ENOMEM; and one is to be had again as soon as one has ended. */
static void try_kind(const struct kind *kind)
{
	int count = 0;

	cr_assert_leq(kind->most, MOST);
	said_begin();
	while (count < kind->most - kind->there && (objects[count] = kind->make()))
		count++;
	cr_assert_eq(count, kind->most - kind->there, "%d and errno %d", count, errno);
	errno = 0;
	cr_assert_null(kind->make());
	cr_assert_eq(errno, ENOMEM);
	cr_assert(said_has(kind->limit));
	cr_assert_eq(kind->end(objects[count / 2]), 0);
	objects[count / 2] = kind->make();
	cr_assert_not_null(objects[count / 2]);
	cr_assert_null(kind->make());
	while (count)
		cr_assert_eq(kind->end(objects[--count]), 0);
}

static struct ibv_device_attr device(void)
{
	struct ibv_device_attr attr;

	cr_assert_eq(ibv_query_device(pair.verbs.context, &attr), 0);
	return attr;
}

static void *make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = pair.cq[A], .recv_cq = pair.cq[B], .cap = { 1, 1, 1, 1, 0 }
	};

	return ibv_create_qp(pair.verbs.pd, &init);
}

static int end_qp(void *qp)
{
	return ibv_destroy_qp(qp);
}

Test(verbs_most, queue_pairs)
{
	try_kind(&(struct kind){ make_qp, end_qp, device().max_qp, 2, "max_qp" });
}

static void *make_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return ibv_create_srq(pair.verbs.pd, &init);
}

static int end_srq(void *srq)
{
	return ibv_destroy_srq(srq);
}

Test(verbs_most, shared_receive_queues)
{
	try_kind(&(struct kind){ make_srq, end_srq, device().max_srq, 0, "max_srq" });
}

static void *make_cq(void)
{
	return ibv_create_cq(pair.verbs.context, 1, NULL, NULL, 0);
}

static int end_cq(void *cq)
{
	return ibv_destroy_cq(cq);
}

Test(verbs_most, completion_queues)
{
	try_kind(&(struct kind){ make_cq, end_cq, device().max_cq, 2, "max_cq" });
}

static void *make_mr(void)
{
	return ibv_reg_mr(pair.verbs.pd, pair.memory[A], 1, IBV_ACCESS_LOCAL_WRITE);
}

static int end_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

Test(verbs_most, regions)
{
	try_kind(&(struct kind){ make_mr, end_mr, device().max_mr, 2, "max_mr" });
}

/* --- bytes --- */

/* One piece of memory after the other, all the same one. */
static unsigned char *tiles(void)
{
	unsigned char *at = mmap(NULL, MAX_MSG, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = memfd_create("tile", 0);

	cr_assert(at != MAP_FAILED && ftruncate(fd, TILE) == 0);
	for (uint32_t done = 0; done < MAX_MSG; done += TILE)
		cr_assert_neq(mmap(at + done, TILE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0), MAP_FAILED);
	close(fd);
	return at;
}

Test(verbs_most, bytes_of_a_message)
{
	unsigned char *bytes = tiles();
	struct ibv_mr *mr = ibv_reg_mr(pair.verbs.pd, bytes, MAX_MSG, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	struct ibv_mr *null = ibv_alloc_null_mr(pair.verbs.pd);
	struct ibv_sge from = { 0, MAX_MSG, null->lkey }, to = { (uintptr_t)bytes, MAX_MSG, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = &from, .num_sge = 1 }, *bad;
	struct ibv_recv_wr receive = { .wr_id = 2, .sg_list = &to, .num_sge = 1 }, *bad_receive;

	bytes[TILE - 1] = 1;
	qp_pair_meet(&pair);
	cr_assert_eq(ibv_post_recv(pair.qp[B], &receive, &bad_receive), 0);
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	cr_assert_eq(qp_done(&pair, B, 2, IBV_WC_SUCCESS).byte_len, MAX_MSG);
	cr_assert_eq(bytes[TILE - 1], 0);
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_dereg_mr(null), 0);
}
