/* SPDX-License-Identifier: BSD-2-Clause */
/* fault_calls.c - counts calls, requests and time for the rules of the front end, and has events happen. */
#include "emu/process/faults/fault_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/net/os/fork.h"
#include "emu/net/os/monotonic.h"
#include "emu/nic/base/cancel.h"
#include "emu/nic/base/mutex.h"
#include "emu/process/faults/fault_file.h"
#include "emu/process/faults/fault_option.h"
#include "emu/process/front/process_front.h"
#include "emu/process/log/log.h"

atomic_uint fault_calls_shown;

static struct mutex beginning = MUTEX_INITIALIZER;   /* a plan is read under it, so that nobody begins without; before `lock` */
static char *taken GUARDED_BY(beginning);            /* the setting that fault_calls_begin() took last; NULL: none */
static struct mutex lock = MUTEX_INITIALIZER;        /* a leaf */
static struct fault_plan exchanged GUARDED_BY(lock); /* what emuctl put in force, whole; */
static bool is_exchanged GUARDED_BY(lock);           /* if it did, and no other setting was taken since */
static struct fault_plan plan GUARDED_BY(lock);
static uint64_t counts[LIMIT_FAULT_RULES] GUARDED_BY(lock); /* of calls or requests that each rule names; or 1: its time has come */
static uint64_t begun_ns GUARDED_BY(lock);                  /* the plan is in force since then */

static void calls_forked(void)
{
	mutex_forked(&beginning);
	mutex_forked(&lock);
}

static struct fork_reset reset = { .in_child = calls_forked };

/* In the place of the one there is; NULL: none. All is counted anew, and time begins. */
static void put_in_force(const struct fault_plan *next, bool exchanges)
{
	bool any = false;

	for (uint32_t i = 0; next && process_front.faults && i < next->rules; i++)
		any |= next->rule[i].sort >= PLAN_CALL;
	mutex_lock(&lock);
	is_exchanged = exchanges;
	exchanged.rules = 0;
	if (exchanges && next)
		exchanged = *next;
	plan.rules = 0;
	if (any)
		plan = *next;
	memset(counts, 0, sizeof(counts));
	begun_ns = monotonic_ns();
	mutex_unlock(&lock);
	if (any)
		atomic_fetch_or(&fault_calls_shown, FAULT_CALLS_PLANNED);
	else
		atomic_fetch_and(&fault_calls_shown, ~(unsigned int)FAULT_CALLS_PLANNED);
}

void fault_calls_exchange(const struct fault_plan *next)
{
	(void)fork_register(&reset);
	put_in_force(next, true);
}

bool fault_calls_exchanged(struct fault_plan *now)
{
	bool is;

	mutex_lock(&lock);
	is = is_exchanged;
	*now = exchanged;
	mutex_unlock(&lock);
	return is;
}

/* 0, or the errno by which the plan cannot be taken. */
static int take_plan(const char *path) REQUIRES(beginning)
{
	struct fault_plan next;
	char *copy, *before = taken;

	if (path ? taken && !strcmp(taken, path) : !taken)
		return 0;
	copy = path ? strdup(path) : NULL;
	if (path && !copy)
		return ENOMEM;
	if (path && fault_read(path, &next)) {
		free(copy);
		return EINVAL;
	}
	taken = copy;
	free(before);
	put_in_force(path ? &next : NULL, false);
	return 0;
}

int fault_calls_begin(const char *path)
{
	int err = fork_register(&reset) ? ENOMEM : 0;

	if (err)
		return err;
	mutex_lock(&beginning);
	err = take_plan(path);
	mutex_unlock(&beginning);
	return err;
}

struct planned_event {
	unsigned int event;
	uint64_t qp, cq;
};

static struct planned_event event_by_rule(const struct fault_rule *rule, uint64_t qp)
{
	return (struct planned_event){ rule->word, rule->qp ? rule->qp : qp, rule->cq };
}

/* Without the lock. */
static void happen(const struct planned_event *event)
{
	const struct process_faults *faults = process_front.faults;
	const char *why = faults->event(event->event, event->qp, event->cq);
	char name[FAULT_WORD_MAX];

	log_warn(PROCESS_DEVICE, "%s%s%s%s, injected by the fault plan (%sFAULT).", faults->event_prefix,
		 fault_word_at(faults->events, event->event, name), why ? " cannot happen: " : "", why ? why : "",
		 process_front.variables);
}

static void be_late(uint64_t wait_ns)
{
	struct timespec wait = { (time_t)(wait_ns / 1000000000u), (long)(wait_ns % 1000000000u) };
	int cancel_state = cancel_off();

	while (wait_ns && nanosleep(&wait, &wait))
		;
	cancel_back(cancel_state);
}

/* An event may be another queue pair's than the call. */
static bool rule_names_call(const struct fault_rule *rule, int call, uint64_t qp)
{
	return rule->calls >> call & 1 && (!rule->qp || rule->qp == qp || (rule->sort == PLAN_EVENT && !qp));
}

