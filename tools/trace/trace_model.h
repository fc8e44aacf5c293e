/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_model.h - traces of several processes, joined: what emu_trace's outputs are made of.
 *
 * Owner:  trace_join() fills it (trace_read.h), and it stays until the process ends; outputs only read it. One thread.
 * Arrays are in the order of time, objects refer to each other by index, TRACE_NONE where there is none. All times are nanoseconds
 * since trace.epoch_ns, in one clock for all processes, and none is below 0; TRACE_NEVER where it did not happen or was not
 * recorded. Strings are never NULL and may hold any bytes that a program logs: an output escapes them. */
#ifndef EMU_TRACE_MODEL_H
#define EMU_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NEVER INT64_MIN
#define TRACE_NONE UINT32_MAX

/* One ring: one NIC of a process. */
struct trace_process {
	const char *file; /* as it was named */
	const char *host, *program;
	uint32_t pid;
	bool partial;              /* events were overwritten, or some of the file is damaged */
	bool killed;               /* it has not closed its ring: killed, or still running */
	uint64_t lost;             /* blocks of events overwritten by later ones */
	const char *note;          /* why it is partial, else "" */
	uint32_t endpoints;        /* how many it has */
	int64_t first_ns, last_ns; /* of its events */
	int64_t offset_ns;         /* added to its own monotonic clock; exact on one host */
	int64_t error_ns;          /* bound of that offset's error; TRACE_NEVER: clocks could not be compared */
};

/* An address of a process at which frames come and go. */
struct trace_endpoint {
	uint32_t process;
	uint32_t number; /* of the process, by which records name it */
	const char
		*address; /* "192.0.2.1:4711", "[2001:db8::1]:4711", "192.0.2.1 QPN 0x126701"; "?": nothing is left that says it */
	int64_t opened_ns, closed_ns;
};

/* One byte stream between two endpoints, as both ends saw it (index 0: the end that dialled). */
struct trace_conn {
	uint64_t session; /* id on the wire; 0: no session came about */
	uint64_t epoch;
	struct {
		uint32_t endpoint; /* TRACE_NONE: that end was not traced */
		const char *address;
		int64_t opened_ns, closed_ns; /* HELLO through; gone */
	} end[2];
	bool datagrams; /* not a stream: a port, whose peers are the frames' */
};

struct trace_region {
	uint32_t process;
	uint64_t key, key_tail;
	uint64_t addr; /* first address that peers name: 0 where offsets count */
	uint64_t length;
	uint32_t rights; /* enum trace_right */
	int64_t opened_ns, closed_ns;
	bool assumed; /* no record of its opening is left: addr and length span what was accessed */
};

enum trace_right {
	TRACE_REMOTE_READ = 0x1,
	TRACE_REMOTE_WRITE = 0x2,
	TRACE_LOCAL_READ = 0x4,
	TRACE_LOCAL_WRITE = 0x8,
};

enum trace_kind {
	TRACE_SEND,
	TRACE_WRITE,
	TRACE_READ,
	TRACE_ATOMIC,
	TRACE_CONNECT,
	TRACE_ACCEPT,
	TRACE_REJECT,
	TRACE_COLLECTIVE,
	TRACE_KINDS
};

enum trace_outcome {
	TRACE_OPEN, /* its end was not recorded */
	TRACE_DONE,
	TRACE_REFUSED, /* by the peer or here: see refusal */
};

/* One request of an initiator: a post with several remote ranges is several ops. */
struct trace_op {
	enum trace_kind kind;
	enum trace_outcome outcome;
	uint32_t conn;                /* over which it went first; TRACE_NONE: over none */
	uint32_t initiator;           /* endpoint; TRACE_NONE: not traced */
	uint32_t target;              /* likewise */
	uint64_t seq, last_seq;       /* its request numbers in the session; 0: it was never sent */
	uint64_t length;              /* bytes */
	uint64_t key, key_tail, addr; /* RMA and atomics */
	uint64_t tag;                 /* tagged messages */
	uint64_t cq_data;
	bool tagged, has_cq_data, inject;
	uint8_t atomic_op, atomic_type; /* numbers of PROTOCOL.md */
	int64_t posted_ns;              /* at the initiator: the device took the post */
	int64_t sent_ns;                /* at the initiator: its first frame left */
	int64_t received_ns;            /* at the target: its last request frame came, or its first if it is one */
	int64_t answered_ns;            /* at the target: the answer or acknowledgement that resolves it left */
	int64_t completed_ns;           /* at the initiator: its completion was reported, or the answer came */
	uint32_t region;                /* accessed; TRACE_NONE: none, or unknown */
	uint32_t refusal;
	uint32_t first_frame; /* the request's first, as sent, or as received where the sender was not traced */
};

/* One frame or datagram, seen at one end or both. */
struct trace_frame {
	uint32_t conn;
	uint8_t from;  /* which end of the conn sent it */
	uint8_t op;    /* enum wire_op; datagrams: 0 */
	uint8_t flags; /* enum wire_flag */
	int64_t sent_ns, received_ns;
	uint64_t stream_at; /* offset of its first byte in that direction's stream */
	uint32_t length;    /* whole: head, body, payload, trailer */
	uint32_t kept;      /* bytes at `bytes`: head, body, and the payload's first ones; 0: it was not captured */
	const uint8_t *bytes;
	uint32_t of;      /* op that it belongs to; TRACE_NONE: none */
	const char *peer; /* datagrams: the other address; else "" */
};

/* A remote access to a region, drawn on its map. */
struct trace_access {
	uint32_t region;
	uint32_t op;
	uint64_t offset; /* within the region; a refused one may lie outside */
	uint64_t length;
	uint8_t right; /* TRACE_REMOTE_READ, TRACE_REMOTE_WRITE, or both */
	bool refused;
	int64_t at_ns; /* at the target */
};

struct trace_refusal {
	uint32_t process; /* that recorded it */
	uint32_t op;      /* TRACE_NONE: not found among the ops */
	uint32_t cause;   /* prov_errno */
	bool at_target;
	const char *cause_name; /* "unknown-key" */
	const char *text;       /* the report's sentence */
	int64_t at_ns;
};

struct trace_log {
	uint32_t process;
	uint8_t level; /* 0: warn, 1: info, 2: debug */
	const char *text;
	int64_t at_ns;
};

struct trace {
	uint64_t epoch_ns; /* CLOCK_REALTIME of time 0, by the first process */
	int64_t end_ns;    /* of the last event; the first is at 0 */
	struct trace_process *processes;
	struct trace_endpoint *endpoints;
	struct trace_conn *conns;
	struct trace_region *regions;
	struct trace_op *ops; /* by the first time that is known */
	struct trace_frame *frames;
	struct trace_access *accesses;
	struct trace_refusal *refusals;
	struct trace_log *logs;
	uint32_t process_count, endpoint_count, conn_count, region_count, op_count, frame_count, access_count, refusal_count,
		log_count;
};

/* "send", "write" and so on. */
const char *trace_kind_name(enum trace_kind kind);
/* The first time of an op that is known; TRACE_NEVER: none. */
int64_t trace_op_at(const struct trace_op *op);

#endif
