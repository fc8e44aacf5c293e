/* SPDX-License-Identifier: BSD-2-Clause */
/* report_read.c - reads the records that processes left in a folder. */
#include "tools/report/report_steps.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/report/report_out.h"

enum {
	RECORDS_LOST = 0400,      /* the mode of a file whose process could not write on */
	FRAMES_MAX = 64,          /* of a stack; the provider takes 16 */
	RECORD_IDS_MAX = 1 << 24, /* so that a forged id does not take all memory */
};

static const char *const stack_names[STACK_NAMES] = { "here", "posted", "opened", "closed" };

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool module_is_below(const char *module)
{
	const char *name = strrchr(module, '/');

	name = name ? name + 1 : module;
	return begins(name, "libemu-fi") || begins(name, "libfabric.so") || begins(name, "libfabric-");
}

static void read_stack(struct report_stack *stack, const cJSON *json)
{
	int count = cJSON_GetArraySize(json);
	const cJSON *item;

	if (!cJSON_IsArray(json) || !count)
		return;
	stack->frames = report_alloc((count < FRAMES_MAX ? count : FRAMES_MAX) * sizeof(*stack->frames));
	cJSON_ArrayForEach(item, json)
	{
		struct report_frame *frame = &stack->frames[stack->count];
		const char *offset = report_string(item, "offset");

		frame->module = report_string(item, "file");
		if (!frame->module)
			frame->module = "?";
		frame->offset = offset ? strtoumax(offset, NULL, 0) : 0;
		frame->symbol = report_string(item, "symbol");
		frame->below = module_is_below(frame->module);
		if (++stack->count == FRAMES_MAX)
			return;
	}
}

static bool read_finding(struct report_run *run, struct report_process *process, cJSON *json)
{
	const cJSON *stacks = cJSON_GetObjectItemCaseSensitive(json, "stacks");
	double id = report_number(json, "id");
	struct report_record *record;
	size_t at, i;

	if (id < 0 || id >= RECORD_IDS_MAX || !report_string(json, "kind") || !report_string(json, "cause"))
		return false;
	at = (size_t)id;
	if (at >= process->records_max) {
		size_t max = 2 * at + 16;
		struct report_record **records = report_alloc(max * sizeof(*records));

		if (process->records_max)
			memcpy(records, process->records, process->records_max * sizeof(*records));
		process->records = records;
		process->records_max = max;
	}
	if (process->records[at])
		return false;
	record = report_alloc(sizeof(*record));
	*record = (struct report_record){
		.process = process,
		.json = json,
		.kind = report_string(json, "kind"),
		.cause = report_string(json, "cause"),
		.side = report_string(json, "side"),
		.call = report_string(json, "call"),
		.text = report_string(json, "text"),
		.remedy = report_string(json, "remedy"),
		.peer = report_string(json, "peer"),
		.injected = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "injected")),
		.at_exit = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "at_exit")),
		.time_ns = report_number(json, "time_ns"),
		.count = 1,
	};
	for (i = 0; i < STACK_NAMES; i++)
		read_stack(&record->stacks[i], cJSON_GetObjectItemCaseSensitive(stacks, stack_names[i]));
	process->records[at] = record;
	process->in_vain |= vain_cause(record->cause) != VAIN_NOT;
	*run->records_end = record;
	run->records_end = &record->next;
	return true;
}

static bool read_count(struct report_process *process, const cJSON *json)
{
	double id = report_number(json, "id"), count = report_number(json, "count");

	if (id < 0 || id >= (double)process->records_max || !process->records[(size_t)id] || count < 1)
		return false;
	process->records[(size_t)id]->count = count;
	return true;
}

/* Reads the first line. False if the file is not to be read on. */
static bool read_head(struct report_run *run, struct report_process *process, cJSON *json)
{
	double version = report_number(json, "emu_report"), pid = report_number(json, "pid");

	if (version > REPORT_VERSION) {
		report_problem(run,
			       "%s: records of version %.0f; this emu_report reads version %d: take the one that was installed "
			       "with the provider",
			       text_clean(process->path), version, REPORT_VERSION);
		return false;
	}
	process->head = json;
	process->host = report_string(json, "host");
	process->program = report_string(json, "program");
	process->pid = pid > 0 && pid <= INT32_MAX ? (long)pid : 0;
	return true;
}

/* One line. Takes the object. False if the file is not to be read on. */
static bool read_record(struct report_run *run, struct report_process *process, cJSON *json)
{
	const char *type = report_string(json, "type");
	bool good = true;

	if (type && strcmp(type, "process") == 0 && !process->head && report_number(json, "emu_report") >= 1)
		return read_head(run, process, json);
	if (!type)
		good = false;
	else if (strcmp(type, "finding") == 0)
		good = read_finding(run, process, json);
	else if (strcmp(type, "count") == 0)
		good = read_count(process, json);
	else if (strcmp(type, "opened") == 0)
		process->opened = true;
	else if (strcmp(type, "end") == 0)
		process->end = json;
	if (!good)
		process->corrupt++;
	if (!good || (json != process->end && strcmp(type, "finding") != 0))
		cJSON_Delete(json);
	return true;
}

