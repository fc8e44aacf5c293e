/* SPDX-License-Identifier: BSD-2-Clause */
/* page_synthetic.c - writes the page of a made-up trace to standard output: `page_synthetic small`, or `page_synthetic COUNT` ops
 *
 * small: three processes, one of them partial; writes, reads, a send and an atomic; a write that is refused for its range, one for
 * an unknown key, and a refusal of no op; strings that try to break out of the script element. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/page/page.h"
#include "wire/frame.h"

#define REGION_LENGTH 65536

/* The library takes it from the model, which needs no rings here. */
const char *trace_kind_name(enum trace_kind kind)
{
	static const char *const names[TRACE_KINDS] = { "send",    "write",  "read",   "atomic",
							"connect", "accept", "reject", "collective" };

	return names[kind];
}

static struct trace_process processes[] = {
	{ .file = "writer.ring", .host = "node1", .program = "writer", .pid = 4711, .note = "", .error_ns = 0 },
	{ .file = "server.ring", .host = "node1", .program = "server", .pid = 4712, .note = "", .error_ns = 120 },
	{ .file = "reader.ring",
	  .host = "node2",
	  .program = "reader",
	  .pid = 815,
	  .partial = true,
	  .lost = 3,
	  .note = "3 blocks of events were overwritten",
	  .error_ns = TRACE_NEVER },
};

static struct trace_endpoint endpoints[] = {
	{ .process = 0, .number = 1, .address = "192.0.2.1:4711", .closed_ns = TRACE_NEVER },
	{ .process = 1, .number = 1, .address = "192.0.2.1:4712", .closed_ns = TRACE_NEVER },
	{ .process = 2, .number = 1, .address = "[2001:db8::2]:815", .closed_ns = TRACE_NEVER },
};

static struct trace_conn conns[] = {
	{ .session = 1,
	  .epoch = 1,
	  .end = { { 0, "192.0.2.1:4711", 500, TRACE_NEVER }, { 1, "192.0.2.1:4712", 900, TRACE_NEVER } } },
	{ .session = 2,
	  .epoch = 1,
	  .end = { { 2, "[2001:db8::2]:815", 700, TRACE_NEVER }, { 1, "192.0.2.1:4712", 1100, TRACE_NEVER } } },
};

static struct trace_region regions[] = {
	{ .process = 1,
	  .key = 0x2a,
	  .addr = 0x7f3a10000000,
	  .length = REGION_LENGTH,
	  .rights = TRACE_REMOTE_READ | TRACE_REMOTE_WRITE,
	  .opened_ns = 100,
	  .closed_ns = TRACE_NEVER },
	{ .process = 1,
	  .key = 0x2b,
	  .addr = 0x7f3a20000000,
	  .length = 4096,
	  .rights = TRACE_REMOTE_READ,
	  .opened_ns = 200,
	  .closed_ns = 29000 },
	{ .process = 2, .key = 7, .length = 1024, .rights = TRACE_REMOTE_WRITE, .opened_ns = 300, .closed_ns = TRACE_NEVER },
};

static struct trace_log logs[] = {
	{ .process = 0, .level = 1, .text = "</script><script>window.broken = true</script>", .at_ns = 1500 },
	{ .process = 1, .level = 0, .text = "bytes \xff\xfe that are not UTF-8, \"quotes\", \\ and \xe2\x80\xa8", .at_ns = 2500 },
};

static void op_fill(struct trace *trace, enum trace_kind kind, uint32_t conn, uint32_t region, uint64_t offset, uint64_t length,
		    int64_t at)
{
	struct trace_op *op = &trace->ops[trace->op_count];
	struct trace_frame *frame = &trace->frames[trace->frame_count];
	static const uint8_t requests[] = { WIRE_SEND, WIRE_WRITE, WIRE_READ, WIRE_ATOMIC };

	*op = (struct trace_op){ .kind = kind,
				 .outcome = TRACE_DONE,
				 .conn = conn,
				 .initiator = conn == 0 ? 0 : 2,
				 .target = 1,
				 .seq = trace->op_count + 1,
				 .length = length,
				 .posted_ns = at,
				 .sent_ns = at + 150,
				 .received_ns = at + 900,
				 .answered_ns = at + 1000,
				 .completed_ns = at + 1800,
				 .region = region,
				 .refusal = TRACE_NONE,
				 .first_frame = trace->frame_count };
	frame[0] = (struct trace_frame){ .conn = conn,
					 .from = 0,
					 .op = requests[kind],
					 .sent_ns = at + 150,
					 .received_ns = at + 900,
					 .length = 64 + (uint32_t)length,
					 .of = trace->op_count,
					 .peer = "" };
	frame[1] = (struct trace_frame){ .conn = conn,
					 .from = 1,
					 .op = kind == TRACE_READ ? WIRE_DATA : WIRE_ACK,
					 .sent_ns = at + 1000,
					 .received_ns = at + 1750,
					 .length = 32,
					 .of = trace->op_count,
					 .peer = "" };
	trace->frame_count += 2;
	if (region != TRACE_NONE) {
		op->key = regions[region].key;
		op->addr = regions[region].addr + offset;
		trace->accesses[trace->access_count++] = (struct trace_access){
			.region = region, .op = trace->op_count, .offset = offset, .length = length, .at_ns = at + 900
		};
	}
	trace->op_count++;
}

