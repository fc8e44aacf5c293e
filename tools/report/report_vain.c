/* SPDX-License-Identifier: BSD-2-Clause */
/* report_vain.c - processes that looked for a NIC and found none. */
#include "tools/report/report_steps.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SENTENCE_MAX = 4096 };

enum vain vain_cause(const char *cause)
{
	static const struct {
		const char *name;
		enum vain vain;
	} causes[] = {
		{ "no-info", VAIN_NO_INFO },
		{ "not-asked", VAIN_UNASKED },
		{ "provider-filtered", VAIN_FILTERED },
	};
	size_t i;

	for (i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		if (strcmp(causes[i].name, cause) == 0)
			return causes[i].vain;
	return VAIN_NOT;
}

/* libfabric loads providers in the first of its calls: was that fi_getinfo, and not one that lists variables or providers? */
static bool asks_for_info(const struct report_stack *here)
{
	const char *function;
	unsigned i;

	for (i = 0; i < here->count && here->frames[i].below; i++)
		if ((function = report_frame_function(&here->frames[i])) && strncmp(function, "fi_getinfo", 10) == 0)
			return true;
	return false;
}

static bool is_parent(const struct report_process *parent, const struct report_process *child)
{
	return parent->pid && (long)report_number(child->head, "ppid") == parent->pid;
}

/* A program may ask in one process for what another, forked from the same, needs. */
static bool kin_opened(const struct report_run *run, const struct report_process *process)
{
	const struct report_process *other;

	for (other = run->processes; other; other = other->next)
		if (report_opened(other) && other->host && process->host && strcmp(other->host, process->host) == 0 &&
		    strcmp(other->program, process->program) == 0 && (is_parent(other, process) || is_parent(process, other)))
			return true;
	return false;
}

static bool ended_with(const struct report_process *process, int status)
{
	const cJSON *found = cJSON_GetObjectItemCaseSensitive(process->end, "status");

	return cJSON_IsNumber(found) && (int)found->valuedouble == status;
}

bool vain_fails(const struct report_run *run, const struct report_result *finding)
{
	enum vain vain = vain_cause(finding->record->cause);
	const struct report_process *process;
	unsigned i;

	if (run->status == REPORT_SKIPPED)
		return false;
	for (i = 0; i < finding->shares_count; i++) {
		process = finding->shares[i].process;
		if (report_opened(process) || kin_opened(run, process))
			continue;
		if (run->none || (vain == VAIN_NO_INFO && !ended_with(process, REPORT_SKIPPED)))
			return true;
		if (vain == VAIN_UNASKED && !ended_with(process, 0) && !ended_with(process, REPORT_SKIPPED) &&
		    asks_for_info(&finding->record->stacks[STACK_HERE]))
			return true;
	}
	return false;
}

/* In a process of its own, as the library's constructors run. */
static void load_and_say(const char *path, int to)
{
	const char *wrong;

	if (dlopen(path, RTLD_NOW | RTLD_LOCAL))
		_exit(0);
	wrong = dlerror();
	_exit(wrong && write(to, wrong, strlen(wrong)) > 0 ? 1 : 2);
}

/* The dynamic loader's sentence about the provider; NULL: it loads, or that cannot be known. */
static const char *loader_says(const char *path)
{
	char sentence[SENTENCE_MAX];
	size_t length = 0;
	int ends[2], status;
	ssize_t got = 1;
	pid_t pid;

	if (pipe(ends) != 0)
		return NULL;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		load_and_say(path, ends[1]);
	close(ends[1]);
	while (pid > 0 && got != 0 && length < sizeof(sentence) - 1) {
		got = read(ends[0], sentence + length, sizeof(sentence) - 1 - length);
		if (got < 0 && errno != EINTR)
			break;
		length += got > 0 ? (size_t)got : 0;
	}
	close(ends[0]);
	sentence[length] = '\0';
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 1)
		return NULL;
	return report_copy(sentence);
}

/* No process has even loaded the provider. */
static const char *why_not_loaded(void)
{
	const char *folders = getenv("FI_PROVIDER_PATH"), *path, *wrong;

	if (!folders || *folders != '/')
		return NULL;
	path = report_format("%.*s/libemu-fi.so", (int)strcspn(folders, ":"), folders);
	wrong = loader_says(path);
	if (wrong)
		return report_format("%s cannot be loaded: %s", path, wrong);
	return report_format("no process loaded %s: the command does not use libfabric, or one that loads no providers, or sets "
			     "FI_PROVIDER_PATH by itself",
			     path);
}

void vain_judge(struct report_run *run)
{
	const struct report_process *process = run->processes;

	while (process && !report_opened(process))
		process = process->next;
	/* A command that has failed by itself, or has skipped, may have had no time for it. */
	run->none = !run->allow_none && !process && !run->losses_count && !run->problems && run->status <= 0;
	if (run->none && run->command && !run->processes)
		run->why_none = why_not_loaded();
}
