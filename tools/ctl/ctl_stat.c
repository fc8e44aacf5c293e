/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl_stat.c - counts: as a table whose lines come as time passes, and as Prometheus reads them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/ctl/emuctl.h"

static bool keep_stat(void *arg, const char *line, const cJSON *object)
{
	cJSON **kept = arg;

	(void)line;
	if (!*kept && !strcmp(text_of(object, "type"), "stat"))
		*kept = cJSON_Duplicate(object, true);
	return true;
}

static cJSON *stat_ask(const struct asking *options, const struct process *process, char *why, size_t size)
{
	cJSON *stat = NULL;

	if (ask(process, options, "{\"cmd\":\"stat\"}\n", keep_stat, &stat, why, size) && stat)
		return stat;
	cJSON_Delete(stat);
	return NULL;
}

static double sum_of(const cJSON *stat, const char *name)
{
	const cJSON *item;
	double sum = 0;

	cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(stat, name)) sum += item->valuedouble;
	return sum;
}

static const char *const rates[] = { "acked", "served", "completions", "bytes_out", "bytes_in" };
enum { RATES = sizeof(rates) / sizeof(rates[0]) };

/* A count that fell belongs to queues or endpoints that were closed meanwhile. */
static double rate_of(const cJSON *now, const cJSON *before, const char *name, double seconds)
{
	double grown = number_of(now, name) - number_of(before, name);

	return grown > 0 && seconds > 0 ? grown / seconds : 0;
}

static void print_rates(const struct asking *options, cJSON *now, const cJSON *before)
{
	double seconds = (number_of(now, "time_ns") - number_of(before, "time_ns")) / 1e9;

	if (options->json) {
		cJSON *added = cJSON_AddObjectToObject(now, "rates");
		char *text;

		for (int i = 0; i < RATES; i++)
			cJSON_AddNumberToObject(added, rates[i], rate_of(now, before, rates[i], seconds));
		text = cJSON_PrintUnformatted(now);
		puts(text ? text : "");
		free(text);
	} else {
		for (int i = 0; i < RATES; i++)
			printf("%12.0f", rate_of(now, before, rates[i], seconds));
		printf("%9.0f%9.0f%9.0f%9.0f%9.0f\n", number_of(now, "outstanding"), number_of(now, "unread"),
		       number_of(now, "unexpected"), sum_of(now, "refused"), sum_of(now, "failed"));
	}
	fflush(stdout);
}

int stat_run(const struct asking *options, struct process *process, double interval, long count)
{
	struct timespec pause = { .tv_sec = (time_t)interval, .tv_nsec = (long)((interval - (double)(time_t)interval) * 1e9) };
	char why[256];
	cJSON *before = stat_ask(options, process, why, sizeof(why)), *now;

	for (long i = 0; before && (count < 0 || i < count); i++) {
		if (!options->json && i % 20 == 0)
			printf("%12s%12s%12s%12s%12s%9s%9s%9s%9s%9s\n", "ANSWERED/s", "SERVED/s", "READ/s", "OUT B/s", "IN B/s",
			       "UNDERWAY", "UNREAD", "UNEXP", "REFUSED", "FAILED");
		fflush(stdout);
		nanosleep(&pause, NULL);
		now = stat_ask(options, process, why, sizeof(why));
		if (now)
			print_rates(options, now, before);
		cJSON_Delete(before);
		before = now;
	}
	if (!before)
		die("process %d: %s", process->pid, why);
	cJSON_Delete(before);
	return 0;
}

/* --- Prometheus --- */

static const struct metric {
	const char *name, *kind, *help, *member;
	bool causes;
} metrics[] = {
	{ "emu_requests_answered_total", "counter", "Requests to peers that were answered.", "acked", false },
	{ "emu_requests_served_total", "counter", "Requests of peers that were executed or refused.", "served", false },
	{ "emu_completions_read_total", "counter", "Completions read from the queues that are open.", "completions", false },
	{ "emu_sent_bytes_total", "counter", "Bytes sent on connections since the first question.", "bytes_out", false },
	{ "emu_received_bytes_total", "counter", "Bytes received on connections since the first question.", "bytes_in", false },
	{ "emu_refused_total", "counter", "Requests of peers that were refused.", "refused", true },
	{ "emu_failed_total", "counter", "Own operations that failed.", "failed", true },
	{ "emu_requests_outstanding", "gauge", "Requests to peers without an answer so far.", "outstanding", false },
	{ "emu_completions_unread", "gauge", "Completions that nobody has read.", "unread", false },
	{ "emu_unexpected_messages", "gauge", "Messages without a receive.", "unexpected", false },
	{ "emu_endpoints", "gauge", "Open endpoints.", "endpoints", false },
	{ "emu_sessions", "gauge", "Sessions with peers.", "sessions", false },
	{ "emu_connections", "gauge", "Connections.", "connections", false },
	{ "emu_regions", "gauge", "Registered regions.", "regions", false },
};

/* A value of a label. The format escapes \ and \", and takes other bytes as they are; control characters are shown as elsewhere. */
static void print_label(const char *name, const char *value, const char *before)
{
	char *shown = safe(value);

	printf("%s%s=\"", before, name);
	for (const char *at = shown; *at; at++) {
		if (*at == '\\' || *at == '"')
			putchar('\\');
		putchar(*at);
	}
	putchar('"');
	free(shown);
}

static void print_sample(const struct metric *metric, const struct process *process, const char *cause, double value)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", process->pid);
	printf("%s{", metric->name);
	print_label("pid", pid, "");
	print_label("program", process->program, ",");
	print_label("personality", text_of(process->info, "personality"), ","); /* a process may have two NICs */
	if (cause)
		print_label("cause", cause, ",");
	printf("} %.17g\n", value);
}

static void print_metric(const struct metric *metric, struct process *list, cJSON **stats, size_t count)
{
	printf("# HELP %s %s\n# TYPE %s %s\n", metric->name, metric->help, metric->name, metric->kind);
	for (size_t i = 0; i < count; i++) {
		const cJSON *member = cJSON_GetObjectItemCaseSensitive(stats[i], metric->member), *item;

		if (!stats[i])
			continue;
		if (!metric->causes)
			print_sample(metric, &list[i], NULL, number_of(stats[i], metric->member));
		else
			cJSON_ArrayForEach(item, member) print_sample(metric, &list[i], item->string, item->valuedouble);
	}
}

/* A process that does not answer is left out, and told of: of the others there is something to say. */
int metrics_run(const struct asking *options, struct process *list, size_t count)
{
	cJSON **stats = calloc(count + 1, sizeof(*stats));
	char why[256];
	int status = 0;

	if (!stats)
		die("out of memory");
	for (size_t i = 0; i < count; i++) {
		stats[i] = stat_ask(options, &list[i], why, sizeof(why));
		if (!stats[i]) {
			complain("process %d: %s", list[i].pid, why);
			status = 2;
		}
	}
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		print_metric(&metrics[i], list, stats, count);
	for (size_t i = 0; i < count; i++)
		cJSON_Delete(stats[i]);
	free(stats);
	return status;
}
