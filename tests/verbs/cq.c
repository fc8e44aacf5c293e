/* SPDX-License-Identifier: BSD-2-Clause */
/* cq.c - completion queues without any completion: sizes, vectors, order of destruction, bad input. */
#include <criterion/criterion.h>
#include <errno.h>

#include "tests/verbs/world.h"

TestSuite(verbs_cq, .timeout = 60);

static struct verbs verbs;

static void refused(int cqe, int vector, struct ibv_comp_channel *channel, const char *why)
{
	errno = 0;
	cr_assert_null(ibv_create_cq(verbs.context, cqe, NULL, channel, vector));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has(why), "%s", why);
}

static int max_cqe(void)
{
	return 1 << 20;
}

Test(verbs_cq, fields)
{
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;

	verbs_open(&verbs);
	channel = ibv_create_comp_channel(verbs.context);
	cr_assert_not_null(channel);
	cr_assert_eq(channel->context, verbs.context);
	cq = ibv_create_cq(verbs.context, 10, &verbs, channel, 0);
	cr_assert_not_null(cq);
	cr_assert_eq(cq->context, verbs.context);
	cr_assert_eq(cq->cq_context, &verbs);
	cr_assert_eq(cq->channel, channel);
	cr_assert_geq(cq->cqe, 10);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	verbs_close(&verbs);
}