/* Turns the op that was filled last into a refused one. */
static void op_refuse(struct trace *trace, uint32_t cause, const char *name, const char *text)
{
	uint32_t last = trace->op_count - 1, at = trace->refusal_count++;

	trace->ops[last].outcome = TRACE_REFUSED;
	trace->ops[last].refusal = at;
	trace->frames[trace->frame_count - 1].op = WIRE_NAK;
	if (trace->ops[last].region != TRACE_NONE)
		trace->accesses[trace->access_count - 1].refused = true;
	trace->refusals[at] = (struct trace_refusal){ .process = 1,
						      .op = last,
						      .cause = cause,
						      .at_target = true,
						      .cause_name = name,
						      .text = text,
						      .at_ns = trace->ops[last].received_ns };
}

static void fill_small(struct trace *trace)
{
	op_fill(trace, TRACE_WRITE, 0, 0, 0, 16384, 2000);
	op_fill(trace, TRACE_WRITE, 0, 0, 16384, 16384, 4200);
	op_fill(trace, TRACE_READ, 1, 1, 1024, 512, 5000);
	op_fill(trace, TRACE_ATOMIC, 0, 0, 32768, 8, 7000);
	op_fill(trace, TRACE_SEND, 1, TRACE_NONE, 0, 100, 9000);
	trace->ops[4].tagged = true;
	trace->ops[4].tag = 0x1234;
	op_fill(trace, TRACE_WRITE, 0, 1, 4000, 200, 11500);
	op_refuse(trace, 4, "range",
		  "write of 200 B at offset 4000 refused: it ends 104 B past the end of region 0x2b, which has 4096 B (S65)");
	op_fill(trace, TRACE_READ, 1, 0, 49152, 8192, 14000);
	op_fill(trace, TRACE_WRITE, 0, TRACE_NONE, 0, 8, 17000);
	trace->ops[7].key = 0xdead;
	trace->ops[7].addr = 0x10;
	op_refuse(trace, 1, "unknown-key", "write of 8 B refused: no region of the target has the key 0xdead (S40)");
	op_fill(trace, TRACE_READ, 1, 0, 8192, 4096, 20000);
	op_fill(trace, TRACE_WRITE, 0, 0, 40000, 64, 24000);
	trace->ops[9].outcome = TRACE_OPEN;
	trace->ops[9].completed_ns = trace->ops[9].answered_ns = TRACE_NEVER;
	trace->frame_count--;
	trace->refusals[trace->refusal_count++] = (struct trace_refusal){ .process = 2,
									  .op = TRACE_NONE,
									  .cause = 70,
									  .cause_name = "address",
									  .text = "fi_write: the address vector has no entry 99",
									  .at_ns = 26000 };
	trace->logs = logs;
	trace->log_count = 2;
	trace->end_ns = 30000;
}

/* Ops of two initiators in bursts; one in a thousand is refused. */
static void fill_many(struct trace *trace, uint32_t count)
{
	uint32_t random = 1;
	int64_t at = 2000;

	for (uint32_t i = 0; i < count; i++) {
		random = random * 1664525 + 1013904223;
		at += 100 + random % 400 + (i % 5000 == 0 ? 400000 : 0);
		op_fill(trace, random >> 16 & 1 ? TRACE_WRITE : TRACE_READ, random >> 20 & 1, 0,
			(random >> 8) % (REGION_LENGTH - 512), 512, at);
		if (i % 1000 == 999)
			trace->accesses[trace->access_count - 1].offset = REGION_LENGTH - 100;
		if (i == 999)
			op_refuse(trace, 4, "range", "write of 512 B refused: it ends 412 B past the end of region 0x2a (S65)");
		else if (i % 1000 == 999)
			op_refuse(trace, 3, "right", "access refused: region 0x2a does not grant it (S27)");
	}
	trace->end_ns = at + 2000;
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 1 && strcmp(argv[1], "small") != 0 ? (uint32_t)strtoul(argv[1], NULL, 10) : 16;
	struct trace trace = { .epoch_ns = 1764097200000000000,
			       .processes = processes,
			       .process_count = 3,
			       .endpoints = endpoints,
			       .endpoint_count = 3,
			       .conns = conns,
			       .conn_count = 2,
			       .regions = regions,
			       .region_count = 3 };
	int ret;

	trace.ops = calloc(count, sizeof(*trace.ops));
	trace.frames = calloc((size_t)count * 2, sizeof(*trace.frames));
	trace.accesses = calloc(count, sizeof(*trace.accesses));
	trace.refusals = calloc(count, sizeof(*trace.refusals));
	if (!trace.ops || !trace.frames || !trace.accesses || !trace.refusals)
		return 1;
	if (count == 16)
		fill_small(&trace);
	else
		fill_many(&trace, count);
	ret = page_write(&trace, stdout);
	if (ret)
		fprintf(stderr, "page_synthetic: %s\n", strerror(-ret));
	free(trace.ops);
	free(trace.frames);
	free(trace.accesses);
	free(trace.refusals);
	return ret != 0;
}
