/* SPDX-License-Identifier: BSD-2-Clause */
/* life.c - a connection of rdma_cm from the question to the last word, between the managers of two programs that say what
 * librdmacm says: cut at every byte, either process killed at every step, in bad weather, and where memory runs out (WIRE-180 to
 * WIRE-184). */
#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "emu/nic/endpoint/service.h"
#include "tests/sim/harness/ends.h"
#include "tests/sim/harness/scarce.h"
#include "wire/rdma.h"

enum { LIFE_NUMBER = 18515, LIFE_REASON = 28, LIFE_REQUEST = 6, LIFE_WORDS = 8 };
enum side { ASKS, ACCEPTS, SIDES };
#define LIFE_NS (60 * SIM_SECOND)  /* more than any retry budget */
#define KILLED_NS (5 * SIM_SECOND) /* a peer that is killed is missed so soon, where the network is good */

/* What the two programs do, and the words that each side hears then, by their kinds. */
struct course {
	const char *name;
	bool turned_away, turned_down; /* by the listener; by the asking side, which has got a reply */
	unsigned int leaves;           /* sides that disconnect when they are connected, a bit each */
	const char *hears[SIDES];
};

static const struct course courses[] = {
	{ .name = "the asking side leaves", .leaves = 1 << ASKS, .hears = { "2", "145" } },
	{ .name = "the accepting side leaves", .leaves = 1 << ACCEPTS, .hears = { "25", "14" } },
	{ .name = "both leave", .leaves = 1 << ASKS | 1 << ACCEPTS, .hears = { "25", "145" } },
	{ .name = "the reply is turned down", .turned_down = true, .hears = { "2", "13" } },
	{ .name = "the request is turned away", .turned_away = true, .hears = { "3", "1" } },
};
enum { COURSES = sizeof(courses) / sizeof(*courses) };

struct life {
	struct world *world;
	struct end end[SIDES]; /* managers, of nodes 0 and 1 */
	const struct course *course;
	bool seeks, said[SIDES][LIFE_WORDS];
	uint64_t steps, kill_at; /* so many; at this one */
	int victim;              /* a node */
	bool scarce;             /* memory may run out */
};

/* Was this told, by itself? A word's kind stands alone, or behind a sign. */
static bool life_told(const struct end *end, char sign, int kind)
{
	const char *story = end->story;

	for (size_t i = 0; story[i]; i++) {
		char before = i ? story[i - 1] : 0;

		if (sign && story[i] == sign && story[i + 1] == '0' + kind)
			return true;
		if (!sign && story[i] == '0' + kind && before != '+' && before != '-')
			return true;
	}
	return false;
}

/* Has its word been heard, or come to nothing? */
static bool settled(const struct end *end, int kind)
{
	return life_told(end, '+', kind) || life_told(end, '-', kind);
}

