/* SPDX-License-Identifier: BSD-2-Clause */
/* refused_call.c - sentences, each with a bound on how often it is logged.
 *
 * The bound is one word per sentence: the time at which its bucket of LIMIT_LOG_LINES lines would be full again. The address of
 * its format, or of its call's name, identifies a sentence; two that share a word share the bound. */
#include "emu/process/report/report.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/regions/front_end.h"
#include "emu/process/front/process_front.h"
#include "emu/process/log/log.h"

enum { BUCKET_BITS = 9, BUCKETS = 1 << BUCKET_BITS, TEXT_MAX = 1024 };

static bool may_tell(const char *key)
{
	static atomic_uint_fast64_t full_ns[BUCKETS];
	atomic_uint_fast64_t *full = &full_ns[((uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - BUCKET_BITS)];
	uint64_t was = atomic_load_explicit(full, memory_order_relaxed), from, now;
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	now = (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
	do {
		from = was > now ? was : now;
		if (from - now > (LIMIT_LOG_LINES - 1) * TIME_LOG_LINE_NS)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(full, &was, from + TIME_LOG_LINE_NS, memory_order_relaxed,
							memory_order_relaxed));
	return true;
}

static void report_refused(const char *key, const char *text)
{
	bool injected = strstr(text, "injected by the fault plan");

	report_finding(&(struct report_finding){
		.kind = REPORT_CALL, .side = REPORT_LOCAL, .cause = "call", .text = text, .sentence = key, .injected = injected });
}

void refused_call(int subsystem, const char *key, const char *format, va_list args)
{
	bool told = may_tell(key), logged = told && process_front.shows_calls(subsystem);
	char text[TEXT_MAX];

	if (!told && !report_on())
		return;
	vsnprintf(text, sizeof(text), format, args);
	if (process_front.device->respell)
		process_front.device->respell(text, sizeof(text));
	if (told)
		log_ring_put(LOG_RING_WARN, true, text);
	if (logged)
		process_front.log_call(subsystem, text);
	report_refused(key, text);
}
