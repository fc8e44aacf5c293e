/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_refuse.c - sentences, each with a bound on how often it is logged.
 *
 * The bound is one word per sentence: the time at which its bucket of LIMIT_LOG_LINES lines would be full again. The address of
 * its format, or of its call's name, identifies a sentence; two that share a word share the bound. */
#include "emu/fi/provider/fi_refuse.h"

#include <rdma/fi_errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "emu/fi/provider/fi_flag_names.h"
#include "emu/fi/provider/fi_log_ring.h"
#include "emu/fi/provider/fi_words.h"
#include "emu/fi/report/fi_report.h"
#include "emu/nic/base/limits.h"

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

static void refuse_report(const char *key, const char *text)
{
	bool injected = strstr(text, "injected by the fault plan");

	report_finding(&(struct report_finding){
		.kind = REPORT_CALL, .side = REPORT_LOCAL, .cause = "call", .text = text, .sentence = key, .injected = injected });
}

/* `key` identifies the sentence. */
static void refuse_log(enum fi_log_subsys subsystem, const char *key, const char *format, va_list args)
{
	bool told = may_tell(key), logged = told && fi_log_enabled(&emu_provider, FI_LOG_WARN, subsystem);
	char text[TEXT_MAX];

	if (!told && !report_on())
		return;
	vsnprintf(text, sizeof(text), format, args);
	words_put(text, sizeof(text));
	if (told)
		log_ring_put(LOG_RING_WARN, true, text);
	if (logged)
		FI_LOG(&emu_provider, FI_LOG_WARN, subsystem, "%s\n", text);
	refuse_report(key, text);
}

__attribute__((format(printf, 3, 4))) static void tell_of(enum fi_log_subsys subsystem, const char *call, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	refuse_log(subsystem, call, format, args);
	va_end(args);
}

void refuse(enum fi_log_subsys subsystem, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	refuse_log(subsystem, format, format, args);
	va_end(args);
}

int refuse_flags(enum fi_log_subsys subsystem, const char *call, uint64_t flags)
{
	char names[FLAG_NAMES_MAX];

	tell_of(subsystem, call,
		"%s: the flags %#llx (%s) mean nothing here, or need a capability that was not asked for. Leave "
		"them out.",
		call, (unsigned long long)flags, flag_names(flags, FI_TYPE_OP_FLAGS, names));
	return -FI_EBADFLAGS;
}

static atomic_bool ending;

void refuse_ending(bool ends)
{
	atomic_store(&ending, ends);
}

int refuse_inherited(const char *call)
{
	if (atomic_load(&ending))
		return -FI_EAGAIN;
	tell_of(FI_LOG_CORE, call,
		"%s: the object was opened before fork(), and the NIC stays the parent's. Open fabric, domain "
		"and the rest in this process.",
		call);
	return -FI_ENODEV;
}

int refuse_missing(const char *call, const char *instead)
{
	tell_of(FI_LOG_CORE, call, "%s: this object has no such call. %s.", call, instead);
	return -FI_ENOSYS;
}

int refuse_probe(const char *call)
{
	EMU_INFO(CORE, "%s: not offered\n", call);
	return -FI_ENOSYS;
}

int refuse_command(const char *object, int command)
{
	return REFUSE(CORE, -FI_ENOSYS, "fi_control: %s has no command %d. Ask the pages of libfabric which there are.", object,
		      command);
}
