/* SPDX-License-Identifier: BSD-2-Clause */
/* frame.h - the frames of wire version 1 as they lie in the byte stream.
 *
 * PROTOCOL.md is normative; this header restates its layouts. Every integer is big-endian and is reached through
 * the accessors of codec.h only. A frame is head, body (its size follows from head.op), and, if head.payload is not
 * zero, that many payload bytes and a trailer. */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
	uint8_t b[2];
} wire_u16; /* big-endian; cannot be read as an int */
typedef struct {
	uint8_t b[4];
} wire_u32;
typedef struct {
	uint8_t b[8];
} wire_u64;

enum {
	WIRE_VERSION_MIN = 1,
	WIRE_VERSION_MAX = 2,
	WIRE_VERSION_PAIRS = 2,       /* queue pairs speak it, and nothing else; all other endpoints speak version 1 */
	WIRE_ID_LEN = 16,             /* bytes of an endpoint's instance id */
	WIRE_TEXT_LEN = 120,          /* bytes of BYE's sentence, zero-padded */
	WIRE_SEGMENT_MIN = 64 * 1024, /* bounds of the segment size that HELLO grants, in bytes of payload */
	WIRE_SEGMENT_MAX = 256 * 1024,
	WIRE_ATOMIC_MAX = 4096, /* bytes of the target that one ATOMIC names */
	WIRE_CM_DATA_MAX = 256, /* bytes of the program that go with CONNECT, ACCEPT, REJECT */
	WIRE_NONCE_LEN = 32,    /* random bytes of a CHALLENGE */
	WIRE_PROOF_LEN = 32,
};

#define WIRE_MAGIC "emuwire\n" /* the eight bytes that begin HELLO's body */

enum wire_op {
	WIRE_HELLO = 1, /* first frame each way, on every connection */
	WIRE_BYE = 2,   /* last frame: why the connection or session ends, in words */
	WIRE_ACK = 3,   /* carries head.ack and the verdict acknowledgement, nothing else */
	/* With a shared secret, as part of the greeting. */
	WIRE_CHALLENGE = 4, /* a nonce that the other side's proof must cover */
	WIRE_PROOF = 5,     /* proves that the sender knows the secret */
	WIRE_PAIR = 6,      /* between queue pairs, behind HELLO: what its sender's program has set */
	/* Requests: head.seq counts them, one per segment. */
	WIRE_WRITE = 16,   /* payload into a region; one segment of a message */
	WIRE_READ = 17,    /* asks for bytes of a region; answered by DATA or NAK */
	WIRE_SEND = 18,    /* a message with its payload, one segment */
	WIRE_RTS = 19,     /* a message without its payload, which the receiver pulls when it matches */
	WIRE_ATOMIC = 20,  /* changes elements of a region, and may return their old values */
	WIRE_CONNECT = 21, /* asks a passive endpoint for a connection; the payload is the program's */
	WIRE_ACCEPT = 22,  /* answers CONNECT: its sender is the peer from now on */
	WIRE_REJECT = 23,  /* answers CONNECT: there will be no connection */
	WIRE_TAKEN = 24,   /* the answer to a READ with TAGGED is here, or not wanted any more: the receive ends */
	WIRE_RSEND = 25,   /* a message that takes a posted receive; one segment of it */
	/* Answers: refer to the request by its seq; head.seq is zero. */
	WIRE_DATA = 32, /* payload that a READ or a PULL asked for */
	WIRE_PULL = 33, /* receiver of RTS or parked SEND asks for the payload */
	WIRE_RNR = 34,  /* receiver not ready: it dropped this request and all after it, send them again */
	/* Verdicts: answers that carry a verdict number and are kept until acknowledged. */
	WIRE_NAK = 48,    /* the request was refused, and the cause */
	WIRE_PARK = 49,   /* the SEND's envelope was kept and its payload dropped: the receiver will pull it; or WIRE-192 */
	WIRE_DONE = 50,   /* the RTS or parked SEND is complete; the WRITE or ATOMIC with COMMIT is durable */
	WIRE_RESULT = 51, /* the ATOMIC was executed; has the old values */
};

