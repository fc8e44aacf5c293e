/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_options.c - the command line. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/perf/perf_plan.h"

enum { JSON = 256, PLOT, COMPARE, WAIT, VERIFY, LISTEN, PORT, BLOCKS, WARMUP, TIMEOUT, PIN, PROGRESS, HELP, SERVED_BY };

static const struct option longs[] = {
	{ "provider", required_argument, NULL, 'p' },
	{ "test", required_argument, NULL, 't' },
	{ "size", required_argument, NULL, 's' },
	{ "window", required_argument, NULL, 'w' },
	{ "threads", required_argument, NULL, 'T' },
	{ "peers", required_argument, NULL, 'P' },
	{ "iterations", required_argument, NULL, 'n' },
	{ "duration", required_argument, NULL, 'D' },
	{ "blocks", required_argument, NULL, BLOCKS },
	{ "warmup", required_argument, NULL, WARMUP },
	{ "wait", required_argument, NULL, WAIT },
	{ "verify", no_argument, NULL, VERIFY },
	{ "compare", required_argument, NULL, COMPARE },
	{ "json", optional_argument, NULL, JSON },
	{ "plot", required_argument, NULL, PLOT },
	{ "progress", no_argument, NULL, PROGRESS },
	{ "listen", no_argument, NULL, LISTEN },
	{ "port", required_argument, NULL, PORT },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "pin", required_argument, NULL, PIN },
	{ "served-by", required_argument, NULL, SERVED_BY },
	{ "help", no_argument, NULL, HELP },
	{ NULL, 0, NULL, 0 },
};

const char *const perf_wait_names[] = { [LOOP_SPIN] = "spin", [LOOP_SREAD] = "sread", [LOOP_CNTR] = "cntr" };

static void usage(FILE *out)
{
	fputs("usage: emu_perf -t TEST [-p PROVIDER] [options] [HOST]\n"
	      "       emu_perf --listen [--port N] [--timeout S] [--pin yes|no]\n"
	      "Measures a libfabric provider: between two processes of this machine, or from here to HOST, where\n"
	      "`emu_perf --listen' waits. See emu_perf(1).\n"
	      "  -t, --test TEST        write_lat write_bw read_lat read_bw send_lat send_bw tag_lat tag_bw\n"
	      "                         atomic_lat atomic_rate reg\n"
	      "  -p, --provider NAME    libfabric's provider (emu); NAME:auto and NAME:manual ask for that progress\n"
	      "      --compare A,B,...  these providers in one run, in turns of short blocks; ratios to the first\n"
	      "  -s, --size N[:M]       bytes of an op, or from N to M in powers of two; with K, M, G (8)\n"
	      "  -w, --window N         ops outstanding, of bandwidth and rate (64, fewer of large ops)\n"
	      "  -T, --threads N        threads, with an endpoint each (1)\n"
	      "  -P, --peers N          endpoints of the other side, in turn (1)\n"
	      "  -n, --iterations N     ops of a block, in the place of a duration\n"
	      "  -D, --duration S       seconds for each size and provider (1)\n"
	      "      --blocks N         parts of that time (1; 20 with --compare, --plot)\n"
	      "      --warmup MS        milliseconds before each block (a fifth of it)\n"
	      "      --wait HOW         spin, sread (fi_cq_sread), or cntr (fi_cntr_wait) (spin)\n"
	      "      --verify           compare all bytes; exit status 1 if some are wrong\n"
	      "      --json[=FILE]      figures as JSON, to stdout or FILE\n"
	      "      --plot FILE        a picture, SVG\n"
	      "      --progress         a line a second on stderr, also if that is no terminal\n"
	      "      --listen           wait for one measurement from another machine\n"
	      "      --port N           TCP port between the two sides (18516)\n"
	      "      --timeout S        seconds after which nothing is waited for any longer (30)\n"
	      "      --pin yes|no       bind each thread to a core (yes on one machine with one thread, else no)\n",
	      out);
}

void perf_die(const char *format, ...)
{
	va_list list;

	fflush(stdout);
	fputs("emu_perf: ", stderr);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	fflush(stderr);
	_exit(2);
}

static uint64_t option_number(const char *what, const char *text, uint64_t most)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n == 0 || n > most)
		perf_die("%s: `%s' is not a number from 1 to %llu", what, text, (unsigned long long)most);
	return n;
}

static uint64_t option_seconds(const char *what, const char *text)
{
	char *end;
	double s = strtod(text, &end);

	if (*end || end == text || !(s > 0 && s <= 86400))
		perf_die("%s: `%s' is not a number of seconds, up to 86400", what, text);
	return (uint64_t)(s * 1e9);
}

static size_t one_size(const char *text, const char *end)
{
	static const char suffixes[] = "KMG";
	char *rest;
	unsigned long long n;
	unsigned shift = 0;

	errno = 0;
	n = strtoull(text, &rest, 10);
	if (rest < end && strchr(suffixes, *rest) && *rest)
		shift = 10 * (unsigned)(strchr(suffixes, *rest++) - suffixes + 1);
	if (*text < '0' || *text > '9' || rest != end || errno || n == 0 || n > ((1ull << 40) >> shift))
		perf_die("-s: `%s' is no size: one is like 8, 64K or 8:1M, and at least 1", text);
	return (size_t)n << shift;
}

static void sizes(struct perf_options *o, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t least = one_size(text, colon ? colon : text + strlen(text));
	size_t most = colon ? one_size(colon + 1, text + strlen(text)) : least;

	if (most < least)
		perf_die("-s: `%s' ends before it begins", text);
	o->sizes_count = 0;
	for (size_t size = least; size <= most && o->sizes_count < SIZES_MAX; size *= 2)
		o->sizes[o->sizes_count++] = size;
}

