/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma.h - connections of rdma_cm, PROTOCOL.md section 10: questions for a service, and what the two libraries tell each other in
 * the payloads of CONNECT. Layouts, and bytes to fields and back. Pure; any thread. */
#ifndef WIRE_RDMA_H
#define WIRE_RDMA_H

#include "wire/codec.h"

/* --- datagrams: which port has the manager of that service? --- */

#define WIRE_SERVICE_MAGIC "emusrvc\n" /* the eight bytes that begin each */

struct wire_service {
	uint8_t magic[8];
	wire_u16 version; /* WIRE_SERVICE_VERSION */
	wire_u16 kind;    /* enum wire_service_kind */
	wire_u16 port;    /* answer: where the manager listens, never zero; question: zero */
	uint8_t zero[2];
	wire_u64 nonce;           /* drawn for the question, never zero; the answer repeats it, and the service: */
	wire_u16 family, service; /* 4 or 6; a number of rdma_cm, never zero */
	uint8_t addr[16];         /* network order; IPv4 in the first four, the others zero */
	wire_u64 digest;          /* XXH3-64 of all before it */
};
static_assert(sizeof(struct wire_service) == 52, "a question and its answer are 52 bytes");
static_assert(_Alignof(struct wire_service) == 1, "any buffer, no padding");

enum { WIRE_SERVICE_VERSION = 1 };
enum wire_service_kind {
	WIRE_SERVICE_QUESTION = 1,
	WIRE_SERVICE_ANSWER = 2,
};

struct wire_service_fields {
	enum wire_service_kind kind;
	uint16_t port;
	uint64_t nonce;
	struct wire_address_fields at; /* the service: the port is the number, scope is zero */
};

void wire_put_service(struct wire_service *at, const struct wire_service_fields *fields);
/* False: the `length` bytes are no question or answer (WIRE-180). */
bool wire_get_service(const void *bytes, size_t length, struct wire_service_fields *fields);

/* --- words: payloads. `length` bytes of the program's follow the head, and nothing else --- */

enum { WIRE_RDMA_VERSION = 1 };
enum { WIRE_RDMA_RC = 2, WIRE_RDMA_XRC_SEND = 9 }; /* types of queue pairs that ask, as libibverbs numbers them */
enum wire_rdma_kind {
	WIRE_RDMA_REQUEST = 1,
	WIRE_RDMA_REPLY = 2,
	WIRE_RDMA_REJECT = 3, /* of the request, or by its sender of the reply */
	WIRE_RDMA_READY = 4,  /* the asking side's queue pair is ready */
	WIRE_RDMA_LEAVE = 5,  /* the sender's program disconnects */
	WIRE_RDMA_LOOKUP = 6, /* which queue pair has the datagram service? */
	WIRE_RDMA_FOUND = 7,  /* answers it: no connection comes of it */
};

/* Bytes of the program's: InfiniBand's limits, less the header of RDMA CM where a request has one. */
enum {
	WIRE_RDMA_REQUEST_DATA = 56,
	WIRE_RDMA_REPLY_DATA = 196,
	WIRE_RDMA_REJECT_DATA = 148,
	WIRE_RDMA_LOOKUP_DATA = 180,
	WIRE_RDMA_FOUND_DATA = 136,
};

/* What FOUND says: statuses of InfiniBand's SIDR. */
enum wire_sidr_status {
	WIRE_SIDR_SUCCESS = 0,
	WIRE_SIDR_UNSUPPORTED = 1, /* no such service */
	WIRE_SIDR_REJECT = 2,      /* the program's */
	WIRE_SIDR_MOST = 5,
};

struct wire_rdma_address {
	wire_u16 family, port; /* 4 or 6; the port is a number of rdma_cm */
	uint8_t addr[16];      /* network order; IPv4 in the first four, the others zero */
};
static_assert(sizeof(struct wire_rdma_address) == 20, "an address is 20 bytes");

