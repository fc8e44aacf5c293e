/* SPDX-License-Identifier: BSD-2-Clause */
/* main.c - the bench: one pair of processes, every candidate open at once, blocks alternating between them.
 * The initiator is the process that was started; the target is its child, forked before libfabric is touched. */
#include <err.h>
#include <getopt.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "far.h"
#include "judge.h"
#include "peer.h"
#include "report.h"

/* Payload digests have a figure for large ops alone. */
enum { DIGEST_SIZE_MIN = 1 << 20 };

/* By world, then by candidate. */
enum { FARS = WORLDS + CANDIDATES_MAX };
static struct far fars[FARS];

struct options {
	const char *providers, *only, *tsv;
	unsigned blocks, block_ms, cores;
	bool named; /* the providers were asked for by name: a missing one is a failure */
	bool tiny, one_core, sweep, usable;
};

static void usage(FILE *out)
{
	fputs("usage: emu-bench [--providers LIST] [--only NAME] [--blocks N] [--block-ms N] [--tsv FILE] [--one-core]\n"
	      "                 [--sweep size|window] [--tiny]\n"
	      "  --providers  libfabric providers, by commas (emu,tcp,sockets,sockets:manual); plain TCP is\n"
	      "               always the floor; NAME:auto and NAME:manual ask for that progress; emu:full has\n"
	      "               FI_EMU_DIGEST=full, in two processes of its own; shm wants a run without emu, which is\n"
	      "               slower in a process that has opened it\n"
	      "  --only       benchmarks whose name contains NAME\n"
	      "  --blocks     blocks a benchmark and candidate (120), each of --block-ms milliseconds (10)\n"
	      "  --tsv        write the figures to FILE, too\n"
	      "  --one-core   both processes on the same core\n"
	      "  --sweep      reads of 1 B to 64 MiB, or 1 to 1024 ops outstanding, in place of the benchmarks\n"
	      "  --tiny       two blocks of 1 ms: shows that everything works and that the bytes are right\n",
	      out);
}

static unsigned positive(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || n == 0 || n > 1000000)
		errx(2, "not a sensible number: %s", text);
	return (unsigned)n;
}

enum { PROVIDERS, ONLY, BLOCKS, BLOCK_MS, TSV, ONE_CORE, SWEEP, TINY, HELP };
static const struct option longs[] = {
	{ "providers", required_argument, NULL, PROVIDERS },
	{ "only", required_argument, NULL, ONLY },
	{ "blocks", required_argument, NULL, BLOCKS },
	{ "block-ms", required_argument, NULL, BLOCK_MS },
	{ "tsv", required_argument, NULL, TSV },
	{ "tiny", no_argument, NULL, TINY },
	{ "sweep", required_argument, NULL, SWEEP },
	{ "one-core", no_argument, NULL, ONE_CORE },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

static struct options parse(int argc, char **argv)
{
	struct options o = { .providers = "emu,tcp,sockets,sockets:manual",
			     .only = "",
			     .blocks = 120,
			     .block_ms = 10,
			     .cores = host_cores(),
			     .usable = true };
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (opt) {
		case PROVIDERS:
			o.providers = optarg;
			o.named = true;
			break;
		case ONLY:
			o.only = optarg;
			break;
		case BLOCKS:
			o.blocks = positive(optarg);
			break;
		case BLOCK_MS:
			o.block_ms = positive(optarg);
			break;
		case TSV:
			o.tsv = optarg;
			break;
		case SWEEP:
			o.sweep = true;
			o.usable = benches_sweep(optarg);
			break;
		case ONE_CORE:
			o.one_core = true;
			break;
		case TINY:
			o.tiny = true;
			o.blocks = 2;
			o.block_ms = 1;
			break;
		default:
			usage(opt == HELP ? stdout : stderr);
			exit(opt == HELP ? 0 : 2);
		}
	}
	if (optind != argc || !o.usable) {
		usage(stderr);
		exit(2);
	}
	return o;
}

