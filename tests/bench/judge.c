/* SPDX-License-Identifier: BSD-2-Clause */
/* judge.c - the figures, and the comparison. Blocks of the same round are compared; the median over the rounds
 * counts. */
#include "judge.h"

#include <math.h>
#include <string.h>

enum measure {
	TIMES, /* own time an op, by the other's: at most */
	SHARE, /* the other's time an op, by the own: at least */
	USEC,  /* own time an op: at most */
};

static const struct figure {
	const char *bench;
	size_t size;
	const char *cand;
	enum measure measure;
	const char *other;       /* candidate */
	const char *other_bench; /* NULL: the same */
	double limit, goal;      /* no goal beyond the limit: 0 */
} figures[] = {
	{ "write latency", 8, "emu", TIMES, "raw TCP", NULL, 1.15, 1.10 },
	{ "write latency", 8, "emu", TIMES, "tcp", NULL, 1, 0 },
	{ "tagged latency", 8, "emu", TIMES, "raw TCP", NULL, 1.15, 1.10 },
	{ "tagged latency", 8, "emu", TIMES, "tcp", NULL, 1, 0 },
	{ "tagged latency", 8, "emu", TIMES, "emu", "write latency", 1.15, 0 },
	{ "write, both in sread", 8, "emu", TIMES, "raw TCP", NULL, 1.15, 0 },
	{ "write, both in poll", 8, "emu", TIMES, "raw TCP", NULL, 1.15, 0 },
	{ "write, both in cntr_wait", 8, "emu", TIMES, "raw TCP", NULL, 1.15, 0 },
	{ "tagged, both in sread", 8, "emu", TIMES, "raw TCP", NULL, 1.15, 0 },
	{ "tagged, both in poll", 8, "emu", TIMES, "raw TCP", NULL, 1.15, 0 },
	{ "write rate, 64 at once", 8, "emu", SHARE, "tcp", NULL, 12, 20 },
	{ "read rate, 64 at once", 8, "emu", SHARE, "tcp", NULL, 8, 12 },
	{ "fetch-add rate, 64 at once", 8, "emu", SHARE, "tcp", "read rate, 64 at once", 8, 12 },
	{ "write bandwidth", 4 << 10, "emu", SHARE, "tcp", NULL, 5, 0 },
	{ "write bandwidth", 1 << 20, "emu", SHARE, "raw TCP", NULL, .9, 1 },
	{ "write bandwidth", 1 << 20, "emu", TIMES, "tcp", NULL, 1, 0 },
	{ "read bandwidth", 1 << 20, "emu", SHARE, "raw TCP", NULL, .9, 1 },
	{ "read bandwidth", 1 << 20, "emu", TIMES, "tcp", NULL, 1, 0 },
	{ "tagged bandwidth", 1 << 20, "emu", SHARE, "emu", "write bandwidth", .95, 0 },
	{ "passive read latency", 8, "emu", TIMES, "raw TCP", NULL, .75, 0 },
	{ "register and close, mr_mode 0", 64, "emu", USEC, NULL, NULL, .5, 0 },
	{ "register and close", 64, "emu", USEC, NULL, NULL, 1.5, 0 },
	{ "write rate, 1000000 keys", 8, "emu", SHARE, "emu", "write rate, 10 keys", .6, 0 },
	{ "write bandwidth", 1 << 20, "emu:full", SHARE, "emu", NULL, .85, 0 },
	{ "read bandwidth", 1 << 20, "emu:full", SHARE, "emu", NULL, .85, 0 },
};

static int find_bench(const char *name, size_t size)
{
	for (unsigned b = 0; b < benches_count; b++)
		if (!strcmp(benches[b].name, name) && benches[b].size == size)
			return (int)b;
	return -1;
}

static int find_cand(const struct pair *pair, const char *name)
{
	for (unsigned c = 0; c < pair->count; c++)
		if (!strcmp(pair->cands[c].name, name))
			return (int)c;
	return -1;
}

/* The median over the rounds of the quotient, or NaN. */
static double compare(const struct samples *s, const struct pair *pair, const struct figure *f)
{
	int bench = find_bench(f->bench, f->size), cand = find_cand(pair, f->cand);
	int other = f->other ? find_cand(pair, f->other) : cand;
	int other_bench = f->other_bench ? find_bench(f->other_bench, f->size) : bench;
	double quotient;

	if (bench < 0 || cand < 0 || other < 0 || other_bench < 0)
		return NAN;
	if (f->measure == USEC)
		return samples_median(s, (unsigned)bench, (unsigned)cand) / 1e3;
	quotient = samples_quotient(s, (unsigned)bench, (unsigned)cand, (unsigned)other_bench, (unsigned)other);
	return f->measure == TIMES ? quotient : 1 / quotient;
}

static void say(FILE *out, const struct figure *f, double value)
{
	bool least = f->measure == SHARE, good = least ? value >= f->limit : value <= f->limit;
	bool goal = least ? value >= f->goal : value <= f->goal;

	fprintf(out, "%s: %s, %zu B, %s: ", good ? "pass" : "short", f->bench, f->size, f->cand);
	if (isnan(value))
		fprintf(out, "not measured");
	else if (f->measure == USEC)
		fprintf(out, "%.3g us", value);
	else if (least)
		fprintf(out, "%.3g times the rate of %s%s%s", value, f->other, f->other_bench ? ", " : "",
			f->other_bench ? f->other_bench : "");
	else
		fprintf(out, "%.3g times the time of %s%s%s", value, f->other, f->other_bench ? ", " : "",
			f->other_bench ? f->other_bench : "");
	fprintf(out, ", to be at %s %g", least ? "least" : "most", f->limit);
	if (f->goal > 0)
		fprintf(out, " (goal %g: %s)", f->goal, goal ? "met" : "not met");
	fputc('\n', out);
}

void judge_goals(FILE *out, const struct samples *s, const struct pair *pair)
{
	for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
		int bench = find_bench(figures[i].bench, figures[i].size);

		if (bench >= 0 && bench_chosen(&benches[bench], pair->only) && find_cand(pair, figures[i].cand) >= 0)
			say(out, &figures[i], compare(s, pair, &figures[i]));
	}
}

/* Benchmarks without a second process have their figure above. Those that the other provider never does are not slower, and it
 * has no fetching atomics: those are compared with its reads. */
void judge_one_core(FILE *out, const struct samples *s, const struct pair *pair)
{
	int cand = find_cand(pair, "emu"), tcp = find_cand(pair, "tcp");

	for (unsigned b = 0; b < benches_count && cand >= 0; b++) {
		double value = tcp < 0 ? NAN : samples_quotient(s, b, (unsigned)cand, b, (unsigned)tcp);
		struct figure figure = { benches[b].name, benches[b].size, "emu on one core", TIMES, "tcp", NULL, 1, 0 };
		int reads = find_bench("read rate, 64 at once", 8);

		if (!benches[b].fabric.serve || benches[b].waits || !bench_chosen(&benches[b], pair->only))
			continue;
		if (benches[b].world == WORLD_ATOMIC && tcp >= 0 && reads >= 0) {
			figure.other_bench = "read rate, 64 at once";
			value = samples_quotient(s, b, (unsigned)cand, (unsigned)reads, (unsigned)tcp);
		}
		if (tcp > 0 && *samples_starved(s, b, (unsigned)tcp) && !isnan(samples_median(s, b, (unsigned)cand)))
			fprintf(out, "pass: %s, %zu B, emu on one core: served, which tcp never does\n", figure.bench, figure.size);
		else
			say(out, &figure, value);
	}
}