struct wire_rdma_request {
	uint8_t version, kind, length;
	uint8_t qp_type; /* WIRE_RDMA_RC or WIRE_RDMA_XRC_SEND */
	wire_u32 qpn;    /* 24 bits */
	wire_u32 psn;    /* 24 bits */
	uint8_t responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count, srq;
	uint8_t zero[2];
	wire_u32 ece_vendor, ece_options;
	struct wire_rdma_address from, to;
};
static_assert(sizeof(struct wire_rdma_request) == 68, "a request's head is 68 bytes");

struct wire_rdma_reply {
	uint8_t version, kind, length, zero;
	wire_u32 qpn, psn;
	uint8_t responder_resources, initiator_depth, flow_control, rnr_retry_count, srq;
	uint8_t zeros[3];
	wire_u32 ece_vendor, ece_options;
};
static_assert(sizeof(struct wire_rdma_reply) == 28, "a reply's head is 28 bytes");

struct wire_rdma_word { /* REJECT, READY, LEAVE */
	uint8_t version, kind, length, zero;
	wire_u32 reason; /* REJECT: InfiniBand's, 1 to 65,535; else zero */
};
static_assert(sizeof(struct wire_rdma_word) == 8, "a word's head is 8 bytes");

struct wire_rdma_lookup {
	uint8_t version, kind, length, zero;
	wire_u16 space; /* the port space, not zero */
	uint8_t zeros[2];
	struct wire_rdma_address from, to;
};
static_assert(sizeof(struct wire_rdma_lookup) == 48, "a lookup's head is 48 bytes");

struct wire_rdma_found {
	uint8_t version, kind, length;
	uint8_t status;     /* enum wire_sidr_status */
	wire_u32 qpn, qkey; /* zero, unless status is; 24 bits; 32 bits */
};
static_assert(sizeof(struct wire_rdma_found) == 12, "a found's head is 12 bytes");
static_assert(_Alignof(struct wire_rdma_request) == 1 && _Alignof(struct wire_rdma_reply) == 1 &&
		      _Alignof(struct wire_rdma_lookup) == 1 && _Alignof(struct wire_rdma_found) == 1,
	      "any buffer, no padding");

static_assert(sizeof(struct wire_rdma_request) + WIRE_RDMA_REQUEST_DATA <= WIRE_CM_DATA_MAX &&
		      sizeof(struct wire_rdma_reply) + WIRE_RDMA_REPLY_DATA <= WIRE_CM_DATA_MAX &&
		      sizeof(struct wire_rdma_word) + WIRE_RDMA_REJECT_DATA <= WIRE_CM_DATA_MAX &&
		      sizeof(struct wire_rdma_lookup) + WIRE_RDMA_LOOKUP_DATA <= WIRE_CM_DATA_MAX &&
		      sizeof(struct wire_rdma_found) + WIRE_RDMA_FOUND_DATA <= WIRE_CM_DATA_MAX,
	      "heads and the program's bytes fit a payload");

/* A word of any kind, in host byte order; a field that its kind lacks is zero. */
struct wire_rdma_fields {
	enum wire_rdma_kind kind;
	uint8_t qp_type;
	uint32_t qpn, psn;
	uint8_t responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count, srq;
	uint32_t ece_vendor, ece_options;
	uint32_t reason;
	uint16_t space;
	uint8_t status;
	uint32_t qkey;
	struct wire_address_fields from, to; /* scope is zero */
	uint8_t length;
	const uint8_t *data; /* the program's; in the bytes that were read */
};

/* The most bytes of the program's that go with a word. */
size_t wire_rdma_room(enum wire_rdma_kind kind);
/* Writes a word whose data is no longer than that: its length, at most WIRE_CM_DATA_MAX. */
size_t wire_put_rdma(void *at, const struct wire_rdma_fields *fields);
/* NULL; or what is wrong with it, with the rule. */
const char *wire_get_rdma(const void *bytes, size_t length, struct wire_rdma_fields *fields);

#endif
