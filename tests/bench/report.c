/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - medians, ratios and the table. */
#include "report.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct summary {
	double median, p10, p90; /* ns an op */
	double ratio;            /* NaN: no floor */
	bool present;
};

void samples_init(struct samples *s, unsigned blocks)
{
	size_t cells = (size_t)benches_count * CANDIDATES_MAX;

	*s = (struct samples){ .blocks = blocks };
	s->ns = calloc(cells * blocks, sizeof(*s->ns));
	s->starved = calloc(cells, sizeof(*s->starved));
	s->why = calloc(cells, sizeof(*s->why));
	s->waited = calloc(cells, sizeof(*s->waited));
	if (!s->ns || !s->starved || !s->why || !s->waited)
		err(1, "memory for the samples");
	for (size_t i = 0; i < cells * blocks; i++)
		s->ns[i] = NAN;
}

void samples_fini(struct samples *s)
{
	free(s->ns);
	free(s->starved);
	free(s->why);
	free(s->waited);
}

double *samples_at(const struct samples *s, unsigned bench, unsigned cand)
{
	return s->ns + ((size_t)bench * CANDIDATES_MAX + cand) * s->blocks;
}

bool *samples_starved(const struct samples *s, unsigned bench, unsigned cand)
{
	return s->starved + (size_t)bench * CANDIDATES_MAX + cand;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts values[0..n), NaNs dropped, and returns how many are left. */
static unsigned sort_known(double *values, unsigned n)
{
	unsigned known = 0;

	for (unsigned i = 0; i < n; i++)
		if (!isnan(values[i]))
			values[known++] = values[i];
	qsort(values, known, sizeof(*values), by_value);
	return known;
}

static double quantile(const double *sorted, unsigned n, double q)
{
	double at = q * (n - 1);
	unsigned below = (unsigned)at;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

double samples_quotient(const struct samples *s, unsigned bench, unsigned cand, unsigned other_bench, unsigned other)
{
	const double *own = samples_at(s, bench, cand), *by = samples_at(s, other_bench, other);
	double *work = calloc(s->blocks, sizeof(*work)), median;
	unsigned n;

	if (!work)
		err(1, "memory for the report");
	for (unsigned i = 0; i < s->blocks; i++)
		work[i] = own[i] / by[i];
	n = sort_known(work, s->blocks);
	median = n ? quantile(work, n, .5) : NAN;
	free(work);
	return median;
}

static struct summary summarise(const struct samples *s, unsigned bench, unsigned cand)
{
	double *work = calloc(s->blocks, sizeof(*work));
	struct summary sum = { .ratio = samples_quotient(s, bench, cand, bench, 0) };
	unsigned n;

	if (!work)
		err(1, "memory for the report");
	memcpy(work, samples_at(s, bench, cand), s->blocks * sizeof(*work));
	n = sort_known(work, s->blocks);
	if (n) {
		sum.present = true;
		sum.median = quantile(work, n, .5);
		sum.p10 = quantile(work, n, .1);
		sum.p90 = quantile(work, n, .9);
	}
	free(work);
	return sum;
}

double samples_median(const struct samples *s, unsigned bench, unsigned cand)
{
	struct summary sum = summarise(s, bench, cand);

	return sum.present ? sum.median : NAN;
}

static double shown(const struct bench *bench, double ns)
{
	switch (bench->unit) {
	case UNIT_USEC:
		return ns / 1e3;
	case UNIT_MOPS:
		return 1e3 / ns;
	case UNIT_GBPS:
		return (double)bench->size / ns;
	}
	abort();
}

static const char *unit_name(enum unit unit)
{
	static const char *const names[] = { [UNIT_USEC] = "us", [UNIT_MOPS] = "Mop/s", [UNIT_GBPS] = "GB/s" };

	return names[unit];
}

static void print_size(FILE *out, size_t size)
{
	if (size >= 1 << 20)
		fprintf(out, "%5zu MiB", size >> 20);
	else if (size >= 1 << 10)
		fprintf(out, "%5zu KiB", size >> 10);
	else
		fprintf(out, "%7zu B", size);
}

static void print_cell(FILE *out, const struct bench *bench, const struct summary *sum, bool starved)
{
	char text[32] = "-";

	if (starved)
		snprintf(text, sizeof(text), "never served");
	else if (sum->present && isnan(sum->ratio))
		snprintf(text, sizeof(text), "%.3g", shown(bench, sum->median));
	else if (sum->present)
		snprintf(text, sizeof(text), "%.3g (x%.2f)", shown(bench, sum->median), sum->ratio);
	fprintf(out, " %18s", text);
}

void report_table(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count)
{
	fprintf(out, "%-34s%-6s", "median (x: times the floor's time)", "");
	for (unsigned c = 0; c < count; c++)
		fprintf(out, " %18s", cands[c].name);
	fputc('\n', out);
	for (unsigned b = 0; b < benches_count; b++) {
		bool any = false;

		for (unsigned c = 0; c < count; c++)
			any |= summarise(s, b, c).present || *samples_starved(s, b, c);
		if (!any)
			continue;
		fprintf(out, "%-24s", benches[b].name);
		print_size(out, benches[b].size);
		fprintf(out, " %-6s", unit_name(benches[b].unit));
		for (unsigned c = 0; c < count; c++) {
			struct summary sum = summarise(s, b, c);

			print_cell(out, &benches[b], &sum, *samples_starved(s, b, c));
		}
		fputc('\n', out);
	}
}

void report_skipped(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count)
{
	for (unsigned b = 0; b < benches_count; b++) {
		for (unsigned c = 0; c < count; c++) {
			const char *why = s->why[b * CANDIDATES_MAX + c];

			if (*why)
				fprintf(out, "reported: %s, %zu B, %s: not offered (%s)\n", benches[b].name, benches[b].size,
					cands[c].name, why);
		}
	}
}

static void print_waits(FILE *out, const struct samples *s, unsigned bench, unsigned cand, const char *name)
{
	const double *waited = s->waited[bench * CANDIDATES_MAX + cand], *ns = samples_at(s, bench, cand);
	unsigned known = 0;

	for (unsigned i = 0; i < s->blocks; i++)
		known += !isnan(ns[i]);
	if (known)
		fprintf(out,
			"reported: %s, %zu B, %s: %.4g us; of that time the thread that serves waited for a core for %.0f %%, "
			"the initiator for %.0f %%%s\n",
			benches[bench].name, benches[bench].size, name, samples_median(s, bench, cand) / 1e3,
			100 * waited[0] / known, 100 * waited[1] / known,
			host_counts_waits() ? "" : " (this kernel does not count that)");
}

void report_waits(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count)
{
	for (unsigned b = 0; b < benches_count; b++)
		for (unsigned c = 0; c < count && benches[b].waits; c++)
			print_waits(out, s, b, c, cands[c].name);
}

void report_tsv(FILE *out, const struct samples *s, const struct candidate *cands, unsigned count)
{
	for (unsigned b = 0; b < benches_count; b++) {
		for (unsigned c = 0; c < count; c++) {
			struct summary sum = summarise(s, b, c);

			if (sum.present)
				fprintf(out, "%s\t%zu\t%s\t%s\t%.4g\t%.4g\t%.4g\t%.3f\t%u\n", benches[b].name, benches[b].size,
					cands[c].name, unit_name(benches[b].unit), shown(&benches[b], sum.median),
					shown(&benches[b], sum.p10), shown(&benches[b], sum.p90), sum.ratio, benches[b].window);
		}
	}
}
