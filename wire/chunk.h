/* SPDX-License-Identifier: BSD-2-Clause */
/* chunk.h - connections between the same two processes that share one stream (PROTOCOL.md, WIRE-130). Every integer is
 * big-endian and is reached through the accessors of codec.h only. */
#ifndef WIRE_CHUNK_H
#define WIRE_CHUNK_H

#include "wire/frame.h"

enum { WIRE_PROCESS_LEN = 8 }; /* first bytes of an instance id: the same for all endpoints of a process */

/* The dialler's first bytes behind the greeting. With WIRE_JOIN_MOVE the accepter sends them back. */
struct wire_join {
	wire_u32 kind;    /* enum wire_join_kind */
	wire_u32 channel; /* of this connection, from 1; zero with WIRE_JOIN_ALONE */
	wire_u64 trunk;   /* names the trunk: the dialler drew it; zero with WIRE_JOIN_ALONE */
};
static_assert(sizeof(struct wire_join) == 16, "a join is 16 bytes");

enum wire_join_kind {
	WIRE_JOIN_ALONE = 1, /* this stream goes on as it is */
	WIRE_JOIN_TRUNK = 2, /* it becomes a trunk, and this connection the first channel of it */
	WIRE_JOIN_MOVE = 3,  /* the connection goes on as a channel of that trunk, and this stream ends */
};

/* A trunk's stream consists of these and the bytes behind each. */
struct wire_chunk {
	wire_u32 channel;
	wire_u32 length; /* zero: the channel ends */
};
static_assert(sizeof(struct wire_chunk) == 8, "a chunk's head is 8 bytes");

#endif
