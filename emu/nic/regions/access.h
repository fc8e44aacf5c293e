/* SPDX-License-Identifier: BSD-2-Clause */
/* access.h - one remote access, as a peer's request asks for it. */
#ifndef EMU_NIC_ACCESS_H
#define EMU_NIC_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/codec.h"

/* The fields of a request that concern the region. */
struct access {
	struct wire_target_fields to;
	uint64_t length;
	uint64_t seq;   /* the request's number, of its first segment; READ: also when it is asked again */
	uint64_t mr_id; /* the region that an earlier part of the request met; 0: this is the first part */
	uint32_t right; /* as in struct mr_ask */
	uint8_t op;     /* enum op_kind */
	bool commit;    /* as in struct mr_ask */
	bool tagged;    /* of the receive that the request has taken by its tag (tagged_access.c); else of a region */
};

#endif