enum wire_flag {
	WIRE_F_FIRST = 0x01,     /* WRITE, RSEND: first segment of its message */
	WIRE_F_LAST = 0x02,      /* WRITE, RSEND, DATA: last segment of its message */
	WIRE_F_CQ_DATA = 0x04,   /* WRITE, RSEND (on every segment), SEND, RTS, ATOMIC: cq_data is to be delivered */
	WIRE_F_TAGGED = 0x08,    /* SEND, RTS: matched by tag; WRITE, READ: WIRE-85 */
	WIRE_F_PULLED = 0x10,    /* DATA: answers a PULL, so ref is in the sender's own numbering; else a READ */
	WIRE_F_SETTLES = 0x10,   /* WRITE (on every segment), READ, ATOMIC, SEND, RTS: see WIRE-191 */
	WIRE_F_COMMIT = 0x20,    /* WRITE (on every segment), ATOMIC: answered when the bytes are durable */
	WIRE_F_DELIVERED = 0x40, /* WRITE (on every segment), ATOMIC: see WIRE-191 */
	/* SEND, RTS, without TAGGED and CQ_DATA: of a collective. The tag names its group, cq_data the collective and the step. */
	WIRE_F_COLLECTIVE = 0x40,
	WIRE_F_SOLICITED = 0x80, /* RSEND, WRITE with CQ_DATA (on every segment): its completion is an event that was asked for */
};

struct wire_head {
	uint8_t op;    /* enum wire_op */
	uint8_t flags; /* enum wire_flag; the others are zero */
	wire_u16 zero;
	wire_u32 payload; /* bytes of payload behind the body, at most the segment size granted */
	wire_u64 seq;     /* requests: their number, from 1, without gaps; else zero */
	wire_u64 ack;     /* acknowledges the receiver's requests up to this one (WIRE-60) */
	wire_u64 digest;  /* XXH3-64 of head and body with this field zero; zero if both HELLOs agreed to none */
};
static_assert(sizeof(struct wire_head) == 32, "head is 32 bytes");
static_assert(_Alignof(struct wire_head) == 1, "any buffer, no padding");

/* Follows the payload. */
struct wire_trailer {
	wire_u32 status; /* enum wire_status */
	wire_u32 zero;
	wire_u64 digest; /* of payload and status: WIRE-11 */
};
static_assert(sizeof(struct wire_trailer) == 16, "trailer is 16 bytes");

enum wire_status {
	WIRE_GOOD = 0,
	WIRE_SOURCE_FAULT = 1, /* the rest is not sent: the sender cannot read its source */
	WIRE_CANCELLED = 2,    /* the op ended before all its bytes were sent; this payload is of its source all the same */
};

struct wire_hello {
	uint8_t magic[8];     /* WIRE_MAGIC */
	wire_u16 version_min; /* versions the sender speaks; the highest common one is used */
	wire_u16 version_max;
	wire_u32 features;             /* enum wire_feature */
	uint8_t instance[WIRE_ID_LEN]; /* random, drawn when the endpoint was enabled */
	uint8_t expected[WIRE_ID_LEN]; /* instance id the sender wants to reach; zero: any */
	wire_u64 session;              /* id of the session; the dialler draws it */
	wire_u64 epoch;                /* count of the dials of this session, this one included; the accepter repeats it */
	wire_u64 seen;                 /* last request of the receiver executed in this session; the next is seen + 1 */
	wire_u64 verdict_seen;         /* last verdict number received in this session */
	wire_u32 requests;             /* grant: requests the receiver may have unacknowledged */
	wire_u32 reads;                /* grant: READs the receiver may have unanswered */
	wire_u32 segment;              /* grant: payload bytes a frame may carry */
	wire_u16 family;               /* 4 or 6: what `addr` holds */
	wire_u16 port;                 /* advertised address of the sender's endpoint */
	uint8_t addr[16];              /* IPv4 in the first four bytes, rest zero; or IPv6 */
	wire_u32 scope;                /* IPv6 scope id, else zero */
	wire_u16 known_port;           /* another port by which peers know the sender; zero: none. Version 2: two indices */
	wire_u16 zero;
};
static_assert(sizeof(struct wire_hello) == 120, "HELLO's body is 120 bytes");

