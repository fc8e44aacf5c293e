/* SPDX-License-Identifier: BSD-2-Clause */
/* receive_first_hostile.c - what a liar says to an endpoint that receives first: each breach of the protocol closes the connection
 * with a line that names the rule, and however a message ends, its receive ends once. */
#include <criterion/criterion.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/messages/srx.h"
#include "tests/sim/harness/words.h"

enum { SIZE = 256, INTAKES = 2 };

static const struct wire_message_fields plain;

static void segment(struct words *words, uint64_t seq, uint8_t flags, uint32_t payload, uint64_t rest,
		    const struct wire_message_fields *fields)
{
	seal(words, wire_put_rsend(here(words), flags, payload, seq, rest, fields), 0);
	add_payload(words, payload, WIRE_GOOD);
}

static void begin(struct words *words)
{
	segment(words, 1, WIRE_F_FIRST, 100, 200, &plain);
}

/* --- breaches --- */

static void goes_on_from_nothing(struct words *words)
{
	segment(words, 1, 0, 100, 100, &plain);
}

static void goes_on_behind_its_end(struct words *words)
{
	segment(words, 1, WIRE_F_FIRST, 100, 100, &plain);
	segment(words, 2, 0, 100, 100, &plain);
}

static void goes_on_behind_another(struct words *words)
{
	begin(words);
	seal(words, wire_put_read(here(words), 0, 2, at(words, 0), 64), 0);
	segment(words, 3, 0, 100, 100, &plain);
}

static void other_rest(struct words *words)
{
	begin(words);
	segment(words, 2, 0, 99, 99, &plain);
}

static void longer_than_it_began(struct words *words)
{
	begin(words);
	segment(words, 2, 0, 100, 101, &plain);
}

static void other_data(struct words *words)
{
	begin(words);
	segment(words, 2, WIRE_F_CQ_DATA, 100, 100, &(struct wire_message_fields){ .cq_data = 5 });
}

static void other_authorization(struct words *words)
{
	begin(words);
	segment(words, 2, 0, 100, 100, &(struct wire_message_fields){ .auth = 5 });
}

static void is_solicited_later(struct words *words)
{
	begin(words);
	segment(words, 2, WIRE_F_SOLICITED, 100, 100, &plain);
}

static void invalidates_later(struct words *words)
{
	begin(words);
	segment(words, 2, 0, 100, 100, &(struct wire_message_fields){ .invalidate = true });
}

static void goes_on_as_a_write(struct words *words)
{
	begin(words);
	seal(words, wire_put_write(here(words), 0, 100, 2, at(words, 0), 100, 0), 0);
	add_payload(words, 100, WIRE_GOOD);
}

static void write_goes_on_as_a_message(struct words *words)
{
	seal(words, wire_put_write(here(words), WIRE_F_FIRST, 100, 1, at(words, 0), 200, 0), 0);
	add_payload(words, 100, WIRE_GOOD);
	segment(words, 2, 0, 100, 100, &plain);
}

/* --- messages that end early --- */

static void begins_twice(struct words *words)
{
	begin(words);
	segment(words, 2, WIRE_F_FIRST, 100, 100, &plain);
}

static void another_request(struct words *words)
{
	begin(words);
	seal(words, wire_put_read(here(words), 0, 2, at(words, 0), 64), 0);
}

static void is_cancelled(struct words *words)
{
	seal(words, wire_put_rsend(here(words), WIRE_F_FIRST, 100, 1, 200, &plain), 0);
	add_payload(words, 100, WIRE_CANCELLED);
	segment(words, 2, 0, 100, 100, &plain);
	segment(words, 3, WIRE_F_FIRST, 100, 100, &plain);
}

static void is_too_long(struct words *words)
{
	segment(words, 1, WIRE_F_FIRST, 100, UINT64_MAX, &plain);
	segment(words, 2, 0, 100, UINT64_MAX - 100, &plain);
	segment(words, 3, WIRE_F_FIRST, 100, 100, &plain);
}

static void never_ends(struct words *words)
{
	begin(words);
}

