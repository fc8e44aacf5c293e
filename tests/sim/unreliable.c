/* SPDX-License-Identifier: BSD-2-Clause */
/* unreliable.c - queue pairs that lose what they do not execute (EP_RULE_UNRELIABLE, WIRE-160 to WIRE-163): nothing is told of it
 * but in counts and the log, nothing comes twice, and neither side ends for it. */
#include <criterion/criterion.h>
#include <string.h>

#include "emu/nic/device/ep.h"
#include "emu/nic/device/nic_impl.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/faults/fault_plan.h"
#include "emu/nic/messages/srx.h"
#include "tests/sim/harness/couple.h"
#include "tests/sim/harness/lines.h"

enum { RELIABLE = EP_RULE_RECEIVE_FIRST | EP_RULE_DATA_RECEIVES, UNRELIABLE = RELIABLE | EP_RULE_UNRELIABLE, LONG = 200 << 10 };

static const uint32_t both[2] = { UNRELIABLE, UNRELIABLE };

static void open_both(struct couple *c, uint64_t seed)
{
	couple_open_ruled(c, seed, both, NULL);
}

static void post(struct couple *c, enum op_kind kind, uint64_t addr, size_t length, uintptr_t context)
{
	int rc = couple_post(c, 0, kind, addr, length, context);

	WORLD_CHECK(c->world, !rc, "op %lu was not taken: %d", (unsigned long)context, rc);
}

static void receive(struct couple *c, size_t length, uintptr_t context)
{
	WORLD_CHECK(c->world, !couple_receive(c, 1, length, context), "receive %lu was not taken", (unsigned long)context);
}

static void ends(struct couple *c, int side, uintptr_t context, enum refusal_cause wanted)
{
	enum refusal_cause cause;
	uintptr_t seen = couple_next(c, side, &cause);

	WORLD_CHECK(c->world, seen == context && cause == wanted, "op %lu (cause %d) came, and not %lu (cause %d)",
		    (unsigned long)seen, cause, (unsigned long)context, wanted);
}

/* Both go on: a message of each size gets through, and nothing else comes. */
static void check_alive(struct couple *c)
{
	static const size_t lengths[] = { 8, LONG };

	for (int i = 0; i < 2; i++) {
		receive(c, LONG, 900);
		memset(c->memory[0], 0x5a + i, LONG);
		post(c, OP_SEND, 0, lengths[i], 901);
		ends(c, 0, 901, REFUSAL_NONE);
		ends(c, 1, 900, REFUSAL_NONE);
		WORLD_CHECK(c->world, !memcmp(c->memory[0], c->memory[1], lengths[i]), "other bytes came");
	}
	for (int side = 0; side < 2; side++) {
		couple_nothing(c, side);
		WORLD_CHECK(c->world, !c->qp[side].told[CM_HALTED], "side %d is in error", side);
	}
	WORLD_CHECK(c->world, !tap_count(c->world, TAP_RNR) && !tap_count(c->world, TAP_NAK), "something was answered");
}

static uint64_t lost_there(const struct couple *c, enum refusal_cause cause)
{
	return c->qp[1].node->nic->counts.refused[cause];
}

static uint64_t lost_here(const struct couple *c, enum refusal_cause cause)
{
	return c->qp[0].node->nic->counts.lost[cause];
}

/* WIRE-161 */
Test(sim_unreliable, no_receive_is_posted)
{
	struct couple c;

	open_both(&c, 1900);
	couple_meet(&c);
	post(&c, OP_SEND, 0, 8, 1);
	post(&c, OP_SEND, 0, LONG, 2);
	ends(&c, 0, 1, REFUSAL_NONE);
	ends(&c, 0, 2, REFUSAL_NONE);
	cr_assert_eq(lost_there(&c, REFUSAL_NO_RECEIVE), 2);
	check_alive(&c);
	couple_close(&c);
}

/* A write whose data would take a receive: none of it is placed. */
Test(sim_unreliable, data_without_a_receive)
{
	struct iovec here;
	struct remote there;
	struct couple c;

	open_both(&c, 1901);
	couple_meet(&c);
	memset(c.memory[0], 7, LONG);
	here = (struct iovec){ c.memory[0], LONG };
	there = (struct remote){ .length = LONG, .key = c.key[1] };
	cr_assert(!ep_post(c.qp[0].ep, &(struct post){ .kind = OP_WRITE,
						       .flags = POST_COMPLETE | POST_CQ_DATA,
						       .iov = &here,
						       .iov_count = 1,
						       .remote = &there,
						       .remote_count = 1,
						       .context = (void *)1 }));
	ends(&c, 0, 1, REFUSAL_NONE);
	cr_assert_eq(c.memory[1][0], 0);
	cr_assert_eq(lost_there(&c, REFUSAL_NO_RECEIVE), 1);
	check_alive(&c);
	couple_close(&c);
}

