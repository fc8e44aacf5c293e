/* SPDX-License-Identifier: BSD-2-Clause */
/* life.c - a connection of rdma_cm from the question to the last note, between two programs that say what librdmacm says: cut at
 * every byte, either process killed at every step, in bad weather, and where memory runs out (WIRE-180 to WIRE-184). */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/endpoint/service.h"
#include "tests/sim/harness/ends.h"
#include "tests/sim/harness/scarce.h"
#include "wire/rdma.h"

enum { LIFE_NUMBER = 18515, LIFE_REASON = 28 };
enum side { ASKS, ACCEPTS, SIDES };
#define LIFE_NS (60 * SIM_SECOND) /* more than any retry budget */

/* What the two programs do, and what each side is told then (struct end, story), without the letter of the end: one of `whole`,
 * or the beginning of one, as far as `least` where both processes live. */
struct course {
	const char *name;
	bool turned_away, turned_down; /* by the listener; by the asking side, which has got a reply */
	unsigned int leaves;           /* sides that disconnect when they are connected, a bit each */
	const char *whole[SIDES][4], *least[SIDES];
};

static const struct course courses[] = {
	{ .name = "the asking side leaves", .leaves = 1 << ASKS, .whole = { { "C+4+5" }, { "C45" } }, .least = { "C+4", "C45" } },
	{ .name = "the accepting side leaves",
	  .leaves = 1 << ACCEPTS,
	  .whole = { { "C+45" }, { "C4+5" } },
	  .least = { "C+45", "C4" } },
	{ .name = "both leave",
	  .leaves = 1 << ASKS | 1 << ACCEPTS,
	  .whole = { { "C+4+5", "C+45", "C+4+55", "C+45+5" }, { "C4+5", "C45", "C4+55", "C45+5" } },
	  .least = { "C+4", "C4" } },
	{ .name = "the reply is turned down", .turned_down = true, .whole = { { "C+3" }, { "C3" } }, .least = { "C", "C3" } },
	{ .name = "the request is turned away", .turned_away = true, .whole = { { "" }, { "" } }, .least = { "", "" } },
};
enum { COURSES = sizeof(courses) / sizeof(*courses) };

struct life {
	struct ends *ends;
	const struct course *course;
	bool answered, rejected, said_first, said_leave[SIDES];
	uint64_t steps, kill_at; /* so many; at this one */
	int victim;              /* a node */
	bool scarce;             /* memory may run out: so may what is told */
};

static struct end *end_of(struct life *life, enum side side)
{
	return side == ASKS ? &life->ends->asks : &life->ends->accepts;
}

static bool has(const struct end *end, const char *part)
{
	return strstr(end->story, part);
}

static bool ended(const struct end *end)
{
	return has(end, "S") || has(end, "F");
}

/* --- what the programs say --- */

static const uint8_t private[WIRE_RDMA_REPLY_DATA] = "private data, zeros behind it included";

static struct wire_rdma_fields life_word(enum wire_rdma_kind kind)
{
	struct wire_rdma_fields say = { .kind = kind, .length = (uint8_t)wire_rdma_room(kind), .data = private };

	if (kind == WIRE_RDMA_REJECT)
		say.reason = LIFE_REASON;
	if (kind == WIRE_RDMA_REQUEST || kind == WIRE_RDMA_REPLY) {
		say.qpn = 0xffffff;
		say.psn = 0x800000;
	}
	if (kind == WIRE_RDMA_REQUEST) {
		say.qp_type = WIRE_RDMA_RC;
		say.from = (struct wire_address_fields){ .family = 4, .port = 9, .addr = { 10, 0, 0, 1 } };
		say.to = (struct wire_address_fields){ .family = 4, .port = LIFE_NUMBER, .addr = { 10, 0, 0, 2 } };
	}
	return say;
}

static void life_heard(struct life *life, const struct end *end, enum wire_rdma_kind kind)
{
	struct wire_rdma_fields said, want = life_word(kind);
	const char *flaw = wire_get_rdma(end->data, end->length, &said);

	WORLD_CHECK(life->ends->world, !flaw, "%s", flaw);
	WORLD_CHECK(life->ends->world,
		    said.kind == kind && said.qpn == want.qpn && said.reason == want.reason && said.length == want.length &&
			    !memcmp(said.data, private, said.length),
		    "another word came than %d", kind);
}

