/* SPDX-License-Identifier: BSD-2-Clause */
/* storm.c - one seed, one world. */
#include "tests/sim/storm.h"

#include "tests/sim/bed.h"

static bool often(struct rnd *rnd)
{
	return rnd_percent(rnd, 60);
}

static void draw_config(struct rnd *rnd, struct nic_config *config)
{
	static const uint32_t eager[] = { 0, 64, 1000, 65536 };

	*config = (struct nic_config){
		.digest = (enum nic_digest)rnd_below(rnd, 3), .eager = eager[rnd_below(rnd, 4)],
		.unexpected_bytes = often(rnd) ? 0 : 1 + rnd_below(rnd, 20000),
		.envelopes = often(rnd) ? 0 : 1 + rnd_below(rnd, 20),
	};
}

static void draw_party(struct rnd *rnd, struct party_config *config)
{
	*config = (struct party_config){
		.order = (uint32_t)rnd_below(rnd, 8), .cq_size = often(rnd) ? 0 : 1 + (uint32_t)rnd_below(rnd, 40),
		.tx_size = often(rnd) ? 0 : 1 + (uint32_t)rnd_below(rnd, 60),
		.rx_size = often(rnd) ? 0 : 33 + (uint32_t)rnd_below(rnd, 60), .one_cq = !often(rnd),
	};
}

static void draw_weather(struct rnd *rnd, struct weather *weather)
{
	*weather = (struct weather){
		.capacity = often(rnd) ? 65536 : 100 + (uint32_t)rnd_below(rnd, 5000),
		.chunk_max = often(rnd) ? 0 : 1 + (uint32_t)rnd_below(rnd, 3000),
		.delay_max_ns = rnd_below(rnd, 100000), .dial_max_ns = rnd_below(rnd, 1000000),
		.cut_mean = often(rnd) ? 0 : 500 + rnd_below(rnd, 100000), .cuts_left = (uint32_t)rnd_below(rnd, 40),
		.rough_efault = true,
	};
}

/* NICs with one endpoint or, now and then, two. */
static void make_parties(struct bed *bed, struct rnd *rnd, bool proofs)
{
	int nodes = 1 + (int)rnd_below(rnd, 4);

	*bed = (struct bed){ .world = world_open(rnd_next(rnd)) };
	bed->model = model_open(bed->world);
	bed->world->tapped = true;
	for (int i = 0; i < nodes; i++) {
		struct nic_config nic;
		struct party_config party;

		draw_config(rnd, &nic);
		if (proofs) {
			nic.secret = "a secret of 16 B";
			nic.secret_length = 16;
		}
		draw_party(rnd, &party);
		bed->node[i] = node_open(bed->world, &nic);
		for (int n = rnd_percent(rnd, 20) ? 2 : 1; n; n--)
			party_open(bed->model, bed->node[i], &party)->reads_slowly = rnd_percent(rnd, 20);
	}
	bed_meet(bed);
}

struct sorts {
	bool durably, lives, atomics, tags, proofs;
};

static void run(uint64_t seed, struct sorts sorts)
{
	struct rnd rnd = { seed };
	struct workload load;
	struct bed bed;

	make_parties(&bed, &rnd, sorts.proofs);
	bed.world->seed = seed;
	draw_weather(&rnd, &bed.world->weather);
	bed.model->counts_exact = !bed.world->weather.cut_mean;
	workload_init(&load, bed.model, 100 + rnd_below(&rnd, 400));
	load.outstanding_max = 1 + (uint32_t)rnd_below(&rnd, 200);
	load.big_max = often(&rnd) ? 60000 : 400000;
	load.churn_permille = often(&rnd) ? 0 : (uint8_t)rnd_below(&rnd, 60);
	load.silent_percent = (uint8_t)rnd_below(&rnd, 50);
	load.sends = rnd_percent(&rnd, 80);
	load.ring = often(&rnd);
	load.rma = !load.sends || rnd_percent(&rnd, 80);
	if (bed.world->nodes > 2 && !often(&rnd)) {
		load.victim = bed.world->node[0];
		load.dies_at = rnd_below(&rnd, load.ops_left);
	}
	if (sorts.lives)
		workload_lives(&load);
	if (sorts.atomics)
		load.atomic_percent = (uint8_t)(1 + rnd_below(&rnd, 99));
	if (sorts.tags) {
		load.tag_percent = (uint8_t)(1 + rnd_below(&rnd, 99));
		load.sends = true;
	}
	if (sorts.durably) {
		load.commit_percent = (uint8_t)(1 + rnd_below(&rnd, 90));
		bed.world->weather.flush_max_ns = rnd_below(&rnd, often(&rnd) ? 100000 : 50000000);
		bed.world->weather.flush_fail_percent = often(&rnd) ? 0 : (uint8_t)rnd_below(&rnd, 50);
	}
	workload_run(&load, 10 * BED_LIMIT_NS);
	bed_close(&bed);
}

void storm_run(uint64_t seed)
{
	run(seed, (struct sorts){ 0 });
}

void storm_run_durably(uint64_t seed)
{
	run(seed, (struct sorts){ .durably = true });
}

void storm_run_lives(uint64_t seed)
{
	run(seed, (struct sorts){ .durably = seed % 3 == 0, .lives = true });
}

void storm_run_atomics(uint64_t seed)
{
	run(seed, (struct sorts){ .durably = seed % 3 == 0, .lives = seed % 2, .atomics = true });
}

void storm_run_tagged(uint64_t seed)
{
	run(seed, (struct sorts){ .tags = true, .atomics = seed % 3 == 0 });
}

void storm_run_proved(uint64_t seed)
{
	run(seed, (struct sorts){ .proofs = true, .tags = seed % 2 == 0 });
}
