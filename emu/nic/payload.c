/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.c - small payloads are copied, large ones lent; with payload digests all are copied, since memory that
 * changes between digest and send would look like a broken wire. So is what comes out of pinned memory: the socket has no
 * way to it. */
#include "emu/nic/payload.h"

#include <string.h>

#include "emu/nic/nic_impl.h"
#include "wire/digest.h"

size_t payload_copied(const struct conn *conn, uint32_t length)
{
	return length <= LIMIT_COPY || conn->payload_digest ? length : 0;
}

static bool payload_copy(struct conn *conn, struct place *from, uint32_t length)
{
	uint8_t *at = sendq_add(&conn->out, length + sizeof(struct wire_trailer));
	bool good = place_get(from, at, length);

	if (!good)
		memset(at, 0, length);
	wire_put_trailer(at + length, good ? WIRE_GOOD : WIRE_SOURCE_FAULT,
			 conn->payload_digest ? digest_bytes(at, length) : 0);
	return good;
}

bool payload_add(struct conn *conn, struct place *from, uint32_t length, const void *owner)
{
	struct iovec runs[LIMIT_IOV];
	struct wire_trailer *trailer;
	int count;

	if (length == 0)
		return true;
	if (from->pin || payload_copied(conn, length))
		return payload_copy(conn, from, length);
	count = place_runs(from, length, runs, LIMIT_IOV);
	for (int i = 0; i < count; i++)
		sendq_lend(&conn->out, &runs[i], owner);
	place_advance(from, length);
	trailer = sendq_add(&conn->out, sizeof(*trailer));
	wire_put_trailer(trailer, WIRE_GOOD, 0);
	sendq_trailer(&conn->out, (unsigned)count, trailer);
	return true;
}

void payload_put(struct conn *conn, const void *bytes, uint32_t length, enum wire_status status)
{
	uint8_t *at;

	if (length == 0)
		return;
	at = sendq_add(&conn->out, length + sizeof(struct wire_trailer));
	memcpy(at, bytes, length);
	wire_put_trailer(at + length, status, conn->payload_digest ? digest_bytes(at, length) : 0);
}
