/* SPDX-License-Identifier: BSD-2-Clause */
/* perf_main.c - emu_perf: measures a libfabric provider between two processes of this machine, or between two machines.
 * The process that was started measures; the other one is this program again, which serves. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/perf/perf_side.h"

/* libfabric is to load what is measured, whatever FI_PROVIDER said, and nothing else: a provider that nobody asked for may
 * start threads. Layered names have two. */
static void select_providers(const struct perf_options *o)
{
	char list[PROVIDERS_MAX * NAME_MAX_BYTES] = "";

	for (unsigned p = 0; p < o->providers_count; p++) {
		size_t used = strlen(list);

		snprintf(list + used, sizeof(list) - used, "%s%.*s", used ? "," : "", (int)strcspn(o->providers[p], ":"),
			 o->providers[p]);
	}
	for (char *at = list; (at = strchr(at, ';')); at++)
		*at = ',';
	if (setenv("FI_PROVIDER", list, 1))
		perf_die("FI_PROVIDER: %s", strerror(errno));
}

/* A file is opened before anything is measured, so that hours are not lost to a wrong name. */
static FILE *output_open(const char *name)
{
	FILE *file = name ? fopen(name, "we") : NULL;

	if (name && !file)
		perf_die("%s: %s", name, strerror(errno));
	return file;
}

static void output_close(FILE *file, const char *name, bool whole)
{
	int error = errno;

	if (!file)
		return;
	if (fclose(file) && whole) {
		whole = false;
		error = errno;
	}
	if (!whole)
		perf_die("%s could not be written: %s", name, strerror(error));
}

static void perf_serve(const struct perf_options *o)
{
	static struct perf_side side;

	if (o->listen)
		channel_listen(&side.channel, o);
	else
		channel_inherit(&side.channel, o);
	side_init(&side, false);
	channel_own_address(&side.channel, side.node, sizeof(side.node));
	target_serve(&side, !o->listen);
	side_close(&side);
}

/* The other process has been told to quit. */
static void peer_reap(const struct perf_side *side)
{
	const struct timespec pause = { .tv_nsec = 10 * (long)MSEC };
	uint64_t deadline = now_ns() + side->channel.timeout_ns;
	int status = 0;

	while (side->channel.child && waitpid(side->channel.child, &status, WNOHANG) == 0) {
		if (now_ns() > deadline) {
			kill(side->channel.child, SIGKILL);
			perf_die("waited in vain for the other process to end");
		}
		nanosleep(&pause, NULL);
	}
}

static int perf_measure(const struct perf_options *o)
{
	FILE *json = output_open(o->json_file), *plot = output_open(o->plot_file);
	FILE *text = o->json && !o->json_file ? NULL : stdout;
	static struct perf_side side;
	struct perf_result result;
	uint64_t bad = 0;

	if (o->host)
		channel_connect(&side.channel, o);
	else
		channel_spawn(&side.channel, o);
	side_init(&side, true);
	channel_own_address(&side.channel, side.node, sizeof(side.node));
	result_init(&result, o);
	initiator_open(&side, o);
	if (text)
		result_text_head(text, &result);
	initiator_measure(&side, &result, text);
	side_close(&side);
	peer_reap(&side);
	output_close(plot, o->plot_file, !plot || result_svg(plot, &result));
	if (json)
		output_close(json, o->json_file, result_json(json, &result));
	else if (o->json && !result_json(stdout, &result))
		perf_die("stdout could not be written: %s", strerror(errno));
	if (fflush(stdout) || ferror(stdout))
		perf_die("stdout could not be written: %s", strerror(errno));
	for (unsigned i = 0; i < o->providers_count * o->sizes_count; i++)
		bad += result.cells[i].bad;
	free(result.cells);
	if (bad)
		fprintf(stderr, "emu_perf: %llu bytes were not as sent\n", (unsigned long long)bad);
	return bad ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct perf_options o = perf_options_parse(argc, argv);

	if (o.listen)
		unsetenv("FI_PROVIDER"); /* the other side names the provider */
	if (o.listen || o.served_by >= 0) {
		perf_serve(&o);
		return 0;
	}
	select_providers(&o);
	return perf_measure(&o);
}
