/* SPDX-License-Identifier: BSD-2-Clause */
/* pair.c - queue pairs find each other by number alone, and say what hardware would be silent about (WIRE-140 to WIRE-143). */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/device/ep.h"
#include "emu/nic/endpoint/pair.h"
#include "emu/nic/transport/session.h"
#include "tests/sim/harness/couple.h"
#include "tests/sim/harness/lines.h"

Test(sim_pair, talk)
{
	struct couple c;

	couple_open(&c, 900);
	couple_meet(&c);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	end_message(c.world, &c.qp[1], &c.qp[0], 70000);
	couple_close(&c);
}

/* WIRE-142. One side is not ready when the other calls: nothing is lost, and it is the late one that calls back. */
Test(sim_pair, late)
{
	struct couple c;

	couple_open(&c, 901);
	couple_rtr(&c, 0);
	couple_rts(&c, 0);
	node_enter(c.qp[0].node);
	session_want(c.qp[0].ep->cm.peer);
	node_leave(c.qp[0].node);
	world_pass(c.world, SIM_SECOND / 2);
	cr_assert(c.qp[1].ep->pairing->knocked);
	couple_rtr(&c, 1);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	couple_close(&c);
}

/* WIRE-140. Two of one listener, and one with itself. */
Test(sim_pair, loopback)
{
	struct couple c;
	struct end other;

	couple_open(&c, 902);
	end_open_pair(&other, &c.pairs[0]);
	cr_assert_neq(ep_qpn(other.ep), ep_qpn(c.qp[0].ep));
	end_pair(&c.qp[0], &other, PSN_B, MTU);
	end_pair_send(&c.qp[0], PSN_A);
	end_pair(&other, &c.qp[0], PSN_A, MTU);
	end_pair_send(&other, PSN_B);
	end_message(c.world, &c.qp[0], &other, 4096);
	end_message(c.world, &other, &c.qp[0], 4096);
	end_pair(&c.qp[1], &c.qp[1], PSN_A, MTU);
	end_pair_send(&c.qp[1], PSN_A);
	cr_assert_eq(end_try(c.world, &c.qp[1], 8), REFUSAL_UNKNOWN_KEY);
	end_close(&other);
	couple_close(&c);
}

/* All numbers of a listener are used, and then come again, the one that was given back first at the end. */
Test(sim_pair, numbers)
{
	static struct end more[255];
	struct couple c;
	uint32_t first;
	struct ep *none;
	int rc;

	couple_open(&c, 903);
	first = ep_qpn(c.qp[0].ep);
	for (size_t i = 0; i < 255; i++) {
		end_open_pair(&more[i], &c.pairs[0]);
		cr_assert_eq(ep_qpn(more[i].ep), (first & ~0xffu) | ((first + 1 + i) & 0xff));
	}
	node_enter(c.qp[0].node);
	rc = ep_open(c.qp[0].node->nic,
		     &(struct ep_attr){ .pd = c.qp[0].pd, .cm = c.qp[0].ep->attr.cm, .through = c.pairs[0].ep, .tag = AV_NONE },
		     &none);
	node_leave(c.qp[0].node);
	cr_assert_eq(rc, -EADDRINUSE);
	for (size_t i = 1; i < 255; i++)
		end_close(&more[i]);
	end_open_pair(&more[1], &c.pairs[0]);
	cr_assert_eq(ep_qpn(more[1].ep), (first & ~0xffu) | ((first + 2) & 0xff));
	end_close(&more[0]);
	end_close(&more[1]);
	couple_close(&c);
}

/* --- what hardware would be silent about --- */

Test(sim_pair, no_such_queue_pair)
{
	struct couple c;
	struct end gone;

	couple_open(&c, 910);
	end_open_pair(&gone, &c.pairs[1]);
	end_pair(&c.qp[0], &gone, PSN_B, MTU);
	end_pair_send(&c.qp[0], PSN_A);
	end_close(&gone);
	cr_assert_eq(end_try(c.world, &c.qp[0], 8), REFUSAL_UNREACHABLE);
	couple_close(&c);
}

Test(sim_pair, never_ready)
{
	struct couple c;

	couple_open(&c, 911);
	couple_rtr(&c, 0);
	couple_rts(&c, 0);
	cr_assert_eq(end_try(c.world, &c.qp[0], 8), REFUSAL_UNREACHABLE);
	couple_close(&c);
}

/* Each waits for the other to send. One that waits on purpose has a peer that may send. */
Test(sim_pair, both_wait)
{
	struct couple c;

	couple_open(&c, 913);
	for (int side = 0; side < 2; side++)
		couple_rtr(&c, side);
	world_pass(c.world, 20 * SIM_SECOND);
	for (int side = 0; side < 2; side++)
		cr_assert_eq(c.qp[side].told[CM_WAITS], 1);
	for (int side = 0; side < 2; side++)
		couple_rts(&c, side);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	couple_close(&c);
}

