/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_svg.c - a picture: the median by size with its spread, a line for each provider, both axes logarithmic; and what was
 * measured where. */
#include <math.h>
#include <rdma/fabric.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tools/perf/perf_result.h"

enum { WIDTH = 900, HEIGHT = 560, LEFT = 80, RIGHT = 180, TOP = 96, BOTTOM = 70, CAP = 4 };

static const char *const colours[PROVIDERS_MAX] = { "#0072b2", "#d55e00", "#009e73", "#cc79a7",
						    "#56b4e9", "#e69f00", "#000000", "#999999" };

struct axes {
	double x_least, x_most, y_least, y_most; /* logarithms: of 2, of 10 */
};

static double at_x(const struct axes *a, double size)
{
	return LEFT + (log2(size) - a->x_least) / (a->x_most - a->x_least) * (WIDTH - LEFT - RIGHT);
}

static double at_y(const struct axes *a, double value)
{
	return HEIGHT - BOTTOM - (log10(value) - a->y_least) / (a->y_most - a->y_least) * (HEIGHT - TOP - BOTTOM);
}

static void text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("<>&\"'", *s) || (unsigned char)*s < ' ')
			fprintf(out, "&#%u;", (unsigned char)*s < ' ' ? '?' : (unsigned char)*s);
		else
			fputc(*s, out);
	}
}

/* As shown: of rates the shortest times are the highest. */
struct point {
	double median, low, high;
};

static struct point point_of(const struct perf_result *r, unsigned p, unsigned s)
{
	struct perf_spread spread = result_spread(result_cell(r, p, s));
	size_t size = r->options->sizes[s];
	double one = result_shown(r, spread.p10, size), other = result_shown(r, spread.p90, size);

	return (struct point){ result_shown(r, spread.median, size), one < other ? one : other, one < other ? other : one };
}

/* Whole powers of ten around all values, and a little room where there is one size alone. */
static struct axes axes_of(const struct perf_result *r)
{
	const struct perf_options *o = r->options;
	struct axes a = { log2((double)o->sizes[0]), log2((double)o->sizes[o->sizes_count - 1]), INFINITY, -INFINITY };

	if (o->sizes_count == 1) {
		a.x_least -= 1;
		a.x_most += 1;
	}
	for (unsigned p = 0; p < o->providers_count; p++) {
		for (unsigned s = 0; s < o->sizes_count; s++) {
			struct point point = point_of(r, p, s);
			double low = floor(log10(point.low)), high = ceil(log10(point.high));

			a.y_least = low < a.y_least ? low : a.y_least;
			a.y_most = high > a.y_most ? high : a.y_most;
		}
	}
	if (a.y_most <= a.y_least)
		a.y_most = a.y_least + 1;
	return a;
}

static void size_label(FILE *out, size_t size)
{
	static const char suffixes[] = " KMG";
	unsigned suffix = 0;

	while (size >= 1024 && size % 1024 == 0 && suffix < 3) {
		size /= 1024;
		suffix++;
	}
	fprintf(out, suffix ? "%zu%c" : "%zu", size, suffixes[suffix]);
}

static void grid(FILE *out, const struct perf_result *r, const struct axes *a)
{
	const struct perf_options *o = r->options;
	unsigned step = o->sizes_count > 12 ? 2 : 1;

	for (unsigned s = 0; s < o->sizes_count; s++) {
		double x = at_x(a, (double)o->sizes[s]);

		fprintf(out, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>\n", x, TOP, HEIGHT - BOTTOM);
		if (s % step)
			continue;
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x, HEIGHT - BOTTOM + 20);
		size_label(out, o->sizes[s]);
		fputs("</text>\n", out);
	}
	for (double decade = a->y_least; decade <= a->y_most; decade++) {
		double value = pow(10, decade);

		for (unsigned i = 1; i <= 9 && decade < a->y_most; i++)
			fprintf(out, "<path class=\"%s\" d=\"M%d %.1fH%d\"/>\n", i == 1 ? "grid" : "minor", LEFT,
				at_y(a, value * i), WIDTH - RIGHT);
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8, at_y(a, value) + 4, value);
		for (unsigned i = 2; i <= 5 && decade < a->y_most && a->y_most - a->y_least <= 2; i += 3)
			fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8, at_y(a, value * i) + 4,
				value * i);
	}
	fprintf(out, "<path class=\"frame\" d=\"M%d %dV%dH%dV%dZ\"/>\n", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT, TOP);
}

