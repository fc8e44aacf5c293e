/* SPDX-License-Identifier: BSD-2-Clause */
/* nic.c - what every room asks of the nic: the time, a timer, another slice, a line of log. */
#include "emu/nic/device/nic.h"

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
