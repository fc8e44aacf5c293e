/* SPDX-License-Identifier: BSD-2-Clause */
/* report.c - which findings are new, and the lines that say so. One lock guards all of it; a signal handler whose thread has
 * the lock reports nothing. */
#include "emu/process/report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu/process/report/json.h"
#include "emu/process/report/report_impl.h"
#include "emu/process/report/report_regions.h"
#include "emu/net/os/fork.h"
#include "emu/nic/base/futex_lock.h"

enum { STATUS_UNKNOWN = -1, FINDINGS_MAX = 1024, LINE_MAX_BYTES = 1 << 15 };

struct told {
	uint64_t what; /* hash of what makes it one finding */
	uint64_t count, written;
};

static struct {
	struct futex_lock lock;
	atomic_int owner; /* thread that has the lock */
	struct report_start start;
	char folder[4096];
	uint32_t count;
	atomic_bool exits; /* what is found from now on was left when the process exited, */
	atomic_int status; /* with that status; -1: not known */
	uint64_t left_out; /* findings beyond FINDINGS_MAX */
	struct told told[FINDINGS_MAX];
	char line[LINE_MAX_BYTES];
} report;

atomic_bool report_is_on;

/* The child is a process of its own, with a file of its own. */
static void report_forked(void)
{
	atomic_store(&report.lock.state, FUTEX_FREE);
	atomic_store(&report.owner, 0);
	report.count = 0;
	report.left_out = 0;
	atomic_store(&report.exits, false);
	atomic_store(&report.status, STATUS_UNKNOWN);
	report_file_forked();
	call_stack_forked();
	report_counts_forked();
	report_posts_forked();
	report_regions_forked();
}

static struct fork_reset reset = { .in_child = report_forked };

static bool report_lock(void) TRY_ACQUIRE(true, report.lock) UNCHECKED
{
	int me = gettid();

	if (atomic_load(&report.owner) == me)
		return false;
	futex_lock(&report.lock);
	atomic_store(&report.owner, me);
	return true;
}

bool report_inside(void)
{
	return atomic_load(&report.owner) == gettid();
}

static void report_unlock(void) RELEASE(report.lock)
{
	atomic_store(&report.owner, 0);
	futex_unlock(&report.lock);
}

/* With the lock. */
static void put_line(struct json *json)
{
	size_t length = json_close(json);

	if (!report_file_put(report.line, length))
		atomic_store(&report_is_on, false);
}

/* With the lock: there is a file, and its first line stands in it. */
static bool has_file(void)
{
	struct json json;

	if (report_file_is_open())
		return true;
	if (!report_file_open(report.folder)) {
		atomic_store(&report_is_on, false);
		return false;
	}
	json_open(&json, report.line, sizeof(report.line));
	report_line_process(&json, &report.start);
	put_line(&json);
	return report_on();
}

/* Runs before libraries are ended. */
static void note_status(int status, void *arg)
{
	(void)arg;
	atomic_store(&report.status, status & 0xff);
}

void report_exits(void)
{
	atomic_store(&report.exits, true);
}

void report_switch(const struct report_start *start)
{
	if (!start->folder || !*start->folder || !report_lock())
		return;
	if (!*report.folder) {
		if (fork_register(&reset) == 0 && strlen(start->folder) < sizeof(report.folder)) {
			call_stack_prime();
			report_posts_open();
			atomic_store(&report.status, STATUS_UNKNOWN);
			on_exit(note_status, NULL);
			report.start = *start;
			strcpy(report.folder, start->folder);
			report.start.folder = report.folder;
			atomic_store(&report_is_on, true);
		}
	}
	report_unlock();
}

void report_process(void)
{
	struct json json;

	if (!report_on() || !report_lock())
		return;
	if (report_file_is_open()) {
		json_open(&json, report.line, sizeof(report.line));
		json_string(&json, "type", "opened");
		json_number(&json, "time_ns", report_line_now());
		put_line(&json);
	} else {
		has_file();
	}
	report_unlock();
}

static uint64_t hash_in(uint64_t hash, uint64_t more)
{
	hash = (hash ^ more) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static uint64_t identity(const struct report_finding *finding, const struct call_stack *here)
{
	uint64_t hash = hash_in(finding->kind, finding->side + 1);

	for (const char *at = finding->cause; *at; at++)
		hash = hash_in(hash, (unsigned char)*at);
	hash = hash_in(hash, finding->place ? finding->place : call_stack_place(here));
	return hash_in(hash_in(hash, (uintptr_t)finding->sentence), finding->injected) | 1;
}

static void put_count(uint32_t id)
{
	struct told *told = &report.told[id];
	struct json json;

	json_open(&json, report.line, sizeof(report.line));
	json_string(&json, "type", "count");
	json_number(&json, "id", id + 1);
	json_number(&json, "count", told->count);
	put_line(&json);
	told->written = told->count;
}

/* With the lock. Counts the finding if it was told before, or no more are told. */
static bool is_known(uint64_t what)
{
	for (uint32_t i = 0; i < report.count; i++) {
		struct told *told = &report.told[i];

		if (told->what != what)
			continue;
		told->count++;
		if ((told->count & (told->count - 1)) == 0)
			put_count(i);
		return true;
	}
	if (report.count < FINDINGS_MAX)
		return false;
	report.left_out++;
	return true;
}

bool report_repeated(const struct report_finding *finding)
{
	static const struct call_stack nowhere = { .count = 0 };
	bool known = true;

	if (!report_on() || !report_lock())
		return true;
	known = report_on() && has_file() && is_known(identity(finding, finding->here ? finding->here : &nowhere));
	report_unlock();
	return known;
}

void report_finding(const struct report_finding *finding)
{
	struct call_stack here = { .count = 0 };
	struct json json;
	uint64_t what;

	if (!report_on())
		return;
	if (!finding->here)
		call_stack_take(&here);
	what = identity(finding, finding->here ? finding->here : &here);
	if (!report_lock())
		return;
	if (report_on() && has_file() && !is_known(what)) {
		report.told[report.count++] = (struct told){ .what = what, .count = 1, .written = 1 };
		json_open(&json, report.line, sizeof(report.line));
		call_stack_refresh();
		if (finding->kind >= REPORT_MISUSE && atomic_load(&report.exits))
			json_bool(&json, "at_exit", true);
		report_line_finding(&json, report.count, finding, finding->here ? finding->here : &here);
		put_line(&json);
	}
	report_unlock();
}

void report_end(void (*more)(struct json *json))
{
	struct json json;

	if (!report_on() || !report_lock())
		return;
	if (report_file_is_open()) {
		for (uint32_t i = 0; i < report.count && report_on(); i++)
			if (report.told[i].count != report.told[i].written)
				put_count(i);
		json_open(&json, report.line, sizeof(report.line));
		json_string(&json, "type", "end");
		json_number(&json, "time_ns", report_line_now());
		if (atomic_load(&report.status) != STATUS_UNKNOWN)
			json_number(&json, "status", (uint64_t)atomic_load(&report.status));
		if (report.left_out)
			json_number(&json, "left_out", report.left_out);
		if (more)
			more(&json);
		if (report_on())
			put_line(&json);
		report_file_close();
		atomic_store(&report_is_on, false); /* the last line is the last one */
	}
	report_unlock();
}