/* libfabric is to load what the bench compares, whatever FI_PROVIDER said, and nothing else: a provider that nobody
 * asked for may start threads. */
static void select_providers(const struct candidate *cands, unsigned count)
{
	char list[CANDIDATES_MAX * sizeof(cands[0].name)] = "";

	for (unsigned i = 1; i < count; i++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%.*s", used ? "," : "", (int)strcspn(cands[i].name, ":"),
			 cands[i].name);
	}
	if (setenv("FI_PROVIDER", list, 1))
		err(1, "FI_PROVIDER");
}

static unsigned list_candidates(const char *providers, struct candidate cands[CANDIDATES_MAX])
{
	char *list = strdup(providers), *rest = list, *name;
	unsigned count = 1;

	if (!list)
		err(1, "memory");
	snprintf(cands[0].name, sizeof(cands[0].name), "raw TCP");
	while ((name = strsep(&rest, ","))) {
		if (count == CANDIDATES_MAX || strlen(name) >= sizeof(cands[0].name))
			errx(2, "too many providers, or too long a name: %s", name);
		snprintf(cands[count].name, sizeof(cands[0].name), "%s", name);
		cands[count++].elsewhere = !strcmp(name + strcspn(name, ":"), ":full");
	}
	free(list);
	return count;
}

