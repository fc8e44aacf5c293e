/* SPDX-License-Identifier: BSD-2-Clause */
/* board.h - memory that two neighbours share beside their stream (local.h): what one writes there, the other's polls find without
 * a system call.
 *
 * Each of the two has a side. There stand the last number that it has left as a note, whether it looks for notes, how often it
 * has sent, and its words of the two rings (ring.h), which lie behind the sides. What the peer writes is taken for what it
 * is, numbers and bytes that anybody may have made up, and what it has sealed cannot be taken away from under a reader. All
 * [role]. PROTOCOL.md, WIRE-39. */
#ifndef EMU_NET_BOARD_H
#define EMU_NET_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emu/net/ring.h"

enum { BOARD_BYTES = 4096 + 2 * RING_BYTES };

struct board_side;

struct board {
	struct board_side *own, *peer;	/* NULL: there is none */
	void *room;
	uint64_t noted;			/* the peer's last note that was taken */
	uint64_t heard;			/* the peer's last knock that was asked for */
	uint64_t knocks;		/* our own so far */
};

/* `count` places for boards: memory that cannot be touched until there is one. NULL: none. It is there for as long as boards may
 * come, so that none is mapped where the program has just unmapped something, and a peer that still writes there is found out. */
void *board_rooms(size_t count);
void  board_rooms_end(void *rooms, size_t count);
/* Makes one for the side that was connected to, and begins its ring. The descriptor is for the peer, and the caller's; -errno. */
int  board_make(struct board *board, struct ring *ring, void *room);
/* Takes what the peer has sent, and the descriptor: 0, or -EINVAL if it is none. */
int  board_take(struct board *board, struct ring *ring, void *room, int fd);
void board_drop(struct board *board, struct ring *ring);	/* its room is free again; there may be none */

/* Leaves a note for the peer. False: it does not look, or there is no board, and is to be told by the stream. */
bool board_note(struct board *board, uint64_t number);
/* A note since the last one taken? */
bool board_read(struct board *board, uint64_t *number);
/* Whether this side looks for notes. After `false` one last read finds what the peer takes for told. */
void board_look(struct board *board, bool on);

void board_knock(struct board *board);	/* this side has sent something; there may be none */
bool board_shared(const struct board *board);	/* there is one, and the peer has it, too: it knocks */
bool board_knocked(struct board *board);	/* shared: has the peer knocked since this was last asked? */

#endif
