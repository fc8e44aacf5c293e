/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.c - fi_atomic(3) on an endpoint that addresses itself: every form, what may be asked, what is refused. */
#include "tests/fi/world.h"

#include <string.h>
#include <sys/mman.h>

#include <rdma/fi_atomic.h>

enum { KEY = 77, WORDS = 512 };

static uint64_t there[WORDS], here[WORDS], compare[WORDS], result[WORDS];

static struct fid_mr *begin(struct world *w, const struct want *want)
{
	struct fid_mr *mr;

	world_open(w, want);
	memset(there, 0, sizeof(there));
	RC(0, fi_mr_reg(w->domain, there, sizeof(there), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	return mr;
}

static void end(struct world *w, struct fid_mr *mr)
{
	RC(0, fi_close(&mr->fid));
	world_close(w);
}

static void expect(struct world *w, void *context, uint64_t flags)
{
	struct fi_cq_tagged_entry entry;

	RC(1, world_next(w, &entry));
	cr_assert(entry.op_context == context && entry.flags == flags, "flags %#llx", (unsigned long long)entry.flags);
}

static void run_base(struct world *w)
{
	struct fi_ioc iov[2] = { { &here[0], 1 }, { &here[1], 2 } };
	struct fi_rma_ioc remote[2] = { { 0, 2, KEY }, { 64, 1, KEY } };
	struct fi_msg_atomic msg = { .msg_iov = iov,
				     .iov_count = 2,
				     .addr = w->self,
				     .rma_iov = remote,
				     .rma_iov_count = 2,
				     .datatype = FI_UINT64,
				     .op = FI_SUM,
				     .context = iov };

	here[0] = 1;
	here[1] = 10;
	here[2] = 100;
	RC(0, fi_atomic(w->ep, here, 1, NULL, w->self, 0, KEY, FI_UINT64, FI_SUM, w));
	expect(w, w, FI_ATOMIC | FI_WRITE);
	RC(0, fi_atomicv(w->ep, iov, NULL, 2, w->self, 8, KEY, FI_UINT64, FI_SUM, here));
	expect(w, here, FI_ATOMIC | FI_WRITE);
	RC(0, fi_atomicmsg(w->ep, &msg, FI_COMPLETION));
	expect(w, iov, FI_ATOMIC | FI_WRITE);
	cr_assert(there[0] == 2 && there[1] == 11 && there[2] == 10 && there[3] == 100 && there[8] == 100 && !there[9]);
	RC(0, fi_inject_atomic(w->ep, here, 1, w->self, 72, KEY, FI_UINT64, FI_BOR));
	here[0] = 0xff; /* it was copied */
	RC(0, fi_fetch_atomic(w->ep, NULL, 1, NULL, result, NULL, w->self, 72, KEY, FI_UINT64, FI_ATOMIC_READ, w));
	expect(w, w, FI_ATOMIC | FI_READ); /* and nothing from the one before */
	cr_assert(result[0] == 1 && there[9] == 1);
}

static void run_fetch(struct world *w)
{
	struct fi_ioc iov[1] = { { here, 3 } }, resultv[3] = { { &result[0], 1 }, { &result[10], 1 }, { &result[20], 1 } };
	struct fi_rma_ioc remote = { 200, 3, KEY };
	struct fi_msg_atomic msg = { .msg_iov = iov,
				     .iov_count = 1,
				     .addr = w->self,
				     .rma_iov = &remote,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_ATOMIC_WRITE,
				     .context = iov };

	for (int i = 0; i < 3; i++)
		here[i] = (uint64_t)i + 7;
	RC(0, fi_fetch_atomicmsg(w->ep, &msg, resultv, NULL, 3, FI_COMPLETION | FI_INJECT));
	memset(here, 0, 24);
	expect(w, iov, FI_ATOMIC | FI_READ);
	cr_assert(!result[0] && !result[10] && !result[20] && there[25] == 7 && there[27] == 9);
	here[0] = 5;
	RC(0, fi_fetch_atomicv(w->ep, iov, NULL, 1, resultv, NULL, 3, w->self, 200, KEY, FI_UINT64, FI_SUM, w));
	expect(w, w, FI_ATOMIC | FI_READ);
	cr_assert(result[0] == 7 && result[10] == 8 && result[20] == 9 && there[25] == 12 && there[26] == 8);
	RC(0, fi_fetch_atomic(w->ep, here, 1, NULL, result, NULL, w->self, 200, KEY, FI_UINT64, FI_MIN, w));
	expect(w, w, FI_ATOMIC | FI_READ);
	cr_assert(result[0] == 12 && there[25] == 5);
}

static void run_compare(struct world *w)
{
	struct fi_ioc iov = { here, 2 }, comparev[2] = { { &compare[0], 1 }, { &compare[8], 1 } }, resultv = { result, 2 };
	struct fi_rma_ioc remote = { 400, 2, KEY };
	struct fi_msg_atomic msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = w->self,
				     .rma_iov = &remote,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_CSWAP,
				     .context = &iov };

	there[50] = 1;
	there[51] = 2;
	here[0] = 33;
	here[1] = 44;
	compare[0] = 1;
	compare[8] = 3;
	RC(0, fi_compare_atomicmsg(w->ep, &msg, comparev, NULL, 2, &resultv, NULL, 1, FI_COMPLETION | FI_INJECT));
	compare[0] = compare[8] = 0;
	expect(w, &iov, FI_ATOMIC | FI_READ);
	cr_assert(result[0] == 1 && result[1] == 2 && there[50] == 33 && there[51] == 2);
	compare[8] = 0xf0;
	RC(0, fi_compare_atomicv(w->ep, &iov, NULL, 1, comparev, NULL, 2, &resultv, NULL, 1, w->self, 400, KEY, FI_UINT64, FI_MSWAP,
				 w));
	expect(w, w, FI_ATOMIC | FI_READ);
	cr_assert(there[50] == 33 && there[51] == ((44 & 0xf0) | (2 & ~0xf0)));
	RC(0,
	   fi_compare_atomic(w->ep, here, 1, NULL, &there[50], NULL, result, NULL, w->self, 400, KEY, FI_UINT64, FI_CSWAP_NE, w));
	expect(w, w, FI_ATOMIC | FI_READ);
	cr_assert(result[0] == 33 && there[50] == 33);
}

Test(fi_atomic, every_form)
{
	struct world w;
	struct fid_mr *mr = begin(&w, &(struct want){ 0 });

	run_base(&w);
	run_fetch(&w);
	run_compare(&w);
	end(&w, mr);
}

/* fi_endpoint(3): what fetches counts as a read, the others as writes, on both sides. */
Test(fi_atomic, counters_and_remote_data)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_rma_ioc remote = { 0, 1, KEY };
	struct fi_ioc ioc = { here, 1 }, resultv = { result, 1 };
	struct fi_msg_atomic msg = { .msg_iov = &ioc,
				     .iov_count = 1,
				     .rma_iov = &remote,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_SUM,
				     .context = &ioc,
				     .data = 0x1234 };
	struct fid_cntr *cntr[2];
	const uint64_t binds[2] = { FI_REMOTE_WRITE, FI_REMOTE_READ };
	const uint64_t all = FI_ATOMIC | FI_REMOTE_CQ_DATA;
	struct fi_cq_tagged_entry entry[2];
	struct fid_mr *mr;
	struct world w;

