/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_tell.c - findings of checked mode. */
#include "emu/fi/check/fi_check_impl.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/process/report/report.h"
#include "emu/nic/base/cancel.h"

_Thread_local volatile unsigned int check_inside;

enum { TEXT = 1024, PLACE = 512, TOLD = 1024 };

static const struct cause {
	const char *name;
	enum report_kind kind;
	const char *remedy;
} causes[CHECK_CAUSES] = {
	[CHECK_SEND_CHANGED] = { "send-buffer-changed", REPORT_MISUSE,
				 "Leave it alone until its completion has been read, or post it with FI_INJECT." },
	[CHECK_RECEIVE_CHANGED] = { "receive-buffer-changed", REPORT_MISUSE,
				    "Write to it only when its completion has been read." },
	[CHECK_RECEIVE_USED] = { "receive-buffer-used", REPORT_MISUSE,
				 "Use another buffer until its completion, or that of fi_cancel, has been read." },
	[CHECK_VECTOR] = { "vector-overlap", REPORT_MISUSE, "Give each byte a place of its own." },
	[CHECK_UNMAPPED] = { "memory-unmapped", REPORT_MISUSE,
			     "Unmap or free memory when its operations have completed and its regions are closed." },
	[CHECK_CONTEXT] = { "context-in-use", REPORT_MISUSE,
			    "Give each operation a context structure of its own until its completion has been read (FI_CONTEXT, "
			    "FI_CONTEXT2)." },
	[CHECK_SERIAL] = { "not-serialized", REPORT_MISUSE,
			   "Let one thread in at a time, by a lock of the program's, or ask for FI_THREAD_SAFE." },
	[CHECK_CLAIM] = { "claim-mismatch", REPORT_NOTE, "Fetch it with the tag and the ignored bits by which it was claimed." },
	[CHECK_UNALIGNED] = { "atomic-unaligned", REPORT_MISUSE,
			      "Give atomics addresses that are multiples of their element's size: NICs refuse others." },
	[CHECK_CQ_OVERRUN] = { "cq-overrun", REPORT_MISUSE,
			       "Open it with room for all operations that may complete between two reads, or ask for "
			       "FI_RM_ENABLED." },
	[CHECK_EQ_OVERRUN] = { "eq-overrun", REPORT_MISUSE, "Open it with a larger size, or read it more often." },
	[CHECK_IN_FLIGHT] = { "closed-in-flight", REPORT_MISUSE,
			      "Read the completions of all that was posted, then close: what is left is dropped "
			      "(fi_endpoint(3))." },
	[CHECK_UNREAD] = { "completions-unread", REPORT_NOTE,
			   "Read a completion for each operation, and look whether it is an error; or bind the queue with "
			   "FI_SELECTIVE_COMPLETION, and let a counter tell." },
	[CHECK_NOT_ARMED] = { "wait-not-tried", REPORT_MISUSE,
			      "Call fi_trywait before each wait on the descriptor, and wait only if it returns 0 (fi_poll(3)): "
			      "else the queue need not wake the program." },
	[CHECK_NO_PROGRESS] = { "progress-not-made", REPORT_MISUSE,
				"Read the completion queue, or a counter, before each new try: that makes the room." },
	[CHECK_PROGRESS_ASSUMED] = { "progress-assumed", REPORT_MISUSE,
				     "Read a queue or a counter until the peer has said that it is done, or ask for "
				     "FI_PROGRESS_AUTO." },
	[CHECK_REGION_OPEN] = { "region-open", REPORT_LEAK, "Close it by fi_close when peers have ended their accesses." },
	[CHECK_RAW_KEY_OPEN] = { "raw-key-open", REPORT_LEAK, "End each fi_mr_map_raw by fi_mr_unmap_key." },
	[CHECK_ENDPOINT_OPEN] = { "endpoint-open", REPORT_LEAK, "Close it by fi_close." },
	[CHECK_DOMAIN_OPEN] = { "domain-open", REPORT_LEAK, "Close it, and what is open in it, by fi_close." },
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

static void check_report(const struct check_finding *finding, const char *text, const struct call_stack *here, uint64_t place)
{
	const struct cause *cause = &causes[finding->cause];

	report_finding(&(struct report_finding){
		.kind = cause->kind,
		.side = REPORT_LOCAL,
		.cause = cause->name,
		.text = text,
		.call = finding->call,
		.remedy = cause->remedy,
		.here = here,
		.posted = finding->posted,
		.opened = finding->opened,
		.place = place,
	});
}

/* With places, for readers of the log. */
static void check_log(const struct check_finding *finding, const char *text, const struct call_stack *here)
{
	const struct cause *cause = &causes[finding->cause];
	char at[PLACE], posted[PLACE], opened[PLACE];

	call_stack_refresh();
	call_stack_text(here, at, sizeof(at));
	call_stack_text(finding->posted, posted, sizeof(posted));
	call_stack_text(finding->opened, opened, sizeof(opened));
	EMU_WARN(CORE, "%s%s%s%s%s%s%s [%s]\n", text, *at ? " Here: " : "", at, *posted ? " Posted: " : "", posted,
		 *opened ? " Opened: " : "", opened, cause->name);
}

void check_tell(const struct check_finding *finding, const char *format, ...)
{
	struct call_stack here = { .count = 0 };
	const struct call_stack *site = finding->here ? &here : finding->posted ? finding->posted : finding->opened;
	uint64_t place;
	char text[TEXT];
	int length, state;
	va_list args;

	if (finding->here)
		call_stack_take(&here);
	place = site ? call_stack_place(site) : 0;
	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if ((size_t)length < sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length, ". %s", causes[finding->cause].remedy);
	words_put(text, sizeof(text));
	state = cancel_off();
	check_inside++;
	if (is_new_here(finding->cause, place))
		check_log(finding, text, &here);
	check_report(finding, text, &here, place);
	check_inside--;
	cancel_back(state);
}
