/* SPDX-License-Identifier: BSD-2-Clause */
/* emuctl.h - the parts of emuctl: finding processes, asking one, showing what it said. One thread; all ends with the program. */
#ifndef EMUCTL_H
#define EMUCTL_H

#include <stdbool.h>
#include <stddef.h>

#include <cjson/cJSON.h>

struct asking {
	const char *folder; /* NULL: the user's own */
	bool json, keys;
	long timeout_ms;
};

/* A process that has a control socket. */
struct process {
	int pid;
	char path[256];
	char program[64]; /* as it says; empty: not asked yet, or no answer */
	cJSON *info;      /* its answer to "info"; NULL: none */
	char why[160];    /* then, why */
};

/* ctl_find.c. The sockets of the folder, in the order of their numbers; those that nobody listens at are removed. */
size_t find_all(const struct asking *options, struct process **list);
/* What it says of itself, asked once; NULL: process->why says why not. */
const cJSON *find_info(const struct asking *options, struct process *process);
/* The one process, or NIC of a process, of that number or name, and with that personality behind a slash. Ends the program with a
 * sentence if there is none, or more than one. */
struct process *find_one(const struct asking *options, const char *which);

/* ctl_ask.c. Sends the request and calls take() for each line of the answer but its last; false: why[size] has the sentence. take()
 * gets the line and its object, which it does not keep; false from it ends the answer. */
typedef bool ask_take(void *arg, const char *line, const cJSON *object);
bool ask(const struct process *process, const struct asking *options, const char *request, ask_take *take, void *arg, char *why,
	 size_t size);

/* ctl_show.c. A table for people: rows of `columns` cells, the first row the heads. Control characters are shown as \xHH; on a
 * terminal lines are cut to its width. */
struct table {
	size_t columns, cells;
	char **cell;
};
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_print(struct table *table);
/* Members of an object as text: "" where there is none. */
const char *text_of(const cJSON *object, const char *name);
double number_of(const cJSON *object, const char *name);
bool flag_of(const cJSON *object, const char *name);
/* The rows of a command's lines ("ep", "mr" ...); NULL: its heads alone, which come before the first. Nothing for a command that
 * has no table. */
void show_line(struct table *table, const char *command, const cJSON *object);
void show_info(const cJSON *info);
void show_log(const cJSON *line);
void show_trace(const cJSON *line);
/* A copy with control characters as \xHH, from malloc(); and that, printed. */
char *safe(const char *text);
void print_safe(const char *text);
void age_text(double since_ns, char *text, size_t size);

/* ctl_stat.c: the live table, and the text for Prometheus. Exit status. */
int stat_run(const struct asking *options, struct process *process, double interval, long count);
int metrics_run(const struct asking *options, struct process *list, size_t count);

/* A sentence on stderr, */
void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* and exit status 2 after it. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
