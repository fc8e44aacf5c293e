/* SPDX-License-Identifier: BSD-2-Clause */
/* path.c - the ops of path.sh, which counts their instructions: emu-path ROUNDS.
 *
 * Two endpoints of one process, so that one thread does what two do in a ping-pong, and always in the same order: each
 * phase is a function, by whose name the counts are found. Progress is manual: no other thread takes part. A round is
 * both halves of a ping-pong, so a phase is run twice in it. */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/perf/core/fabric.h"
#include "host.h"

#ifdef __clang__ /* which makes no clones */
#define PHASE __attribute__((noinline)) static
#else
#define PHASE __attribute__((noinline, noclone)) static
#endif

enum { WINDOW = 64, WORD = 8, TAG = 1, WARM_UP = 200 };

static void must(struct fabric *f, int rc)
{
	if (rc < 0)
		errx(1, "the op failed: %d %s", rc, f->why);
}

PHASE void write_post(struct fabric *f)
{
	must(f, fabric_write(f, 0, 0, WORD));
}

/* The write of the other side, and with it the acknowledgement of the own one before. */
PHASE void write_take(struct fabric *f, uint64_t word)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	const _Atomic uint64_t *inbox = (const _Atomic uint64_t *)f->memory;

	while (atomic_load_explicit(inbox, memory_order_acquire) != word) {
		must(f, fabric_poll(f));
		if (!patience_left(&patience))
			errx(1, "no write came");
	}
}

PHASE void receive_post(struct fabric *f)
{
	must(f, fabric_trecv(f, 0, WORD, TAG));
}

PHASE void send_post(struct fabric *f)
{
	must(f, fabric_tsend(f, 0, WORD, TAG));
}

PHASE void send_take(struct fabric *f)
{
	struct patience patience = patience_for(HANG_GUARD_NS);

	while (f->receives) {
		must(f, fabric_poll(f));
		if (!patience_left(&patience))
			errx(1, "no message came");
	}
}

PHASE void window_post(struct fabric *f)
{
	for (size_t slot = 0; slot < WINDOW; slot++)
		must(f, fabric_write(f, slot * WORD, slot * WORD, WORD));
}

PHASE void window_take(struct fabric *f)
{
	must(f, fabric_drain(f, HANG_GUARD_NS));
}

PHASE void poll_empty(struct fabric *f)
{
	must(f, fabric_poll(f));
}

static void set_word(struct fabric *f, uint64_t word)
{
	memcpy(f->memory + f->span, &word, sizeof(word));
}

/* Until nothing is owed any more. */
static void settle(struct fabric *sides[2])
{
	for (int i = 0; i < 2 * WARM_UP; i++)
		must(sides[i % 2], fabric_poll(sides[i % 2]));
}

/* Outside of the phases: how many polls it takes to connect is the network's business. */
static void connect_both(struct fabric *sides[2])
{
	for (int i = 0; i < 2; i++) {
		must(sides[i], fabric_write(sides[i], 0, 0, WORD));
		must(sides[i], fabric_drain(sides[i], HANG_GUARD_NS));
	}
	settle(sides);
}

static void run(struct fabric *sides[2], uint64_t *word, unsigned long rounds)
{
	for (unsigned long i = 0; i < 2 * rounds; i++) {
		struct fabric *from = sides[i % 2], *to = sides[1 - i % 2];

		set_word(from, ++*word);
		write_post(from);
		write_take(to, *word);
	}
	settle(sides);
	for (unsigned long i = 0; i < 2 * rounds; i++) {
		receive_post(sides[1 - i % 2]);
		send_post(sides[i % 2]);
		send_take(sides[1 - i % 2]);
	}
	settle(sides);
	for (unsigned long i = 0; i < rounds / 8; i++) {
		window_post(sides[0]);
		window_take(sides[0]);
	}
	settle(sides);
	for (unsigned long i = 0; i < rounds; i++)
		poll_empty(sides[0]);
}

static struct fabric *open_side(void)
{
	struct fabric_world world = { .mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
				      .span = 4096,
				      .wait = FI_WAIT_NONE,
				      .caps = FI_TAGGED };
	struct fabric *f;
	char why[160];

	if (fabric_open(&f, "emu:manual", &world, why, sizeof(why)))
		errx(1, "%s", why);
	return f;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	struct fabric *sides[2] = { open_side(), open_side() };
	struct fabric_card cards[2];
	uint64_t word = 0;

	if (!rounds)
		errx(2, "usage: emu-path ROUNDS");
	for (int i = 0; i < 2; i++)
		must(sides[i], fabric_card(sides[i], &cards[i]));
	for (int i = 0; i < 2; i++)
		must(sides[i], fabric_meet(sides[i], &cards[1 - i]));
	connect_both(sides);
	run(sides, &word, rounds);
	for (int i = 0; i < 2; i++)
		must(sides[i], fabric_drain(sides[i], HANG_GUARD_NS));
	printf("%lu rounds\n", rounds);
	for (int i = 0; i < 2; i++)
		fabric_close(sides[i]);
	return 0;
}
