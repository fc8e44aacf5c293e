/* SPDX-License-Identifier: BSD-2-Clause */
/* check_tell.c - findings of checked mode. */
#include "emu/process/check/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "emu/nic/base/cancel.h"
#include "emu/process/front/process_front.h"
#include "emu/process/report/report.h"

_Thread_local volatile unsigned int check_inside;

enum { TEXT = 1024, PLACE = 512, LINE = TEXT + 3 * PLACE + 64, TOLD = 1024 };

static const struct cause {
	const char *name;
	enum report_kind kind;
	enum process_level level; /* of its line of log */
} causes[CHECK_CAUSES] = {
	[CHECK_SEND_CHANGED] = { "send-buffer-changed", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_RECEIVE_CHANGED] = { "receive-buffer-changed", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_RECEIVE_USED] = { "receive-buffer-used", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_RECEIVE_SHARED] = { "receive-buffer-shared", REPORT_NOTE, PROCESS_INFO },
	[CHECK_VECTOR] = { "vector-overlap", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_UNMAPPED] = { "memory-unmapped", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_CONTEXT] = { "context-in-use", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_SERIAL] = { "not-serialized", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_CLAIM] = { "claim-mismatch", REPORT_NOTE, PROCESS_WARN },
	[CHECK_UNALIGNED] = { "atomic-unaligned", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_CQ_OVERRUN] = { "cq-overrun", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_EQ_OVERRUN] = { "eq-overrun", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_IN_FLIGHT] = { "closed-in-flight", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_UNREAD] = { "completions-unread", REPORT_NOTE, PROCESS_WARN },
	[CHECK_NOT_ARMED] = { "wait-not-tried", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_NO_PROGRESS] = { "progress-not-made", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_PROGRESS_ASSUMED] = { "progress-assumed", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_REGION_OPEN] = { "region-open", REPORT_LEAK, PROCESS_WARN },
	[CHECK_RAW_KEY_OPEN] = { "raw-key-open", REPORT_LEAK, PROCESS_WARN },
	[CHECK_ENDPOINT_OPEN] = { "endpoint-open", REPORT_LEAK, PROCESS_WARN },
	[CHECK_DOMAIN_OPEN] = { "domain-open", REPORT_LEAK, PROCESS_WARN },
	[CHECK_OBJECT_OPEN] = { "object-open", REPORT_LEAK, PROCESS_WARN },
	[CHECK_NO_HEADER_ROOM] = { "no-header-room", REPORT_MISUSE, PROCESS_WARN },
	[CHECK_RACE_OPERATIONS] = { "operation-operation", REPORT_RACE, PROCESS_WARN },
	[CHECK_RACE_LOAD] = { "operation-load", REPORT_RACE, PROCESS_WARN },
	[CHECK_RACE_STORE] = { "operation-store", REPORT_RACE, PROCESS_WARN },
	[CHECK_POLLED] = { "memory-polled", REPORT_NOTE, PROCESS_INFO },
	[CHECK_POLLED_STRICT] = { "memory-polled", REPORT_RACE, PROCESS_WARN },
	[CHECK_BOTH_WAIT] = { "both-wait", REPORT_NOTE, PROCESS_WARN },
	[CHECK_NO_ROUTE] = { "no-route", REPORT_NOTE, PROCESS_WARN },
};

/* Has this place not caused it before? */
static bool is_new_here(enum check_cause cause, uint64_t place)
{
	static atomic_uint_fast64_t told[TOLD];
	uint64_t key = ((place << 5) ^ (place >> 59)) + (uint64_t)cause + 1;
	size_t at = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 54);

	for (size_t n = 0; n < TOLD; n++, at++) {
		uint64_t was = 0;

		if (atomic_compare_exchange_strong(&told[at % TOLD], &was, key))
			return true;
		if (was == key)
			return false;
	}
	return false;
}

/* With places, for readers of the log. */
static void check_log(const struct check_finding *finding, const char *text, const struct call_stack *here)
{
	char at[PLACE], posted[PLACE], opened[PLACE], line[LINE];

	call_stack_refresh();
	call_stack_text(here, at, sizeof(at));
	call_stack_text(finding->posted, posted, sizeof(posted));
	call_stack_text(finding->opened, opened, sizeof(opened));
	snprintf(line, sizeof(line), "%s%s%s%s%s%s%s [%s]", text, *at ? " Here: " : "", at, *posted ? " Posted: " : "", posted,
		 *opened ? " Opened: " : "", opened, causes[finding->cause].name);
	process_front.log(causes[finding->cause].level, PROCESS_ITSELF, line);
}

static void check_sentence(const struct check_finding *finding, char *text, const char *format, va_list args)
{
	int length = vsnprintf(text, TEXT, format, args);

	if (length < TEXT)
		snprintf(text + length, TEXT - (size_t)length, ". %s", check_front.remedies[finding->cause]);
	if (check_front.words)
		check_front.words(text, TEXT);
}

void check_tell(const struct check_finding *finding, const char *format, ...)
{
	struct call_stack here = { .count = 0 };
	const struct call_stack *site = finding->here || finding->at ? &here : finding->posted ? finding->posted : finding->opened;
	struct report_finding found = {
		.kind = causes[finding->cause].kind,
		.side = REPORT_LOCAL,
		.cause = causes[finding->cause].name,
		.call = finding->call,
		.remedy = check_front.remedies[finding->cause],
		.here = &here,
		.posted = finding->posted,
		.opened = finding->opened,
	};
	char text[TEXT];
	va_list args;
	bool is_new;
	int state;

	if (finding->at)
		here = *finding->at;
	else if (finding->here)
		call_stack_take(&here);
	found.place = finding->place ? finding->place : site ? call_stack_place(site) : 0;
	state = cancel_off();
	check_inside++;
	is_new = is_new_here(finding->cause, found.place);
	if (is_new || !report_repeated(&found)) {
		va_start(args, format);
		check_sentence(finding, text, format, args);
		va_end(args);
		found.text = text;
		if (is_new)
			check_log(finding, text, &here);
		report_finding(&found);
	}
	check_inside--;
	cancel_back(state);
}