	world_open_disabled(&w, &(struct want){ .caps = FI_ATOMIC | FI_RMA_EVENT });
	for (int i = 0; i < 2; i++) {
		RC(0, fi_cntr_open(w.domain, &attr, &cntr[i], NULL));
		RC(0, fi_ep_bind(w.ep, &cntr[i]->fid, binds[i]));
	}
	world_enable(&w);
	RC(0, fi_mr_reg(w.domain, there, sizeof(there), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	msg.addr = w.self;
	RC(0, fi_atomicmsg(w.ep, &msg, FI_COMPLETION | FI_REMOTE_CQ_DATA));
	for (int i = 0; i < 2; i++)
		RC(1, world_next(&w, &entry[i]));
	cr_assert(entry[0].flags == (all | FI_REMOTE_WRITE) || entry[1].flags == (all | FI_REMOTE_WRITE));
	cr_assert(entry[0].data == 0x1234 || entry[1].data == 0x1234);
	RC(0, fi_fetch_atomicmsg(w.ep, &msg, &resultv, NULL, 1, FI_COMPLETION | FI_REMOTE_CQ_DATA));
	for (int i = 0; i < 2; i++)
		RC(1, world_next(&w, &entry[i]));
	cr_assert(entry[0].flags == (all | FI_REMOTE_READ) || entry[1].flags == (all | FI_REMOTE_READ));
	for (int i = 0; i < 2; i++)
		RC(1, fi_cntr_read(cntr[i]));
	RC(2, fi_cntr_read(w.cntr)); /* of its own side */
	RC(0, fi_close(&mr->fid));
	RC(0, fi_close(&w.ep->fid));
	w.ep = NULL;
	for (int i = 0; i < 2; i++)
		RC(0, fi_close(&cntr[i]->fid));
	world_close(&w);
}

/* Which kinds of call take an operation (fi_atomic(3)): bits of FI_ATOMIC_READ's row and so on. */
static int kinds_of(enum fi_op op)
{
	if (op == FI_ATOMIC_READ)
		return 2;
	return op >= FI_CSWAP && op <= FI_MSWAP ? 4 : 3;
}

/* The query and the three valid calls agree with each other, with the page, and with what a post says. */
Test(fi_atomic, what_there_is)
{
	static const uint64_t flags[] = { 0, FI_FETCH_ATOMIC, FI_COMPARE_ATOMIC };
	struct world w;
	struct fid_mr *mr = begin(&w, &(struct want){ 0 });

	for (int type = 0; type < 18; type++)
		for (int op = FI_MIN; op <= FI_MSWAP; op++)
			for (int kind = 0; kind < 3; kind++) {
				enum fi_datatype t = (enum fi_datatype)type;
				enum fi_op o = (enum fi_op)op;
				struct fi_atomic_attr attr = { 0 };
				size_t count = 0;
				bool simple = type <= FI_UINT64, there_is;
				int rc = fi_query_atomic(w.domain, t, o, &attr, flags[kind]);

				there_is = !rc;
				cr_assert(!rc || rc == -FI_EOPNOTSUPP);
				cr_assert(!there_is || kinds_of(o) >> kind & 1, "kind %d op %d", kind, op);
				cr_assert(!simple || there_is == (kinds_of(o) >> kind & 1), "type %d op %d", type, op);
				RC(rc, kind == 0   ? fi_atomicvalid(w.ep, t, o, &count)
				       : kind == 1 ? fi_fetch_atomicvalid(w.ep, t, o, &count)
						   : fi_compare_atomicvalid(w.ep, t, o, &count));
				cr_assert(!there_is || (count == attr.count && attr.count * attr.size == 4096));
				if (kind == 0)
					RC(there_is ? -FI_EINVAL : -FI_EOPNOTSUPP,
					   fi_atomic(w.ep, here, 0, NULL, w.self, 0, KEY, t, o, NULL));
			}
	end(&w, mr);
}

/* Operands and what they are compared with are copied both. */
static void injects_both(struct world *w)
{
	struct fi_ioc iov = { here, 17 }, comparev = { compare, 17 }, resultv = { result, 17 };
	struct fi_rma_ioc remote = { 0, 17, KEY };
	struct fi_msg_atomic msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = w->self,
				     .rma_iov = &remote,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_CSWAP,
				     .context = w };

	RC(-FI_EMSGSIZE, fi_compare_atomicmsg(w->ep, &msg, &comparev, NULL, 1, &resultv, NULL, 1, FI_COMPLETION | FI_INJECT));
	iov.count = comparev.count = resultv.count = remote.count = 16;
	RC(0, fi_compare_atomicmsg(w->ep, &msg, &comparev, NULL, 1, &resultv, NULL, 1, FI_COMPLETION | FI_INJECT));
	expect(w, w, FI_ATOMIC | FI_READ);
}

/* As many buffers and remote ranges as the limits say. More are refused (bad_arguments). */
static void most_ranges(struct world *w)
{
	struct fi_rma_ioc remote[8];
	struct fi_ioc iov[8];
	struct fi_msg_atomic msg = { .msg_iov = iov,
				     .iov_count = 8,
				     .addr = w->self,
				     .rma_iov = remote,
				     .rma_iov_count = 8,
				     .datatype = FI_UINT64,
				     .op = FI_ATOMIC_WRITE,
				     .context = w };

	cr_assert(w->info->tx_attr->iov_limit == 8 && w->info->tx_attr->rma_iov_limit == 8);
	for (size_t i = 0; i < 8; i++) {
		iov[i] = (struct fi_ioc){ &here[i], 1 };
		remote[i] = (struct fi_rma_ioc){ 16 * i, 1, KEY };
		here[i] = 1000 + i;
	}
	RC(0, fi_atomicmsg(w->ep, &msg, FI_COMPLETION));
	expect(w, w, FI_ATOMIC | FI_WRITE);
	for (size_t i = 0; i < 8; i++)
		cr_assert_eq(there[2 * i], 1000 + i);
}

/* As many elements as the query says, and no more. */
Test(fi_atomic, most_elements)
{
	struct fi_ioc ioc[2] = { { here, 256 }, { here, 257 } }, wraps = { here, SIZE_MAX / 8 + 2 }; /* to 8 bytes */
	struct fi_rma_ioc remote = { 0, 1, KEY };
	struct fi_msg_atomic msg = {
		.msg_iov = &wraps, .iov_count = 1, .rma_iov = &remote, .rma_iov_count = 1, .datatype = FI_UINT64, .op = FI_SUM
	};
	struct world w;
	struct fid_mr *mr = begin(&w, &(struct want){ 0 });

	for (int i = 0; i < WORDS; i++)
		here[i] = (uint64_t)i;
	RC(0, fi_atomic(w.ep, here, WORDS, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, &w));
	expect(&w, &w, FI_ATOMIC | FI_WRITE);
	cr_assert(!memcmp(here, there, sizeof(here)));
	RC(-FI_EMSGSIZE, fi_atomic(w.ep, here, WORDS + 1, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	RC(-FI_EMSGSIZE, fi_atomic(w.ep, here, SIZE_MAX, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	RC(-FI_EMSGSIZE, fi_atomicv(w.ep, ioc, NULL, 2, w.self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	RC(-FI_EMSGSIZE, fi_inject_atomic(w.ep, here, 33, w.self, 0, KEY, FI_UINT64, FI_SUM));
	RC(0, fi_inject_atomic(w.ep, here, 32, w.self, 0, KEY, FI_UINT64, FI_SUM));
	msg.addr = w.self;
	RC(-FI_EMSGSIZE, fi_atomicmsg(w.ep, &msg, 0));
	injects_both(&w);
	most_ranges(&w);
	end(&w, mr);
}

/* No call takes a flag that is not for it. */
static void flags_one_by_one(struct world *w, const struct fi_msg_atomic *msg)
{
	const uint64_t known = FI_COMPLETION | FI_MORE | FI_INJECT | FI_FENCE | FI_REMOTE_CQ_DATA | FI_INJECT_COMPLETE |
			       FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_TAGGED;
	struct fi_ioc ioc = { here, 1 };

	for (int bit = 0; bit < 64; bit++) {
		uint64_t flag = 1ull << bit;

		if (flag & known)
			continue;
		RC(-FI_EBADFLAGS, fi_atomicmsg(w->ep, msg, flag));
		RC(-FI_EBADFLAGS, fi_fetch_atomicmsg(w->ep, msg, &ioc, NULL, 1, flag));
		RC(-FI_EBADFLAGS, fi_compare_atomicmsg(w->ep, msg, &ioc, NULL, 1, &ioc, NULL, 1, flag));
	}
	RC(-FI_EOPNOTSUPP, fi_atomicmsg(w->ep, msg, FI_TAGGED));
}

/* Calls that need the capability, or more of it. */
static void capabilities(struct world *w)
{
	size_t count;

	world_open(w, &(struct want){ .caps = FI_ATOMIC | FI_READ });
	RC(-FI_EOPNOTSUPP, fi_atomic(w->ep, here, 1, NULL, w->self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	world_close(w);
	world_open(w, &(struct want){ .caps = FI_RMA });
	RC(-FI_EOPNOTSUPP, fi_atomic(w->ep, here, 1, NULL, w->self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	RC(-FI_EOPNOTSUPP, fi_atomicvalid(w->ep, FI_UINT64, FI_SUM, &count));
	world_close(w);
}

/* `msg` is a good call but for what is changed here. */
static void bad_remotes(const struct world *w, struct fi_msg_atomic msg)
{
	struct fi_ioc nine = { here, 9 };
	struct fi_rma_ioc remote[9];

	msg.rma_iov_count = 0;
	RC(-FI_EINVAL, fi_atomicmsg(w->ep, &msg, 0));
	msg.iov_count = 0; /* neither operands nor targets: as many of each */
	RC(-FI_EINVAL, fi_atomicmsg(w->ep, &msg, 0));
	msg.iov_count = msg.rma_iov_count = 1;
	msg.rma_iov = NULL;
	RC(-FI_EINVAL, fi_atomicmsg(w->ep, &msg, 0));
	for (uint64_t i = 0; i < 9; i++)
		remote[i] = (struct fi_rma_ioc){ 8 * i, 1, KEY };
	msg.msg_iov = &nine;
	msg.rma_iov = remote;
	msg.rma_iov_count = 9;
	RC(-FI_EINVAL, fi_atomicmsg(w->ep, &msg, 0));
}

Test(fi_atomic, bad_arguments)
{
	struct fi_ioc ioc[9] = { { here, 1 } }, two = { compare, 2 };
	struct fi_rma_ioc remote[9] = { { 0, 1, KEY } };
	struct fi_msg_atomic msg = {
		.msg_iov = ioc, .iov_count = 1, .rma_iov = remote, .rma_iov_count = 1, .datatype = FI_UINT64, .op = FI_SUM
	};
	struct fi_atomic_attr attr;
	const uint64_t both = FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC;
	struct world w;
	struct fid_mr *mr = begin(&w, &(struct want){ .caps = FI_ATOMIC | FI_RMA });

	msg.addr = w.self;
	flags_one_by_one(&w, &msg);
	RC(-FI_EINVAL, fi_atomicmsg(w.ep, NULL, 0));
	remote[0].count = 2; /* more than there are operands */
	RC(-FI_EINVAL, fi_atomicmsg(w.ep, &msg, 0));
	remote[0].count = 1;
	RC(-FI_EINVAL, fi_fetch_atomicmsg(w.ep, &msg, NULL, NULL, 1, 0));
	RC(-FI_EINVAL, fi_fetch_atomicmsg(w.ep, &msg, ioc, NULL, 0, 0));
	RC(-FI_EINVAL, fi_fetch_atomicmsg(w.ep, &msg, &two, NULL, 1, 0));
	RC(-FI_EOPNOTSUPP, fi_compare_atomicmsg(w.ep, &msg, ioc, NULL, 1, ioc, NULL, 1, 0)); /* FI_SUM compares nothing */
	msg.op = FI_CSWAP;
	RC(-FI_EOPNOTSUPP, fi_atomicmsg(w.ep, &msg, 0));
	RC(-FI_EINVAL, fi_compare_atomicmsg(w.ep, &msg, NULL, NULL, 0, ioc, NULL, 1, 0));
	RC(-FI_EINVAL, fi_compare_atomicmsg(w.ep, &msg, &two, NULL, 1, ioc, NULL, 1, 0));
	RC(-FI_EINVAL, fi_compare_atomicmsg(w.ep, &msg, ioc, NULL, 1, &two, NULL, 1, 0));
	msg.op = FI_SUM;
	for (int i = 0; i < 9; i++)
		ioc[i] = ioc[0], remote[i] = remote[0];
	msg.iov_count = msg.rma_iov_count = 9;
	RC(-FI_EINVAL, fi_atomicmsg(w.ep, &msg, 0));
	msg.iov_count = msg.rma_iov_count = 1;
	RC(-FI_EINVAL, fi_fetch_atomicmsg(w.ep, &msg, ioc, NULL, 9, 0));
	bad_remotes(&w, msg);
	RC(-FI_EINVAL, fi_atomic(w.ep, NULL, 1, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, NULL));
	RC(-FI_EINVAL, fi_atomic(w.ep, here, 1, NULL, FI_ADDR_UNSPEC, 0, KEY, FI_UINT64, FI_SUM, NULL));
	RC(-FI_EOPNOTSUPP, fi_atomic(w.ep, here, 1, NULL, w.self, 0, KEY, (enum fi_datatype)20, FI_SUM, NULL));
	RC(-FI_EOPNOTSUPP, fi_atomic(w.ep, here, 1, NULL, w.self, 0, KEY, (enum fi_datatype)256, FI_SUM, NULL));
	RC(-FI_EOPNOTSUPP, fi_atomic(w.ep, here, 1, NULL, w.self, 0, KEY, FI_UINT64, (enum fi_op)20, NULL));
	RC(-FI_EOPNOTSUPP, fi_atomic(w.ep, here, 1, NULL, w.self, 0, KEY, FI_UINT64, (enum fi_op)256, NULL));
	RC(-FI_EINVAL, fi_atomicvalid(w.ep, FI_UINT64, FI_SUM, NULL));
	RC(-FI_EINVAL, fi_query_atomic(w.domain, FI_UINT64, FI_SUM, NULL, 0));
	RC(-FI_EINVAL, fi_query_atomic(w.domain, FI_UINT64, FI_SUM, &attr, both));
	RC(-FI_EOPNOTSUPP, fi_query_atomic(w.domain, FI_UINT64, FI_SUM, &attr, FI_TAGGED));
	RC(-FI_EBADFLAGS, fi_query_atomic(w.domain, FI_UINT64, FI_SUM, &attr, FI_INJECT));
	for (int i = 0; i < WORDS; i++)
		cr_assert(!there[i]);
	end(&w, mr);
	capabilities(&w);
}

/* A local buffer that is not there: an error completion, and the target untouched; a result that cannot be put: likewise an
 * error, though the target has executed it. */
Test(fi_atomic, buffers_that_are_not_there)
{
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	struct world w;
	struct fid_mr *mr = begin(&w, &(struct want){ 0 });

	cr_assert_neq(hole, MAP_FAILED);
	RC(0, fi_atomic(w.ep, hole, 1, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, &w));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_assert(error.err == FI_EFAULT && error.op_context == &w && !there[0]);
	here[0] = 1;
	RC(0, fi_fetch_atomic(w.ep, here, 1, NULL, hole, NULL, w.self, 0, KEY, FI_UINT64, FI_SUM, &w));
	RC(-FI_EAVAIL, world_next(&w, &entry));
	RC(1, fi_cq_readerr(w.cq, &error, 0));
	cr_assert(error.err == FI_EFAULT && there[0] == 1);
	RC(-FI_EFAULT, fi_inject_atomic(w.ep, hole, 1, w.self, 0, KEY, FI_UINT64, FI_SUM));
	end(&w, mr);
	munmap(hole, 4096);
}
