/* SPDX-License-Identifier: BSD-2-Clause */
/* order.c - one test for each bit of msg_order that an info tells, named for it, and for the sizes up to which data keeps
 * its order (fi_endpoint(3), "Message Ordering"): of two operations on the same bytes, posted one behind the other, the
 * second finds what the first has done, and the first nothing of the second. Once by an info that tells all bits; and once by a
 * NIC that keeps no order but that which is asked for, and is asked for that bit alone (FI_EMU_ORDER=weak). */
#include "tests/fi/world.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <rdma/fi_atomic.h>

enum { KEY = 5, CELLS = 32, SHORT = 8, LONG = 1 << 20, BEFORE = 1, FIRST = 2, SECOND = 3 };
enum kind { READ, WRITE, SEND, FETCH, PUT };

/* Posted from `near` of one endpoint to `far` of another; what is read lands in `got`. */
struct order {
	struct world from, to;
	fi_addr_t peer;
	struct fid_mr *mr;
	size_t length, cells;
	uint8_t *near[4]; /* CELLS times the length, all bytes the same: those of FIRST, of SECOND */
	uint8_t *got[4];  /* by FIRST, by SECOND */
	uint8_t *far;
	int posted, received;
};

static uint64_t asked; /* 0: nothing */

static void order_open(struct order *o, size_t length)
{
	const struct want want = { .caps = FI_MSG | FI_RMA | FI_ATOMIC,
				   .msg_order = asked,
				   .op_flags = asked ? FI_DELIVERY_COMPLETE : 0 };
	struct sockaddr_storage name;
	size_t size = sizeof(name);

	*o = (struct order){ .length = length, .cells = length > SHORT ? 4 : CELLS };
	world_open(&o->from, &want);
	world_open(&o->to, &want);
	RC(0, fi_getname(&o->to.ep->fid, &name, &size));
	RC(1, fi_av_insert(o->from.av, &name, 1, &o->peer, 0, NULL));
	o->far = malloc(o->cells * length);
	for (int i = FIRST; i <= SECOND; i++) {
		o->near[i] = malloc(length);
		o->got[i] = malloc(o->cells * length);
		memset(o->near[i], i, length);
	}
	RC(0, fi_mr_reg(o->to.domain, o->far, o->cells * length, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &o->mr, NULL));
}

static void order_close(struct order *o)
{
	RC(0, fi_close(&o->mr->fid));
	for (int i = FIRST; i <= SECOND; i++) {
		free(o->near[i]);
		free(o->got[i]);
	}
	free(o->far);
	world_close(&o->from);
	world_close(&o->to);
}

static bool reads(enum kind kind)
{
	return kind == READ || kind == FETCH;
}

static void post(struct order *o, enum kind kind, int which, size_t cell)
{
	struct fid_ep *ep = o->from.ep;
	size_t at = cell * o->length;
	void *got = o->got[which] + at;

	switch (kind) {
	case READ:
		RC(0, fi_read(ep, got, o->length, NULL, o->peer, at, KEY, NULL));
		break;
	case WRITE:
		RC(0, fi_write(ep, o->near[which], o->length, NULL, o->peer, at, KEY, NULL));
		break;
	case SEND:
		RC(0, fi_send(ep, o->near[which], o->length, NULL, o->peer, NULL));
		o->received++;
		break;
	case FETCH:
		RC(0, fi_fetch_atomic(ep, NULL, 1, NULL, got, NULL, o->peer, at, KEY, FI_UINT64, FI_ATOMIC_READ, NULL));
		break;
	default:
		RC(0, fi_atomic(ep, o->near[which], 1, NULL, o->peer, at, KEY, FI_UINT64, FI_ATOMIC_WRITE, NULL));
	}
	o->posted++;
}

/* Messages land in the cell, too. */
static void post_receives(struct order *o, enum kind kind, size_t cell)
{
	if (kind == SEND)
		RC(0, fi_recv(o->to.ep, o->far + cell * o->length, o->length, NULL, FI_ADDR_UNSPEC, NULL));
}

static void drain(struct order *o)
{
	struct fi_cq_tagged_entry entry;

	while (o->posted || o->received) {
		ssize_t got = fi_cq_read(o->from.cq, &entry, 1);

		cr_assert(got == 1 || got == -FI_EAGAIN);
		o->posted -= got == 1;
		got = fi_cq_read(o->to.cq, &entry, 1);
		cr_assert(got == 1 || got == -FI_EAGAIN);
		o->received -= got == 1;
	}
}

static void all_are(const uint8_t *bytes, size_t length, int value, const char *what, size_t cell)
{
	for (size_t i = 0; i < length; i++)
		cr_assert(bytes[i] == value, "%s of cell %zu, byte %zu: %d, expected %d", what, cell, i, bytes[i], value);
}

static void check(const struct order *o, enum kind first, enum kind second)
{
	for (size_t cell = 0; cell < o->cells; cell++) {
		size_t at = cell * o->length;

		if (reads(first))
			all_are(o->got[FIRST] + at, o->length, BEFORE, "the first", cell);
		if (reads(second))
			all_are(o->got[SECOND] + at, o->length, reads(first) ? BEFORE : FIRST, "the second", cell);
		all_are(o->far + at, o->length, reads(second) ? reads(first) ? BEFORE : FIRST : SECOND, "the end", cell);
	}
}

static void in_order_now(enum kind first, enum kind second, size_t length)
{
	struct order o;

	order_open(&o, length);
	for (int round = 0; round < 20; round++) {
		memset(o.far, BEFORE, o.cells * length);
		for (size_t cell = 0; cell < o.cells; cell++) {
			post_receives(&o, first, cell);
			post_receives(&o, second, cell);
		}
		for (size_t cell = 0; cell < o.cells; cell++) {
			post(&o, first, FIRST, cell);
			post(&o, second, SECOND, cell);
		}
		drain(&o);
		check(&o, first, second);
	}
	order_close(&o);
}

