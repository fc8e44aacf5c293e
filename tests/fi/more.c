/* SPDX-License-Identifier: BSD-2-Clause */
/* more.c - FI_MORE: nothing is held back for a further call. fi_msg(3) of 2.5 has what was delayed flushed when a later call fails;
 * here an operation with FI_MORE is carried out without any call after it, whatever became of the next one. */
#include "tests/fi/world.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_tagged.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { KEY = 3, WRITE, READ, SEND, TSEND, ATOMIC, KINDS };

static _Atomic uint64_t far, near, landing;
static uint64_t value;

static ssize_t post(struct world *w, int kind, fi_addr_t dest, uint64_t flags)
{
	struct iovec out = { &value, 8 }, in = { (void *)&near, 8 };
	struct fi_ioc operand = { &value, 1 };
	struct fi_rma_iov remote = { 0, 8, KEY };
	struct fi_rma_ioc remote_ioc = { 0, 1, KEY };
	struct fi_msg_rma rma = { .msg_iov = kind == READ ? &in : &out, .iov_count = 1, .addr = dest };
	struct fi_msg_atomic atomic = {
		.msg_iov = &operand, .iov_count = 1, .addr = dest, .datatype = FI_UINT64, .op = FI_ATOMIC_WRITE
	};

	rma.rma_iov = &remote;
	atomic.rma_iov = &remote_ioc;
	rma.rma_iov_count = atomic.rma_iov_count = 1;
	switch (kind) {
	case WRITE:
		return fi_writemsg(w->ep, &rma, flags);
	case READ:
		return fi_readmsg(w->ep, &rma, flags);
	case SEND:
		return fi_sendmsg(w->ep, &(struct fi_msg){ .msg_iov = &out, .iov_count = 1, .addr = dest }, flags);
	case TSEND:
		return fi_tsendmsg(w->ep, &(struct fi_msg_tagged){ .msg_iov = &out, .iov_count = 1, .addr = dest }, flags);
	default:
		return fi_atomicmsg(w->ep, &atomic, flags);
	}
}

/* A call that fails, and posts nothing. */
static void fail(struct world *w, int how)
{
	static char big[1 << 16];

	switch (how) {
	case 0:
		RC(-FI_EBADFLAGS, post(w, SEND, w->self, FI_MORE | FI_PEEK));
		break;
	case 1:
		RC(-FI_EMSGSIZE, fi_inject(w->ep, big, sizeof(big), w->self));
		break;
	case 2:
		RC(-FI_EINVAL, fi_sendmsg(w->ep, NULL, 0));
		break;
	default:
		RC(-FI_EINVAL, fi_send(w->ep, NULL, 8, NULL, w->self, NULL));
	}
}

/* No call is made meanwhile. The guard is for a test that hangs. */
static void await(const _Atomic uint64_t *at, uint64_t expected, int kind)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	time_t end = time(NULL) + 60;

	while (atomic_load(at) != expected) {
		cr_assert(time(NULL) < end, "kind %d is held back", kind);
		nanosleep(&pause, NULL);
	}
}

Test(fi_more, what_was_posted_before_a_call_that_fails)
{
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC });
	RC(0, fi_mr_reg(w.domain, (void *)&far, 8, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	for (int how = 0; how < 4; how++)
		for (int kind = WRITE; kind < KINDS; kind++) {
			struct fi_cq_tagged_entry entry;
			bool message = kind == SEND || kind == TSEND;

			value++;
			if (kind == READ)
				atomic_store(&far, value);
			if (kind == SEND)
				RC(0, fi_recv(w.ep, (void *)&landing, 8, NULL, FI_ADDR_UNSPEC, NULL));
			if (kind == TSEND)
				RC(0, fi_trecv(w.ep, (void *)&landing, 8, NULL, FI_ADDR_UNSPEC, 0, 0, NULL));
			RC(0, post(&w, kind, w.self, FI_MORE));
			fail(&w, how);
			await(message ? &landing : kind == READ ? &near : &far, value, kind);
			for (int told = 0; told <= message; told++)
				RC(1, world_next(&w, &entry));
			RC(-FI_EAGAIN, fi_cq_read(w.cq, &entry, 1));
		}
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}

/* The call that fails is the one for which there is no room. */
Test(fi_more, as_many_as_there_is_room_for)
{
	struct fi_cq_tagged_entry entry;
	uint64_t posted = 0;
	struct fid_mr *mr;
	struct world w;

	world_open(&w, &(struct want){ .caps = FI_RMA | FI_ATOMIC });
	RC(0, fi_mr_reg(w.domain, (void *)&far, 8, FI_REMOTE_WRITE, 0, KEY, 0, &mr, NULL));
	value = 99;
	for (ssize_t rc = 0; rc != -FI_EAGAIN; posted += !rc) {
		rc = post(&w, WRITE, w.self, FI_MORE);
		cr_assert(!rc || rc == -FI_EAGAIN);
	}
	await(&far, 99, WRITE);
	while (posted--)
		RC(1, world_next(&w, &entry));
	RC(0, fi_close(&mr->fid));
	world_close(&w);
}
