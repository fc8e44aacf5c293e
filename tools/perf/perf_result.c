/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_result.c - medians, ratios, and the table. */
#include "tools/perf/perf_result.h"

#include <rdma/fabric.h>
#include <stdlib.h>
#include <string.h>

void result_init(struct perf_result *r, const struct perf_options *o)
{
	r->options = o;
	r->cells = calloc((size_t)o->providers_count * o->sizes_count, sizeof(*r->cells));
	if (!r->cells)
		perf_die("out of memory");
}

struct perf_cell *result_cell(const struct perf_result *r, unsigned provider, unsigned size)
{
	return &r->cells[(size_t)provider * r->options->sizes_count + size];
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, unsigned n, double q)
{
	double at = q * (n - 1);
	unsigned below = (unsigned)at;

	if (below + 1 >= n)
		return sorted[n - 1];
	return sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]);
}

static struct perf_spread spread_of(double *values, unsigned n)
{
	if (n == 0)
		return (struct perf_spread){ 0 };
	qsort(values, n, sizeof(*values), by_value);
	return (struct perf_spread){ quantile(values, n, .5), quantile(values, n, .1), quantile(values, n, .9) };
}

struct perf_spread result_spread(const struct perf_cell *cell)
{
	static double values[BLOCKS_MAX];

	memcpy(values, cell->blocks, cell->blocks_count * sizeof(*values));
	return spread_of(values, cell->blocks_count);
}

struct perf_spread result_ratio(const struct perf_result *r, unsigned provider, unsigned size)
{
	const struct perf_cell *own = result_cell(r, provider, size), *first = result_cell(r, 0, size);
	static double values[BLOCKS_MAX];
	unsigned n = own->blocks_count < first->blocks_count ? own->blocks_count : first->blocks_count;

	for (unsigned i = 0; i < n; i++)
		values[i] = own->blocks[i] / first->blocks[i];
	return spread_of(values, n);
}

double result_shown(const struct perf_result *r, double ns, size_t size)
{
	switch (r->options->test->unit) {
	case PERF_LATENCY:
		return ns / 1e3 / r->options->test->legs;
	case PERF_BANDWIDTH:
		return (double)size / ns;
	case PERF_RATE:
		return 1e3 / ns;
	}
	abort();
}

const char *result_unit(const struct perf_result *r)
{
	static const char *const names[] = { [PERF_LATENCY] = "us", [PERF_BANDWIDTH] = "GB/s", [PERF_RATE] = "Mop/s" };

	return names[r->options->test->unit];
}

void result_text_head(FILE *out, const struct perf_result *r)
{
	const struct perf_options *o = r->options;

	fprintf(out, "emu_perf %s, libfabric %u.%u: %s, %s; %u thread%s, %u peer%s, --wait %s, %u block%s", EMU_VERSION,
		FI_MAJOR(fi_version()), FI_MINOR(fi_version()), o->test->name, o->host ? o->host : "two processes of this machine",
		o->threads, o->threads > 1 ? "s" : "", o->peers, o->peers > 1 ? "s" : "", perf_wait_names[o->wait], o->blocks,
		o->blocks > 1 ? "s" : "");
	if (o->ops)
		fprintf(out, " of %llu ops\n", (unsigned long long)o->ops);
	else
		fprintf(out, " of %g ms\n", (double)o->duration_ns / o->blocks / 1e6);
	fprintf(out, "%-12s %10s %10s", "provider", "bytes", "ops");
	if (o->test->one)
		fprintf(out, " %9s %9s %9s %9s %9s %9s", "us", "p50", "p90", "p99", "p99.9", "max");
	else
		fprintf(out, " %6s %9s %9s", "window", "GB/s", "Mop/s");
	fprintf(out, o->compare ? "   p10 to p90          times the first (p10 to p90)\n" : "\n");
}

static double percentile(const struct perf_result *r, const struct perf_cell *cell, double share)
{
	return (double)histogram_quantile(&cell->latency, share) / 1e3 / r->options->test->legs;
}

static void figure(FILE *out, double value)
{
	fprintf(out, value >= 1000 ? " %9.0f" : " %9.4g", value);
}

static void text_cell(FILE *out, const struct perf_result *r, unsigned p, unsigned s)
{
	const struct perf_options *o = r->options;
	const struct perf_cell *cell = result_cell(r, p, s);
	struct perf_spread spread = result_spread(cell);

	fprintf(out, "%-12s %10zu %10llu", o->providers[p], o->sizes[s], (unsigned long long)cell->ops);
	if (o->test->one) {
		static const double shares[] = { .5, .9, .99, .999, 1 };

		figure(out, result_shown(r, spread.median, o->sizes[s]));
		for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
			figure(out, percentile(r, cell, shares[i]));
	} else {
		fprintf(out, " %6u", cell->window);
		figure(out, (double)o->sizes[s] / spread.median);
		figure(out, 1e3 / spread.median);
	}
	if (o->compare) {
		double low = result_shown(r, spread.p10, o->sizes[s]), high = result_shown(r, spread.p90, o->sizes[s]);
		struct perf_spread ratio = result_ratio(r, p, s);

		fprintf(out, "   %-9.4g %-9.4g x%.2f (%.2f to %.2f)", low < high ? low : high, low < high ? high : low,
			ratio.median, ratio.p10, ratio.p90);
	}
	fputc('\n', out);
	if (cell->bad)
		fprintf(out, "%llu bytes over %s were not as sent\n", (unsigned long long)cell->bad, o->providers[p]);
}

void result_text_size(FILE *out, const struct perf_result *r, unsigned size)
{
	for (unsigned p = 0; p < r->options->providers_count; p++)
		text_cell(out, r, p, size);
	fflush(out);
}