/* A bit that the receiver does not know asks nothing of it, and is no error (WIRE-28). */
enum wire_feature {
	WIRE_WANT_PAYLOAD_DIGEST = 0x1, /* all payloads have digests, both ways, if either side asks; else those of atomics */
	WIRE_OFFER_NO_DIGEST = 0x2,     /* no head digests, if both sides offer it */
	WIRE_ASK_PROOF = 0x4,           /* the sender has a shared secret: no session without its proof */
	WIRE_ASKS_ALONE = 0x8,          /* a question: the answer is BYE, and no session begins */
	WIRE_TAGGED_RMA = 0x10,         /* the sender takes WRITE and READ with TAGGED */
	WIRE_TAKES_COLLECTIVES = 0x20,  /* the sender's endpoint takes messages with WIRE_F_COLLECTIVE */
	WIRE_TRUNKS = 0x40,             /* the greeting may be followed by a join (chunk.h), if both sides offer it */
	WIRE_NEVER_DIALS = 0x80,        /* the sender does not dial the receiver, which is behind a firewall */
	WIRE_HEARS_WAITS = 0x100,       /* beside WIRE_TAKES_COLLECTIVES: of those, also the ones with WIRE_COLL_WAIT */
	WIRE_UNRELIABLE = 0x200,        /* the sender is a queue pair of type UC: it loses what it does not execute */
	WIRE_XRC_SEND = 0x400,          /* the sender is a queue pair of type XRC_SEND: its requests name an SRQ by `auth` */
	WIRE_XRC_RECV = 0x800,          /* the sender is one of type XRC_RECV */
	/* WIRE-190: what the sender writes may be seen later than what it asks for behind that: reads, writes, messages. */
	WIRE_NO_RAW = 0x1000,
	WIRE_NO_WAW = 0x2000,
	WIRE_NO_SAW = 0x4000,
	WIRE_HOLDS = 0x8000,       /* the sender executes writes before their bytes are seen */
	WIRE_NO_WAS = 0x10000,     /* WIRE-190: what it writes may be executed before what it sent, */
	WIRE_NO_MIXED = 0x20000,   /* and its atomics and its other accesses in any order, */
	WIRE_NO_ATOMIC = 0x40000,  /* and its atomics in any order among each other */
	WIRE_TAKES_PARK = 0x80000, /* WIRE-192: its writes and plain atomics may be answered by PARK */
};

/* What is said of orders. */
#define WIRE_NEEDS_NO (WIRE_NO_RAW | WIRE_NO_WAW | WIRE_NO_SAW | WIRE_NO_WAS | WIRE_NO_MIXED | WIRE_NO_ATOMIC | WIRE_TAKES_PARK)

struct wire_bye {
	wire_u32 reason; /* enum wire_bye_reason */
	wire_u32 zero;
	uint8_t text[WIRE_TEXT_LEN]; /* a sentence, printable ASCII, zero-padded */
};
static_assert(sizeof(struct wire_bye) == 128, "BYE's body is 128 bytes");

enum wire_bye_reason {
	WIRE_BYE_CLOSED = 1,    /* the endpoint was closed in good order */
	WIRE_BYE_VERSION = 2,   /* no common version */
	WIRE_BYE_INSTANCE = 3,  /* HELLO asked for an instance that is no longer here */
	WIRE_BYE_PROTOCOL = 4,  /* the receiver of BYE broke the protocol; text names the rule */
	WIRE_BYE_DUPLICATE = 5, /* another connection between the two endpoints stays */
	WIRE_BYE_LIMIT = 6,     /* too many connections or sessions here */
	WIRE_BYE_SESSION = 7,   /* HELLO continues a session that was given up here */
	WIRE_BYE_SECRET = 8,    /* the receiver of BYE has not proved this side's secret, or one side has none */
	WIRE_BYE_CLAIM = 9,     /* HELLO advertises an address that belongs to another known endpoint */
	WIRE_BYE_UNPAIRED = 10, /* the queue pair that is meant is not there, or not connected with the receiver of BYE */
};

