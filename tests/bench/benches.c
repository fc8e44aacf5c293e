/* SPDX-License-Identifier: BSD-2-Clause */
/* benches.c - what is measured. */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "raw.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* clang-format off */
#define WRITES(run_raw, serve_raw) \
	.proof = PROOF_TARGET_INBOX, .fabric = { window_write_run, window_serve, NULL }, \
	.raw = { run_raw, serve_raw, NULL }
#define READS \
	.proof = PROOF_INITIATOR_INBOX, .fabric = { window_read_run, window_serve, NULL }, \
	.raw = { raw_request_run, raw_request_serve, NULL }
#define RATE .size = 8, .window = 64, .unit = UNIT_MOPS, .legs = 1
#define BANDWIDTH .unit = UNIT_GBPS, .legs = 1
#define REGISTRATION \
	.unit = UNIT_USEC, .window = 1, .legs = 1, .proof = PROOF_EACH, .fabric = { register_run, NULL, NULL }

#define SLEEPERS { raw_blocking_run, raw_blocking_serve, raw_blocking_end }
#define BLOCKING(what, in) \
	.world = in, .size = 8, .window = 1, .unit = UNIT_USEC, .legs = 2, .proof = PROOF_EACH, .raw = SLEEPERS, \
	.fabric = { blocking_##what##_run, blocking_##what##_serve, blocking_##what##_end }

/* Write latency is half a round trip, read latency a whole one. */
static const struct bench table[] = {
	{ .name = "write latency", .size = 8, .window = 1, .unit = UNIT_USEC, .legs = 2, .proof = PROOF_EACH,
	  .fabric = { pingpong_run, pingpong_serve, NULL }, .raw = { raw_pingpong_run, raw_pingpong_serve, NULL } },
	{ .name = "read latency", .size = 8, .window = 1, .unit = UNIT_USEC, .legs = 1, READS },
	{ .name = "passive read latency", .size = 8, .window = 1, .unit = UNIT_USEC, .legs = 1, .may_starve = true,
	  .proof = PROOF_INITIATOR_INBOX, .fabric = { passive_run, passive_serve, passive_end },
	  .raw = SLEEPERS },
	{ .name = "read while target computes", .size = 8, .window = 1, .unit = UNIT_USEC, .legs = 1, .may_starve = true,
	  .waits = true, .proof = PROOF_INITIATOR_INBOX, .fabric = { passive_run, computing_serve, computing_end },
	  .raw = { raw_pingpong_run, computing_serve, computing_end } },
	{ .name = "tagged latency", .size = 8, .window = 1, .unit = UNIT_USEC, .legs = 2, .proof = PROOF_EACH,
	  .world = WORLD_TAGGED, .fabric = { tagged_run, tagged_serve, NULL },
	  .raw = { raw_pingpong_run, raw_pingpong_serve, NULL } },
	{ .name = "write, both in sread", BLOCKING(write, WORLD_SREAD) },
	{ .name = "write, both in poll", BLOCKING(write, WORLD_WAIT_FD) },
	{ .name = "write, both in cntr_wait", BLOCKING(write, WORLD_COUNTER), .may_starve = true },
	{ .name = "tagged, both in sread", BLOCKING(tagged, WORLD_SREAD) },
	{ .name = "tagged, both in poll", BLOCKING(tagged, WORLD_WAIT_FD) },
	{ .name = "write rate, 64 at once", RATE, WRITES(raw_rate_run, raw_rate_serve) },
	{ .name = "read rate, 64 at once", RATE, READS },
	{ .name = "fetch-add rate, 64 at once", RATE, .world = WORLD_ATOMIC, .proof = PROOF_INITIATOR_INBOX,
	  .fabric = { window_add_run, window_serve, NULL } },
	{ .name = "write bandwidth", .size = 4 * KIB, .window = 64, BANDWIDTH,
	  WRITES(raw_stream_run, raw_stream_serve) },
	{ .name = "write bandwidth", .size = 64 * KIB, .window = 16, BANDWIDTH,
	  WRITES(raw_stream_run, raw_stream_serve) },
	{ .name = "write bandwidth", .size = MIB, .window = 16, BANDWIDTH, WRITES(raw_stream_run, raw_stream_serve) },
	{ .name = "tagged bandwidth", .size = MIB, .window = 4, BANDWIDTH, .world = WORLD_TAGGED, .proof = PROOF_TARGET_INBOX,
	  .fabric = { tagged_window_run, tagged_window_serve, NULL }, .raw = { raw_stream_run, raw_stream_serve, NULL } },
	{ .name = "read bandwidth", .size = 4 * KIB, .window = 64, BANDWIDTH, READS },
	{ .name = "read bandwidth", .size = 64 * KIB, .window = 16, BANDWIDTH, READS },
	{ .name = "read bandwidth", .size = MIB, .window = 16, BANDWIDTH, READS },
	{ .name = "write rate, 10 keys", RATE,
	  .world = WORLD_SCALABLE, .proof = PROOF_TARGET_INBOX, .fabric = { window_write_run, window_serve, NULL } },
	{ .name = "write rate, 1000000 keys", RATE,
	  .world = WORLD_MANY_KEYS, .proof = PROOF_TARGET_INBOX,
	  .fabric = { window_write_run, window_serve, NULL } },
	{ .name = "register and close, mr_mode 0", .size = 64, .world = WORLD_SCALABLE, REGISTRATION },
	{ .name = "register and close", .size = 64, REGISTRATION },
	{ .name = "register and close", .size = 4 * KIB, REGISTRATION },
	{ .name = "register and close", .size = MIB, REGISTRATION },
	{ .name = "register and close", .size = 64 * MIB, REGISTRATION },
};
/* clang-format on */

const struct bench *benches = table;
unsigned benches_count = sizeof(table) / sizeof(table[0]);

enum { SWEPT_MAX = 32, WINDOW_MAX = 1024 };

static struct bench swept[SWEPT_MAX];
static char swept_names[SWEPT_MAX][32];

/* `what` with so many at once. */
static const char *swept_name(const char *what, unsigned window)
{
	char *name = swept_names[benches_count];

	snprintf(name, sizeof(swept_names[0]), "%s rate, %u at once", what, window);
	return name;
}

static void sweep_sizes(void)
{
	for (size_t size = 1; size <= 64 * MIB; size *= 4)
		swept[benches_count++] = (struct bench){
			.name = "read latency", .size = size, .window = 1, .unit = UNIT_USEC, .legs = 1, READS
		};
}

/* Without the floor's frames, which come by 64. */
static void sweep_windows(void)
{
	for (unsigned window = 1; window <= WINDOW_MAX; window *= 2) {
		swept[benches_count] = (struct bench){ .name = swept_name("write", window),
						       .size = 8,
						       .window = window,
						       .unit = UNIT_MOPS,
						       .legs = 1,
						       .proof = PROOF_TARGET_INBOX,
						       .fabric = { window_write_run, window_serve, NULL } };
		benches_count++;
		swept[benches_count] = (struct bench){
			.name = swept_name("read", window), .size = 8, .window = window, .unit = UNIT_MOPS, .legs = 1, READS
		};
		benches_count++;
	}
}

bool benches_sweep(const char *name)
{
	swept[0] = table[0];
	benches = swept;
	benches_count = 1;
	if (!strcmp(name, "size"))
		sweep_sizes();
	else if (!strcmp(name, "window"))
		sweep_windows();
	return benches_count > 1;
}

bool bench_chosen(const struct bench *bench, const char *only)
{
	return strstr(bench->name, only);
}
