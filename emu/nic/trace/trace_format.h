/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_format.h - the layout of a ring file of trace events, for its writer (trace_ring.c) and its
 * reader (tools/trace).
 *
 * A file is a head of TRACE_HEAD bytes and `blocks` blocks of TRACE_BLOCK bytes. The first `cold_blocks` of them form a ring of
 * rare events (connections, regions, refusals, log lines), the others one of frames and ops: so a flood of these does not
 * overwrite those.
 * A block begins with struct trace_block, and goes on with records, none of which crosses its end. The writer fills the blocks
 * of a ring in turn, and begins each by `number` 0, then its contents, then its number, counted from 1: a reader sorts by number.
 * `used` is stored after the record that it counts. So whatever moment the writer is killed at, all up to `used` is whole.
 * Integers are in the writer's byte order, which `order` shows. Pure. */
#ifndef EMU_NIC_TRACE_FORMAT_H
#define EMU_NIC_TRACE_FORMAT_H

#include <assert.h>
#include <stdint.h>

enum {
	TRACE_VERSION = 1,
	TRACE_ORDER = 0x01020304,
	TRACE_HEAD = 4096,
	TRACE_BLOCK = 64 * 1024,
	TRACE_BLOCKS_MIN = 8,
	TRACE_BLOCKS_MAX = 65536,
	TRACE_RECORD_MAX = 33 * 1024, /* bytes of a record */
	TRACE_PIECE = 32 * 1024,      /* captured bytes of one record */
	TRACE_PAYLOAD = 128,          /* bytes that are captured of a frame's payload */
};
#define TRACE_MAGIC "emutrace"

enum trace_clock {
	TRACE_CLOCK_MONOTONIC = 0, /* ticks are nanoseconds of CLOCK_MONOTONIC */
	TRACE_CLOCK_TSC = 1,       /* they are the processor's; blocks and `rate` say which time that is */
};

struct trace_head {
	uint8_t magic[8]; /* written last */
	uint32_t order, version;
	uint32_t head_bytes, block_bytes, blocks, cold_blocks;
	uint32_t pid, clock;
	uint64_t ticks, mono_ns, real_ns; /* one moment: the opening */
	uint64_t rate_ticks, rate_ns;     /* so many ticks in so many ns, roughly; for times behind the last block's beginning */
	uint64_t end_ticks, end_mono_ns;  /* zero until the ring was closed in order */
	uint32_t payload;                 /* TRACE_PAYLOAD of the writer */
	uint32_t zero;
	char host[64], boot[40], program[128], release[16]; /* each ends with a zero */
};
static_assert(sizeof(struct trace_head) == 352 && sizeof(struct trace_head) <= TRACE_HEAD, "no padding");

struct trace_block {
	uint64_t number;         /* 0: nothing of it counts */
	uint64_t ticks, mono_ns; /* one moment: its beginning */
	uint32_t used;           /* bytes, this head included */
	uint32_t zero;
};
static_assert(sizeof(struct trace_block) == 32, "no padding");

enum trace_type {
	/* In the ring of frames and ops. */
	TRACE_REC_BYTES = 1, /* struct trace_bytes */
	TRACE_REC_STORED,    /* struct trace_stored */
	TRACE_REC_DATAGRAM,  /* struct trace_datagram */
	TRACE_REC_OP,        /* struct trace_op_end */
	/* In the other. */
	TRACE_REC_CONN,    /* struct trace_conn_state */
	TRACE_REC_REGION,  /* struct trace_region_state */
	TRACE_REC_REFUSED, /* struct trace_refused */
	TRACE_REC_LOG,     /* struct trace_line */
	TRACE_REC_TYPES
};

/* Begins each record. */
struct trace_record {
	uint16_t type; /* enum trace_type; a reader passes over those it does not know */
	uint16_t zero;
	uint32_t bytes; /* of the whole record, a multiple of 8 */
	uint64_t ticks;
};
static_assert(sizeof(struct trace_record) == 16, "no padding");

