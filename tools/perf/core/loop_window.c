/* SPDX-License-Identifier: BSD-2-Clause */
/* loop_window.c - rate, bandwidth and read latency: a fixed number of ops kept outstanding. */
#include <errno.h>
#include <rdma/fi_errno.h>

#include "tools/perf/core/loop.h"

int loop_sleep(struct loop *loop, bool arrivals)
{
	if (loop->wait == LOOP_SREAD)
		return fabric_sread(loop->fabric, LOOP_SLEEP_MS);
	return fabric_wait_counters(loop->fabric, arrivals, LOOP_SLEEP_MS);
}

int loop_drain(struct loop *loop)
{
	return fabric_drain(loop->fabric, loop->patience_ns);
}

static int fill_window(struct loop *loop, loop_post post, uint64_t last)
{
	struct fabric *f = loop->fabric;

	while (f->pending < loop->window && loop->serial != last) {
		size_t slot = loop_slot(loop, loop->serial);
		int rc;

		if (loop->peers > 1)
			fabric_turn(f, (unsigned)(loop->serial % loop->window % loop->peers));
		rc = post(f, slot, slot, loop->size);
		if (rc == -FI_EAGAIN)
			return 0;
		if (rc)
			return rc;
		loop->serial++;
	}
	return 0;
}

/* Keeps a window of ops outstanding for as long as the run lasts: at least one op a slot, and none outstanding at the end. */
int loop_keep_full(struct loop *loop, loop_post post)
{
	struct patience patience = patience_for(loop->patience_ns);
	uint64_t since = now_ns(), first = loop->serial, before = since, now;
	uint64_t last = loop->ops_max ? first + loop->ops_max : UINT64_MAX;

	for (;;) {
		int rc = fill_window(loop, post, last);

		if (rc)
			return rc;
		rc = loop_look(loop, false);
		if (rc < 0)
			return rc;
		if (rc == 0 && (loop_stopped(loop) || !loop_patient(loop, &patience)))
			return loop_stopped(loop) ? 0 : -ETIMEDOUT;
		if (rc == 0)
			continue;
		now = now_ns();
		if (now + loop->patience_ns / 2 > patience.deadline_ns)
			patience = patience_for(loop->patience_ns);
		atomic_store_explicit(&loop->seen, loop->serial, memory_order_relaxed);
		if (loop->latency)
			histogram_add(loop->latency, now - before);
		before = now;
		if (loop->serial == last || (now - since >= loop->length_ns && loop->serial - first >= loop->window))
			return loop_drain(loop);
	}
}

/* A write's completion may mean no more than that the bytes have left (libfabric's default level). A read behind
 * the writes ends the measurement when they have arrived, for every provider alike. */
static int flush_writes(struct loop *loop)
{
	struct patience patience = patience_for(loop->patience_ns);
	struct fabric *f = loop->fabric;
	int rc;

	while ((rc = fabric_read(f, 0, 0, sizeof(uint64_t))) == -FI_EAGAIN) {
		rc = fabric_poll(f);
		if (rc < 0)
			return rc;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return rc ? rc : loop_drain(loop);
}

int loop_write_run(struct loop *loop)
{
	uint64_t since = now_ns(), first = loop->serial;
	int rc = loop_keep_full(loop, fabric_write);

	for (unsigned i = 0; !rc && i < (loop->peers > 1 ? loop->peers : 1); i++) {
		if (loop->peers > 1)
			fabric_turn(loop->fabric, i);
		rc = loop_stopped(loop) ? 0 : flush_writes(loop);
	}
	if (!rc)
		loop_count(loop, loop->serial - first, since);
	return rc;
}

int loop_read_run(struct loop *loop)
{
	uint64_t since = now_ns(), first = loop->serial;
	int rc = loop_keep_full(loop, fabric_read);

	if (!rc)
		loop_count(loop, loop->serial - first, since);
	return rc;
}

int loop_add_run(struct loop *loop)
{
	uint64_t since = now_ns(), first = loop->serial;
	int rc = loop_keep_full(loop, fabric_fetch_add);

	if (!rc)
		loop_count(loop, loop->serial - first, since);
	return rc;
}

int loop_serve(struct loop *loop)
{
	struct patience patience = patience_for(loop->patience_ns);
	unsigned endpoints = loop->fabrics && loop->peers > 1 ? loop->peers : 1;

	while (!loop_stopped(loop)) {
		for (unsigned i = 0; i < endpoints; i++) {
			int rc;

			loop->fabric = loop->fabrics ? loop->fabrics[i] : loop->fabric;
			rc = endpoints == 1 ? loop_look(loop, true) : fabric_poll(loop->fabric);
			if (rc < 0)
				return rc;
		}
		if (!loop_patient(loop, &patience))
			return -ETIMEDOUT;
	}
	return 0;
}
