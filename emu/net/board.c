/* SPDX-License-Identifier: BSD-2-Clause */
/* board.c - the memory that two neighbours share.
 *
 * Whoever leaves a note writes it and then asks whether the peer looks; who stops to look says so and then reads once
 * more. All four are sequentially consistent: the one sees that nobody looks, or the other sees the note. */
#include "emu/net/board.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "emu/net/plain.h"

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW };

/* Two cache lines apart, as processors fetch them in pairs; what polls read is in the first. */
struct board_side {
	_Alignas(128) atomic_uint_fast64_t note;
	atomic_uint_fast64_t looks;	/* 1: at notes */
	atomic_uint_fast64_t knocks;	/* 0: this side has no board yet */
	struct ring_words ring;
};

static_assert(sizeof(uint_fast64_t) == 8 && offsetof(struct board_side, looks) == 8 && offsetof(struct board_side, knocks) == 16 &&
	      offsetof(struct board_side, ring) == 24 && sizeof(struct board_side) == 256, "WIRE-39");

void *board_rooms(size_t count)
{
	void *rooms = mmap(NULL, count * BOARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return rooms == MAP_FAILED ? NULL : rooms;
}

void board_rooms_end(void *rooms, size_t count)
{
	if (rooms)
		munmap(rooms, count * BOARD_BYTES);
}

static int map(struct board *board, struct ring *ring, void *room, int fd, int own)
{
	struct board_side *sides = mmap(room, BOARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
	uint8_t *rings = (uint8_t *)room + BOARD_BYTES - 2 * RING_BYTES;

	if (sides == MAP_FAILED)
		return -errno;
	(void)madvise(sides, BOARD_BYTES, MADV_DONTFORK);	/* a fork's child has no device, and would keep the memory */
	*board = (struct board){ .own = &sides[own], .peer = &sides[!own], .room = room };
	ring_begin(ring, &board->own->ring, &board->peer->ring, rings + own * RING_BYTES, rings + !own * RING_BYTES);
	board_knock(board);
	return 0;
}

int board_make(struct board *board, struct ring *ring, void *room)
{
	int fd = memfd_create("emu-board", MFD_CLOEXEC | MFD_ALLOW_SEALING), err;

	if (fd < 0)
		return -errno;
	err = ftruncate(fd, BOARD_BYTES) || fcntl(fd, F_ADD_SEALS, SEALS) ? -errno : map(board, ring, room, fd, 0);
	if (!err)
		return fd;
	plain_close(fd);
	return err;
}

int board_take(struct board *board, struct ring *ring, void *room, int fd)
{
	int seals = fcntl(fd, F_GET_SEALS), err = -EINVAL;
	struct stat is;

	if (seals >= 0 && !(SEALS & ~seals) && !fstat(fd, &is) && is.st_size == BOARD_BYTES)
		err = map(board, ring, room, fd, 1) ? -EINVAL : 0;
	plain_close(fd);
	return err;
}

/* Should the kernel have no memory for that, the board stays there, and nobody looks at it. */
void board_drop(struct board *board, struct ring *ring)
{
	if (board->own)
		(void)mmap(board->room, BOARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	*board = (struct board){ 0 };
	*ring = (struct ring){ 0 };
}

bool board_note(struct board *board, uint64_t number)
{
	if (!board->own || !atomic_load_explicit(&board->peer->looks, memory_order_relaxed))
		return false;
	atomic_store(&board->own->note, number);
	return atomic_load(&board->peer->looks) == 1;
}

bool board_read(struct board *board, uint64_t *number)
{
	if (!board->own)
		return false;
	*number = atomic_load(&board->peer->note);
	if (*number == board->noted)
		return false;
	board->noted = *number;
	return true;
}

void board_look(struct board *board, bool on)
{
	if (board->own)
		atomic_store(&board->own->looks, on);
}

void board_knock(struct board *board)
{
	if (board->own)
		atomic_store_explicit(&board->own->knocks, ++board->knocks, memory_order_release);
}

bool board_shared(const struct board *board)
{
	return board->own && atomic_load_explicit(&board->peer->knocks, memory_order_acquire);
}

bool board_knocked(struct board *board)
{
	uint64_t knocks = atomic_load_explicit(&board->peer->knocks, memory_order_acquire);
	bool fresh = knocks != board->heard;

	board->heard = knocks;
	return fresh;
}