enum trace_way { TRACE_SENT = 0, TRACE_RECEIVED = 1 };
enum { TRACE_NO_HEAD = UINT32_MAX };

/* A run of a connection's stream. Of payloads the first TRACE_PAYLOAD bytes are captured, and the next run begins behind. */
struct trace_bytes {
	struct trace_record record;
	uint32_t line;    /* of the process */
	uint32_t way;     /* enum trace_way */
	uint64_t at;      /* offset in the stream of what came that way, as far as it was traced */
	uint32_t length;  /* bytes behind this */
	uint32_t head_at; /* of the first frame that begins in them; TRACE_NO_HEAD: none does */
};
static_assert(sizeof(struct trace_bytes) == 40, "no padding");

/* A stored acknowledgement. */
struct trace_stored {
	struct trace_record record;
	uint32_t line, way;
	uint64_t number;
};
static_assert(sizeof(struct trace_stored) == 32, "no padding");

enum { TRACE_PAIR = 0x80 };

struct trace_address {
	uint8_t family; /* 4 or 6; TRACE_PAIR added: of a queue pair, */
	uint8_t index;  /* which is this one of those at the port */
	uint16_t port;
	uint8_t addr[16];
	uint32_t scope;
};
static_assert(sizeof(struct trace_address) == 24, "no padding");

struct trace_datagram {
	struct trace_record record;
	uint32_t port, way;              /* port: of the process; one for each endpoint */
	struct trace_address here, peer; /* peer: family 0 where it is not known */
	uint32_t whole, length;          /* bytes of the datagram; of them, captured behind this */
};
static_assert(sizeof(struct trace_datagram) == 80, "no padding");

enum trace_op_flag {
	TRACE_OP_TAGGED = 0x1,
	TRACE_OP_CQ_DATA = 0x2,
	TRACE_OP_INJECT = 0x4,
};

/* An op of this process has ended. */
struct trace_op_end {
	struct trace_record record;
	uint64_t posted_ticks;        /* before the head's: not known */
	uint64_t session;             /* id on the wire; 0: none came about */
	uint64_t first_seq, last_seq; /* 0: it was never sent */
	uint64_t length, key, key_tail, addr, tag;
	uint32_t line;  /* of its session's connection; 0: there is none now */
	uint8_t kind;   /* enum op_kind */
	uint8_t flags;  /* enum trace_op_flag */
	uint16_t cause; /* 0: it went well */
};
static_assert(sizeof(struct trace_op_end) == 96, "no padding");

enum trace_conn_event { TRACE_CONN_OPEN = 1, TRACE_CONN_CLOSED = 2 };

struct trace_conn_state {
	struct trace_record record;
	uint32_t line;
	uint8_t event;   /* enum trace_conn_event */
	uint8_t dialled; /* by this side */
	uint8_t late;    /* it was open when the trace began: offsets in its streams count from there */
	uint8_t zero;
	uint64_t session, epoch;
	struct trace_address here, peer;
};
static_assert(sizeof(struct trace_conn_state) == 88, "no padding");

enum trace_region_event { TRACE_REGION_OPENED = 1, TRACE_REGION_CLOSED = 2 };

struct trace_region_state {
	struct trace_record record;
	uint32_t event;  /* enum trace_region_event */
	uint32_t rights; /* enum mr_access */
	uint64_t id, key, key_tail;
	uint64_t addr, length; /* addr: that peers give its first byte */
};
static_assert(sizeof(struct trace_region_state) == 64, "no padding");

/* An own op was refused; its sentence follows. */
struct trace_refused {
	struct trace_record record;
	uint64_t session, first_seq, length, key, addr;
	uint32_t cause;
	uint16_t kind;
	uint16_t text; /* bytes behind this */
};
static_assert(sizeof(struct trace_refused) == 64, "no padding");

/* A line of log, which follows. */
struct trace_line {
	struct trace_record record;
	uint32_t level;
	uint32_t text; /* bytes behind this */
};
static_assert(sizeof(struct trace_line) == 24, "no padding");

#endif