Test(sim_unreliable, refused_by_the_region)
{
	struct couple c;

	open_both(&c, 1902);
	couple_meet(&c);
	memset(c.memory[0], 7, LONG);
	post(&c, OP_WRITE, COUPLE_SPAN - 4, 8, 1);
	post(&c, OP_WRITE, 8, 8, 2);
	post(&c, OP_WRITE, COUPLE_SPAN - 4, LONG, 3);
	for (uintptr_t i = 1; i <= 3; i++)
		ends(&c, 0, i, REFUSAL_NONE);
	cr_assert_eq(c.memory[1][COUPLE_SPAN - 4], 0);
	cr_assert_eq(c.memory[1][8], 7);
	cr_assert_eq(lost_there(&c, REFUSAL_RANGE), 2);
	check_alive(&c);
	couple_close(&c);
}

/* Its receive takes the next one. */
Test(sim_unreliable, longer_than_its_receive)
{
	static const size_t lengths[] = { 101, LONG };

	for (int i = 0; i < 2; i++) {
		struct couple c;

		open_both(&c, 1903);
		couple_meet(&c);
		receive(&c, 100, 50);
		post(&c, OP_SEND, 0, lengths[i], 1);
		post(&c, OP_SEND, 0, 8, 2);
		ends(&c, 0, 1, REFUSAL_NONE);
		ends(&c, 0, 2, REFUSAL_NONE);
		ends(&c, 1, 50, REFUSAL_NONE);
		cr_assert_eq(lost_there(&c, REFUSAL_TOO_LONG), 1);
		check_alive(&c);
		couple_close(&c);
	}
}

/* WIRE-162. Nobody is there, or not ready: all is lost at once, and what is posted later is not. */
Test(sim_unreliable, nobody_listens)
{
	struct couple c;
	uint64_t before_ns;

	open_both(&c, 1904);
	couple_rtr(&c, 0);
	couple_rts(&c, 0);
	before_ns = c.world->now_ns;
	post(&c, OP_SEND, 0, 8, 1);
	post(&c, OP_WRITE, 0, LONG, 2);
	ends(&c, 0, 1, REFUSAL_NONE);
	ends(&c, 0, 2, REFUSAL_NONE);
	cr_assert_lt(c.world->now_ns - before_ns, SIM_SECOND);
	cr_assert_eq(lost_here(&c, REFUSAL_PEER_GONE), 2);
	couple_rtr(&c, 1);
	couple_rts(&c, 1);
	check_alive(&c);
	couple_end(&c, 1);
	end_close(&c.pairs[1]);
	post(&c, OP_SEND, 0, 8, 3);
	ends(&c, 0, 3, REFUSAL_NONE);
	cr_assert_gt(lost_here(&c, REFUSAL_PEER_GONE), 2);
	couple_close(&c);
}

/* WIRE-163 */
Test(sim_unreliable, packet_sequence_numbers_do_not_matter)
{
	struct couple c;

	open_both(&c, 1905);
	couple_meet(&c);
	end_pair_send(&c.qp[0], PSN_A + 1);
	check_alive(&c);
	couple_close(&c);
}

/* WIRE-160. The reliable one's retries run out, the other's requests are lost. */
Test(sim_unreliable, types_differ)
{
	for (int side = 0; side < 2; side++) {
		uint32_t rules[2] = { RELIABLE, RELIABLE };
		struct couple c;

		rules[side] = UNRELIABLE;
		couple_open_ruled(&c, 1906, rules, NULL);
		couple_meet(&c);
		receive(&c, 8, 50);
		post(&c, OP_SEND, 0, 8, 1);
		ends(&c, 0, 1, side ? REFUSAL_UNREACHABLE : REFUSAL_NONE);
		cr_assert_eq(lost_here(&c, REFUSAL_PEER_GONE), !side);
		couple_nothing(&c, 1);
		couple_close(&c);
	}
}

