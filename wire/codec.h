/* SPDX-License-Identifier: BSD-2-Clause */
/* codec.h - frames <-> values: accessors, the table of ops, validators, encoders, decoders.
 *
 * All functions touch only the memory they are given and keep no state: any thread. Encoders write head and body to
 * `at` (WIRE_FRAME_MAX bytes are always enough) and return their length; they do not validate the caller's values,
 * and leave head.ack and head.digest zero until wire_seal(). Validators take bytes from a peer: they read nothing
 * behind the given length and name the first flaw. */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include "wire/frame.h"

static inline uint16_t wire_get16(wire_u16 v)
{
	uint16_t n;
	memcpy(&n, v.b, sizeof(n));
	return be16toh(n);
}
static inline uint32_t wire_get32(wire_u32 v)
{
	uint32_t n;
	memcpy(&n, v.b, sizeof(n));
	return be32toh(n);
}
static inline uint64_t wire_get64(wire_u64 v)
{
	uint64_t n;
	memcpy(&n, v.b, sizeof(n));
	return be64toh(n);
}

static inline wire_u16 wire_put16(uint16_t n)
{
	wire_u16 v;
	n = htobe16(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}
static inline wire_u32 wire_put32(uint32_t n)
{
	wire_u32 v;
	n = htobe32(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}
static inline wire_u64 wire_put64(uint64_t n)
{
	wire_u64 v;
	n = htobe64(n);
	memcpy(v.b, &n, sizeof(n));
	return v;
}

/* Sorts of payload, which differ in when digests cover them (WIRE-11). */
enum wire_payload {
	WIRE_PAYLOAD_BULK = 1,   /* covered if payload digests were asked for */
	WIRE_PAYLOAD_ATOMIC = 2, /* operands and results: covered if heads are */
};

/* What is wrong with a frame, or with its place in the stream. */
enum wire_flaw {
	WIRE_FLAWLESS = 0,
	/* head, known after 32 bytes (the first two after one) */
	WIRE_FLAW_OP,        /* unknown op */
	WIRE_FLAW_NOT_HELLO, /* the first frame is neither HELLO nor BYE */
	WIRE_FLAW_SECOND_HELLO,
	WIRE_FLAW_PROOF,        /* CHALLENGE or PROOF behind the greeting */
	WIRE_FLAW_FLAGS,        /* a flag that the op does not have */
	WIRE_FLAW_ZERO,         /* something reserved is not zero, here or in the body or trailer */
	WIRE_FLAW_PAYLOAD,      /* payload on an op that has none */
	WIRE_FLAW_PAYLOAD_LONG, /* longer than the segment granted */
	WIRE_FLAW_SEQ_MISSING,  /* request without number */
	WIRE_FLAW_SEQ,          /* number on a frame that is no request */
	WIRE_FLAW_HELLO_ACK,    /* HELLO, CHALLENGE or PROOF with an acknowledgement */
	/* body */
	WIRE_FLAW_HEAD_DIGEST,
	WIRE_FLAW_MAGIC,
	WIRE_FLAW_VERSION_RANGE, /* lowest version is zero or above the highest */
	WIRE_FLAW_VERSION,       /* no common version: the one flaw that is answered by WIRE_BYE_VERSION */
	WIRE_FLAW_INSTANCE,      /* instance id is zero */
	WIRE_FLAW_SESSION,       /* session or epoch is zero */
	WIRE_FLAW_GRANT,         /* requests or reads granted are zero */
	WIRE_FLAW_SEGMENT,       /* segment granted is out of bounds */
	WIRE_FLAW_ADDRESS,       /* family not 4 or 6, port zero, or bytes that the family does not use */
	WIRE_FLAW_BYE,           /* unknown reason, or text that is not printable ASCII, zero-padded */
	WIRE_FLAW_REST,          /* WRITE, RSEND, DATA: rest is less than the payload */
	WIRE_FLAW_LAST,          /* WRITE, RSEND, DATA: LAST set and rest above payload, or the reverse */
	WIRE_FLAW_EMPTY,         /* WRITE, RSEND, DATA: segment without payload that is not the whole message */
	WIRE_FLAW_CQ_DATA,       /* cq_data without its flag */
	WIRE_FLAW_TAG,           /* tag without its flag */
	WIRE_FLAW_COLLECTIVE,    /* SEND, RTS: COLLECTIVE beside another flag; an abort or a wait with a payload */
	WIRE_FLAW_LENGTH,        /* SEND: length is not that of the payload */
	WIRE_FLAW_INVALIDATE,    /* RSEND: invalidate is neither 0 nor 1, or stands beside CQ_DATA */
	WIRE_FLAW_SOLICITED,     /* WRITE: SOLICITED without CQ_DATA */
	WIRE_FLAW_REF,           /* an answer to request zero; TAKEN: ref is no earlier request */
	WIRE_FLAW_VERDICT,       /* verdict number zero */
	WIRE_FLAW_CAUSE,         /* NAK without cause */
	WIRE_FLAW_ATOMIC,        /* ATOMIC: no such kind, op or type, or a length or payload not theirs */
	WIRE_FLAW_RESULT,        /* RESULT without payload */
	WIRE_FLAW_PAIR,          /* PAIR: a packet sequence number of more than 24 bits, or no path MTU */
	WIRE_FLAW_CM,            /* CONNECT, ACCEPT, REJECT: no request named, or more data than may go with it */
	/* trailer */
	WIRE_FLAW_STATUS, /* unknown status, here or in TAKEN */
	WIRE_FLAW_PAYLOAD_DIGEST,
	WIRE_FLAWS
};

/* The form of an op's frames; all zero for an unknown op. */
struct wire_form {
	const char *name;                                      /* PROTOCOL.md's */
	uint8_t body;                                          /* length in bytes; zero: no such op */
	uint8_t flags;                                         /* those that may be set */
	uint8_t payload;                                       /* enum wire_payload; zero: carries none */
	bool sequenced;                                        /* a request: head.seq counts it */
	bool targets;                                          /* the body begins with a struct wire_target */
	enum wire_flaw (*check)(const struct wire_head *head); /* of the body; NULL: nothing to check */
};
extern const struct wire_form wire_forms[256]; /* by op */

static inline size_t wire_body_len(uint8_t op)
{
	return wire_forms[op].body;
}
static inline bool wire_is_request(uint8_t op)
{
	return wire_forms[op].sequenced;
}
/* A frame of the greeting acknowledges nothing, and always has a digest. */
static inline bool wire_greets(uint8_t op)
{
	return op == WIRE_HELLO || op == WIRE_CHALLENGE || op == WIRE_PROOF;
}

/* The body behind a head whose frame has been validated; cast to the op's struct by assignment. */
static inline const void *wire_body(const struct wire_head *head)
{
	return head + 1;
}

/* Bytes of ATOMIC's payload, given its length. */
static inline uint64_t wire_atomic_payload(uint8_t kind, uint8_t op, uint64_t length)
{
	return (op == WIRE_ATOMIC_OP_READ ? 0 : length) + (kind == WIRE_ATOMIC_COMPARE ? length : 0);
}

/* A phrase for a log line or BYE, with the rule of PROTOCOL.md: "unknown op (WIRE-3)". */
const char *wire_flaw_name(enum wire_flaw flaw);

/* Each checks a frame that the one before has passed; the bytes must be there. They do not check the digest (digest.h). */
enum wire_flaw wire_check_head(const struct wire_head *head, uint32_t segment_max);
enum wire_flaw wire_check_greeting(const struct wire_head *head); /* HELLO's first 16 bytes: magic, versions */
enum wire_flaw wire_check_body(const struct wire_head *head);     /* body contiguous behind the head */
enum wire_flaw wire_check_trailer(const struct wire_trailer *trailer);
/* An address as HELLO and datagrams advertise it (WIRE-26). */
bool wire_address_is_good(uint16_t family, uint16_t port, const uint8_t addr[16], uint32_t scope);

/* Values in host byte order, for the bodies with many fields. */
struct wire_address_fields {
	uint16_t family; /* 4 or 6 */
	uint16_t port;
	uint8_t addr[16]; /* network order, as the address itself is; IPv4 in the first four */
	uint32_t scope;
};

struct wire_hello_fields {
	uint16_t version_min, version_max;
	uint32_t features;
	uint8_t instance[WIRE_ID_LEN], expected[WIRE_ID_LEN];
	uint64_t session, epoch, seen, verdict_seen;
	uint32_t requests, reads, segment;
	struct wire_address_fields at;
	uint16_t known_port;       /* version 1. 0: none but that of `at` */
	uint8_t index, peer_index; /* version 2: which of the queue pairs at the port it comes from, and which it is for */
};

struct wire_pair_fields {
	uint32_t sq_psn, rq_psn, path_mtu;
};

struct wire_nak_fields {
	uint64_t verdict, ref;
	uint32_t cause, access;
	uint64_t region, excess, age_ns;
};

struct wire_bye_fields {
	enum wire_bye_reason reason;
	char text[WIRE_TEXT_LEN + 1]; /* terminated */
};

struct wire_target_fields {
	uint64_t key, key_tail, auth, addr;
};

struct wire_atomic_fields {
	struct wire_target_fields to;
	uint64_t length, cq_data;
	uint8_t kind, op, type;
};

struct wire_message_fields {
	uint64_t tag, cq_data, auth;
	bool invalidate; /* RSEND, which has no tag */
};

void wire_get_target(const struct wire_target *target, struct wire_target_fields *fields);
void wire_get_hello(const struct wire_head *head, struct wire_hello_fields *fields);
void wire_get_atomic(const struct wire_head *head, struct wire_atomic_fields *fields);
/* Reads CHALLENGE's address; scope is 0. */
void wire_get_challenged(const struct wire_head *head, struct wire_address_fields *to);
void wire_get_pair(const struct wire_head *head, struct wire_pair_fields *fields);
void wire_get_nak(const struct wire_head *head, struct wire_nak_fields *fields);
void wire_get_bye(const struct wire_head *head, struct wire_bye_fields *fields);

size_t wire_put_hello(void *at, const struct wire_hello_fields *fields);
/* The text is cut to WIRE_TEXT_LEN; each byte that is not printable ASCII becomes '?'. */
size_t wire_put_bye(void *at, enum wire_bye_reason reason, const char *text);
size_t wire_put_ack(void *at, uint64_t verdict);
size_t wire_put_pair(void *at, const struct wire_pair_fields *fields);
size_t wire_put_challenge(void *at, const uint8_t nonce[WIRE_NONCE_LEN], const struct wire_address_fields *to);
size_t wire_put_proof(void *at, const uint8_t proof[WIRE_PROOF_LEN]);
/* The encoder sets WIRE_F_LAST if rest == payload; wire_put_rsend() and wire_put_data() do the same. */
size_t wire_put_write(void *at, uint8_t flags, uint32_t payload, uint64_t seq, const struct wire_target_fields *to, uint64_t rest,
		      uint64_t cq_data);
size_t wire_put_read(void *at, uint8_t flags, uint64_t seq, const struct wire_target_fields *from, uint64_t length);
size_t wire_put_send(void *at, uint8_t flags, uint32_t length, uint64_t seq, const struct wire_message_fields *fields);
size_t wire_put_rts(void *at, uint8_t flags, uint64_t length, uint64_t seq, const struct wire_message_fields *fields);
size_t wire_put_rsend(void *at, uint8_t flags, uint32_t payload, uint64_t seq, uint64_t rest,
		      const struct wire_message_fields *fields);
/* The payload's length follows from the fields: wire_atomic_payload(). */
size_t wire_put_atomic(void *at, uint8_t flags, uint64_t seq, const struct wire_atomic_fields *fields);
/* op is WIRE_CONNECT, WIRE_ACCEPT or WIRE_REJECT. */
size_t wire_put_cm(void *at, uint8_t op, uint32_t payload, uint64_t seq, uint64_t request);
size_t wire_put_taken(void *at, uint64_t seq, uint64_t ref, enum wire_status status);
size_t wire_put_data(void *at, uint8_t flags, uint32_t payload, uint64_t ref, uint64_t offset, uint64_t rest);
size_t wire_put_pull(void *at, uint64_t ref, uint64_t offset, uint64_t length);
size_t wire_put_rnr(void *at, uint64_t ref, uint32_t wait_us);
size_t wire_put_nak(void *at, const struct wire_nak_fields *fields);
size_t wire_put_verdict(void *at, uint8_t op, uint64_t verdict, uint64_t ref); /* WIRE_PARK or WIRE_DONE */
size_t wire_put_result(void *at, uint32_t payload, uint64_t verdict, uint64_t ref);
/* The trailer's digest (WIRE-11): `payload` is the digest of the payload, zero if that is not covered. */
static inline uint64_t wire_trailer_digest(uint32_t status, uint64_t payload)
{
	return payload + status * 0x0101010101010101u;
}
/* `digest` is that of the payload, zero if it is not covered. */
size_t wire_put_trailer(void *at, enum wire_status status, uint64_t digest);
/* Replaces the status WIRE_GOOD by another one; does nothing if the trailer has another one already. */
void wire_end_badly(struct wire_trailer *trailer, enum wire_status status);

/* The last step before a frame is sent: sets head.ack and, over head and body as they then are, head.digest (zero without
 * `digest`). May be repeated when the frame is sent again. HELLO, CHALLENGE and PROOF take
 * ack 0 and always a digest. */
void wire_seal(struct wire_head *head, uint64_t ack, bool digest);

#endif