static const struct lie {
	const char *name;
	void (*words)(struct words *words);
	const char *reason; /* NULL: no breach */
	uint32_t failed;    /* receives, before the session ends */
	uint32_t good;
} lies[] = {
	{ "goes_on_from_nothing", goes_on_from_nothing, "WIRE-56", 0, 0 },
	{ "goes_on_behind_its_end", goes_on_behind_its_end, "WIRE-56", 0, 1 },
	{ "goes_on_behind_another", goes_on_behind_another, "WIRE-56", 1, 0 },
	{ "other_rest", other_rest, "WIRE-41", 0, 0 },
	{ "longer_than_it_began", longer_than_it_began, "WIRE-41", 0, 0 },
	{ "other_data", other_data, "WIRE-41", 0, 0 },
	{ "other_authorization", other_authorization, "WIRE-41", 0, 0 },
	{ "is_solicited_later", is_solicited_later, "WIRE-41", 0, 0 },
	{ "invalidates_later", invalidates_later, "WIRE-41", 0, 0 },
	{ "goes_on_as_a_write", goes_on_as_a_write, "WIRE-56", 1, 0 },
	{ "write_goes_on_as_a_message", write_goes_on_as_a_message, "WIRE-56", 0, 0 },
	{ "begins_twice", begins_twice, NULL, 1, 1 },
	{ "another_request", another_request, NULL, 1, 0 },
	{ "is_cancelled", is_cancelled, NULL, 1, 1 },
	{ "is_too_long", is_too_long, NULL, 1, 1 },
	{ "never_ends", never_ends, NULL, 0, 0 },
};
enum { LIES = sizeof(lies) / sizeof(lies[0]) };

static bool is_closed(void *raw)
{
	uint8_t heard[1024];

	while (raw_recv(raw, heard, sizeof(heard)))
		;
	return raw_closed(raw);
}

static void read_all(struct party *victim, uint32_t *good, uint32_t *failed)
{
	struct completion done;
	struct cq_error error;

	while (cq_take_error(victim->rx, &error) == 1)
		++*failed;
	while (cq_take(victim->rx, &done, 1) == 1)
		++*good;
}

static void hear(const struct lie *lie, uint32_t chunk_max)
{
	const struct party_config config = { .rules = EP_RULE_RECEIVE_FIRST };
	uint8_t memory[INTAKES][SIZE];
	uint32_t good = 0, failed = 0, warns;
	struct words words;
	struct party *victim;
	struct wire_hello_fields fields;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 720, 2, NULL, &config);
	bed.world->weather.chunk_max = chunk_max;
	victim = bed.party[1];
	victim->deaf = true;
	words = (struct words){ .bed = &bed, .target = region_open(victim, 4096, 1, BED_BOTH, false, 0) };
	region_claim(words.target, 0, 4096);
	for (int i = 0; i < INTAKES; i++)
		cr_assert(!ep_recv(victim->ep, &(struct recv_post){ .iov = &(struct iovec){ memory[i], SIZE },
								    .iov_count = 1,
								    .flags = POST_COMPLETE,
								    .source = AV_NONE }));
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	lie->words(&words);
	warns = bed.node[1]->warns;
	raw = raw_dial(bed.world, party_port(victim));
	raw_send(raw, words.bytes, words.length);
	if (lie->reason)
		cr_assert(world_run(bed.world, is_closed, raw, SIM_SECOND), "%s", lie->name);
	else
		world_pass(bed.world, SIM_SECOND);
	cr_assert_eq(raw_closed(raw), lie->reason != NULL, "%s", lie->name);
	if (lie->reason)
		cr_assert(bed.node[1]->warns > warns && node_logged(bed.node[1], lie->reason), "%s", lie->name);
	read_all(victim, &good, &failed);
	cr_assert(good == lie->good && failed == lie->failed, "%s: %u and %u", lie->name, good, failed);
	raw_close(raw);
	world_pass(bed.world, 60 * SIM_SECOND); /* its session ends, and with it what it has begun */
	read_all(victim, &good, &failed);
	node_enter(bed.node[1]);
	while (!ep_cancel(victim->ep, NULL))
		;
	node_leave(bed.node[1]);
	read_all(victim, &good, &failed);
	cr_assert_eq(good + failed, INTAKES, "%s: %u and %u in the end", lie->name, good, failed);
	bed_close(&bed);
}

/* WIRE-36, WIRE-56, WIRE-147 */
Test(sim_receive_first_hostile, liars)
{
	for (int i = 0; i < LIES; i++)
		hear(&lies[i], 0);
}

Test(sim_receive_first_hostile, liars_in_small_pieces)
{
	for (int i = 0; i < LIES; i++)
		hear(&lies[i], 7);
}

/* WIRE-145 */
Test(sim_receive_first_hostile, to_an_endpoint_that_keeps_messages)
{
	struct wire_hello_fields fields;
	struct words words;
	struct bed bed;
	struct raw *raw;

	bed_open(&bed, 721, 2, NULL, NULL);
	words = (struct words){ .bed = &bed };
	fields = plain_hello(&words);
	say_hello(&words, &fields);
	begin(&words);
	raw = raw_dial(bed.world, party_port(bed.party[1]));
	raw_send(raw, words.bytes, words.length);
	cr_assert(world_run(bed.world, is_closed, raw, SIM_SECOND));
	cr_assert(node_logged(bed.node[1], "WIRE-145"));
	raw_close(raw);
	bed_close(&bed);
}
