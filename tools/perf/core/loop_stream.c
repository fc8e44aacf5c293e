/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_stream.c - a window of messages one way. The time ends when the last of them has arrived: a completion may mean no more
 * than that the bytes have left. */
#include <errno.h>
#include <rdma/fi_errno.h>

#include "tools/perf/core/loop.h"

/* All that was sent has been received. */
static int await_arrival(struct loop *loop)
{
	struct patience patience = patience_for(loop->patience_ns);
	int rc = loop->await ? loop->await(loop) : 0;

	while (!rc && atomic_load_explicit(loop->arrived, memory_order_acquire) != loop->serial) {
		rc = fabric_poll(loop->fabric);
		if (rc < 0)
			return rc;
		rc = 0;
		if (loop_stopped(loop))
			return 0;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return rc;
}

static _Thread_local const struct loop_message *streamed;

static int loop_stream_next(struct fabric *f, size_t from, size_t to, size_t size)
{
	(void)to;
	return streamed->post(f, from, size);
}

int loop_stream_run(struct loop *loop, const struct loop_message *message)
{
	uint64_t since = now_ns(), first = loop->serial;
	int rc;

	streamed = message;
	rc = loop_keep_full(loop, loop_stream_next);
	if (!rc)
		rc = await_arrival(loop);
	if (!rc)
		loop_count(loop, loop->serial - first, since);
	return rc;
}

/* Where the message lands that an endpoint receives as its nth: those of slot s go to endpoint s % peers. */
static size_t landing(const struct loop *loop, unsigned endpoint, uint64_t nth)
{
	unsigned peers = loop->peers > 1 ? loop->peers : 1;
	unsigned own = (loop->window - endpoint + peers - 1) / peers;

	return loop_slot(loop, nth % own * peers + endpoint);
}

/* Receives for two windows. */
static int keep_expecting(struct loop *loop, const struct loop_message *message, unsigned endpoint)
{
	struct fabric *f = loop->fabric;

	while (f->receives < 2 * loop->window) {
		int rc = message->expect(f, landing(loop, endpoint, f->consumed), loop->size);

		if (rc == -FI_EAGAIN && f->receives)
			return 0;
		if (rc)
			return rc;
		f->consumed++;
	}
	return 0;
}

static void endpoint_use(struct loop *loop, unsigned endpoint)
{
	if (loop->fabrics)
		loop->fabric = loop->fabrics[endpoint];
}

static void arrival_tell(struct loop *loop, uint64_t count)
{
	uint64_t wanted;

	atomic_store_explicit(loop->arrived, count, memory_order_release);
	if (!loop->wanted)
		return;
	wanted = atomic_load_explicit(loop->wanted, memory_order_acquire);
	if (wanted != loop->told && count >= wanted) {
		loop->told = wanted;
		loop->reached(loop);
	}
}

static int look_at_all(struct loop *loop, const struct loop_message *message, unsigned endpoints)
{
	int found = 0;

	for (unsigned i = 0; i < endpoints; i++) {
		int rc;

		endpoint_use(loop, i);
		rc = keep_expecting(loop, message, i);
		if (!rc)
			rc = endpoints == 1 ? loop_look(loop, true) : fabric_poll(loop->fabric);
		if (rc < 0)
			return rc;
		found += rc;
	}
	return found;
}

int loop_stream_serve(struct loop *loop, const struct loop_message *message)
{
	struct patience patience = patience_for(loop->patience_ns);
	unsigned endpoints = loop->fabrics && loop->peers > 1 ? loop->peers : 1;
	uint64_t first = 0;
	int rc = 0;

	for (unsigned i = 0; i < endpoints; i++) {
		endpoint_use(loop, i);
		loop->fabric->consumed = 0;
		first += loop->fabric->received;
	}
	while (!loop_stopped(loop)) {
		uint64_t received = 0;

		rc = look_at_all(loop, message, endpoints);
		if (rc < 0)
			return rc;
		if (rc == 0 && !loop_patient(loop, &patience))
			return -ETIMEDOUT;
		if (rc > 0)
			patience = patience_for(loop->patience_ns);
		for (unsigned i = 0; i < endpoints; i++) {
			endpoint_use(loop, i);
			received += loop->fabric->received;
		}
		arrival_tell(loop, received - first);
	}
	for (unsigned i = 0; i < endpoints; i++) {
		endpoint_use(loop, i);
		rc = fabric_recv_cancel(loop->fabric);
		if (rc)
			return rc;
	}
	return 0;
}