struct wire_ack {
	wire_u64 verdict; /* every verdict up to this number has been received */
};
static_assert(sizeof(struct wire_ack) == 8, "ACK's body is 8 bytes");

struct wire_challenge {
	uint8_t nonce[WIRE_NONCE_LEN]; /* random */
	wire_u16 family;               /* the receiver's address as the sender knows it; laid out as in HELLO */
	wire_u16 port;
	uint8_t addr[16];
	wire_u32 zero;
};
static_assert(sizeof(struct wire_challenge) == 56, "CHALLENGE's body is 56 bytes");

struct wire_proof {
	uint8_t proof[WIRE_PROOF_LEN]; /* MAC over all frames of the greeting before it */
};
static_assert(sizeof(struct wire_proof) == 32, "PROOF's body is 32 bytes");

/* What the program of a queue pair has set. A peer that disagrees would be a silent hang on hardware. */
struct wire_pair {
	wire_u32 sq_psn;   /* of its first request; WIRE_PSN_UNKNOWN: it may not send yet */
	wire_u32 rq_psn;   /* that it expects of the peer's first request */
	wire_u32 path_mtu; /* bytes */
	wire_u32 zero;
};
static_assert(sizeof(struct wire_pair) == 16, "PAIR's body is 16 bytes");

enum { WIRE_PSN_MAX = 0xffffff, WIRE_PSN_UNKNOWN = 0x1000000 };

/* The target of a request. */
struct wire_target {
	wire_u64 key;
	wire_u64 key_tail; /* second half of a raw key; zero: a plain key */
	wire_u64 auth;     /* stands for the authorization key that the initiator shows; zero: it shows none */
	wire_u64 addr;     /* of this segment: an offset or a virtual address, as the region was registered */
};
static_assert(sizeof(struct wire_target) == 32, "a target is 32 bytes");

struct wire_write {
	struct wire_target to;
	wire_u64 rest;    /* bytes of the message from this segment on, its own payload included */
	wire_u64 cq_data; /* zero unless WIRE_F_CQ_DATA */
};
static_assert(sizeof(struct wire_write) == 48, "WRITE's body is 48 bytes");

struct wire_read {
	struct wire_target from;
	wire_u64 length; /* bytes asked for; zero is answered by an empty last DATA */
};
static_assert(sizeof(struct wire_read) == 40, "READ's body is 40 bytes");

struct wire_send {        /* SEND and RTS */
	wire_u64 length;  /* bytes of the message; SEND: equals head.payload */
	wire_u64 tag;     /* zero unless WIRE_F_TAGGED or WIRE_F_COLLECTIVE */
	wire_u64 cq_data; /* zero unless WIRE_F_CQ_DATA or WIRE_F_COLLECTIVE */
	wire_u64 auth;    /* as in a target */
};
static_assert(sizeof(struct wire_send) == 32, "SEND's body is 32 bytes");

struct wire_rsend {
	wire_u64 rest;       /* bytes of the message from this segment on, its own payload included */
	wire_u64 cq_data;    /* zero unless WIRE_F_CQ_DATA; or, with `invalidate`, the key */
	wire_u64 auth;       /* as in a target */
	wire_u32 invalidate; /* 1: the region with the key that cq_data is ends with the message */
	wire_u32 zero;
};
static_assert(sizeof(struct wire_rsend) == 32, "RSEND's body is 32 bytes");

/* cq_data of a collective's message, from the low bits up: the step, a signature of the call, the collective's number in its
 * group. With step WIRE_COLL_ABORT, which has no payload: the cause for which the sender has left the group. With step
 * WIRE_COLL_WAIT, which has none either: the sender waits in that call for a message of the receiver. */