static bool ended(const struct life *life, enum side side)
{
	const struct end *end = &life->end[side];

	return strpbrk(end->story, "FS") || life_told(end, 0, WIRE_RDMA_REJECT) || life_told(end, 0, WIRE_RDMA_LEAVE) ||
	       settled(end, WIRE_RDMA_REJECT) || settled(end, WIRE_RDMA_LEAVE) || life_told(end, '-', WIRE_RDMA_REQUEST) ||
	       life_told(end, '-', WIRE_RDMA_REPLY);
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

static void life_heard(struct life *life, enum side side, enum wire_rdma_kind kind)
{
	const struct end *end = &life->end[side];
	struct wire_rdma_fields said, want = life_word(kind);
	const char *flaw;

	if (end->data[1] != kind) /* of its own since, which was taken */
		return;
	flaw = wire_get_rdma(end->data, end->length, &said);
	WORLD_CHECK(life->world, !flaw, "%s", flaw);
	WORLD_CHECK(life->world,
		    said.qpn == want.qpn && said.reason == want.reason && said.length == want.length &&
			    !memcmp(said.data, private, said.length),
		    "another word came than %d", kind);
}

/* Once; without memory it is tried again. */
static void life_say(struct life *life, enum side side, enum wire_rdma_kind kind)
{
	struct wire_rdma_fields say = life_word(kind);
	struct end *end = &life->end[side];
	uint8_t bytes[WIRE_CM_DATA_MAX];
	size_t length = wire_put_rdma(bytes, &say);
	int rc;

	if (life->said[side][kind])
		return;
	node_enter(end->node);
	rc = ep_say(end->ep, &end->peer, LIFE_REQUEST + (side == ACCEPTS), bytes, length);
	node_leave(end->node);
	life->said[side][kind] = !rc;
	WORLD_CHECK(life->world, !rc || life->scarce, "word %d: %d", kind, rc);
}

static void life_seek(struct life *life)
{
	struct sockaddr_storage at = life->end[ACCEPTS].name;
	struct end *end = &life->end[ASKS];
	struct service *question;
	int rc;

	((struct sockaddr_in *)&at)->sin_port = htons(LIFE_NUMBER);
	node_enter(end->node);
	rc = service_ask(end->ep, &at, end, &question);
	node_leave(end->node);
	life->seeks = !rc;
	WORLD_CHECK(life->world, !rc || life->scarce, "service_ask: %d", rc);
}

/* What a side does next, as rdma_get_cm_event() and the program do. */
static void act_asking(struct life *life)
{
	const struct end *end = &life->end[ASKS];

	if (!life->seeks)
		life_seek(life);
	if (strchr(end->story, 'f'))
		life_say(life, ASKS, WIRE_RDMA_REQUEST);
	if (!life_told(end, 0, WIRE_RDMA_REPLY))
		return;
	life_heard(life, ASKS, WIRE_RDMA_REPLY);
	life_say(life, ASKS, life->course->turned_down ? WIRE_RDMA_REJECT : WIRE_RDMA_READY);
	if (life->said[ASKS][WIRE_RDMA_READY] && life->course->leaves & 1U << ASKS)
		life_say(life, ASKS, WIRE_RDMA_LEAVE);
}

static void act_accepting(struct life *life)
{
	const struct end *end = &life->end[ACCEPTS];

	if (!life_told(end, 0, WIRE_RDMA_REQUEST))
		return;
	life_heard(life, ACCEPTS, WIRE_RDMA_REQUEST);
	life_say(life, ACCEPTS, life->course->turned_away ? WIRE_RDMA_REJECT : WIRE_RDMA_REPLY);
	if (life_told(end, 0, WIRE_RDMA_READY) && life->course->leaves & 1U << ACCEPTS)
		life_say(life, ACCEPTS, WIRE_RDMA_LEAVE);
}

/* --- from beginning to end --- */

static bool life_over(void *arg)
{
	struct life *life = arg;
	bool over = true;

	if (life->steps++ == life->kill_at)
		node_kill(life->world->node[life->victim]);
	for (enum side side = ASKS; side < SIDES; side++) {
		if (life->end[side].node->dead || strpbrk(life->end[side].story, "FS"))
			continue;
		(side == ASKS ? act_asking : act_accepting)(life);
		/* One that nobody has asked ends with the one that would. */
		over &= ended(life, side) || (side == ACCEPTS && !life_told(&life->end[side], 0, WIRE_RDMA_REQUEST) &&
					      (life->end[ASKS].node->dead || ended(life, ASKS)));
	}
	return over;
}

/* It heard what it is to hear, or with trouble the beginning of that; of each word it has said it heard once what became of it. */
static void story_is(const struct life *life, enum side side, bool trouble)
{
	const struct end *end = &life->end[side];
	const char *hears = life->course->hears[side];
	unsigned int said = 0, told = 0;

	for (size_t i = 0; end->story[i]; i++) {
		char letter = end->story[i], before = i ? end->story[i - 1] : 0;

		if (letter < '0' || letter > '9')
			continue;
		if (before == '+' || before == '-') {
			told++;
			WORLD_CHECK(life->world, before == '+' || trouble, "%s: side %d was told %s", life->course->name, side,
				    end->story);
			continue;
		}
		WORLD_CHECK(life->world, letter == *hears, "%s: side %d was told %s", life->course->name, side, end->story);
		hears++;
	}
	for (int kind = 0; kind < LIFE_WORDS; kind++)
		said += life->said[side][kind];
	WORLD_CHECK(life->world, !*hears || trouble, "%s: side %d was told no more than %s", life->course->name, side, end->story);
	WORLD_CHECK(life->world, said == told, "%s: side %d has said %u words, and was told %s", life->course->name, side, said,
		    end->story);
}

static void life_open(struct life *life, const struct course *course, uint64_t seed)
{
	*life = (struct life){ .world = world_open(world_seed(seed)), .course = course, .kill_at = UINT64_MAX };
	life->world->tapped = true;
	for (int i = 0; i < SIDES; i++)
		node_open(life->world, NULL);
	for (int i = 0; i < SIDES; i++) {
		end_open_manager(&life->end[i], life->world->node[i]);
		life->end[i].keeps = true;
	}
	end_serve(&life->end[ACCEPTS], LIFE_NUMBER);
}

static void life_run(struct life *life)
{
	struct world *world = life->world;
	bool trouble = life->kill_at != UINT64_MAX;
	uint64_t begun_ns = world->now_ns, patience_ns = trouble && !world->weather.cut_mean ? KILLED_NS : LIFE_NS;

	life->scarce = world->weather.scarce_left;
	WORLD_CHECK(world, world_run(world, life_over, life, patience_ns), "%s: after %d s it is told %s and %s",
		    life->course->name, (int)((world->now_ns - begun_ns) / SIM_SECOND), life->end[ASKS].story,
		    life->end[ACCEPTS].story);
	world_pass(world, 5 * SIM_SECOND);
	for (enum side side = ASKS; side < SIDES; side++)
		if (!life->end[side].node->dead)
			story_is(life, side, trouble || life->scarce);
}

static void life_close(struct life *life)
{
	for (int i = 0; i < SIDES; i++)
		end_close(&life->end[i]);
	world_close(life->world);
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
	uint64_t held = scarce_held();
	struct life life;

	life_open(&life, course, trouble->seed);
	life.victim = trouble->victim;
	life.kill_at = trouble->kill_at;
	if (trouble->weather)
		trouble->weather(&life.world->weather);
	life_run(&life);
	life_close(&life);
	cr_assert_eq(scarce_held(), held, "%s: %d bytes are lost", course->name, (int)(scarce_held() - held));
	return life.steps;
}

/* --- tests --- */

/* The run of that course, cut there. Bytes of each direction. */
static void life_cut(const struct course *course, uint64_t seed, uint8_t dir, uint64_t at, uint64_t total[2])
{
	struct life life;

	life_open(&life, course, seed);
	life.world->weather.chunk_max = 50;
	if (at != UINT64_MAX)
		world_fault(life.world, FAULT_CUT, 0, dir, at);
	life_run(&life);
	for (uint8_t i = 0; total && i < 2; i++)
		total[i] = tap_find(life.world, 0, i)->offset;
	WORLD_CHECK(life.world, at == UINT64_MAX || life.world->fault[0].spent, "the cut did not happen");
	life_close(&life);
}

Test(sim_life, cut_at_every_byte)
{
	for (int i = 0; i < COURSES; i++) {
		uint64_t total[2];

		life_cut(&courses[i], 1100 + (uint64_t)i, 0, UINT64_MAX, total);
		for (uint8_t dir = 0; dir < 2; dir++)
			for (uint64_t at = 0; at <= total[dir]; at++)
				life_cut(&courses[i], 1100 + (uint64_t)i, dir, at, NULL);
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

/* A word for which the peer has no memory is refused, and its sender is told that it is done with it. */
Test(sim_life, where_memory_runs_out)
{
	struct trouble trouble = { .weather = scarce, .kill_at = UINT64_MAX };

	for (trouble.seed = 1400; trouble.seed < 1700; trouble.seed++)
		for (int i = 0; i < COURSES; i++)
			life_whole(&courses[i], &trouble);
}