/* The same, of a peer that does not mind: its answer says so. The type of this side changes while the answer is on its way. */
Test(sim_unreliable, the_answer_has_another_type)
{
	for (unsigned int loses = 0; loses < 2; loses++) {
		const uint32_t rules[2] = { loses ? RELIABLE : UNRELIABLE, loses ? RELIABLE : UNRELIABLE };
		struct couple c;

		couple_open_ruled(&c, 1918, rules, NULL);
		couple_meet(&c);
		post(&c, OP_SEND, 0, 8, 1);
		while (tap_count(c.world, TAP_HELLO) < 2)
			cr_assert(world_step(c.world));
		c.qp[0].ep->attr.rules = loses ? UNRELIABLE : RELIABLE;
		ends(&c, 0, 1, loses ? REFUSAL_NONE : REFUSAL_UNREACHABLE);
		cr_assert_eq(lost_here(&c, REFUSAL_PEER_GONE), loses);
		couple_close(&c);
	}
}

/* Its own ops stop; the receives, and the peer, do not know of it. */
Test(sim_unreliable, a_failure_of_its_own)
{
	struct post bad = { .kind = OP_SEND, .flags = POST_COMPLETE, .context = (void *)2, .refused = REFUSAL_SOURCE_FAULT };
	struct couple c;

	open_both(&c, 1907);
	couple_meet(&c);
	receive(&c, 8, 50);
	cr_assert(!couple_receive(&c, 0, 8, 60));
	post(&c, OP_SEND, 0, 8, 1);
	cr_assert(!ep_post(c.qp[0].ep, &bad));
	post(&c, OP_SEND, 0, 8, 3);
	ends(&c, 0, 1, REFUSAL_NONE);
	ends(&c, 0, 2, REFUSAL_SOURCE_FAULT);
	ends(&c, 0, 3, REFUSAL_CANCELLED);
	cr_assert_eq(c.qp[0].told[CM_STOPPED], 1);
	post(&c, OP_SEND, 0, 8, 4);
	ends(&c, 0, 4, REFUSAL_CANCELLED);
	ends(&c, 1, 50, REFUSAL_NONE);
	cr_assert(!couple_post(&c, 1, OP_SEND, 0, 8, 51));
	ends(&c, 1, 51, REFUSAL_NONE);
	ends(&c, 0, 60, REFUSAL_NONE);
	node_enter(c.qp[0].node);
	ep_go_on(c.qp[0].ep);
	node_leave(c.qp[0].node);
	check_alive(&c);
	couple_close(&c);
}

/* It leaves no completion, and its receive waits for another. */
static void lost_in_its_middle(void (*leave)(struct ep *ep))
{
	struct couple c;

	open_both(&c, 1908);
	c.world->weather.chunk_max = 5000;
	couple_meet(&c);
	receive(&c, LONG, 50);
	memset(c.memory[0], 7, LONG);
	post(&c, OP_SEND, 0, LONG, 1);
	while (!c.memory[1][0])
		world_step(c.world);
	WORLD_CHECK(c.world, c.memory[1][LONG - 1] != 7, "it is through");
	node_enter(c.qp[0].node);
	leave(c.qp[0].ep);
	node_leave(c.qp[0].node);
	couple_nothing(&c, 1);
	node_enter(c.qp[1].node);
	ep_halt(c.qp[1].ep);
	node_leave(c.qp[1].node);
	ends(&c, 1, 50, REFUSAL_CANCELLED);
	couple_close(&c);
}

Test(sim_unreliable, lost_in_its_middle)
{
	lost_in_its_middle(ep_reset);
	lost_in_its_middle(ep_halt);
}

static void cut_script(struct couple *c)
{
	couple_meet(c);
	memset(c->memory[0], 7, LONG);
	post(c, OP_SEND, 0, 8, 1); /* is lost */
	ends(c, 0, 1, REFUSAL_NONE);
	receive(c, 100, 50);
	receive(c, LONG, 51);
	post(c, OP_SEND, 0, LONG, 2); /* likewise */
	post(c, OP_SEND, 0, 8, 3);
	post(c, OP_SEND, 0, LONG, 4);
	post(c, OP_WRITE, COUPLE_SPAN - 4, 8, 5); /* likewise */
	post(c, OP_WRITE, LONG, 8, 6);
	for (uintptr_t i = 2; i <= 6; i++)
		ends(c, 0, i, REFUSAL_NONE);
	ends(c, 1, 50, REFUSAL_NONE);
	ends(c, 1, 51, REFUSAL_NONE);
	WORLD_CHECK(c->world, c->memory[1][LONG] == 7 && !c->memory[1][COUPLE_SPAN - 4], "not what was to be there");
	for (int side = 0; side < 2; side++)
		couple_nothing(c, side);
	WORLD_CHECK(c->world, lost_there(c, REFUSAL_NO_RECEIVE) == 1 && lost_there(c, REFUSAL_TOO_LONG) == 1, "lost otherwise");
}