enum {
	WIRE_COLL_STEP_BITS = 24,
	WIRE_COLL_SIGNATURE_BITS = 16,
	WIRE_COLL_NUMBER_BITS = 24,
	WIRE_COLL_ABORT = (1 << WIRE_COLL_STEP_BITS) - 1,
	WIRE_COLL_WAIT = WIRE_COLL_ABORT - 1,
};
static_assert(WIRE_COLL_STEP_BITS + WIRE_COLL_SIGNATURE_BITS + WIRE_COLL_NUMBER_BITS == 64, "they fill the field");

/* The payload is `length` bytes of operands, except with ATOMIC_READ. If the kind compares, as many bytes to compare with
 * follow. */
struct wire_atomic {
	struct wire_target to;
	wire_u64 length;  /* bytes of the target: whole elements, up to WIRE_ATOMIC_MAX */
	wire_u64 cq_data; /* zero unless WIRE_F_CQ_DATA */
	uint8_t kind;     /* enum wire_atomic_kind */
	uint8_t op;       /* which operation and on what; PROTOCOL.md lists them */
	uint8_t type;
	uint8_t zero[5];
};
static_assert(sizeof(struct wire_atomic) == 56, "ATOMIC's body is 56 bytes");

struct wire_cm {          /* CONNECT, ACCEPT, REJECT */
	wire_u64 request; /* names the request for a connection; the asking side draws it, never zero */
	wire_u64 zero;
};
static_assert(sizeof(struct wire_cm) == 16, "CONNECT's, ACCEPT's and REJECT's body is 16 bytes");

enum wire_atomic_kind {
	WIRE_ATOMIC_PLAIN = 0,   /* returns nothing */
	WIRE_ATOMIC_FETCH = 1,   /* answered by RESULT */
	WIRE_ATOMIC_COMPARE = 2, /* compares first; answered by RESULT */
};

enum {
	WIRE_ATOMIC_OPS = 20,     /* all numbers are below this */
	WIRE_ATOMIC_OP_READ = 10, /* the only one without operands */
	WIRE_ATOMIC_TYPES = 20,
};

struct wire_taken {
	wire_u64 ref;    /* seq of the READ, in the sender's numbering */
	wire_u32 status; /* enum wire_status: good, or the answer did not get to its place */
	wire_u32 zero;
};
static_assert(sizeof(struct wire_taken) == 16, "TAKEN's body is 16 bytes");

struct wire_data {
	wire_u64 ref;    /* seq of the READ, RTS or SEND answered */
	wire_u64 offset; /* of this payload in the bytes that the READ asked for; PULLED: in the message */
	wire_u64 rest;   /* bytes from this segment on, its own payload included; last: equals head.payload */
	wire_u64 zero;
};
static_assert(sizeof(struct wire_data) == 32, "DATA's body is 32 bytes");

struct wire_pull {
	wire_u64 ref;    /* seq of the RTS or parked SEND */
	wire_u64 offset; /* first byte wanted */
	wire_u64 length; /* bytes wanted from there */
	wire_u64 zero;
};
static_assert(sizeof(struct wire_pull) == 32, "PULL's body is 32 bytes");

struct wire_rnr {
	wire_u64 ref;     /* seq of the first request dropped; it is the next one expected */
	wire_u32 wait_us; /* when to try again, in microseconds */
	wire_u32 zero;
};
static_assert(sizeof(struct wire_rnr) == 16, "RNR's body is 16 bytes");

struct wire_nak {
	wire_u64 verdict; /* verdict number, from 1, without gaps */
	wire_u64 ref;     /* seq of the first segment of the request refused */
	wire_u32 cause;   /* enum refusal_cause of the device, PROTOCOL.md lists them */
	wire_u32 access;  /* rights of the region and more, PROTOCOL.md lists the bits; zero if there is none */
	wire_u64 region;  /* bytes of the region, zero if there is none */
	wire_u64 excess;  /* range: bytes past the end or before the start; else zero */
	wire_u64 age_ns;  /* closed region: time since it was closed; else zero */
	wire_u64 zero;
};
static_assert(sizeof(struct wire_nak) == 56, "NAK's body is 56 bytes");