/* As the first word of a side, or as a note in the session of the two. */
static void life_say(struct life *life, struct end *end, enum wire_rdma_kind kind)
{
	struct wire_rdma_fields say = life_word(kind);
	struct end *listens = &life->ends->listens;
	struct sockaddr_storage at = listens->name;
	uint8_t bytes[WIRE_CM_DATA_MAX];
	size_t length = wire_put_rdma(bytes, &say);
	int rc;

	((struct sockaddr_in *)&at)->sin_port = htons(LIFE_NUMBER);
	node_enter(end->node);
	if (kind == WIRE_RDMA_REQUEST)
		rc = ep_ask(end->ep, &at, bytes, length);
	else if (kind == WIRE_RDMA_REPLY)
		rc = ep_accept(end->ep, &listens->peer, listens->request, bytes, length);
	else if (end == listens)
		rc = ep_reject(end->ep, &listens->peer, listens->request, bytes, length);
	else
		rc = ep_note(end->ep, kind, bytes, length);
	node_leave(end->node);
	WORLD_CHECK(life->ends->world, !rc, "word %d: %d", kind, rc);
}

static void life_answer(struct life *life)
{
	struct ends *ends = life->ends;

	if (ends->accepts.ep && has(&ends->accepts, "F") && !life->rejected) { /* the asking side still waits for the answer */
		life->rejected = true;
		life_say(life, &ends->listens, WIRE_RDMA_REJECT);
	}
	if (life->answered || !has(&ends->listens, "R"))
		return;
	life->answered = true;
	life_heard(life, &ends->listens, WIRE_RDMA_REQUEST);
	if (life->course->turned_away) {
		life_say(life, &ends->listens, WIRE_RDMA_REJECT);
		return;
	}
	end_open(&ends->accepts, ends->listens.node, false);
	life_say(life, &ends->accepts, WIRE_RDMA_REPLY);
}

/* What a connected side does next, as rdma_get_cm_event() and the program do. */
static void life_act(struct life *life, enum side side)
{
	struct end *end = end_of(life, side);

	if (!end->ep || end->node->dead || ended(end) || !has(end, "C"))
		return;
	if (side == ASKS && !life->said_first) {
		life->said_first = true;
		life_heard(life, end, WIRE_RDMA_REPLY);
		life_say(life, end, life->course->turned_down ? WIRE_RDMA_REJECT : WIRE_RDMA_READY);
	}
	if (has(end, side == ASKS ? "+4" : "4") && life->course->leaves & 1U << side && !life->said_leave[side]) {
		life->said_leave[side] = true;
		life_say(life, end, WIRE_RDMA_LEAVE);
	}
	if (has(end, "5") || has(end, "3")) {
		node_enter(end->node);
		ep_shutdown(end->ep);
		node_leave(end->node);
	}
}

/* --- from beginning to end --- */

static bool life_over(void *arg)
{
	struct life *life = arg;
	struct ends *ends = life->ends;
	bool over = true;

	if (life->steps++ == life->kill_at)
		node_kill(ends->world->node[life->victim]);
	if (!ends->listens.node->dead)
		life_answer(life);
	for (enum side side = ASKS; side < SIDES; side++)
		life_act(life, side);
	over &= ends->asks.node->dead || ended(&ends->asks);
	over &= ends->listens.node->dead || !ends->accepts.ep || ended(&ends->accepts);
	return over;
}

static void story_is(const struct life *life, const struct end *end, enum side side, bool alone)
{
	const struct course *course = life->course;
	const char *story = end->story, *least = course->least[side], *last = story + strlen(story) - 1;
	size_t told = strlen(story) - 1;
	bool is = false;

	WORLD_CHECK(life->ends->world, *story && *last == (has(end, "C") ? 'S' : 'F'), "%s: side %d ends with %s", course->name,
		    side, story);
	WORLD_CHECK(life->ends->world, *last == 'S' || life->scarce || end->err == ECONNREFUSED || end->err == ETIMEDOUT,
		    "%s: errno %d", course->name, end->err);
	for (int i = 0; i < 4 && course->whole[side][i] && !is; i++)
		is = !strncmp(story, course->whole[side][i], told) && strlen(course->whole[side][i]) >= told &&
		     (alone || life->scarce || !strncmp(story, least, strlen(least)));
	WORLD_CHECK(life->ends->world, is, "%s: side %d was told %s", course->name, side, story);
}

/* Of the sides that live. */
static void stories_are(const struct life *life)
{
	const struct ends *ends = life->ends;
	bool alone = life->kill_at != UINT64_MAX;

	if (!ends->asks.node->dead)
		story_is(life, &ends->asks, ASKS, alone);
	if (!ends->listens.node->dead && ends->accepts.ep)
		story_is(life, &ends->accepts, ACCEPTS, alone);
	WORLD_CHECK(ends->world, !strcmp(ends->listens.story, "R") || ((alone || life->scarce) && !*ends->listens.story),
		    "the listener was told %s", ends->listens.story);
}

