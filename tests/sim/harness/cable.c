/* SPDX-License-Identifier: BSD-2-Clause */
/* cable.c - one simulated connection: moving bytes through it, and breaking it. */
#include <errno.h>
#include <stdlib.h>

#include "tests/sim/harness/cable.h"
#include "tests/sim/harness/tap.h"

static uint64_t draw_delay(struct world *world)
{
	return rnd_below(&world->rnd, world->weather.delay_max_ns + 1);
}

static uint64_t draw_cut(struct world *world)
{
	if (!world->weather.cut_mean)
		return UINT64_MAX;
	return rnd_below(&world->rnd, 2 * world->weather.cut_mean);
}

static uint64_t draw_flip(struct world *world)
{
	if (!world->weather.flip_mean)
		return UINT64_MAX;
	return rnd_below(&world->rnd, 2 * world->weather.flip_mean);
}

struct cable *cable_open(struct world *world, uint16_t port)
{
	struct cable *cable = calloc(1, sizeof(*cable));

	if (world->cables == world->cables_room) {
		world->cables_room = world->cables_room ? world->cables_room * 2 : 16;
		world->cable = realloc(world->cable, world->cables_room * sizeof(cable));
	}
	assert(cable && world->cable);
	world->cable[world->cables++] = cable;
	cable->world = world;
	cable->number = world->cables_made++;
	cable->port = port;
	cable->answer_ns = world->now_ns + rnd_below(&world->rnd, world->weather.dial_max_ns + 1);
	for (uint8_t dir = 0; dir < 2; dir++) {
		cable->end[dir].cable = cable;
		pipe_init(&cable->pipe[dir], world->weather.capacity);
		cable->cut_at[dir] = draw_cut(world);
		cable->flip_at[dir] = draw_flip(world);
		cable->tap[dir] = world->tapped ? tap_open(world, cable->number, dir) : NULL;
	}
	for (int i = 0; i < world->faults; i++)
		if (world->fault[i].kind == FAULT_CUT && world->fault[i].cable == cable->number) {
			cable->cut_at[world->fault[i].dir] = world->fault[i].at;
			cable->planned[world->fault[i].dir] = true;
		}
	return cable;
}

void cable_free(struct cable *cable)
{
	pipe_fini(&cable->pipe[0]);
	pipe_fini(&cable->pipe[1]);
	free(cable);
}

void cable_break(struct cable *cable, bool lossy)
{
	struct world *world = cable->world;

	if (cable->broken)
		return;
	cable->broken = true;
	for (int dir = 0; dir < 2; dir++) {
		struct pipe *pipe = &cable->pipe[dir];

		if (lossy && pipe->end == UINT64_MAX)
			pipe_cut(pipe, pipe->ready + rnd_below(&world->rnd, pipe->sent - pipe->ready + 1));
		cable->end[dir].down_ns = world->now_ns + draw_delay(world);
		cable->end[dir].failure = (enum line_failure)rnd_below(&world->rnd, 3);
	}
}

uint64_t cable_timeout_ns(const struct cable *cable)
{
	uint64_t since = UINT64_MAX;

	for (int i = 0; i < 2; i++) {
		const struct node *node = cable->end[i].node;

		if (node && node->cut_off && node->cut_off_ns < since)
			since = node->cut_off_ns;
	}
	return since == UINT64_MAX ? UINT64_MAX : since + LINES_TIMEOUT_NS;
}

void cable_time_out(struct cable *cable)
{
	pipe_cut(&cable->pipe[0], 0);
	pipe_cut(&cable->pipe[1], 0);
	cable_break(cable, false);
}

int line_dir(const struct line *line)
{
	return line == &line->cable->end[1];
}

/* Everything that will ever come was read. */
static bool line_is_dry(const struct line *line)
{
	const struct pipe *pipe = &line->cable->pipe[!line_dir(line)];

	return pipe->received >= (pipe->sent < pipe->end ? pipe->sent : pipe->end);
}

static bool line_is_down(const struct line *line)
{
	return line->cable->broken && line->down_ns <= line->cable->world->now_ns;
}

/* How many bytes from base on can be touched. */
static size_t touchable(const struct world *world, const uint8_t *base, size_t length)
{
	for (int i = 0; i < world->poisons; i++) {
		const struct poison *poison = &world->poison[i];

		if (base >= poison->base && base < poison->base + poison->length)
			return 0;
		if (base < poison->base && length > (size_t)(poison->base - base))
			length = (size_t)(poison->base - base);
	}
	return length;
}

