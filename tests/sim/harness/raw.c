/* SPDX-License-Identifier: BSD-2-Clause */
/* raw.c - an end of a connection in the hands of a test. */
#include <errno.h>
#include <netinet/in.h>

#include "emu/nic/base/limits.h"
#include "tests/sim/harness/cable.h"
#include "tests/sim/harness/lines.h"

struct raw *raw_dial(struct world *world, uint16_t port)
{
	struct cable *cable;

	for (int i = 0; i < WORLD_LISTENERS; i++) {
		struct listener *listener = &world->listener[i];

		if (!listener->node || listener->port != port)
			continue;
		cable = cable_open(world, port);
		cable->answered = true;
		cable->acceptor = listener->node;
		cable->accept_ns = world->now_ns;
		cable->end[0].up = true;
		cable->tap[0] = NULL; /* what tests say is not judged */
		return (struct raw *)&cable->end[0];
	}
	world_fail(world, "raw dial: nobody listens at port %u", port);
}

struct raw *raw_answer(struct world *world, uint16_t port)
{
	for (uint32_t i = 0; i < world->cables; i++) {
		struct cable *cable = world->cable[i];

		if (cable->port != port || !cable->acceptor || cable->end[1].node || cable->end[1].closed)
			continue;
		cable->acceptor = NULL;
		cable->end[1].up = true;
		cable->tap[1] = NULL;
		return (struct raw *)&cable->end[1];
	}
	return NULL;
}

void raw_note(struct raw *raw, uint64_t number)
{
	struct line *line = (struct line *)raw;

	line->cable->end[!line_dir(line)].note = number;
}

void raw_send(struct raw *raw, const void *bytes, size_t length)
{
	struct line *line = (struct line *)raw;
	const uint8_t *from = bytes;

	while (length) {
		struct iovec iov = { (void *)(uintptr_t)from, length };
		ssize_t n = line_send(line, &iov, 1);

		if (n > 0) {
			from += n;
			length -= (size_t)n;
		} else if (n != -EAGAIN) {
			return;
		} else if (!world_step(line->cable->world)) {
			world_fail(line->cable->world, "raw send: %zu bytes are never read", length);
		}
	}
}

size_t raw_recv(struct raw *raw, void *bytes, size_t length)
{
	struct line *line = (struct line *)raw;
	uint8_t *to = bytes;
	size_t got = 0;

	while (got < length && line_has_input(line)) {
		struct iovec iov = { to + got, length - got };
		ssize_t n = line_recv(line, &iov, 1);

		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

/* Bytes that come for a raw end are no event of the world's. */
void raw_pause(struct raw *raw)
{
	struct world *world = ((struct line *)raw)->cable->world;

	world->now_ns += TIME_MS(1);
	for (world->idle = 0; !world_idle(world);)
		world_step(world);
}

void raw_hear(struct raw *raw, void *bytes, size_t length)
{
	uint8_t *to = bytes;
	size_t got = 0;

	for (int i = 0; i < 100 && got < length; i++) {
		raw_pause(raw);
		got += raw_recv(raw, to + got, length - got);
	}
	WORLD_CHECK(((struct line *)raw)->cable->world, got == length, "raw: %zu of %zu bytes came", got, length);
}

bool raw_closed(struct raw *raw)
{
	return line_ended((struct line *)raw);
}

void raw_close(struct raw *raw)
{
	line_close((struct line *)raw);
}