/* What the target has executed, or lost, is not sent again, and what it has not is. */
Test(sim_unreliable, cut_at_every_byte)
{
	uint64_t total[2];
	struct couple c;

	open_both(&c, 1909);
	cut_script(&c);
	for (uint8_t dir = 0; dir < 2; dir++)
		total[dir] = tap_find(c.world, 0, dir)->offset;
	couple_close(&c);
	for (uint8_t dir = 0; dir < 2; dir++)
		for (uint64_t at = 0; at < total[dir]; at += at < 2000 || at + 2000 > total[dir] ? 1 : 1009) {
			open_both(&c, 1909);
			world_fault(c.world, FAULT_CUT, 0, dir, at);
			cut_script(&c);
			couple_close(&c);
		}
}

/* --- fault plans --- */

static struct fault_rule one(enum fault_sort sort)
{
	return (struct fault_rule){
		.sort = sort, .kinds = FAULT_ALL_KINDS, .first = 2, .every = 1, .most = 1, .chance = FAULT_CERTAIN, .times = 1
	};
}

Test(sim_unreliable, lost_by_a_plan)
{
	struct fault_plan plan = { .rules = 1, .rule = { one(PLAN_LOSE) } };
	struct couple c;

	couple_open_ruled(&c, 1910, both, &plan);
	couple_meet(&c);
	for (uintptr_t i = 1; i <= 3; i++) {
		receive(&c, 8, 49 + i);
		memset(c.memory[0], (int)i, 8);
		post(&c, OP_SEND, 0, 8, i);
		ends(&c, 0, i, REFUSAL_NONE);
	}
	ends(&c, 1, 50, REFUSAL_NONE);
	ends(&c, 1, 51, REFUSAL_NONE);
	cr_assert_eq(c.memory[1][0], 3);
	cr_assert_eq(lost_here(&c, REFUSAL_LOST), 1);
	couple_nothing(&c, 1);
	couple_close(&c);
}

/* Of the target's: a message that finds no receive, though there is one; and one that is refused. */
Test(sim_unreliable, not_ready_or_refused_by_a_plan)
{
	static const enum fault_sort sorts[] = { PLAN_RNR, PLAN_REFUSE };

	for (int i = 0; i < 2; i++) {
		struct fault_plan plan = { .rules = 1, .rule = { one(sorts[i]) } };
		struct couple c;

		plan.rule[0].cause = REFUSAL_CAPABILITY;
		couple_open_ruled(&c, 1911, both, &plan);
		couple_meet(&c);
		for (uintptr_t k = 1; k <= 3; k++) {
			cr_assert(!couple_receive(&c, 0, 8, 49 + k));
			cr_assert(!couple_post(&c, 1, OP_SEND, 0, 8, k));
			ends(&c, 1, k, REFUSAL_NONE);
		}
		ends(&c, 0, 50, REFUSAL_NONE);
		ends(&c, 0, 51, REFUSAL_NONE);
		couple_nothing(&c, 0);
		cr_assert_eq(c.qp[0].node->nic->counts.refused[i ? REFUSAL_CAPABILITY : REFUSAL_NO_RECEIVE], 1);
		couple_close(&c);
	}
}

/* On queue pairs that lose nothing it is no fault. */
Test(sim_unreliable, a_plan_of_losses_and_a_reliable_pair)
{
	static const uint32_t rules[2] = { RELIABLE, RELIABLE };
	struct fault_plan plan = { .rules = 1, .rule = { one(PLAN_LOSE) } };
	struct couple c;

	couple_open_ruled(&c, 1912, rules, &plan);
	couple_meet(&c);
	for (uintptr_t i = 1; i <= 3; i++) {
		receive(&c, 8, 49 + i);
		post(&c, OP_SEND, 0, 8, i);
		ends(&c, 0, i, REFUSAL_NONE);
		ends(&c, 1, 49 + i, REFUSAL_NONE);
	}
	couple_close(&c);
}