/* From the 10th percentile to the 90th, and the median. */
static void mark(FILE *out, const struct perf_result *r, const struct axes *a, unsigned p, unsigned s)
{
	struct point point = point_of(r, p, s);
	size_t size = r->options->sizes[s];
	double x = at_x(a, (double)size), low = at_y(a, point.low), high = at_y(a, point.high);

	if (r->options->blocks > 1)
		fprintf(out, "<path class=\"spread\" stroke=\"%s\" d=\"M%.1f %.1fh%dm-%d 0V%.1fm-%d 0h%d\"/>\n", colours[p],
			x - CAP, low, 2 * CAP, CAP, high, CAP, 2 * CAP);
	fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>%zu B: %.4g %s", x, at_y(a, point.median),
		colours[p], size, point.median, result_unit(r));
	if (r->options->blocks > 1)
		fprintf(out, ", %.4g to %.4g", point.low, point.high);
	fputs("</title></circle>\n", out);
}

static void series(FILE *out, const struct perf_result *r, const struct axes *a, unsigned p)
{
	const struct perf_options *o = r->options;
	int y = TOP + 20 + 24 * (int)p;

	fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colours[p]);
	for (unsigned s = 0; s < o->sizes_count; s++)
		fprintf(out, "%c%.1f %.1f", s ? 'L' : 'M', at_x(a, (double)o->sizes[s]), at_y(a, point_of(r, p, s).median));
	fputs("\"/>\n", out);
	for (unsigned s = 0; s < o->sizes_count; s++)
		mark(out, r, a, p, s);
	fprintf(out, "<path stroke=\"%s\" stroke-width=\"3\" d=\"M%d %dh24\"/><text x=\"%d\" y=\"%d\">", colours[p],
		WIDTH - RIGHT + 16, y, WIDTH - RIGHT + 48, y + 4);
	text(out, o->providers[p]);
	fputs("</text>\n", out);
}

/* The name of the processor as Linux has it; "" where it has none. */
static void processor_name(char *name, size_t size)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	*name = '\0';
	while (file && !*name && fgets(line, sizeof(line), file)) {
		const char *value = strchr(line, ':');

		if (value && !strncmp(line, "model name", strlen("model name")))
			snprintf(name, size, ", %.*s", (int)strcspn(value + 2, "\n"), value + 2);
	}
	if (file)
		fclose(file);
}

/* Two lines under the title: what a point is, and where it was measured. */
static void notes(FILE *out, const struct perf_result *r)
{
	const struct perf_options *o = r->options;
	struct utsname machine;
	char processor[200];

	fprintf(out, "<text x=\"%d\" y=\"54\">", LEFT);
	if (o->blocks > 1)
		fprintf(out, "medians of %u blocks, and from the 10th to the 90th percentile of these", o->blocks);
	else
		fputs("the mean of one block: --blocks shows how it spreads", out);
	fprintf(out, "</text>\n<text x=\"%d\" y=\"74\">", LEFT);
	processor_name(processor, sizeof(processor));
	if (!uname(&machine)) {
		text(out, machine.nodename);
		text(out, processor);
		fprintf(out, ", %ld cores, ", sysconf(_SC_NPROCESSORS_ONLN));
		text(out, machine.sysname);
		fputc(' ', out);
		text(out, machine.release);
	}
	fprintf(out, ", libfabric %u.%u", FI_MAJOR(fi_version()), FI_MINOR(fi_version()));
	if (o->host) {
		fputs(", to ", out);
		text(out, o->host);
	}
	fputs("</text>\n", out);
}

bool result_svg(FILE *out, const struct perf_result *r)
{
	static const char *const axis[] = { [PERF_LATENCY] = "microseconds", [PERF_BANDWIDTH] = "GB/s", [PERF_RATE] = "Mop/s" };
	const struct perf_options *o = r->options;
	struct axes a = axes_of(r);

	fprintf(out,
		"<svg xmlns=\"http:"
		"//www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT);
	fputs("<style>text{font:13px sans-serif;fill:#222}.grid{stroke:#ccc}.minor{stroke:#eee}.frame,.spread{fill:none}"
	      ".frame{stroke:#444}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
	      out);
	fprintf(out, "<text x=\"%d\" y=\"32\" style=\"font-size:17px\">%s, %s (emu_perf %s)</text>\n", LEFT, o->test->name,
		o->test->unit == PERF_LATENCY ? "less is better" : "more is better", EMU_VERSION);
	notes(out, r);
	grid(out, r, &a);
	for (unsigned p = 0; p < o->providers_count; p++)
		series(out, r, &a, p);
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">bytes of an op</text>\n", (LEFT + WIDTH - RIGHT) / 2,
		HEIGHT - 22);
	fprintf(out, "<text transform=\"translate(22 %d) rotate(-90)\" text-anchor=\"middle\">%s</text>\n</svg>\n",
		(TOP + HEIGHT - BOTTOM) / 2, axis[o->test->unit]);
	return fflush(out) == 0 && !ferror(out);
}
