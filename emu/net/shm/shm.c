/* SPDX-License-Identifier: BSD-2-Clause */
/* shm.c - the memory that two neighbours share.
 *
 * The writer stores an acknowledgement and then asks whether its ring is still open. A side that stops polling closes the ring and
 * then reads once more. All four are sequentially consistent: the writer sees the closed ring, or the reader sees the number. */
#include "emu/net/shm/shm.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/net/os/nocancel_socket.h"

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW };

/* Two cache lines apart, as processors fetch them in pairs; polls read the first one only. */
struct shm_side {
	_Alignas(128) atomic_uint_fast64_t ack;
	uint64_t unused[2];
	struct shm_ring_words ring;
};

/* Before the rings. */
struct shm_sides {
	struct shm_side side[2];
	atomic_uint_fast64_t unused[64], channels[2][SHM_CHANNELS], executed[2][SHM_CHANNELS];
};

static_assert(sizeof(uint_fast64_t) == 8 && offsetof(struct shm_side, ring) == 24 && sizeof(struct shm_side) == 256, "WIRE-39");
static_assert(offsetof(struct shm_sides, channels) == 1024 && offsetof(struct shm_sides, executed) == 2048, "WIRE-135, WIRE-136");
static_assert(sizeof(struct shm_sides) == 3072, "WIRE-136");

void *shm_quota(size_t count)
{
	void *rooms = mmap(NULL, count * SHM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return rooms == MAP_FAILED ? NULL : rooms;
}

void shm_quota_end(void *rooms, size_t count)
{
	if (rooms)
		munmap(rooms, count * SHM_BYTES);
}

static int shm_map(struct shm *shm, struct shm_ring *ring, void *room, int fd, int own)
{
	struct shm_side *sides = mmap(room, SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	uint8_t *rings = (uint8_t *)room + SHM_BYTES - 2 * RING_BYTES;

	if (sides == MAP_FAILED)
		return -errno;
	(void)madvise(sides, SHM_BYTES, MADV_DONTFORK); /* a fork's child has no device, and would keep the memory */
	*shm = (struct shm){ .own = &sides[own], .peer = &sides[!own], .room = room };
	shm_ring_begin(ring, &shm->own->ring, &shm->peer->ring, rings + own * RING_BYTES, rings + !own * RING_BYTES);
	return 0;
}

int shm_make(struct shm *shm, struct shm_ring *ring, void *room)
{
	int fd = memfd_create("emu-shm", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = ftruncate(fd, SHM_BYTES) || fcntl(fd, F_ADD_SEALS, SEALS) ? -errno : shm_map(shm, ring, room, fd, 0);
	if (!err)
		return fd;
	nocancel_close(fd);
	return err;
}

int shm_take(struct shm *shm, struct shm_ring *ring, void *room, int fd)
{
	int seals = fcntl(fd, F_GET_SEALS), err = -EINVAL;
	struct stat is;

	if (seals >= 0 && !(SEALS & ~seals) && !fstat(fd, &is) && is.st_size == SHM_BYTES)
		err = shm_map(shm, ring, room, fd, 1) ? -EINVAL : 0;
	nocancel_close(fd);
	return err;
}

/* If the kernel has no memory for the new mapping, the shared segment stays mapped, unused. */
void shm_drop(struct shm *shm, struct shm_ring *ring)
{
	if (shm->own)
		(void)mmap(shm->room, SHM_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	*shm = (struct shm){ 0 };
	*ring = (struct shm_ring){ 0 };
}

/* The stream's, or the channel's. */
static atomic_uint_fast64_t *ack_word(const struct shm *shm, const struct shm_side *side, uint32_t channel)
{
	struct shm_sides *sides = shm->room;
	bool second = side == &sides->side[1];

	return channel ? &sides->channels[second][channel] : &sides->side[second].ack;
}

bool shm_store_ack(struct shm *shm, uint32_t channel, uint64_t number)
{
	if (channel >= SHM_CHANNELS || !shm->own || !shm_ring_is_open(&shm->own->ring))
		return false;
	atomic_store(ack_word(shm, shm->own, channel), number);
	if (channel)
		atomic_store(&shm->own->ack, atomic_load_explicit(&shm->own->ack, memory_order_relaxed) + 1);
	return shm_ring_is_open(&shm->own->ring);
}

bool shm_read(const struct shm *shm, uint32_t channel, uint64_t *seen)
{
	uint64_t before;

	if (channel >= SHM_CHANNELS || !shm->own)
		return false;
	before = seen[channel];
	seen[channel] = atomic_load(ack_word(shm, shm->peer, channel));
	return seen[channel] != before;
}

atomic_uint_fast64_t *shm_executed(const struct shm *shm, const struct shm_side *side, uint32_t channel)
{
	struct shm_sides *sides = shm->room;

	return shm->own && channel < SHM_CHANNELS ? &sides->executed[side == &sides->side[1]][channel] : NULL;
}

/* The dialler has sent HELLO before it maps the segment, and the accepter announces the bytes that carry it. */
bool shm_shared(const struct shm *shm)
{
	return shm->own && atomic_load_explicit(&shm->peer->ring.by_socket, memory_order_acquire);
}