static void providers(struct perf_options *o, const char *what, const char *text)
{
	o->providers_count = 0;
	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		size_t size = strcspn(at, ",");

		if (size == 0 || size >= NAME_MAX_BYTES || o->providers_count == PROVIDERS_MAX)
			perf_die("%s: `%s' is not up to %d names of providers", what, text, PROVIDERS_MAX);
		memset(o->providers[o->providers_count], 0, NAME_MAX_BYTES);
		memcpy(o->providers[o->providers_count++], at, size);
	}
}

static enum loop_wait wait_of(const char *text)
{
	for (unsigned i = LOOP_SPIN; i <= LOOP_CNTR; i++)
		if (!strcmp(text, perf_wait_names[i]))
			return i;
	perf_die("--wait: `%s' is none of spin, sread and cntr", text);
}

static void test_of(struct perf_options *o, const char *text)
{
	o->test = perf_test_find(text);
	if (!o->test)
		perf_die("-t: there is no test `%s': emu_perf --help has their names", text);
}

/* Takes the options that say what is measured. False: it is none of them. */
static bool option_measured(struct perf_options *o, int opt)
{
	switch (opt) {
	case 'p':
		providers(o, "-p", optarg);
		return true;
	case 't':
		test_of(o, optarg);
		return true;
	case 's':
		sizes(o, optarg);
		return true;
	case 'w':
		o->window = (unsigned)option_number("-w", optarg, WINDOW_MAX);
		return true;
	case 'T':
		o->threads = (unsigned)option_number("-T", optarg, THREADS_MAX);
		return true;
	case 'P':
		o->peers = (unsigned)option_number("-P", optarg, PEERS_MAX);
		return true;
	case 'n':
		o->ops = option_number("-n", optarg, 1ull << 40);
		return true;
	case 'D':
		o->duration_ns = option_seconds("-D", optarg);
		return true;
	case BLOCKS:
		o->blocks = (unsigned)option_number("--blocks", optarg, BLOCKS_MAX);
		return true;
	case WARMUP:
		o->warmup_ns = option_number("--warmup", optarg, 3600000) * MSEC;
		return true;
	case COMPARE:
		providers(o, "--compare", optarg);
		o->compare = true;
		return true;
	}
	return false;
}

static void option_other(struct perf_options *o, int opt)
{
	switch (opt) {
	case WAIT:
		o->wait = wait_of(optarg);
		break;
	case VERIFY:
		o->verify = true;
		break;
	case JSON:
		o->json = true;
		o->json_file = optarg;
		break;
	case PLOT:
		o->plot_file = optarg;
		break;
	case PROGRESS:
		o->progress = true;
		break;
	case LISTEN:
		o->listen = true;
		break;
	case PORT:
		(void)option_number("--port", optarg, 65535);
		o->port = optarg;
		break;
	case TIMEOUT:
		o->timeout_ns = option_seconds("--timeout", optarg);
		break;
	case PIN:
		if (strcmp(optarg, "yes") && strcmp(optarg, "no"))
			perf_die("--pin: `%s' is neither yes nor no", optarg);
		o->pin = !strcmp(optarg, "yes");
		break;
	case SERVED_BY: /* of this program's own */
		o->served_by = (int)option_number("--served-by", optarg, 1 << 20);
		break;
	default:
		usage(opt == HELP ? stdout : stderr);
		exit(opt == HELP && fflush(stdout) == 0 ? 0 : 2);
	}
}

static void options_check(struct perf_options *o, int argc, char **argv)
{
	if (argc - optind > 1)
		perf_die("one HOST is enough, and `%s' is one too many", argv[optind + 1]);
	o->host = argv[optind];
	if (o->listen && o->host)
		perf_die("--listen waits for another machine, and takes no HOST");
	if (o->listen || o->served_by >= 0)
		return;
	if (!o->test)
		perf_die("-t TEST is missing: emu_perf --help has their names");
	for (unsigned i = 0; i < o->sizes_count && o->test->atomic; i++)
		if (o->sizes[i] % sizeof(uint64_t) || o->sizes[i] > FABRIC_ATOMIC_MAX)
			perf_die("%s takes sizes of whole 8 bytes, up to %d, and not %zu", o->test->name, FABRIC_ATOMIC_MAX,
				 o->sizes[i]);
	if (o->window && !o->test->one && o->window < o->peers)
		perf_die("%u ops outstanding are fewer than %u peers: each needs one", o->window, o->peers);
	if (o->test->one && o->window > 1)
		perf_die("%s has one op outstanding: -w is for bandwidth and rate", o->test->name);
	if (o->test->alone && (o->wait != LOOP_SPIN || o->peers > 1))
		perf_die("%s waits for nobody: --wait and -P are not for it", o->test->name);
}

struct perf_options perf_options_parse(int argc, char **argv)
{
	struct perf_options o = { .providers = { "emu" },
				  .providers_count = 1,
				  .sizes = { 8 },
				  .sizes_count = 1,
				  .threads = 1,
				  .peers = 1,
				  .duration_ns = 1000 * MSEC,
				  .warmup_ns = UINT64_MAX,
				  .timeout_ns = HANG_GUARD_NS,
				  .port = "18516",
				  .served_by = -1 };
	bool pin_said = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "p:t:s:w:T:P:n:D:", longs, NULL)) != -1) {
		pin_said |= opt == PIN;
		if (!option_measured(&o, opt))
			option_other(&o, opt);
	}
	options_check(&o, argc, argv);
	if (!o.blocks)
		o.blocks = o.compare || (o.plot_file && !o.ops) ? 20 : 1;
	if (!pin_said)
		o.pin = !o.host && !o.listen && o.threads == 1;
	o.progress |= isatty(STDERR_FILENO) == 1;
	return o;
}