Test(sim_pair, one_waits)
{
	struct couple c;

	couple_open(&c, 914);
	couple_rtr(&c, 0);
	world_pass(c.world, 20 * SIM_SECOND); /* the other one is late, */
	couple_rtr(&c, 1);
	couple_rts(&c, 1); /* and may send, but has nothing to say */
	world_pass(c.world, 20 * SIM_SECOND);
	cr_assert_eq(c.qp[0].told[CM_WAITS] + c.qp[1].told[CM_WAITS], 0);
	end_message(c.world, &c.qp[1], &c.qp[0], 40);
	couple_close(&c);
}

Test(sim_pair, connected_with_another)
{
	struct couple c;
	struct end third;

	couple_open(&c, 912);
	end_open_pair(&third, &c.pairs[0]);
	couple_meet(&c);
	end_pair(&third, &c.qp[1], PSN_B, MTU);
	end_pair_send(&third, PSN_A);
	cr_assert_eq(end_try(c.world, &third, 8), REFUSAL_UNREACHABLE);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	end_close(&third);
	couple_close(&c);
}

/* WIRE-141, WIRE-143: the one direction alone. */
Test(sim_pair, packet_sequence_numbers_differ)
{
	struct couple c;

	couple_open(&c, 913);
	couple_meet(&c);
	end_pair_send(&c.qp[0], PSN_A + 1);
	cr_assert_eq(end_try(c.world, &c.qp[0], 8), REFUSAL_PSN);
	couple_close(&c);

	couple_open(&c, 914);
	couple_meet(&c);
	end_pair_send(&c.qp[0], PSN_A + 1);
	end_message(c.world, &c.qp[1], &c.qp[0], 40);
	cr_assert_eq(end_try(c.world, &c.qp[0], 8), REFUSAL_PSN);
	couple_close(&c);
}

Test(sim_pair, path_mtus_differ)
{
	struct couple c;

	couple_open(&c, 915);
	end_pair(&c.qp[0], &c.qp[1], PSN_B, 4096);
	end_pair_send(&c.qp[0], PSN_A);
	couple_rtr(&c, 1);
	couple_rts(&c, 1);
	end_message(c.world, &c.qp[0], &c.qp[1], MTU);
	end_message(c.world, &c.qp[1], &c.qp[0], 5000);
	cr_assert_eq(end_try(c.world, &c.qp[0], MTU + 1), REFUSAL_PATH_MTU);
	couple_close(&c);

	couple_open(&c, 916); /* known before they are connected */
	end_pair(&c.qp[0], &c.qp[1], PSN_B, 4096);
	end_pair_send(&c.qp[0], PSN_A);
	couple_rtr(&c, 1);
	cr_assert_eq(end_try(c.world, &c.qp[0], MTU + 1), REFUSAL_PATH_MTU);
	couple_close(&c);
}

static bool has_error(void *cq)
{
	struct cq_view view;

	cq_look(cq, &view);
	return view.errors;
}

/* Posted before the peers know each other: what is before the one that is too long is carried out. */
Test(sim_pair, path_mtu_bars_from_one_on)
{
	static uint8_t bytes[3][MTU + 1];
	struct iovec in = { bytes[2], 8 };
	struct completion c[2];
	struct cq_error error;
	struct couple pair;

	couple_open(&pair, 917);
	end_pair(&pair.qp[0], &pair.qp[1], PSN_B, 4096);
	end_pair_send(&pair.qp[0], PSN_A);
	couple_rtr(&pair, 1);
	cr_assert_eq(ep_recv(pair.qp[1].ep, &(struct recv_post){ .iov = &in, .iov_count = 1, .source = AV_NONE }), 0);
	for (size_t i = 0; i < 3; i++) {
		struct iovec out = { bytes[i % 2], i == 1 ? MTU + 1 : 8 };

		cr_assert_eq(ep_post(pair.qp[0].ep, &(struct post){ .kind = OP_SEND,
								    .flags = POST_COMPLETE,
								    .iov = &out,
								    .iov_count = 1,
								    .context = (void *)(i + 1) }),
			     0);
	}
	cr_assert(world_run(pair.world, has_error, pair.qp[0].cq, TIME_MS(60000)));
	cr_assert_eq(cq_take(pair.qp[0].cq, c, 2), 1);
	cr_assert_eq(c[0].context, (void *)1);
	cr_assert_eq(cq_take_error(pair.qp[0].cq, &error), 1);
	cr_assert(error.c.context == (void *)2 && error.prov_errno == REFUSAL_PATH_MTU);
	cr_assert(world_run(pair.world, has_error, pair.qp[0].cq, TIME_MS(60000)));
	cr_assert_eq(cq_take_error(pair.qp[0].cq, &error), 1);
	cr_assert(error.c.context == (void *)3 && error.prov_errno == REFUSAL_CANCELLED);
	couple_close(&pair);
}