int fault_call(const char *name, uint64_t qp, uint64_t *number)
{
	struct planned_event events[LIMIT_FAULT_RULES];
	uint32_t happens = 0;
	uint64_t wait_ns = 0;
	bool met = false;
	int err = 0, call = fault_word(process_front.faults->calls, "", name);

	mutex_lock(&lock);
	for (uint32_t i = 0; i < plan.rules; i++) {
		const struct fault_rule *rule = &plan.rule[i];

		if (call < 0 || !rule_names_call(rule, call, qp) || !fault_hits(&plan, i, ++counts[i]))
			continue;
		if (rule->sort == PLAN_EVENT) {
			events[happens++] = event_by_rule(rule, qp);
		} else if (!met) {
			met = true;
			err = rule->err;
			*number = counts[i];
			wait_ns = fault_call_wait(&plan, i, counts[i]);
		}
	}
	mutex_unlock(&lock);
	for (uint32_t i = 0; i < happens; i++)
		happen(&events[i]);
	be_late(wait_ns);
	return err;
}

uint32_t fault_request(unsigned int kind, uint64_t qp)
{
	uint32_t status = 0;

	mutex_lock(&lock);
	for (uint32_t i = 0; i < plan.rules; i++) {
		const struct fault_rule *rule = &plan.rule[i];

		if (rule->sort == PLAN_FAIL && rule->kinds & 1u << kind && (!rule->qp || rule->qp == qp) &&
		    fault_hits(&plan, i, ++counts[i]) && !status)
			status = rule->word;
	}
	mutex_unlock(&lock);
	return status;
}

/* A request that is lost is lost before it is made. */
static bool rule_names_cm(const struct fault_rule *rule, unsigned int event, bool asks)
{
	bool asked = rule->becomes == FAULT_CM_NOTHING && (unsigned int)rule->cm_event == process_front.faults->cm_request;

	return rule->sort == PLAN_CM && (unsigned int)rule->cm_event == event && asked == asks;
}

/* Without the lock. */
static void tell_cm(unsigned int event, const struct fault_cm *met)
{
	const struct process_faults *faults = process_front.faults;
	char name[FAULT_WORD_MAX], other[FAULT_WORD_MAX] = "nothing";

	if (met->becomes >= FAULT_CM_FIRST)
		fault_word_at(faults->cm_events, met->becomes - FAULT_CM_FIRST, other);
	log_warn(PROCESS_DEVICE, "%s%s %s%s, injected by the fault plan (%sFAULT).", faults->cm_prefix,
		 fault_word_at(faults->cm_events, event, name), met->becomes == FAULT_CM_ITSELF ? "is late" : "becomes ",
		 met->becomes == FAULT_CM_ITSELF ? "" : other, process_front.variables);
}

bool fault_cm(unsigned int event, bool asks, struct fault_cm *met)
{
	bool any = false;

	mutex_lock(&lock);
	for (uint32_t i = 0; i < plan.rules; i++) {
		const struct fault_rule *rule = &plan.rule[i];

		if (!rule_names_cm(rule, event, asks) || !fault_hits(&plan, i, ++counts[i]) || any)
			continue;
		any = true;
		*met = (struct fault_cm){ .wait_ns = fault_call_wait(&plan, i, counts[i]),
					  .becomes = rule->becomes,
					  .rejected = rule->becomes == FAULT_CM_FIRST + process_front.faults->cm_rejected,
					  .err = rule->err,
					  .reason = rule->reason };
	}
	mutex_unlock(&lock);
	if (any)
		tell_cm(event, met);
	return any;
}

/* Is there a rule of that sort; of events, by time? */
static bool has_rule(enum fault_sort sort)
{
	bool found = false;

	mutex_lock(&lock);
	for (uint32_t i = 0; i < plan.rules; i++)
		found |= plan.rule[i].sort == sort && (sort != PLAN_EVENT || plan.rule[i].timed);
	mutex_unlock(&lock);
	return found;
}

bool fault_is_timed(void)
{
	return has_rule(PLAN_EVENT);
}

bool fault_unplugged(void)
{
	return has_rule(PLAN_UNPLUGGED);
}

/* True: *event is due, and is not told again. False: *next_ns is when one is. */
static bool take_due(uint64_t now_ns, struct planned_event *event, uint64_t *next_ns)
{
	const struct fault_rule *due = NULL;

	*next_ns = UINT64_MAX;
	mutex_lock(&lock);
	for (uint32_t i = 0; i < plan.rules && !due; i++) {
		const struct fault_rule *rule = &plan.rule[i];
		uint64_t at_ns = begun_ns + rule->after_ns;

		if (rule->sort != PLAN_EVENT || !rule->timed || counts[i])
			continue;
		if (at_ns <= now_ns) {
			counts[i] = 1;
			due = rule;
			*event = event_by_rule(rule, 0);
		} else if (at_ns < *next_ns) {
			*next_ns = at_ns;
		}
	}
	mutex_unlock(&lock);
	return due;
}

uint64_t fault_alarm(void)
{
	struct planned_event event;
	uint64_t next_ns;

	while (take_due(monotonic_ns(), &event, &next_ns))
		happen(&event);
	return next_ns;
}
