/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.c - small payloads are copied, large ones lent, with digests, too: if they change between digest and send, the
 * receiver takes that for a broken wire, and on the next connection (hello.c) all are copied before they are digested.
 * Payloads out of pinned memory are always copied: the socket cannot reach it. */
#include "emu/nic/transport/payload.h"

#include <string.h>

#include "emu/nic/base/likely.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/memory/guard.h"
#include "wire/digest.h"

static void copy_digest(void *to, const void *from, size_t length, void *digest)
{
	*(uint64_t *)digest = digest_copy(to, from, length);
}

/* place_get(), and the digest of the copy: in one pass where the bytes lie in one piece. */
static bool get_digest(struct place *place, void *bytes, size_t length, uint64_t *digest)
{
	struct iovec run;

	if (place->pin || place_runs(place, length, &run, 1) != 1 || run.iov_len < length) {
		if (!place_get(place, bytes, length))
			return false;
		*digest = digest_bytes(bytes, length);
		return true;
	}
	return guard_copy_by(copy_digest, digest, bytes, run.iov_base, length);
}

struct digesting {
	struct digest_state state;
	const struct iovec *run;
	uint64_t digest; /* of a payload that is one run */
};

static void digest_whole(void *arg)
{
	struct digesting *d = arg;

	d->digest = digest_bytes(d->run->iov_base, d->run->iov_len);
}

static void digest_run(void *arg)
{
	struct digesting *d = arg;

	digest_add(&d->state, d->run->iov_base, d->run->iov_len);
}

/* The digest of the next bytes, in their place. False: they cannot be read. */
static bool digest_place(const struct place *from, uint32_t length, uint64_t *digest)
{
	struct iovec runs[LIMIT_IOV];
	struct digesting d = { .run = runs };
	int count = place_runs(from, length, runs, LIMIT_IOV);
	bool ok;

	if (count == 1) {
		ok = guard_run(runs->iov_base, runs->iov_len, false, digest_whole, &d);
		*digest = d.digest;
		return ok;
	}
	digest_begin(&d.state);
	for (; d.run < runs + count; d.run++)
		if (!guard_run(d.run->iov_base, d.run->iov_len, false, digest_run, &d))
			return false;
	*digest = digest_end(&d.state);
	return true;
}

static void payload_lend(struct conn *conn, const struct place *from, uint32_t length, const void *owner, uint64_t digest)
{
	struct iovec runs[LIMIT_IOV];
	struct wire_trailer *trailer;
	int count = place_runs(from, length, runs, LIMIT_IOV);

	for (int i = 0; i < count; i++)
		sendq_lend(&conn->out, &runs[i], owner);
	trailer = sendq_add(&conn->out, sizeof(*trailer));
	wire_put_trailer(trailer, WIRE_GOOD, digest);
	sendq_trailer(&conn->out, (unsigned)count, trailer);
}

static bool is_copied(const struct conn *conn, const struct place *from, uint32_t length)
{
	return from->pin || payload_copied(conn, length);
}

bool payload_stage(const struct conn *conn, void *at, struct place *from, uint32_t length, uint64_t *digest)
{
	*digest = 0;
	if (length == 0)
		return true;
	if (is_copied(conn, from, length))
		return conn->payload_digest ? get_digest(from, at, length, digest) : place_get(from, at, length);
	return !conn->payload_digest || digest_place(from, length, digest);
}

void payload_staged(struct conn *conn, const struct place *from, uint32_t length, const void *owner, uint64_t digest)
{
	uint8_t *at;

	if (length == 0)
		return;
	if (!is_copied(conn, from, length)) {
		payload_lend(conn, from, length, owner, digest);
		return;
	}
	at = sendq_add(&conn->out, length + sizeof(struct wire_trailer));
	wire_put_trailer(at + length, WIRE_GOOD, digest);
}

static void op_place(const struct op *op, struct place *from)
{
	place_set(from, op->iov, op->iov_count);
	place_advance(from, op->moved);
}

bool payload_stage_runs(const struct conn *conn, void *at, const struct op *op, uint32_t length, uint64_t *digest)
{
	struct place from;

	op_place(op, &from);
	return payload_stage(conn, at, &from, length, digest);
}

void payload_staged_runs(struct conn *conn, const struct op *op, uint32_t length, uint64_t digest)
{
	struct place from;

	op_place(op, &from);
	payload_staged(conn, &from, length, op, digest);
}

void payload_put(struct conn *conn, uint8_t op, const void *bytes, uint32_t length, enum wire_status status)
{
	uint8_t *at;

	if (length == 0)
		return;
	at = sendq_add(&conn->out, length + sizeof(struct wire_trailer));
	memcpy(at, bytes, length);
	wire_put_trailer(at + length, status, stream_covers(&conn->stream, op) ? digest_bytes(at, length) : 0);
}
