/* SPDX-License-Identifier: BSD-2-Clause */
/* storm.c - one seed, one world. */
#include "tests/sim/harness/storm.h"

#include "tests/sim/harness/bed.h"

static bool often(struct rnd *rnd)
{
	return rnd_percent(rnd, 60);
}

/* The drawn number, held down by its bound; drawn[] has the most that there was. */
static uint64_t bound(struct storm *storm, enum storm_bound of, uint64_t drawn)
{
	uint64_t held = drawn < storm->most[of] ? drawn : storm->most[of];

	if (held > storm->drawn[of])
		storm->drawn[of] = held;
	return held;
}

static void draw_config(struct storm *storm, struct rnd *rnd, struct nic_config *config)
{
	static const uint32_t eager[] = { 0, 64, 1000, 65536 };

	*config = (struct nic_config){
		.digest = (enum nic_digest)rnd_below(rnd, 3),
		.eager = eager[rnd_below(rnd, 4)],
		.unexpected_bytes = often(rnd) ? 0 : 1 + rnd_below(rnd, 20000),
		.envelopes = often(rnd) ? 0 : 1 + rnd_below(rnd, 20),
	};
	if (storm->kind == STORM_HARSH)
		config->digest = NIC_DIGEST_FULL; /* else changed payload goes by unseen */
	if (!bound(storm, STORM_SMALL, config->unexpected_bytes || config->envelopes))
		config->unexpected_bytes = config->envelopes = 0;
}

static void draw_party(struct storm *storm, struct rnd *rnd, struct party_config *config)
{
	*config = (struct party_config){
		.order = (uint32_t)rnd_below(rnd, 8),
		.cq_size = often(rnd) ? 0 : 1 + (uint32_t)rnd_below(rnd, 40),
		.tx_size = often(rnd) ? 0 : 1 + (uint32_t)rnd_below(rnd, 60),
		.rx_size = often(rnd) ? 0 : 33 + (uint32_t)rnd_below(rnd, 60),
		.one_cq = !often(rnd),
	};
	if (!bound(storm, STORM_SMALL, config->cq_size || config->tx_size || config->rx_size))
		config->cq_size = config->tx_size = config->rx_size = 0;
}

static void draw_weather(struct storm *storm, struct rnd *rnd, struct weather *weather)
{
	*weather = (struct weather){
		.capacity = often(rnd) ? 65536 : 100 + (uint32_t)rnd_below(rnd, 5000),
		.chunk_max = often(rnd) ? 0 : 1 + (uint32_t)rnd_below(rnd, 3000),
		.delay_max_ns = rnd_below(rnd, 100000),
		.dial_max_ns = rnd_below(rnd, 1000000),
		.cut_mean = often(rnd) ? 0 : 500 + rnd_below(rnd, 100000),
		.cuts_left = (uint32_t)rnd_below(rnd, 40),
		.rough_efault = true,
	};
	weather->notes = bound(storm, STORM_NOTES, storm->seed % 2);
	if (!bound(storm, STORM_TIGHT, weather->capacity != 65536))
		weather->capacity = 65536;
	if (!bound(storm, STORM_CHOPS, weather->chunk_max != 0))
		weather->chunk_max = 0;
	weather->delay_max_ns = bound(storm, STORM_DELAY, weather->delay_max_ns);
	weather->dial_max_ns = bound(storm, STORM_DIAL, weather->dial_max_ns);
	weather->cuts_left = (uint32_t)bound(storm, STORM_CUTS, weather->cut_mean ? weather->cuts_left : 0);
	if (!weather->cuts_left)
		weather->cut_mean = 0;
}

/* NICs with one endpoint or, now and then, two. */
static void make_parties(struct storm *storm, struct bed *bed, struct rnd *rnd)
{
	int nodes = 1 + (int)rnd_below(rnd, 4), kept;

	*bed = (struct bed){ .world = world_open(rnd_next(rnd)) };
	bed->model = model_open(bed->world);
	bed->world->tapped = true;
	kept = (int)bound(storm, STORM_NODES, (uint64_t)nodes);
	for (int i = 0; i < nodes; i++) {
		struct nic_config nic;
		struct party_config party;
		bool twins, slow;

		draw_config(storm, rnd, &nic);
		if (storm->kind == STORM_PROVED) {
			nic.secret = "a secret of 16 B";
			nic.secret_length = 16;
		}
		draw_party(storm, rnd, &party);
		if (storm->kind == STORM_QUEUES)
			party.rules = EP_RULE_RECEIVE_FIRST | (storm->seed % 2 ? EP_RULE_DATA_RECEIVES : 0);
		twins = rnd_percent(rnd, 20) && bound(storm, STORM_TWINS, 1);
		if (i < kept)
			bed->node[i] = node_open(bed->world, &nic);
		for (int n = twins ? 2 : 1; n; n--) {
			slow = rnd_percent(rnd, 20) && bound(storm, STORM_SLOW, 1);
			if (i < kept)
				party_open(bed->model, bed->node[i], &party)->reads_slowly = slow;
		}
	}
	bed_meet(bed);
}