/* How much of the iovecs, at most `limit`, can be touched; *fault: there was more. */
static size_t touchable_iov(const struct world *world, const struct iovec *iov, int count, size_t limit, bool *fault)
{
	size_t sum = 0;

	*fault = false;
	for (int i = 0; i < count && sum < limit && !*fault; i++) {
		size_t want = iov[i].iov_len < limit - sum ? iov[i].iov_len : limit - sum;
		size_t n = touchable(world, iov[i].iov_base, want);

		sum += n;
		*fault = n < want;
	}
	return sum;
}

/* How many bytes this call moves at most. */
static size_t draw_chunk(struct world *world, size_t room)
{
	size_t chunk = room;

	if (world->weather.chunk_max)
		chunk = 1 + rnd_below(&world->rnd, world->weather.chunk_max);
	return chunk < room ? chunk : room;
}

static void flip(struct cable *cable, uint8_t dir, uint8_t *bytes, size_t length)
{
	struct world *world = cable->world;
	uint64_t from = cable->pipe[dir].sent;

	for (int i = 0; i < world->faults; i++) {
		struct fault *fault = &world->fault[i];

		if (fault->kind != FAULT_FLIP || fault->spent || fault->cable != cable->number || fault->dir != dir)
			continue;
		if (fault->at < from || fault->at - from >= length)
			continue;
		bytes[fault->at - from] ^= fault->bits;
		fault->spent = true;
	}
	if (!world->weather.flips_left || cable->flip_at[dir] < from || cable->flip_at[dir] - from >= length)
		return;
	bytes[cable->flip_at[dir] - from] ^= (uint8_t)(1 << rnd_below(&world->rnd, 8));
	world->weather.flips_left--;
}

/* Writes what is before the cut; the rest is swallowed, as a kernel does that has not heard of the cut yet. */
static void write_piece(struct cable *cable, uint8_t dir, const uint8_t *bytes, size_t length, uint64_t at_ns)
{
	struct pipe *pipe = &cable->pipe[dir];
	uint8_t copy[512];

	while (length && pipe->sent < cable->cut_at[dir] && !cable->broken) {
		size_t n = length < sizeof(copy) ? length : sizeof(copy);

		if (cable->cut_at[dir] - pipe->sent < n)
			n = (size_t)(cable->cut_at[dir] - pipe->sent);
		if (cable->tap[dir])
			tap_feed(cable->tap[dir], bytes, n);
		memcpy(copy, bytes, n);
		flip(cable, dir, copy, n);
		pipe_write(pipe, copy, (uint32_t)n, at_ns);
		bytes += n;
		length -= n;
	}
}

/* The cut point was reached. */
static void cut(struct cable *cable, uint8_t dir)
{
	struct world *world = cable->world;

	for (int i = 0; i < world->faults; i++) {
		struct fault *fault = &world->fault[i];

		if (fault->kind == FAULT_CUT && fault->cable == cable->number && fault->dir == dir)
			fault->spent = true;
	}
	world->weather.cuts_left -= !cable->planned[dir];
	world->cuts++;
	cable->pipe[dir].end = cable->pipe[dir].sent;
	cable_break(cable, true);
}

ssize_t line_send(struct line *line, const struct iovec *iov, int count)
{
	struct cable *cable = line->cable;
	struct world *world = cable->world;
	uint8_t dir = (uint8_t)line_dir(line);
	struct pipe *pipe = &cable->pipe[dir];
	size_t left, sum = 0;
	uint64_t at_ns = world->now_ns + draw_delay(world);
	bool fault;

	if (line_is_down(line) && line_is_dry(line))
		return line->failure == FAIL_RESET ? -ECONNRESET : -EPIPE;
	if (line_is_down(line))
		return -EAGAIN; /* its peer's last bytes are still to be received */
	left = draw_chunk(world, cable->broken ? SIZE_MAX : pipe_room(pipe));
	if (!left)
		return -EAGAIN;
	left = touchable_iov(world, iov, count, left, &fault);
	if (fault && (!left || (world->weather.rough_efault && rnd_percent(&world->rnd, 50))))
		return -EFAULT;
	if (!cable->broken && (cable->end[!dir].closed || (cable->end[!dir].node && cable->end[!dir].node->dead)))
		cable_break(cable, false); /* no end reads it any more */
	if (!cable->planned[dir] && !world->weather.cuts_left)
		cable->cut_at[dir] = UINT64_MAX;
	for (int i = 0; i < count && left; i++) {
		size_t n = iov[i].iov_len < left ? iov[i].iov_len : left;

		write_piece(cable, dir, iov[i].iov_base, n, at_ns);
		sum += n;
		left -= n;
	}
	if (!cable->broken && pipe->sent >= cable->cut_at[dir])
		cut(cable, dir);
	return (ssize_t)sum;
}

