/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_option.h - the options in a section of a fault plan, emu_fault(5). Pure. */
#ifndef EMU_PROCESS_FAULT_OPTION_H
#define EMU_PROCESS_FAULT_OPTION_H

#include "emu/nic/faults/fault_plan.h"

enum fault_option {
	FAULT_OPTION_FAULT,
	FAULT_OPTION_PEER,
	FAULT_OPTION_OP,
	FAULT_OPTION_KEY,
	FAULT_OPTION_FIRST,
	FAULT_OPTION_EVERY,
	FAULT_OPTION_MOST,
	FAULT_OPTION_CHANCE,
	FAULT_OPTION_CAUSE,
	FAULT_OPTION_TIMES,
	FAULT_OPTION_WHEN,
	FAULT_OPTION_DOWN,
	FAULT_OPTION_WAIT,
	FAULT_OPTION_JITTER,
	FAULT_OPTION_ERROR,
	FAULT_OPTION_RATE,
	FAULT_OPTION_ENTRIES,
	FAULT_OPTION_CALL,
	FAULT_OPTION_QP,
	FAULT_OPTION_CQ,
	FAULT_OPTION_STATUS,
	FAULT_OPTION_EVENT,
	FAULT_OPTION_AFTER,
	FAULT_OPTION_BECOMES,
	FAULT_OPTION_REASON,
	FAULT_OPTIONS
};

bool fault_option_find(const char *name, enum fault_option *option);
/* May it stand in a rule of that sort, and must it? *name is its name. */
bool fault_option_fits(enum fault_option option, enum fault_sort sort, const char **name);
bool fault_option_wanted(enum fault_option option, enum fault_sort sort, const char **name);
/* NULL; or the kind of value that is expected ("a number"), and the rule is unchanged. */
const char *fault_option_read(enum fault_option option, const char *value, struct fault_rule *rule);

/* The number of a name among those of a front end (struct process_faults), whose prefix it may lack; -1: there is none. And the
 * name of a number. */
enum { FAULT_WORD_MAX = 100 };
int fault_word(const char *words, const char *prefix, const char *word);
const char *fault_word_at(const char *words, uint32_t number, char name[FAULT_WORD_MAX]);
/* The number of an event by its name; false: the front end has none of that name. */
bool fault_event_find(const char *name, uint32_t *event);
/* A rule without any option. */
void fault_rule_begin(struct fault_rule *rule);
/* All options have been read; `kinds`: "op" was among them. NULL, or what is wrong. */
const char *fault_rule_end(struct fault_rule *rule, bool kinds);

#endif
