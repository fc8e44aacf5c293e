/* SPDX-License-Identifier: BSD-2-Clause */
/* uring.c - pinned memory: registered buffers in the sparse table of one ring.
 *
 * Bytes reach the pages through a pipe of our own: a fixed read moves them from the pipe into the pages, a fixed write back.
 * The pipe has the bytes, or the room, before the request is made. So the kernel completes it inside the call, without one
 * of its threads: pipes do so on every kernel, files do not.
 * A region is pinned in pieces, since copies to other regions need the same kernel lock: a registration holds them up for
 * no longer than a piece takes. */
#include "emu/net/memory/uring.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "emu/net/memory/uffd.h"
#include "emu/net/os/fork.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"

#define PIECE_BYTES ((uintptr_t)1 << LIMIT_PINNED_SHIFT)

struct run {
	uintptr_t base;
	size_t length;
	uint32_t first; /* index of its first piece's slot; the others follow */
};

/* Constant once made, but for `remap`. */
struct uring_pin {
	struct pin pin; /* first */
	struct remap remap;
	bool watched;
	unsigned int life; /* uring.life when it was made */
	struct run run[LIMIT_IOV];
	uint32_t runs, pieces;
	uint16_t slot[]; /* of each piece, in the ring's table */
};

static struct {
	struct mutex lock; /* guards started, free, free_count; a leaf */
	bool started;
	uint16_t free[LIMIT_PINNED]; /* slots that hold nothing */
	uint32_t free_count;
	int pipe[2]; /* constant once started, as is owner */
	pid_t owner;
	unsigned int life;           /* counts forks, each of which leaves another ring */
	struct io_uring ring;        /* its queues: holder of the driver role; its table: the kernel's lock */
	struct io_uring_sqe *unsent; /* [role] a queue entry that the kernel did not take: the next request uses it */
} uring = { .lock = MUTEX_INITIALIZER };

/* --- the ring --- */

/* A table of empty slots. Kernels before 5.13 have no empty slots: for them NULL is a bad address. */
static int table_make(struct io_uring *ring)
{
	struct iovec *none = calloc(LIMIT_PINNED, sizeof(*none));
	int err;

	if (!none)
		return -ENOMEM;
	err = io_uring_register_buffers(ring, none, LIMIT_PINNED);
	free(none);
	return err == -EFAULT || err == -EINVAL ? -ENOSYS : err;
}

static int uring_make(void)
{
	int err = io_uring_queue_init(1, &uring.ring, 0);

	if (err)
		return err;
	err = table_make(&uring.ring);
	if (!err && pipe2(uring.pipe, O_CLOEXEC | O_NONBLOCK))
		err = -errno;
	if (err)
		io_uring_queue_exit(&uring.ring);
	return err;
}

/* In a fork's child: the ring, and the pins in its table, are the parent's. */
static void uring_forked(void)
{
	mutex_forked(&uring.lock);
	if (uring.started) {
		nocancel_close(uring.ring.ring_fd);
		nocancel_close(uring.pipe[0]);
		nocancel_close(uring.pipe[1]);
	}
	uring.started = false;
	uring.free_count = 0;
	uring.unsent = NULL;
	uring.life++;
}

static struct fork_reset reset = { .in_child = uring_forked };

int uring_start(void)
{
	int err = fork_register(&reset);

	mutex_lock(&uring.lock);
	if (!err && !uring.started) {
		err = uring_make();
		uring.started = !err;
		uring.owner = getpid();
		while (!err && uring.free_count < LIMIT_PINNED) {
			uring.free[uring.free_count] = (uint16_t)uring.free_count;
			uring.free_count++;
		}
	}
	mutex_unlock(&uring.lock);
	return err;
}

/* --- pinning --- */

static uint64_t pieces_of(const struct iovec *segment)
{
	uintptr_t base = (uintptr_t)segment->iov_base;

	if (!segment->iov_len)
		return 0;
	return ((base + (segment->iov_len - 1)) >> LIMIT_PINNED_SHIFT) - (base >> LIMIT_PINNED_SHIFT) + 1;
}

