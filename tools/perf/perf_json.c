/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_json.c - the figures for programs. */
#include <rdma/fabric.h>

#include "tools/perf/perf_result.h"

static void string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		if ((unsigned char)*text < ' ')
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}

static void latency(FILE *out, const struct perf_result *r, const struct perf_cell *cell)
{
	static const struct {
		const char *name;
		double share;
	} shares[] = { { "p50", .5 }, { "p90", .9 }, { "p99", .99 }, { "p99.9", .999 }, { "max", 1 } };
	double legs = r->options->test->legs;

	fprintf(out, ", \"latency_us\": {\"min\": %.6g", (double)cell->latency.least / 1e3 / legs);
	for (unsigned i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
		fprintf(out, ", \"%s\": %.6g", shares[i].name,
			(double)histogram_quantile(&cell->latency, shares[i].share) / 1e3 / legs);
	fputc('}', out);
}

static void cell_json(FILE *out, const struct perf_result *r, unsigned p, unsigned s)
{
	const struct perf_options *o = r->options;
	const struct perf_cell *cell = result_cell(r, p, s);
	struct perf_spread spread = result_spread(cell), ratio = result_ratio(r, p, s);
	size_t size = o->sizes[s];

	fputs("    {\"provider\": ", out);
	string(out, o->providers[p]);
	fprintf(out, ", \"size\": %zu, \"window\": %u, \"ops\": %llu, \"seconds\": %.6g, \"unit\": \"%s\"", size, cell->window,
		(unsigned long long)cell->ops, (double)cell->elapsed_ns / 1e9, result_unit(r));
	fprintf(out, ", \"median\": %.6g, \"p10\": %.6g, \"p90\": %.6g", result_shown(r, spread.median, size),
		result_shown(r, o->test->unit == PERF_LATENCY ? spread.p10 : spread.p90, size),
		result_shown(r, o->test->unit == PERF_LATENCY ? spread.p90 : spread.p10, size));
	fprintf(out, ", \"mops\": %.6g, \"blocks\": [", 1e3 / spread.median);
	for (unsigned b = 0; b < cell->blocks_count; b++)
		fprintf(out, "%s%.6g", b ? ", " : "", result_shown(r, cell->blocks[b], size));
	fputc(']', out);
	if (o->test->one)
		latency(out, r, cell);
	if (o->compare)
		fprintf(out, ", \"ratio\": {\"median\": %.6g, \"p10\": %.6g, \"p90\": %.6g}", ratio.median, ratio.p10, ratio.p90);
	if (o->verify)
		fprintf(out, ", \"wrong_bytes\": %llu", (unsigned long long)cell->bad);
	fputc('}', out);
}

bool result_json(FILE *out, const struct perf_result *r)
{
	const struct perf_options *o = r->options;

	fprintf(out, "{\n  \"emu_perf\": 1,\n  \"version\": \"%s\",\n  \"libfabric\": \"%u.%u\",\n  \"test\": \"%s\",\n",
		EMU_VERSION, FI_MAJOR(fi_version()), FI_MINOR(fi_version()), o->test->name);
	fputs("  \"host\": ", out);
	if (o->host)
		string(out, o->host);
	else
		fputs("null", out);
	fprintf(out, ",\n  \"wait\": \"%s\",\n  \"threads\": %u,\n  \"peers\": %u,\n  \"results\": [\n", perf_wait_names[o->wait],
		o->threads, o->peers);
	for (unsigned p = 0; p < o->providers_count; p++) {
		for (unsigned s = 0; s < o->sizes_count; s++) {
			if (p || s)
				fputs(",\n", out);
			cell_json(out, r, p, s);
		}
	}
	fputs("\n  ]\n}\n", out);
	return fflush(out) == 0 && !ferror(out);
}