/* Two reads of memory that grows: what is read later is not less. */
struct growth {
	_Atomic uint64_t *word;
	atomic_bool stop;
};

static void *grow(void *arg)
{
	struct growth *growth = arg;

	while (!growth->stop)
		(*growth->word)++;
	return NULL;
}

static void reads_in_order_now(enum kind first, enum kind second)
{
	struct growth growth = { 0 };
	uint64_t seen[2], last = 0;
	pthread_t thread;
	struct order o;

	order_open(&o, SHORT);
	memset(o.far, 0, SHORT);
	growth.word = (_Atomic uint64_t *)(void *)o.far;
	cr_assert(!pthread_create(&thread, NULL, grow, &growth));
	while (!*growth.word) /* under load it may begin after all rounds */
		sched_yield();
	for (int round = 0; round < 200; round++) {
		for (size_t cell = 0; cell < o.cells; cell++) { /* all of the one word */
			post(&o, first, FIRST, 0);
			post(&o, second, SECOND, 0);
			drain(&o);
			memcpy(&seen[0], o.got[FIRST], SHORT);
			memcpy(&seen[1], o.got[SECOND], SHORT);
			cr_assert(seen[0] >= last && seen[1] >= seen[0]);
			last = seen[1];
		}
	}
	growth.stop = true;
	pthread_join(thread, NULL);
	cr_assert_gt(last, 0);
	order_close(&o);
}

/* Messages are told apart by their own order. */
static void ask(uint64_t order)
{
	setenv("FI_EMU_ORDER", "weak", 1);
	asked = order | (order & (FI_ORDER_RAS | FI_ORDER_WAS | FI_ORDER_SAR | FI_ORDER_SAW) ? FI_ORDER_SAS : 0);
}

static void in_order(uint64_t order, enum kind first, enum kind second, size_t length)
{
	in_order_now(first, second, length);
	ask(order);
	in_order_now(first, second, length);
	unsetenv("FI_EMU_ORDER");
	asked = 0;
}

static void reads_in_order(uint64_t order, enum kind first, enum kind second)
{
	reads_in_order_now(first, second);
	ask(order);
	reads_in_order_now(first, second);
	unsetenv("FI_EMU_ORDER");
	asked = 0;
}

Test(fi_order, rar)
{
	reads_in_order(FI_ORDER_RAR, READ, FETCH);
	reads_in_order(FI_ORDER_RAR, FETCH, READ);
}

Test(fi_order, raw)
{
	in_order(FI_ORDER_RAW, WRITE, FETCH, SHORT);
	in_order(FI_ORDER_RAW, PUT, READ, SHORT);
}

Test(fi_order, ras)
{
	in_order(FI_ORDER_RAS, SEND, READ, SHORT);
	in_order(FI_ORDER_RAS, SEND, FETCH, SHORT);
}

Test(fi_order, war)
{
	in_order(FI_ORDER_WAR, READ, PUT, SHORT);
	in_order(FI_ORDER_WAR, FETCH, WRITE, SHORT);
}

Test(fi_order, waw)
{
	in_order(FI_ORDER_WAW, WRITE, PUT, SHORT);
	in_order(FI_ORDER_WAW, PUT, WRITE, SHORT);
}

Test(fi_order, was)
{
	in_order(FI_ORDER_WAS, SEND, WRITE, SHORT);
	in_order(FI_ORDER_WAS, SEND, PUT, SHORT);
}

Test(fi_order, sar)
{
	in_order(FI_ORDER_SAR, READ, SEND, SHORT);
	in_order(FI_ORDER_SAR, FETCH, SEND, SHORT);
}

Test(fi_order, saw)
{
	in_order(FI_ORDER_SAW, WRITE, SEND, SHORT);
	in_order(FI_ORDER_SAW, PUT, SEND, SHORT);
}

Test(fi_order, sas)
{
	in_order(FI_ORDER_SAS, SEND, SEND, SHORT);
}

Test(fi_order, rma_rar)
{
	reads_in_order(FI_ORDER_RMA_RAR, READ, READ);
}

Test(fi_order, rma_raw)
{
	in_order(FI_ORDER_RMA_RAW, WRITE, READ, SHORT);
}

Test(fi_order, rma_war)
{
	in_order(FI_ORDER_RMA_WAR, READ, WRITE, SHORT);
}

Test(fi_order, rma_waw)
{
	in_order(FI_ORDER_RMA_WAW, WRITE, WRITE, SHORT);
}

Test(fi_order, atomic_rar)
{
	reads_in_order(FI_ORDER_ATOMIC_RAR, FETCH, FETCH);
}

Test(fi_order, atomic_raw)
{
	in_order(FI_ORDER_ATOMIC_RAW, PUT, FETCH, SHORT);
}

Test(fi_order, atomic_war)
{
	in_order(FI_ORDER_ATOMIC_WAR, FETCH, PUT, SHORT);
}

Test(fi_order, atomic_waw)
{
	in_order(FI_ORDER_ATOMIC_WAW, PUT, PUT, SHORT);
}

/* Data of many segments. */
Test(fi_order, max_order_raw_size)
{
	in_order(FI_ORDER_RAW, WRITE, READ, LONG);
}

Test(fi_order, max_order_war_size)
{
	in_order(FI_ORDER_WAR, READ, WRITE, LONG);
}

Test(fi_order, max_order_waw_size)
{
	in_order(FI_ORDER_WAW, WRITE, WRITE, LONG);
}