/* From `at` to the end of its piece, or of the run. */
static size_t piece_room(const struct run *run, uintptr_t at)
{
	size_t left = run->length - (at - run->base), piece = PIECE_BYTES - (at & (PIECE_BYTES - 1));

	return left < piece ? left : piece;
}

static int slots_take(struct uring_pin *pin)
{
	int err = -ENOSPC;

	mutex_lock(&uring.lock);
	if (pin->pieces <= uring.free_count) {
		for (uint32_t i = 0; i < pin->pieces; i++)
			pin->slot[i] = uring.free[--uring.free_count];
		err = 0;
	}
	mutex_unlock(&uring.lock);
	return err;
}

static void slots_give(const struct uring_pin *pin)
{
	mutex_lock(&uring.lock);
	for (uint32_t i = 0; i < pin->pieces; i++)
		uring.free[uring.free_count++] = pin->slot[i];
	mutex_unlock(&uring.lock);
}

/* NULL, 0 empties the slot. */
static int slot_set(uint16_t slot, void *base, size_t length)
{
	const struct iovec bytes = { base, length };
	int rc = io_uring_register_buffers_update_tag(&uring.ring, slot, &bytes, NULL, 1);

	return rc < 0 ? rc : 0;
}

static void slots_empty(const struct uring_pin *pin, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		slot_set(pin->slot[i], NULL, 0);
}

/* *done counts the slots that were set, also on failure. */
static int run_pin(const struct uring_pin *pin, const struct run *run, uint32_t *done)
{
	size_t at = 0;
	int err = 0;

	while (at < run->length) {
		size_t length = piece_room(run, run->base + at);

		err = slot_set(pin->slot[*done], (void *)(run->base + at), length);
		if (err)
			break;
		++*done;
		at += length;
	}
	return err;
}

static bool put(struct pin *pin, void *at, const void *bytes, size_t length);
static bool get(struct pin *pin, const void *at, void *bytes, size_t length);
static bool uring_pin_changed(struct pin *pin);
static const struct pin_ops ops = { .put = put, .get = get, .changed = uring_pin_changed };

int uring_pin(const struct iovec *segments, size_t count, struct pin **out)
{
	uint64_t pieces = 0;
	struct uring_pin *pin;
	uint32_t done = 0;
	int err;

	for (size_t i = 0; i < count && pieces <= LIMIT_PINNED; i++)
		pieces += pieces_of(&segments[i]);
	if (pieces > LIMIT_PINNED)
		return -ENOSPC;
	pin = calloc(1, sizeof(*pin) + pieces * sizeof(pin->slot[0]));
	if (!pin)
		return -ENOMEM;
	pin->pin.ops = &ops;
	pin->life = uring.life;
	for (size_t i = 0; i < count; i++) {
		pin->run[pin->runs++] = (struct run){ (uintptr_t)segments[i].iov_base, segments[i].iov_len, pin->pieces };
		pin->pieces += (uint32_t)pieces_of(&segments[i]);
	}
	err = slots_take(pin);
	if (err)
		goto free_pin;
	pin->watched = !remap_begin(&pin->remap, segments, count);
	for (uint32_t i = 0; i < pin->runs && !err; i++)
		err = run_pin(pin, &pin->run[i], &done);
	if (err)
		goto give_slots;
	*out = &pin->pin;
	return 0;

give_slots:
	remap_end(&pin->remap);
	slots_empty(pin, done);
	slots_give(pin);
free_pin:
	free(pin);
	return err;
}

bool uring_watched(const struct pin *pin)
{
	return ((const struct uring_pin *)pin)->watched;
}

void uring_unpin(struct pin *base)
{
	struct uring_pin *pin = (struct uring_pin *)base;

	if (pin && pin->life == uring.life && getpid() == uring.owner) {
		remap_end(&pin->remap);
		slots_empty(pin, pin->pieces);
		slots_give(pin);
	}
	free(pin);
}

