/* SPDX-License-Identifier: BSD-2-Clause */
/* payload.c - small payloads are copied, large ones lent, with digests, too: where they change between digest and send, the
 * receiver takes that for a broken wire, and on the next connection (hello.c) all are copied before they are digested. So is
 * what comes out of pinned memory: the socket has no way to it. */
#include "emu/nic/payload.h"

#include <string.h>

#include "emu/nic/guard.h"
#include "emu/nic/likely.h"
#include "emu/nic/nic_impl.h"
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
	uint64_t digest;	/* of what is one run */
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

/* Of the next bytes, where they are. False: they cannot be read. */
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

/* What could not be copied, and its trailer. */
static __attribute__((cold)) bool payload_faulted(const struct conn *conn, uint8_t *at, uint32_t length)
{
	memset(at, 0, length);
	wire_put_trailer(at + length, WIRE_SOURCE_FAULT, conn->payload_digest ? digest_bytes(at, length) : 0);
	return false;
}

static bool payload_copy(struct conn *conn, struct place *from, uint32_t length)
{
	uint8_t *at = sendq_add(&conn->out, length + sizeof(struct wire_trailer));
	uint64_t digest = 0;

	if (!(conn->payload_digest ? get_digest(from, at, length, &digest) : place_get(from, at, length)))
		return payload_faulted(conn, at, length);
	wire_put_trailer(at + length, WIRE_GOOD, digest);
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

/* In the place of what could not be digested, which nothing was copied of. */
static __attribute__((cold)) bool payload_missing(struct conn *conn, uint32_t length)
{
	static const uint8_t zeros[LIMIT_COPY];
	struct digest_state state;

	digest_begin(&state);
	for (uint32_t done = 0, part; done < length; done += part) {
		part = length - done < sizeof(zeros) ? length - done : (uint32_t)sizeof(zeros);
		digest_add(&state, zeros, part);
	}
	sendq_zeros(&conn->out, length);
	wire_put_trailer(sendq_add(&conn->out, sizeof(struct wire_trailer)), WIRE_SOURCE_FAULT, digest_end(&state));
	return false;
}

bool payload_add(struct conn *conn, struct place *from, uint32_t length, const void *owner)
{
	uint64_t digest = 0;

	if (length == 0)
		return true;
	if (from->pin || payload_copied(conn, length))
		return payload_copy(conn, from, length);
	if (conn->payload_digest && !digest_place(from, length, &digest))
		return payload_missing(conn, length);
	payload_lend(conn, from, length, owner, digest);
	return true;
}

static __attribute__((noinline)) bool add_op_runs(struct conn *conn, struct op *op, uint32_t length)
{
	struct place from;

	place_set(&from, op->iov, op->iov_count);
	place_advance(&from, op->moved);
	op->moved += length;
	return payload_add(conn, &from, length, op);
}

bool payload_add_op(struct conn *conn, struct op *op, uint32_t length)
{
	const uint8_t *from;
	uint8_t *at;

	/* Most lie in one piece that is copied as it is. */
	if (unlikely(op->iov_count != 1 || length > LIMIT_COPY || length == 0 || conn->payload_digest))
		return add_op_runs(conn, op, length);
	from = (const uint8_t *)op->iov[0].iov_base + op->moved;
	op->moved += length;
	at = sendq_add(&conn->out, length + sizeof(struct wire_trailer));
	wire_put_trailer(at + length, WIRE_GOOD, 0);
	return likely(guard_copy(at, from, length)) || payload_faulted(conn, at, length);
}

bool payload_stage(const struct conn *conn, void *frame, size_t head, struct place *from, uint32_t length, uint64_t *digest)
{
	return payload_copied(conn, length) ? get_digest(from, (uint8_t *)frame + head, length, digest) :
					      digest_place(from, length, digest);
}

void payload_staged(struct conn *conn, const struct place *from, uint32_t length, const void *owner, uint64_t digest)
{
	uint8_t *at;

	if (!payload_copied(conn, length)) {
		payload_lend(conn, from, length, owner, digest);
		return;
	}
	at = sendq_add(&conn->out, length + sizeof(struct wire_trailer));
	wire_put_trailer(at + length, WIRE_GOOD, digest);
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