static void draw_load(struct storm *storm, struct rnd *rnd, struct workload *load)
{
	load->outstanding_max = (uint32_t)bound(storm, STORM_OPEN, 1 + rnd_below(rnd, 200));
	load->big_max = bound(storm, STORM_BIG, often(rnd) ? 60000 : 400000);
	load->churn_permille = (uint8_t)bound(storm, STORM_CHURN, often(rnd) ? 0 : rnd_below(rnd, 60));
	load->wrong_percent = (uint8_t)bound(storm, STORM_WRONG, load->wrong_percent);
	load->silent_percent = (uint8_t)bound(storm, STORM_SILENT, rnd_below(rnd, 50));
	load->sends = rnd_percent(rnd, 80);
	load->ring = often(rnd);
	load->rma = !load->sends || rnd_percent(rnd, 80);
	if (load->model->world->nodes > 2 && !often(rnd) && bound(storm, STORM_DEATHS, 1)) {
		load->victim = load->model->world->node[0];
		load->dies_at = rnd_below(rnd, load->ops_left);
	}
}

/* The additions of each kind to what all kinds have. */
static void draw_kind(struct storm *storm, struct rnd *rnd, struct workload *load)
{
	bool third = storm->seed % 3 == 0;
	bool durably = storm->kind == STORM_DURABLE || (third && (storm->kind == STORM_LIVES || storm->kind == STORM_ATOMICS));
	struct weather *weather = &load->model->world->weather;

	if (storm->kind == STORM_LIVES || (storm->kind == STORM_ATOMICS && storm->seed % 2))
		workload_lives(load);
	if (storm->kind == STORM_ATOMICS || (third && storm->kind == STORM_TAGGED))
		load->atomic_percent = (uint8_t)(1 + rnd_below(rnd, 99));
	if (storm->kind == STORM_TAGGED || (storm->kind == STORM_PROVED && storm->seed % 2 == 0)) {
		load->tag_percent = (uint8_t)(1 + rnd_below(rnd, 99));
		load->sends = true;
	}
	if (storm->kind == STORM_QUEUES) {
		load->sends = true;
		load->solicited_percent = 20;
	}
	if (durably) {
		load->commit_percent = (uint8_t)(1 + rnd_below(rnd, 90));
		weather->flush_max_ns = rnd_below(rnd, often(rnd) ? 100000 : 50000000);
		weather->flush_fail_percent = often(rnd) ? 0 : (uint8_t)rnd_below(rnd, 50);
	}
}

static void draw_harsh(struct storm *storm, struct rnd *rnd, struct workload *load)
{
	struct weather *weather = &load->model->world->weather;

	/* A session is given up after three breaches in a row. */
	weather->flips_left = (uint32_t)bound(storm, STORM_FLIPS, rnd_below(rnd, 3));
	weather->flip_mean = 500 + rnd_below(rnd, 100000);
	if (!weather->flips_left)
		weather->flip_mean = 0;
	weather->scarce_left = (uint32_t)bound(storm, STORM_SCARCE, often(rnd) ? 0 : 1 + rnd_below(rnd, 20));
	weather->scarce_permille = (uint16_t)(1 + rnd_below(rnd, 100));
	if (!weather->scarce_left)
		weather->scarce_permille = 0;
	else
		model_scarce(load->model);
	load->atomic_percent = (uint8_t)rnd_below(rnd, 50);
	load->tag_percent = often(rnd) ? 0 : (uint8_t)rnd_below(rnd, 50);
	load->returns = load->victim && often(rnd) && bound(storm, STORM_RETURNS, 1);
}

void storm_run(struct storm *storm)
{
	struct rnd rnd = { storm->seed };
	struct workload load;
	char line[STORM_LINE];
	struct bed bed;

	storm_print(storm, line);
	make_parties(storm, &bed, &rnd);
	bed.world->seed = storm->seed;
	bed.world->storm = line;
	draw_weather(storm, &rnd, &bed.world->weather);
	workload_init(&load, bed.model, bound(storm, STORM_OPS, 100 + rnd_below(&rnd, 400)));
	draw_load(storm, &rnd, &load);
	draw_kind(storm, &rnd, &load);
	if (storm->kind == STORM_HARSH)
		draw_harsh(storm, &rnd, &load);
	bed.model->counts_exact = !world_breaks(bed.world);
	workload_run(&load, 10 * BED_LIMIT_NS);
	storm->ops = bed.model->jobs;
	storm->cuts = bed.model->cuts;
	bed_close(&bed);
}