/* --- copying; with the driver role --- */

/* One request, made and waited for. How many bytes were moved, or -errno. */
static int request(bool in, const void *at, size_t length, uint16_t slot)
{
	struct io_uring_sqe *sqe = uring.unsent ? uring.unsent : io_uring_get_sqe(&uring.ring);
	struct io_uring_cqe *cqe;
	int rc;

	if (!sqe)
		return -EBUSY;
	if (in)
		io_uring_prep_read_fixed(sqe, uring.pipe[0], (void *)(uintptr_t)at, (unsigned)length, 0, slot);
	else
		io_uring_prep_write_fixed(sqe, uring.pipe[1], at, (unsigned)length, 0, slot);
	do {
		rc = io_uring_submit_and_wait(&uring.ring, 1);
	} while (rc == -EINTR || (rc >= 0 && io_uring_peek_cqe(&uring.ring, &cqe)));
	uring.unsent = io_uring_sq_ready(&uring.ring) ? sqe : NULL;
	if (rc < 0)
		return rc;
	rc = cqe->res;
	io_uring_cqe_seen(&uring.ring, cqe);
	return rc;
}

/* Drops bytes that a failure left in the pipe: they must not come out before the next copy's. */
static bool failed(void)
{
	char bytes[4096];

	while (nocancel_read(uring.pipe[0], bytes, sizeof(bytes)) > 0)
		;
	return false;
}

/* A piece holds all the bytes. The pipe takes at least a page at once. */
static bool piece_put(char *at, const char *bytes, size_t length, uint16_t slot)
{
	while (length) {
		ssize_t there = nocancel_write(uring.pipe[1], bytes, length);

		if (there <= 0)
			return failed();
		length -= (size_t)there;
		bytes += there;
		while (there) {
			int n = request(true, at, (size_t)there, slot);

			if (n <= 0)
				return failed();
			there -= n;
			at += n;
		}
	}
	return true;
}

static bool piece_get(const char *at, char *bytes, size_t length, uint16_t slot)
{
	while (length) {
		int there = request(false, at, length, slot);

		if (there <= 0)
			return failed();
		length -= (size_t)there;
		at += there;
		while (there) {
			ssize_t n = nocancel_read(uring.pipe[0], bytes, (size_t)there);

			if (n <= 0)
				return failed();
			there -= (int)n;
			bytes += n;
		}
	}
	return true;
}

static const struct run *uring_run_at(const struct uring_pin *pin, uintptr_t at)
{
	for (uint32_t i = 0; i < pin->runs; i++)
		if (at - pin->run[i].base < pin->run[i].length)
			return &pin->run[i];
	return NULL;
}

/* The pieces of [at, at + length), one after the other; segments that touch may be crossed. */
static bool copy(const struct uring_pin *pin, const void *addr, void *bytes, size_t length, bool in)
{
	uintptr_t at = (uintptr_t)addr;
	char *flat = bytes;

	while (length) {
		const struct run *run = uring_run_at(pin, at);
		size_t part = run ? piece_room(run, at) : 0;
		uint16_t slot;

		if (!run)
			return false;
		part = part < length ? part : length;
		slot = pin->slot[run->first + ((at >> LIMIT_PINNED_SHIFT) - (run->base >> LIMIT_PINNED_SHIFT))];
		if (in ? !piece_put((char *)at, flat, part, slot) : !piece_get((const char *)at, flat, part, slot))
			return false;
		at += part;
		flat += part;
		length -= part;
	}
	return true;
}

static bool put(struct pin *pin, void *at, const void *bytes, size_t length)
{
	return copy((const struct uring_pin *)pin, at, (void *)(uintptr_t)bytes, length, true);
}

static bool get(struct pin *pin, const void *at, void *bytes, size_t length)
{
	return copy((const struct uring_pin *)pin, at, bytes, length, false);
}

static bool uring_pin_changed(struct pin *pin)
{
	return remap_changed(&((struct uring_pin *)pin)->remap);
}