/* An endpoint that is no queue pair, and one that is. */
Test(sim_pair, another_version)
{
	struct couple c;
	struct end plain;

	couple_open(&c, 917);
	end_open(&plain, c.world->node[0], false);
	end_connect(&plain, &c.pairs[1], "");
	end_await(c.world, &plain, CM_REFUSED);
	end_close(&plain);
	end_open(&plain, c.world->node[1], true);
	node_enter(c.qp[0].node);
	cr_assert_eq(ep_pair(c.qp[0].ep, &(struct ep_pair){ .own = c.qp[0].name,
							    .peer = plain.name,
							    .peer_qpn = (uint32_t)address_port(&plain.name) << 8,
							    .path_mtu = MTU }),
		     0);
	ep_pair_send(c.qp[0].ep, PSN_A);
	node_leave(c.qp[0].node);
	cr_assert_eq(end_try(c.world, &c.qp[0], 8), REFUSAL_PROTOCOL);
	end_close(&plain);
	couple_close(&c);
}

/* --- a port that is down --- */

static void have_port(struct couple *c, int side, bool unplugged)
{
	node_enter(c->qp[side].node);
	nic_unplug(c->qp[side].node->nic, unplugged);
	node_leave(c->qp[side].node);
}

/* Side 1's port, while side 0 writes: for as long, of a budget of 15 s. */
static enum refusal_cause unplugged_for(uint64_t seed, uint64_t down_ns)
{
	enum refusal_cause cause;
	struct couple c;

	couple_open(&c, seed);
	couple_meet(&c);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	have_port(&c, 1, true);
	memset(c.memory[0], 7, 8);
	cr_assert_eq(couple_post(&c, 0, OP_WRITE, 8, 8, 1), 0);
	world_pass(c.world, down_ns);
	WORLD_CHECK(c.world, c.memory[1][8] == 0, "a write has passed");
	have_port(&c, 1, false);
	WORLD_CHECK(c.world, couple_next(&c, 0, &cause) == 1, "another op");
	WORLD_CHECK(c.world, (c.memory[1][8] == 7) == (cause == REFUSAL_NONE), "not what was told");
	couple_close(&c);
	return cause;
}

Test(sim_pair, unplugged_for_a_while)
{
	for (uint64_t seed = 1000; seed < 1030; seed++)
		cr_assert_eq(unplugged_for(seed, 10 * SIM_SECOND), REFUSAL_NONE);
}

Test(sim_pair, unplugged_for_too_long)
{
	for (uint64_t seed = 1030; seed < 1040; seed++)
		cr_assert_eq(unplugged_for(seed, 20 * SIM_SECOND), REFUSAL_UNREACHABLE);
}

/* Both ends of its own, and an hour in which nobody asks for anything. */
Test(sim_pair, unplugged_and_idle)
{
	struct couple c;

	couple_open(&c, 1040);
	have_port(&c, 0, true);
	couple_meet(&c);
	world_pass(c.world, 3600 * SIM_SECOND);
	have_port(&c, 0, false);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	have_port(&c, 1, true);
	world_pass(c.world, 3600 * SIM_SECOND);
	have_port(&c, 1, false);
	end_message(c.world, &c.qp[1], &c.qp[0], 40);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	couple_close(&c);
}

/* One that was reset meanwhile is not met when the port is up again. */
Test(sim_pair, reset_while_unplugged)
{
	struct couple c;

	couple_open(&c, 1042);
	couple_meet(&c);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	have_port(&c, 0, true);
	for (int side = 0; side < 2; side++) {
		node_enter(c.qp[side].node);
		ep_reset(c.qp[side].ep);
		node_leave(c.qp[side].node);
	}
	have_port(&c, 0, false);
	couple_meet(&c);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	couple_close(&c);
}

/* The side that answers has a shorter budget than the one that asks: it is not what counts. */
Test(sim_pair, unplugged_beyond_the_peers_budget)
{
	enum refusal_cause cause;
	struct couple c;

	couple_open(&c, 1041);
	couple_meet(&c);
	end_message(c.world, &c.qp[0], &c.qp[1], 40);
	node_enter(c.qp[1].node);
	ep_set_timing(c.qp[1].ep, &(struct ep_timing){ .budget_ns = SIM_SECOND });
	node_leave(c.qp[1].node);
	have_port(&c, 1, true);
	cr_assert_eq(couple_post(&c, 0, OP_WRITE, 8, 8, 1), 0);
	world_pass(c.world, 10 * SIM_SECOND);
	have_port(&c, 1, false);
	WORLD_CHECK(c.world, couple_next(&c, 0, &cause) == 1 && cause == REFUSAL_NONE, "it has failed");
	couple_close(&c);
}

/* --- cuts --- */

static void script(struct couple *c)
{
	couple_meet(c);
	end_message(c->world, &c->qp[0], &c->qp[1], 40);
	end_message(c->world, &c->qp[1], &c->qp[0], 30);
}

Test(sim_pair, cut_at_every_byte)
{
	couple_cut_everywhere(script, 920, 50);
}

Test(sim_pair, in_bad_weather)
{
	for (uint64_t seed = 930; seed < 1000; seed++) {
		struct couple c;

		couple_open(&c, seed);
		c.world->weather.cut_mean = 300;
		c.world->weather.cuts_left = 12;
		c.world->weather.chunk_max = 30;
		script(&c);
		couple_close(&c);
	}
}
