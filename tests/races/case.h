/* SPDX-License-Identifier: BSD-2-Clause */
/* case.h - a labelled program: what a table says of it, and what its processes have besides the NIC. A front end (fi, verbs) has
 * tables of cases, and a kit that opens the NIC in each process. */
#ifndef TESTS_RACES_CASE_H
#define TESTS_RACES_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RACE_SIDES = 4, RACE_ROUNDS = 8 };
enum race_label { RIGHT, RACY };

struct race_case {
	const char *name;
	enum race_label label;
	const char *kind;    /* a row of the score */
	const char *finding; /* of a racy one: the causes that tell it, with '|' between them */
	unsigned sides;      /* processes */
	/* RACE_ROUNDS times in each process, which race_self tells apart; all begin a round together. It ends well whatever the
	 * values are. */
	void (*run)(unsigned round);
	unsigned how;     /* for a run() that serves several cases, */
	const void *what; /* or this */
	const void *want; /* what the kit shall open; NULL: what most cases need */
};

/* Rows of a table; behind `function` may come .how, .what and .want. */
#define RACE(title, of, causes, processes, function, ...)                                                                   \
	{                                                                                                                   \
		.name = (title), .label = RACY, .kind = (of), .finding = (causes), .sides = (processes), .run = (function), \
		__VA_ARGS__                                                                                                 \
	}
#define TWIN(title, of, processes, function, ...)                                                                   \
	{                                                                                                           \
		.name = (title), .label = RIGHT, .kind = (of), .sides = (processes), .run = (function), __VA_ARGS__ \
	}

struct race_set {
	const struct race_case *cases;
	size_t count;
};
#define RACE_SET(table)                                   \
	{                                                 \
		table, sizeof(table) / sizeof((table)[0]) \
	}

/* The front end defines these. The last one is NULL. */
extern const struct race_set *const race_sets[];
void race_open(void); /* in each process, after the fork: all sides can reach each other when it returns */
void race_close(void);

extern const struct race_case *race_this;
extern unsigned race_self; /* 0 ... race_this->sides - 1 */

static inline bool racy(void)
{
	return race_this->label == RACY;
}

/* --- by ways that the NIC has no part in. Each waits, and ends the process if the other side has ended. --- */

void race_tell(unsigned side);
void race_hear(unsigned side); /* as often as it tells */
void race_meet(void);          /* all sides come here before any goes on */
/* Each side's `mine`, of up to 4 KiB, comes to all[side] of all sides. */
void race_swap(const void *mine, void *all, size_t size);

/* Computes, as programs do between two calls: for microseconds or some milliseconds, drawn by the order of their length. */
void race_compute(void);

/* --- what the processor does with memory --- */

static inline uint8_t race_load(const void *at)
{
	return *(const volatile uint8_t *)at;
}

static inline void race_store(void *at, uint8_t value)
{
	*(volatile uint8_t *)at = value;
}

/* --- the program's own mistakes --- */

_Noreturn void race_die(const char *file, int line, const char *what);
#define NEED(truth) ((truth) ? (void)0 : race_die(__FILE__, __LINE__, #truth))

#endif
