/* SPDX-License-Identifier: BSD-2-Clause */
/* nic.c - what every room asks of the nic: the time, a timer, another slice, a line of log. */
#include "emu/nic/device/nic.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "emu/nic/device/nic_impl.h"

struct driver *nic_driver(struct nic *nic)
{
	return &nic->driver;
}

void nic_kick(struct nic *nic)
{
	nic_role(nic);
	if (!nic->pace.slicing)
		driver_owe(&nic->driver);
}

void nic_arm_timer(struct nic *nic, uint64_t at_ns)
{
	nic_role(nic);
	if (pace_due(&nic->pace, at_ns) && !nic->pace.slicing && atomic_load(&nic->driver.armed))
		nic_wake(nic);
}

uint64_t nic_now(struct nic *nic)
{
	nic_role(nic);
	if (!nic->pace.clocked) {
		nic->pace.now_ns = clock_now(&nic->clock);
		nic->pace.clocked = nic->pace.slicing;
	}
	return nic->pace.now_ns;
}

void nic_check_guard(struct nic *nic)
{
	nic_role(nic);
	nic->pace.guard_check_ns = 0;
}

uint64_t nic_deadline(const struct nic *nic)
{
	return pace_deadline(&nic->pace);
}

bool nic_is_polling(const struct nic *nic)
{
	return atomic_load_explicit(&nic->polling, memory_order_relaxed);
}

void nic_log(struct nic *nic, enum nic_log level, const char *format, ...)
{
	char text[LIMIT_ERROR_TEXT + 128];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	nic->link.log(nic->link_arg, level, text);
}

static const char *const kinds[LOG_LIMIT_KINDS] = {
	[LOG_LIMIT_REFUSAL] = "requests of peers are refused",
	[LOG_LIMIT_CONNECTION] = "connections of peers are closed",
};

void log_limit_init(struct nic *nic)
{
	for (int kind = 0; kind < LOG_LIMIT_KINDS; kind++)
		nic->log_limits[kind] = (struct log_limit){ .left = LIMIT_LOG_LINES, .since_ns = nic->pace.now_ns };
}

bool log_limit_ok(struct nic *nic, enum log_limit_kind kind)
{
	struct log_limit *limit = &nic->log_limits[kind];
	uint64_t more = (nic_now(nic) - limit->since_ns) / TIME_LOG_LINE_NS;

	nic_role(nic);
	limit->since_ns += more * TIME_LOG_LINE_NS;
	limit->left = more < LIMIT_LOG_LINES - limit->left ? limit->left + (uint32_t)more : LIMIT_LOG_LINES;
	if (limit->left > 0) {
		limit->left--;
		return true;
	}
	limit->left_out++;
	if (!(limit->left_out & (limit->left_out - 1)))
		nic_log(nic, NIC_LOG_WARN, "more %s than are logged, which is one a second now: %" PRIu64 " left out so far",
			kinds[kind], limit->left_out);
	return false;
}
