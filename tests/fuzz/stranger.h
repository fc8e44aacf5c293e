/* SPDX-License-Identifier: BSD-2-Clause */
/* stranger.h - a peer that says anything, hears all, and knows of each frame what the device may do for it.
 *
 * A frame is judged by its bytes as they are sent, however they were made, and before the device has them. Then the changes
 * and the answers are held against that judgement. It is one-sided: a refusal is never wrong here. */
#ifndef TESTS_FUZZ_STRANGER_H
#define TESTS_FUZZ_STRANGER_H

#include "tests/fuzz/memory.h"
#include "tests/fuzz/plug.h"

enum { FRAME_ROOM = 2048, ASKED = 64, WANTED = 8 };

/* A READ or an ATOMIC that returns something. */
struct asked {
	uint64_t seq, length;
	struct permit permit;
};

/* A request of the device's. */
struct wanted {
	uint8_t op;
	uint64_t seq, length;
};

struct stranger {
	struct plug *plug;
	struct memory *memory;
	struct line *line; /* NULL: none */
	uint8_t who;
	uint32_t caps;                 /* of the endpoint */
	bool full;                     /* payloads have digests */
	bool muddled;                  /* this line has broken the protocol: nothing more is done for it */
	uint8_t instance[WIRE_ID_LEN]; /* the endpoint's; zero: not met yet */
	uint64_t epoch, executed;      /* requests of this side, as the device says */
	uint64_t heard, verdict_heard, verdict_said;
	struct asked asked[ASKED];    /* by number */
	struct wanted wanted[WANTED]; /* the latest */
	uint32_t wants;
	struct {
		struct permit permit;         /* of the whole message */
		struct wire_target_fields to; /* of the next segment */
		uint64_t offset, rest, life;
	} write;      /* under way; rest 0: none */
	uint64_t now; /* number of the request under way; 0: none */
	struct {
		uint8_t mask, at;
		bool sealed;
	} spoil;                   /* of the next frame; mask 0: nothing */
	size_t piece;              /* as in struct line */
	uint8_t frame[FRAME_ROOM]; /* the next one */
};

/* One that has said nothing, of those that the device may know already. */
void stranger_init(struct stranger *stranger, struct plug *plug, struct memory *memory, uint8_t who);
/* Dials and says HELLO, going on with its session; `seen` requests of the device were executed. */
void stranger_greet(struct stranger *stranger, uint64_t seen);
/* Says what is in `frame`: digests are put right, and if payload is missing it is made up. */
void stranger_say(struct stranger *stranger);
/* Lets the device work, and hears. */
void stranger_pause(struct stranger *stranger);

#endif