static void read_lines(struct report_run *run, struct report_process *process, FILE *file)
{
	size_t size = 0;
	char *line = NULL;
	ssize_t length;

	while ((length = getline(&line, &size, file)) > 0) {
		cJSON *json;

		if (line[length - 1] != '\n') {
			process->cut_off = true;
			break;
		}
		text_mend_utf8(line, (size_t)length);
		json = cJSON_ParseWithLength(line, (size_t)length);
		if (!cJSON_IsObject(json)) {
			cJSON_Delete(json);
			process->corrupt++;
		} else if (!read_record(run, process, json)) {
			cJSON_Delete(json);
			break;
		}
	}
	if (ferror(file))
		report_problem(run, "%s: %s", text_clean(process->path), strerror(errno));
	free(line);
}

/* Whether a process that wrote no last line is still there. */
static bool still_runs(const struct report_process *process)
{
	char host[256];

	return !process->end && process->pid > 0 && process->host && gethostname(host, sizeof(host)) == 0 &&
	       strcmp(host, process->host) == 0 && (kill((pid_t)process->pid, 0) == 0 || errno == EPERM);
}

/* HOST-PID-STARTNS.jsonl, where HOST may have hyphens, too. 0: the file has another name. */
static long pid_by_name(const char *path)
{
	const char *at = strrchr(path, '-');

	while (at && at > path && at[-1] != '-' && at[-1] != '/')
		at--;
	return at && at > path && at[-1] == '-' ? strtol(at, NULL, 10) : 0;
}

static void read_file(struct report_run *run, const char *path)
{
	/* Not to wait for a writer, should it be a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct report_process *process;
	struct stat stat;
	FILE *file;

	if (fd < 0 || fstat(fd, &stat) != 0) {
		report_problem(run, "%s: %s", text_clean(path), strerror(errno));
		if (fd >= 0)
			close(fd);
		return;
	}
	file = S_ISREG(stat.st_mode) ? fdopen(fd, "r") : NULL;
	if (!file) {
		report_problem(run, "%s: is no regular file", text_clean(path));
		close(fd);
		return;
	}
	process = report_alloc(sizeof(*process));
	process->path = report_copy(path);
	process->lost = (stat.st_mode & 07777) == RECORDS_LOST;
	read_lines(run, process, file);
	fclose(file);
	if (!process->program)
		process->program = process->head ? "?" : report_copy(strrchr(path, '/') + 1);
	if (!process->head)
		process->pid = pid_by_name(path);
	if (stat.st_size && !process->head && !process->corrupt && !process->cut_off && !process->end)
		return; /* of a newer version */
	process->running = still_runs(process);
	*run->processes_end = process;
	run->processes_end = &process->next;
	run->processes_count++;
}

static int is_record_file(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot && strcmp(dot, ".jsonl") == 0;
}

/* By what a process has in each run, then in the order in which they started. */
static int by_role(const void *a, const void *b)
{
	const struct report_process *one = *(struct report_process *const *)a, *other = *(struct report_process *const *)b;
	int order = strcmp(one->program, other->program);
	double ones, others;

	if (!order)
		order = strcmp(one->name, other->name);
	if (order)
		return order;
	ones = report_number(one->head, "started_ns");
	others = report_number(other->head, "started_ns");
	return ones < others ? -1 : ones > others ? 1 : strcmp(one->path, other->path);
}

/* Names with which reports of several runs can be compared: pids differ. */
static void name_processes(struct report_run *run)
{
	struct report_process **all = report_alloc((run->processes_count + 1) * sizeof(struct report_process *)), *process;
	const char *role = "", *program = "";
	unsigned count = 0, i, nth = 0;

	for (process = run->processes; process; process = process->next) {
		const cJSON *rank = cJSON_GetObjectItemCaseSensitive(process->head, "rank");

		process->name = cJSON_IsNumber(rank) ? report_format("rank %.0f", rank->valuedouble) : "process";
		all[count++] = process;
	}
	qsort(all, count, sizeof(struct report_process *), by_role);
	for (i = 0; i < count; i++) {
		process = all[i];
		nth = strcmp(process->name, role) == 0 && strcmp(process->program, program) == 0 ? nth + 1 : 1;
		role = process->name;
		program = process->program;
		if (strcmp(role, "process") == 0)
			process->name = report_format("process %u", nth);
		else if (nth > 1)
			process->name = report_format("%s, job %u", role, nth);
	}
}

void report_read_folder(struct report_run *run, const char *folder)
{
	struct dirent **names;
	int count = scandir(folder, &names, is_record_file, alphasort), i;

	if (count < 0) {
		report_problem(run, "%s: %s", text_clean(folder), strerror(errno));
		return;
	}
	for (i = 0; i < count; i++) {
		read_file(run, report_format("%s/%s", folder, names[i]->d_name));
		free(names[i]);
	}
	free(names);
	name_processes(run);
}