enum { WIRE_RIGHTS_AT = 8, WIRE_RIGHTS_MASK = 0xbf00 }; /* the bits of access that are rights (WIRE-49) */

struct wire_verdict {     /* PARK, DONE, and RESULT, whose payload is the old values */
	wire_u64 verdict; /* verdict number */
	wire_u64 ref;     /* seq of the RTS, SEND or ATOMIC; of the WRITE's first segment */
};
static_assert(sizeof(struct wire_verdict) == 16, "PARK's, DONE's and RESULT's body is 16 bytes");

enum { WIRE_FRAME_MAX = sizeof(struct wire_head) + sizeof(struct wire_bye) }; /* longest head with body */

#define WIRE_DATAGRAM_MAGIC "emudgrm\n" /* the eight bytes that begin a datagram */

/* An unreliable datagram: this and `payload` bytes are the whole of a UDP datagram. There is no session, and no answer. */
struct wire_datagram {
	uint8_t magic[8]; /* WIRE_DATAGRAM_MAGIC */
	wire_u16 version; /* WIRE_DATAGRAM_VERSION */
	wire_u16 flags;   /* enum wire_datagram_flag; the others are zero */
	wire_u16 family;  /* as in HELLO: the address by which peers know the sender's endpoint */
	wire_u16 port;
	uint8_t addr[16];
	wire_u32 scope;
	wire_u32 payload; /* bytes behind this head: the rest of the UDP datagram */
	wire_u64 cq_data; /* zero unless WIRE_DG_CQ_DATA */
	wire_u64 auth;    /* stands for the authorization key that the sender shows; zero: it shows none */
	wire_u64 digest;  /* XXH3-64 of this head with this field zero, with WIRE_DG_WHOLE of the payload as well; with
				 * WIRE_DG_TAGGED a tag by the shared secret */
};
static_assert(sizeof(struct wire_datagram) == 64, "a datagram's head is 64 bytes");
static_assert(_Alignof(struct wire_datagram) == 1, "any buffer, no padding");

/* Between queue pairs, version 2: the payload begins with this, which digest covers as it covers the head. */
struct wire_pair_datagram {
	wire_u32 dest_qpn; /* 24 bits; all set: each that is attached to the group dgid */
	wire_u32 src_qpn;  /* 24 bits, of which the upper 16 are the head's port */
	wire_u32 qkey;
	wire_u32 flow_label; /* 20 bits: of the GRH, as are the next two */
	uint8_t traffic_class, hop_limit;
	uint8_t sl; /* 4 bits */
	uint8_t zero;
	uint8_t dgid[16]; /* as the sender knows the receiver, or a group; an IPv4 address is mapped */
};
static_assert(sizeof(struct wire_pair_datagram) == 36, "a queue pair's datagram has 36 bytes more in front of its message");
static_assert(_Alignof(struct wire_pair_datagram) == 1, "any buffer, no padding");

enum wire_datagram_flag {
	WIRE_DG_CQ_DATA = 0x1,   /* cq_data is to be delivered */
	WIRE_DG_WHOLE = 0x2,     /* digest covers the payload, too */
	WIRE_DG_TAGGED = 0x4,    /* digest is a tag of the whole by a shared secret */
	WIRE_DG_SOLICITED = 0x8, /* version 2: the receive's completion is one that was asked for */
};

enum {
	WIRE_DATAGRAM_VERSION = 1,
	WIRE_PAIR_DATAGRAM_VERSION = 2,
	WIRE_MTU = 1388,                                              /* most bytes of payload in a datagram */
	WIRE_PAIR_MTU = WIRE_MTU - sizeof(struct wire_pair_datagram), /* most bytes of a queue pair's message */
	WIRE_DATAGRAM_MAX = sizeof(struct wire_datagram) + WIRE_MTU,
	WIRE_QPN_GROUP = 0xffffff, /* dest_qpn of a datagram to a group */
};
static_assert(WIRE_DATAGRAM_MAX + 8 + 40 == 1500, "with UDP's and IPv6's heads a datagram fills an Ethernet frame");

#endif