static void life_run(struct life *life)
{
	struct world *world = life->ends->world;
	uint64_t begun_ns = world->now_ns;

	end_serve(&life->ends->listens, LIFE_NUMBER);
	life_say(life, &life->ends->asks, WIRE_RDMA_REQUEST);
	WORLD_CHECK(world, world_run(world, life_over, life, LIFE_NS), "%s: after %d s it is told %s and %s", life->course->name,
		    (int)((world->now_ns - begun_ns) / SIM_SECOND), life->ends->asks.story, life->ends->accepts.story);
	stories_are(life);
	if (life->course->turned_away && life->kill_at == UINT64_MAX && !life->scarce)
		life_heard(life, &life->ends->asks, WIRE_RDMA_REJECT);
	world_pass(world, 5 * SIM_SECOND);
	stories_are(life); /* nothing comes after the end */
}

/* What is to happen beside. */
struct trouble {
	uint64_t seed;
	void (*weather)(struct weather *weather); /* may be NULL */
	int victim;
	uint64_t kill_at; /* UINT64_MAX: never */
};

/* Steps it took. */
static uint64_t life_whole(const struct course *course, const struct trouble *trouble)
{
	struct ends ends;
	struct life life = { .ends = &ends, .course = course, .victim = trouble->victim, .kill_at = trouble->kill_at };
	uint64_t held = scarce_held();

	ends_open(&ends, trouble->seed);
	if (trouble->weather)
		trouble->weather(&ends.world->weather);
	life.scarce = ends.world->weather.scarce_left;
	life_run(&life);
	ends_close(&ends);
	cr_assert_eq(scarce_held(), held, "%s: %d bytes are lost", course->name, (int)(scarce_held() - held));
	return life.steps;
}

/* --- tests --- */

static const struct course *cut_course;

static void cut_script(struct ends *ends)
{
	struct life life = { .ends = ends, .course = cut_course, .kill_at = UINT64_MAX };

	life_run(&life);
}

Test(sim_life, cut_at_every_byte)
{
	for (int i = 0; i < COURSES; i++) {
		cut_course = &courses[i];
		ends_cut_everywhere(cut_script, 1100 + (uint64_t)i, courses[i].turned_away ? 1 : 2);
	}
}

static void in_pieces(struct weather *weather)
{
	weather->chunk_max = 50;
}

Test(sim_life, either_process_killed_at_every_step)
{
	for (int i = 0; i < COURSES; i++) {
		struct trouble trouble = { .seed = 1110 + (uint64_t)i, .weather = in_pieces, .kill_at = UINT64_MAX };
		uint64_t steps = life_whole(&courses[i], &trouble);

		fprintf(stderr, "%s: %llu steps\n", courses[i].name, (unsigned long long)steps);
		for (trouble.victim = 0; trouble.victim < 2; trouble.victim++)
			for (trouble.kill_at = 0; trouble.kill_at < steps; trouble.kill_at++)
				life_whole(&courses[i], &trouble);
	}
}

static void bad(struct weather *weather)
{
	weather->cut_mean = 300;
	weather->cuts_left = 12;
	weather->chunk_max = 30;
	weather->lose_percent = weather->twice_percent = weather->flip_percent = 20;
	weather->delay_max_ns = SIM_SECOND / 20;
}

Test(sim_life, in_bad_weather)
{
	struct trouble trouble = { .weather = bad, .kill_at = UINT64_MAX };

	for (trouble.seed = 1200; trouble.seed < 1300; trouble.seed++)
		for (int i = 0; i < COURSES; i++)
			life_whole(&courses[i], &trouble);
}

/* The survivor is told so all the same. */
Test(sim_life, killed_in_bad_weather)
{
	struct trouble trouble = { .weather = bad };

	for (trouble.seed = 1300; trouble.seed < 1400; trouble.seed++)
		for (int i = 0; i < COURSES; i++) {
			trouble.victim = (int)(trouble.seed & 1);
			trouble.kill_at = (trouble.seed - 1300) * 5;
			life_whole(&courses[i], &trouble);
		}
}

static void scarce(struct weather *weather)
{
	weather->scarce_permille = 30;
	weather->scarce_left = 3;
}

/* A note for which the peer has no memory is refused, and its sender is told that it is done with it. */
Test(sim_life, where_memory_runs_out)
{
	struct trouble trouble = { .weather = scarce, .kill_at = UINT64_MAX };

	for (trouble.seed = 1400; trouble.seed < 1700; trouble.seed++)
		for (int i = 0; i < COURSES; i++)
			if (courses[i].leaves != 1 << ACCEPTS) /* which may never hear that it is connected */
				life_whole(&courses[i], &trouble);
}
