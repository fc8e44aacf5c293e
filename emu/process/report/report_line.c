/* SPDX-License-Identifier: BSD-2-Clause */
/* report_line.c - what the lines of reports say. Optional members that do not fit are left out (json.h), so those that
 * tools rely on come first. */
#include "emu/process/report/report_impl.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/process/front/process_front.h"
#include "emu/process/report/json.h"
#include "emu/process/report/report.h"
#include "emu/nic/regions/refusal_name.h"

uint64_t report_line_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t report_line_start(void)
{
	static uint64_t start_ns;
	static pid_t whose;

	if (whose != getpid()) {
		whose = getpid();
		start_ns = report_line_now();
	}
	return start_ns;
}

static void command_json(struct json *json)
{
	char text[4096];
	int fd = open("/proc/thread-self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	json_array(json, "command");
	for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1) {
		text[length] = '\0';
		json_string(json, NULL, text + at);
	}
	json_end(json);
}

/* Launchers of MPI and of batch systems give these to their processes. */
static void rank_json(struct json *json)
{
	static const char *const variables[] = { "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		const char *text = getenv(variables[i]);
		char *end;
		unsigned long rank;

		if (!text || !isdigit((unsigned char)*text))
			continue;
		rank = strtoul(text, &end, 10);
		if (*end)
			continue;
		json_number(json, "rank", rank);
		return;
	}
}

void report_line_process(struct json *json, const struct report_start *start)
{
	char host[HOST_NAME_MAX + 1] = "unknown";

	gethostname(host, sizeof(host) - 1);
	json_number(json, "emu_report", 1);
	json_string(json, "type", "process");
	json_string(json, "host", host);
	json_number(json, "pid", (uint64_t)getpid());
	json_number(json, "ppid", (uint64_t)getppid());
	json_string(json, "program", program_invocation_short_name);
	rank_json(json);
	command_json(json);
	json_number(json, "uid", getuid());
	json_number(json, "started_ns", report_line_start());
	json_string(json, "personality", start->personality);
	json_string(json, "version", EMU_VERSION);
	json_bool(json, "checked", start->checked);
}

/* Writes the rules that the sentence names: S and a number, or WIRE- and a number, between characters of no word. */
static void rules_json(struct json *json, const char *text)
{
	char rule[16];
	bool any = false;

	for (const char *at = text; *at; at++) {
		size_t prefix = *at == 'S' ? 1 : !strncmp(at, "WIRE-", 5) ? 5 : 0, length = prefix;

		if (!prefix || (at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_')))
			continue;
		while (isdigit((unsigned char)at[length]))
			length++;
		if (length == prefix || length >= sizeof(rule) || isalnum((unsigned char)at[length]) || at[length] == '_')
			continue;
		if (!any)
			json_array(json, "rules");
		any = true;
		memcpy(rule, at, length);
		rule[length] = '\0';
		json_string(json, NULL, rule);
	}
	if (any)
		json_end(json);
}

static bool names_call(const char *text)
{
	for (size_t i = 0; process_front.call_prefixes[i]; i++)
		if (!strncmp(text, process_front.call_prefixes[i], strlen(process_front.call_prefixes[i])))
			return true;
	return false;
}

/* "NAME: the ..." names its call. */
static void call_json(struct json *json, const struct report_finding *finding)
{
	const char *colon = strchr(finding->text, ':');
	char name[64];
	size_t length = 0;

	if (finding->call) {
		json_string(json, "call", finding->call);
		return;
	}
	while (isalnum((unsigned char)finding->text[length]) || finding->text[length] == '_')
		length++;
	if (!colon || length >= sizeof(name) || (finding->text[length] != ':' && finding->text[length] != ',') ||
	    !names_call(finding->text))
		return;
	memcpy(name, finding->text, length);
	name[length] = '\0';
	json_string(json, "call", name);
}

static void remedy_json(struct json *json, const struct report_finding *finding)
{
	const char *stop = strstr(finding->text, ". ");

	if (finding->remedy)
		json_string(json, "remedy", finding->remedy);
	else if (stop)
		json_string(json, "remedy", stop + 2);
}

static void op_json(struct json *json, const struct report_op *op)
{
	if (!op)
		return;
	json_object(json, "op");
	json_string(json, "kind", op->kind);
	if (op->targets) {
		json_hex(json, "key", op->key);
		json_hex(json, "addr", op->addr);
	}
	json_number(json, "length", op->length);
	json_end(json);
}

static void access_json(struct json *json, uint32_t access)
{
	json_array(json, "access");
	for (const struct right_name *right = right_names; right->bit; right++)
		if (access & right->bit)
			json_string(json, NULL, right->name);
	json_end(json);
}

static void region_members(struct json *json, const struct report_region *region)
{
	json_hex(json, "key", region->key);
	json_hex(json, "addr", region->addr);
	json_number(json, "length", region->length);
	access_json(json, region->access);
	json_string(json, "state", region->closed ? "closed" : "open");
	if (region->age_ns)
		json_number(json, "age_ns", region->age_ns);
}

static void regions_json(struct json *json, const struct report_finding *finding)
{
	if (finding->region) {
		json_object(json, "region");
		region_members(json, finding->region);
		json_end(json);
	}
	if (finding->nearest_what) {
		json_object(json, "nearest");
		json_string(json, "what", finding->nearest_what);
		if (finding->nearest)
			region_members(json, finding->nearest);
		json_end(json);
	}
}

void report_line_finding(struct json *json, uint32_t id, const struct report_finding *finding, const struct call_stack *here)
{
	static const char *const kinds[] = { "refusal", "call", "misuse", "leak", "race", "note" };
	static const char *const sides[] = { "initiator", "target", "local" };

	json_string(json, "type", "finding");
	json_number(json, "id", id);
	json_number(json, "time_ns", report_line_now());
	json_number(json, "tid", (uint64_t)gettid());
	json_string(json, "kind", kinds[finding->kind]);
	json_string(json, "cause", finding->cause);
	if (finding->number)
		json_number(json, "number", finding->number);
	json_string(json, "side", sides[finding->side]);
	if (finding->injected)
		json_bool(json, "injected", true);
	json_string(json, "text", finding->text);
	rules_json(json, finding->text);
	call_json(json, finding);
	remedy_json(json, finding);
	op_json(json, finding->op);
	json_string(json, "peer", finding->peer);
	regions_json(json, finding);
	json_object(json, "stacks");
	call_stack_json(json, "here", here);
	call_stack_json(json, "posted", finding->posted);
	call_stack_json(json, "opened", finding->opened);
	call_stack_json(json, "closed", finding->closed);
	json_end(json);
}