/* The result of recv() when there are no bytes. */
static ssize_t recv_nothing(struct line *line)
{
	struct pipe *pipe = &line->cable->pipe[!line_dir(line)];

	if (line_is_down(line) && line_is_dry(line) && line->failure != FAIL_DOWN)
		return line->failure == FAIL_END ? 0 : -ECONNRESET;
	if (!line->cable->broken && pipe_at_end(pipe, line->cable->world->now_ns))
		return 0;
	return -EAGAIN;
}

static uint64_t line_readable(struct line *line)
{
	struct pipe *pipe = &line->cable->pipe[!line_dir(line)];

	if (cable_timeout_ns(line->cable) != UINT64_MAX)
		return pipe->ready - pipe->received;
	return pipe_readable(pipe, line->cable->world->now_ns);
}

ssize_t line_recv(struct line *line, const struct iovec *iov, int count)
{
	struct world *world = line->cable->world;
	struct pipe *pipe = &line->cable->pipe[!line_dir(line)];
	size_t there = line_readable(line), n, sum = 0;
	bool fault;

	if (!there)
		return recv_nothing(line);
	n = touchable_iov(world, iov, count, draw_chunk(world, there), &fault);
	fault = fault && (!n || (world->weather.rough_efault && rnd_percent(&world->rnd, 50)));
	for (int i = 0; i < count && sum < n; i++) {
		size_t piece = iov[i].iov_len < n - sum ? iov[i].iov_len : n - sum;

		pipe_peek(pipe, sum, iov[i].iov_base, (uint32_t)piece);
		sum += piece;
	}
	if (fault)
		return -EFAULT; /* a kernel may have written the first bytes all the same */
	WORLD_CHECK(world, sum, "recv into no bytes");
	pipe_skip(pipe, (uint32_t)sum);
	return (ssize_t)sum;
}

static void finish(struct line *line)
{
	struct pipe *pipe = &line->cable->pipe[line_dir(line)];

	if (pipe->finished)
		return;
	pipe->finished = true;
	pipe->finish_ns = line->cable->world->now_ns + draw_delay(line->cable->world);
}

void line_close(struct line *line)
{
	line->closed = true;
	line->conn = NULL;
	finish(line);
}

void line_kill(struct line *line)
{
	finish(line);
	if (rnd_percent(&line->cable->world->rnd, 50))
		cable_break(line->cable, false);
}

bool line_writable(struct line *line)
{
	if (line_is_down(line))
		return line_is_dry(line);
	return line->cable->broken || pipe_room(&line->cable->pipe[line_dir(line)]);
}

bool line_has_input(struct line *line)
{
	return line_readable(line) || recv_nothing(line) != -EAGAIN;
}

bool line_ended(struct line *line)
{
	return !line_readable(line) && (recv_nothing(line) != -EAGAIN || line_fails_now(line));
}

bool line_fails_now(struct line *line)
{
	return line_is_down(line) && line->failure == FAIL_DOWN && line_is_dry(line);
}

uint64_t line_next_ns(struct line *line)
{
	struct cable *cable = line->cable;
	struct pipe *pipe = &cable->pipe[!line_dir(line)];
	uint64_t next = UINT64_MAX;

	if ((line_readable(line) && !line->rx_paused) || (line->want_write && line_writable(line)))
		return cable->world->now_ns;
	if (!cable->broken && cable_timeout_ns(cable) != UINT64_MAX)
		return cable_timeout_ns(cable);
	if (line->rx_paused)
		return UINT64_MAX;
	if (cable->broken && line_is_dry(line))
		next = line->down_ns > cable->world->now_ns ? line->down_ns : cable->world->now_ns;
	return pipe_next_ns(pipe) < next ? pipe_next_ns(pipe) : next;
}