Test(verbs_cq, sizes)
{
	struct ibv_cq *cq;

	verbs_open(&verbs);
	said_begin();
	refused(0, 0, NULL, "cqe is 0, and not within 1 to 1048576");
	refused(-7, 0, NULL, "cqe is -7, and not within 1 to 1048576");
	refused(max_cqe() + 1, 0, NULL, "cqe is 1048577, and not within 1 to 1048576");
	cq = ibv_create_cq(verbs.context, max_cqe(), NULL, NULL, 0);
	cr_assert_not_null(cq);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

Test(verbs_cq, vectors)
{
	struct ibv_cq *cq;

	verbs_open(&verbs);
	said_begin();
	refused(1, -1, NULL, "comp_vector is -1");
	refused(1, verbs.context->num_comp_vectors, NULL, "num_comp_vectors");
	cq = ibv_create_cq(verbs.context, 1, NULL, NULL, verbs.context->num_comp_vectors - 1);
	cr_assert_not_null(cq);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

Test(verbs_cq, channel_of_another_context)
{
	struct verbs other;
	struct ibv_comp_channel *channel;

	verbs_open(&verbs);
	verbs_open(&other);
	channel = ibv_create_comp_channel(other.context);
	said_begin();
	refused(1, 0, channel, "the completion channel is of another context");
	cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
	verbs_close(&other);
	verbs_close(&verbs);
}

Test(verbs_cq, nothing_to_poll)
{
	struct ibv_wc wc;
	struct ibv_cq *cq;

	verbs_open(&verbs);
	cq = ibv_create_cq(verbs.context, 4, NULL, NULL, 0);
	cr_assert_eq(ibv_poll_cq(cq, 1, &wc), 0);
	cr_assert_eq(ibv_poll_cq(cq, 0, NULL), 0);
	cr_assert_lt(ibv_poll_cq(cq, -1, &wc), 0);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

Test(verbs_cq, resizes)
{
	struct ibv_cq *cq;

	verbs_open(&verbs);
	said_begin();
	cq = ibv_create_cq(verbs.context, 4, NULL, NULL, 0);
	cr_assert_eq(ibv_resize_cq(cq, 0), EINVAL);
	cr_assert_eq(ibv_resize_cq(cq, -1), EINVAL);
	cr_assert_eq(ibv_resize_cq(cq, max_cqe() + 1), EINVAL);
	cr_assert(said_has("ibv_resize_cq: cqe is 1048577"));
	cr_assert_eq(cq->cqe, 4);
	cr_assert_eq(ibv_resize_cq(cq, 100), 0);
	cr_assert_geq(cq->cqe, 100);
	cr_assert_eq(ibv_resize_cq(cq, 1), 0);
	cr_assert_geq(cq->cqe, 1);
	cr_assert_eq(ibv_resize_cq(cq, max_cqe()), 0);
	cr_assert_eq(cq->cqe, max_cqe());
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

/* A queue whose memory was overwritten is told from one that is open. */
Test(verbs_cq, handle_of_none)
{
	struct ibv_cq *cq;

	verbs_open(&verbs);
	said_begin();
	cq = ibv_create_cq(verbs.context, 4, NULL, NULL, 0);
	cq->handle ^= 0x5a5a;
	cr_assert_eq(ibv_destroy_cq(cq), ENOENT);
	cr_assert_eq(ibv_resize_cq(cq, 5), ENOENT);
	cr_assert_eq(ibv_req_notify_cq(cq, 0), ENOENT);
	cr_assert(said_has("ibv_destroy_cq: handle"));
	cq->handle ^= 0x5a5a;
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

/* As hardware does: the arm tells nobody. */
Test(verbs_cq, arms_without_a_channel)
{
	struct ibv_cq *cq;

	verbs_open(&verbs);
	said_begin();
	cq = ibv_create_cq(verbs.context, 4, NULL, NULL, 0);
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	cr_assert_eq(ibv_req_notify_cq(cq, 1), 0);
	cr_assert_not(said_has("emu"));
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

/* --- extended --- */

static void refused_ex(struct ibv_cq_init_attr_ex attr, int err, const char *why)
{
	errno = 0;
	cr_assert_null(ibv_create_cq_ex(verbs.context, &attr));
	cr_assert_eq(errno, err);
	cr_assert(said_has(why), "%s", why);
}

Test(verbs_cq, extended_bad_input)
{
	verbs_open(&verbs);
	said_begin();
	refused_ex((struct ibv_cq_init_attr_ex){ .cqe = 0 }, EINVAL, "ibv_create_cq_ex: cqe is 0");
	refused_ex((struct ibv_cq_init_attr_ex){ .cqe = (uint32_t)max_cqe() + 1 }, EINVAL, "cqe is 1048577");
	refused_ex((struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_vector = 9 }, EINVAL, "comp_vector is 9");
	refused_ex((struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = 1 << 7 }, EINVAL, "comp_mask 0x80 has unknown bits");
	refused_ex((struct ibv_cq_init_attr_ex){ .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = verbs.pd },
		   EINVAL, "parent_domain is no parent domain");
	verbs_close(&verbs);
}

static struct ibv_cq_ex *with_parent(struct ibv_pd *parent)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = parent };

	return ibv_create_cq_ex(verbs.context, &attr);
}

static struct ibv_pd *parent_in(struct verbs *of)
{
	struct ibv_parent_domain_init_attr attr = { .pd = of->pd };

	return ibv_alloc_parent_domain(of->context, &attr);
}

/* Its parent domain stays as long as the queue. */
Test(verbs_cq, extended_with_a_parent_domain)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct ibv_cq_ex *cq;
	struct ibv_pd *parent, *others;
	struct verbs other;

	verbs_open(&verbs);
	verbs_open(&other);
	parent = parent_in(&verbs);
	others = parent_in(&other);
	cr_assert_null(with_parent(NULL));
	cr_assert_eq(errno, EINVAL);
	cr_assert_null(with_parent(others));
	cr_assert_eq(errno, EINVAL);
	cq = with_parent(parent);
	cr_assert_not_null(cq);
	cr_assert_eq(ibv_dealloc_pd(parent), EBUSY);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	attr.parent_domain = parent; /* which comp_mask does not name */
	cq = ibv_create_cq_ex(verbs.context, &attr);
	cr_assert_not_null(cq);
	cr_assert_eq(ibv_dealloc_pd(parent), 0);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	cr_assert_eq(ibv_dealloc_pd(others), 0);
	verbs_close(&other);
	verbs_close(&verbs);
}

/* Readers are there for what was asked, and for what every entry has. */
Test(verbs_cq, extended_readers)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 4, .cq_context = &verbs, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_cq_ex *cq;

	verbs_open(&verbs);
	cq = ibv_create_cq_ex(verbs.context, &attr);
	cr_assert_not_null(cq);
	cr_assert_eq(cq->cq_context, &verbs);
	cr_assert(cq->read_opcode && cq->read_vendor_err && cq->read_wc_flags && cq->read_byte_len);
	cr_assert_null(cq->read_imm_data);
	cr_assert_null(cq->read_completion_ts);
	cr_assert_eq(ibv_start_poll(cq, &poll), ENOENT);
	cr_assert_eq(ibv_start_poll(cq, &poll), ENOENT, "and the queue is not held");
	poll.comp_mask = 1;
	cr_assert_eq(ibv_start_poll(cq, &poll), EINVAL);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	attr.wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
	cq = ibv_create_cq_ex(verbs.context, &attr);
	cr_assert(cq->read_imm_data && cq->read_qp_num && cq->read_src_qp && cq->read_slid && cq->read_sl &&
		  cq->read_dlid_path_bits && cq->read_completion_ts && cq->read_completion_wallclock_ns);
	cr_assert_eq(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	verbs_close(&verbs);
}
