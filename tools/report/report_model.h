/* SPDX-License-Identifier: BSD-2-Clause */
/* report_model.h - what emu_report knows of a run: processes, what each found, and findings of all of them.
 * One thread. All of it lives until the program ends; a call that finds no memory ends the program with status 2. */
#ifndef REPORT_MODEL_H
#define REPORT_MODEL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	REPORT_FAILED = 86, /* a finding that nobody expected, or an expectation that was not met */
	REPORT_ERROR = 2,
	REPORT_SKIPPED = 77, /* what a test ends with that cannot run here */
};

enum report_stack_name { STACK_HERE, STACK_POSTED, STACK_OPENED, STACK_CLOSED, STACK_NAMES };

struct report_frame {
	const char *module;
	uint64_t offset;               /* of the call, as the module's symbols count */
	const char *symbol;            /* what the process knew: name+0x1f, or NULL */
	const char *function, *source; /* by the debugging information, or NULL */
	int line;
	const char *call; /* of libfabric that was made there, or NULL */
	bool below;       /* libfabric's or the provider's own, below the call that the program made */
};

struct report_stack {
	struct report_frame *frames;
	unsigned count;
};

struct report_process {
	const char *path; /* of its file of records */
	const char *host, *program;
	const char *name; /* that it has in each run: `rank 1', or `process 1' of its program */
	long pid;
	cJSON *head, *end; /* the first and the last line, or NULL */
	bool running;
	unsigned corrupt;               /* lines that could not be read */
	bool cut_off;                   /* the last line has no end */
	bool lost;                      /* it could not write on */
	bool in_vain, opened;           /* it looked for a NIC and found none; it opened one all the same */
	struct report_record **records; /* by id, with gaps */
	size_t records_max;
	struct report_result *cause; /* its first failure while it ran, or NULL */
	struct report_process *next;
};

/* What one process found at one place. */
struct report_record {
	struct report_process *process;
	cJSON *json;
	const char *kind, *cause, *side, *call, *text, *remedy, *peer;
	bool injected;
	bool at_exit; /* found when the process had begun to exit */
	double time_ns, count;
	struct report_stack stacks[STACK_NAMES];
	struct report_record *other; /* the other side of the same refusal */
	struct report_record *next;
};

struct report_share {
	struct report_process *process;
	double count;
};

/* What exits left open. */
struct report_left {
	const char *cause;
	double count;
	struct report_left *next;
};

struct report_result {
	struct report_record *record;     /* the initiator's, if there are two */
	struct report_record *target;     /* what the other side found, or NULL */
	const struct report_stack *stack; /* of the place in the program, or NULL */
	const struct report_frame *site;  /* its line of the program, or NULL */
	double count, first_ns;
	unsigned number;             /* its place among the findings */
	struct report_share *shares; /* of the processes of `record` */
	unsigned shares_count;
	const struct report_expectation *expected; /* or NULL */
	const struct report_expectation *nearly;   /* one that accepts another sentence of the same call, or NULL */
	bool fails;
	struct report_result *after; /* the finding that it follows from, which tells of it; or NULL */
	struct report_left *lefts;   /* what follows from this one; */
	const char *left_by, *left;  /* the exit status, or empty if they differ; all of it in words, or NULL */
	struct report_result *next;
};

/* Records that a process could not leave, or left damaged. */
struct report_loss {
	const char *text;
	struct report_loss *next;
};

struct report_run {
	struct report_process *processes, **processes_end;
	struct report_record *records, **records_end;
	struct report_result *findings, **findings_end;
	struct report_expectation *expectations, **expectations_end;
	struct report_loss *losses, **losses_end;
	unsigned processes_count, findings_count, losses_count, failing, following, problems;
	bool allow_none;      /* that no process opens the NIC is meant */
	bool none;            /* no process opened it, which fails */
	const char *why_none; /* what is known of the reason, or NULL */
	char *const *command; /* NULL if it is not known */
	int status;           /* the command's, or -1 */
	double seconds;       /* it took so long, or 0 */
	int verdict;
};

void report_init(struct report_run *run);

/* Zeroed memory that is never freed. */
void *report_alloc(size_t size);
char *report_copy(const char *text);
char *report_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says what is wrong with the run's own files, on stderr, and counts it: the program ends with REPORT_ERROR then. */
void report_problem(struct report_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The string or the number of a member of an object; NULL or 0 if there is none. */
const char *report_string(const cJSON *object, const char *name);
double report_number(const cJSON *object, const char *name);

/* Did the process open a NIC? */
bool report_opened(const struct report_process *process);

/* The first frame of the program itself, above libfabric; NULL if there is none. */
const struct report_frame *report_stack_site(const struct report_stack *stack);

/* A table of pointers by name. report_slot() gives the place of a name, which holds NULL when the name is new. */
struct report_table {
	struct report_slot {
		const char *name;
		void *value;
	} * slots;
	size_t used, size;
};

void **report_slot(struct report_table *table, const char *name);

#endif
