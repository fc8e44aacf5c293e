/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_tell.h - what checked mode has found, told to the log and to reports. The log tells each place that
 * causes it once. Any thread, with or
 * without the driver role. */
#ifndef EMU_FI_CHECK_TELL_H
#define EMU_FI_CHECK_TELL_H

#include <stdbool.h>

#include "emu/process/report/call_stack.h"

enum check_cause {
	CHECK_SEND_CHANGED,
	CHECK_RECEIVE_CHANGED,
	CHECK_RECEIVE_USED,
	CHECK_VECTOR,
	CHECK_UNMAPPED,
	CHECK_CONTEXT,
	CHECK_SERIAL,
	CHECK_CLAIM,
	CHECK_UNALIGNED,
	CHECK_CQ_OVERRUN,
	CHECK_EQ_OVERRUN,
	CHECK_IN_FLIGHT,
	CHECK_UNREAD,
	CHECK_NOT_ARMED,
	CHECK_NO_PROGRESS,
	CHECK_PROGRESS_ASSUMED,
	CHECK_REGION_OPEN,
	CHECK_RAW_KEY_OPEN,
	CHECK_ENDPOINT_OPEN,
	CHECK_DOMAIN_OPEN,
	CHECK_CAUSES
};

struct check_finding {
	enum check_cause cause;
	const char *call;                /* "fi_send"; NULL: none */
	const struct call_stack *posted; /* NULL: none, as below */
	const struct call_stack *opened;
	bool here; /* the thread is in the call that caused it */
};

/* The sentence by `format`; the remedy goes by the cause. */
void check_tell(const struct check_finding *finding, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));

#endif
