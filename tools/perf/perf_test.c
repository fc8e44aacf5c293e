/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_test.c - what can be measured. */
#include <rdma/fi_atomic.h>
#include <string.h>

#include "tools/perf/perf_plan.h"

/* A short word is watched where it lands; of more bytes, or to a sleeper, a completion tells: no order among them is promised. */
static bool watched(const struct loop *loop)
{
	return loop->size <= sizeof(uint64_t) && loop->wait == LOOP_SPIN;
}

static int write_lat_run(struct loop *loop)
{
	return watched(loop) ? loop_pingpong_run(loop) : loop_message_run(loop, &loop_written);
}

static int write_lat_serve(struct loop *loop)
{
	return watched(loop) ? loop_pingpong_serve(loop) : loop_message_serve(loop, &loop_written);
}

static int send_lat_run(struct loop *loop)
{
	return loop_message_run(loop, &loop_sent);
}

static int send_lat_serve(struct loop *loop)
{
	return loop_message_serve(loop, &loop_sent);
}

static int tag_lat_run(struct loop *loop)
{
	return loop_message_run(loop, &loop_tagged);
}

static int tag_lat_serve(struct loop *loop)
{
	return loop_message_serve(loop, &loop_tagged);
}

static int send_bw_run(struct loop *loop)
{
	return loop_stream_run(loop, &loop_sent);
}

static int send_bw_serve(struct loop *loop)
{
	return loop_stream_serve(loop, &loop_sent);
}

static int tag_bw_run(struct loop *loop)
{
	return loop_stream_run(loop, &loop_tagged_stream);
}

static int tag_bw_serve(struct loop *loop)
{
	return loop_stream_serve(loop, &loop_tagged_stream);
}

/* Half a round trip is the latency of what goes both ways, a whole one that of a read. */
const struct perf_test perf_tests[] = {
	{ "write_lat", PERF_LATENCY, 2, .caps = 0, .one = true, .messages = true, .run = write_lat_run, .serve = write_lat_serve },
	{ "write_bw", PERF_BANDWIDTH, 1, .to_target = true, .run = loop_write_run, .serve = loop_serve },
	{ "read_lat", PERF_LATENCY, 1, .one = true, .to_initiator = true, .run = loop_read_run, .serve = loop_serve },
	{ "read_bw", PERF_BANDWIDTH, 1, .to_initiator = true, .run = loop_read_run, .serve = loop_serve },
	{ "send_lat", PERF_LATENCY, 2, FI_MSG, true, .one = true, .messages = true, .run = send_lat_run, .serve = send_lat_serve },
	{ "send_bw", PERF_BANDWIDTH, 1, FI_MSG, true, .messages = true, .to_target = true, .run = send_bw_run,
	  .serve = send_bw_serve },
	{ "tag_lat", PERF_LATENCY, 2, FI_TAGGED, true, .one = true, .messages = true, .run = tag_lat_run, .serve = tag_lat_serve },
	{ "tag_bw", PERF_BANDWIDTH, 1, FI_TAGGED, true, .messages = true, .to_target = true, .run = tag_bw_run,
	  .serve = tag_bw_serve },
	{ "atomic_lat", PERF_LATENCY, 1, FI_ATOMIC, .one = true, .atomic = true, .to_initiator = true, .run = loop_add_run,
	  .serve = loop_serve },
	{ "atomic_rate", PERF_RATE, 1, FI_ATOMIC, .atomic = true, .to_initiator = true, .run = loop_add_run, .serve = loop_serve },
	{ "reg", PERF_LATENCY, 1, .alone = true, .one = true, .run = loop_register_run },
};
const unsigned perf_tests_count = sizeof(perf_tests) / sizeof(perf_tests[0]);

const struct perf_test *perf_test_find(const char *name)
{
	for (unsigned i = 0; i < perf_tests_count; i++)
		if (!strcmp(perf_tests[i].name, name))
			return &perf_tests[i];
	return NULL;
}