/* A new order each round, or the same candidate would always follow the same other. */
static void shuffle(unsigned *order, unsigned count, uint64_t seed)
{
	for (unsigned i = 0; i < count; i++)
		order[i] = i;
	for (unsigned i = count - 1; i > 0; i--) {
		unsigned j = (unsigned)(pattern_word(seed, i) % (i + 1)), kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

static int measure_one(struct pair *pair, struct samples *s, unsigned bench, unsigned cand, unsigned round)
{
	const struct role *role = pair->cands[cand].raw ? &benches[bench].raw : &benches[bench].fabric;
	bool *starved = samples_starved(s, bench, cand);
	uint64_t seed = pattern_word((uint64_t)bench << 32 | cand, round), link[2];
	struct outcome out;
	int rc;

	if (pair->cands[cand].state != CANDIDATE_OPEN || !role->run || *starved)
		return 0;
	if (pair->cands[cand].elsewhere) {
		if (benches[bench].size < DIGEST_SIZE_MIN || benches[bench].world != WORLD_USUAL || !benches[bench].fabric.serve)
			return 0;
		rc = far_measure(&fars[WORLDS + cand], bench, cand, seed, &out);
	} else if (benches[bench].world != WORLD_USUAL) {
		rc = far_measure(&fars[benches[bench].world], bench, cand, seed, &out);
	} else {
		rc = pair_measure(pair, bench, cand, seed, &out);
	}
	if (rc)
		return rc;
	*starved = out.starved;
	memcpy(s->why[bench * CANDIDATES_MAX + cand], out.why, sizeof(out.why));
	if (out.starved || !out.ops)
		return 0;
	samples_at(s, bench, cand)[round] = out.ns_per_op;
	link[0] = s->hash;
	link[1] = out.bytes_hash;
	s->hash = XXH3_64bits(link, sizeof(link));
	s->waited[bench * CANDIDATES_MAX + cand][0] += out.served_waited;
	s->waited[bench * CANDIDATES_MAX + cand][1] += out.own_waited;
	s->ops += out.ops;
	s->proved++;
	return 0;
}

/* Rounds go over all benchmarks, so that what is compared across benchmarks has met the same machine, too. */
static int measure_all(struct pair *pair, struct samples *s)
{
	unsigned order[CANDIDATES_MAX];

	for (unsigned i = 1; i < pair->count; i++)
		if (pair->cands[i].state == CANDIDATE_OPEN && !pair->cands[i].elsewhere && pair_greet(pair, i))
			return 1;
	for (unsigned round = 0; round < s->blocks; round++) {
		for (unsigned bench = 0; bench < benches_count; bench++) {
			if (!bench_chosen(&benches[bench], pair->only))
				continue;
			shuffle(order, pair->count, (uint64_t)bench << 32 | round);
			for (unsigned i = 0; i < pair->count; i++)
				if (measure_one(pair, s, bench, order[i], round))
					return 1;
		}
	}
	return 0;
}

/* How many candidates besides the floor are there; says which are not. */
static unsigned count_open(const struct pair *pair)
{
	unsigned open = 0;

	for (unsigned i = 1; i < pair->count; i++) {
		if (pair->cands[i].state == CANDIDATE_OPEN)
			open++;
		else
			printf("%s is not here: %s\n", pair->cands[i].name, pair->cands[i].why);
	}
	return open;
}

/* line_ns: host_line_ns() before the blocks. */
static int report(const struct options *o, const struct pair *pair, const struct samples *s, unsigned line_ns)
{
	FILE *tsv;

	printf("%u blocks of %u ms a cell, libfabric %u.%u, each process pinned to a core%s\n", o->blocks, o->block_ms,
	       FI_MAJOR(fi_version()), FI_MINOR(fi_version()),
	       o->one_core    ? ", and both to the same one"
	       : o->cores < 2 ? ", and both to the same one: no figure here means anything"
			      : "");
	printf("a cache line takes %u ns from core to core (%u before the blocks)\n", host_line_ns(), line_ns);
	report_table(stdout, s, pair->cands, pair->count);
	printf("work %016llx (%llu ops, the bytes of all %llu blocks compared)\n", (unsigned long long)s->hash,
	       (unsigned long long)s->ops, (unsigned long long)s->proved);
	report_skipped(stdout, s, pair->cands, pair->count);
	report_waits(stdout, s, pair->cands, pair->count);
	if (o->one_core)
		judge_one_core(stdout, s, pair);
	else if (!o->tiny && !o->sweep)
		judge_goals(stdout, s, pair);
	if (!o->tsv)
		return 0;
	tsv = fopen(o->tsv, "w");
	if (!tsv)
		err(1, "%s", o->tsv);
	report_tsv(tsv, s, pair->cands, pair->count);
	if (fclose(tsv))
		err(1, "%s", o->tsv);
	return 0;
}

static void open_fars(const struct pair *pair)
{
	struct pair of_world = *pair;

	for (unsigned i = 0; i < FARS; i++) {
		bool needed = i >= WORLDS && i - WORLDS < pair->count && pair->cands[i - WORLDS].elsewhere;

		of_world.world = i;
		needed |= i != WORLD_USUAL && i < WORLDS && world_span(&of_world, i);
		fars[i] = (struct far){ .way = -1 };
		if (needed)
			fars[i] = i < WORLDS ? far_open(pair, i, 0) : far_open(pair, WORLD_USUAL, i - WORLDS);
	}
}

static int initiate(const struct options *o, struct pair *pair)
{
	struct samples samples;
	unsigned line_ns;
	int rc = count_open(pair) < (o->named ? pair->count - 1 : 1);
	bool any = false;

	if (rc)
		return rc;
	for (unsigned b = 0; b < benches_count; b++)
		any |= bench_chosen(&benches[b], o->only);
	if (!any)
		return 0; /* what was asked for is measured by another program of run.sh */
	samples_init(&samples, o->blocks);
	line_ns = host_line_ns();
	rc = measure_all(pair, &samples);
	if (!rc)
		rc = report(o, pair, &samples, line_ns);
	samples_fini(&samples);
	return rc;
}

int main(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct candidate cands[CANDIDATES_MAX] = { 0 };
	struct pair pair = {
		.cands = cands, .only = o.only, .block_ns = o.block_ms * MSEC, .settle = !o.tiny, .one_core = o.one_core
	};
	int rc;

	pair.count = list_candidates(o.providers, cands);
	select_providers(cands, pair.count);
	open_fars(&pair);
	pair_start(&pair);
	rc = initiate(&o, &pair);
	for (unsigned i = 0; i < FARS; i++)
		if (fars[i].way >= 0)
			rc |= far_close(&fars[i]);
	rc |= pair_stop(&pair);
	return rc ? 1 : 0;
}
