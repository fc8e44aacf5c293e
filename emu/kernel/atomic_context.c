/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_context.c - where a thread may not sleep, and the report of a call that may. */
#include <emu_kernel.h>

#include <linux/bug.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Call sites reported; those behind the last are reported each time. */
enum { SITES_MAX = 256 };

_Thread_local int emu_kernel_atomic_depth;

static struct {
	pthread_mutex_t lock;
	struct {
		const char *file;
		int line;
	} sites[SITES_MAX];
	int count;
} reported = { .lock = PTHREAD_MUTEX_INITIALIZER };

void emu_kernel_enter_atomic(void)
{
	emu_kernel_atomic_depth++;
}

void emu_kernel_leave_atomic(void)
{
	BUG_ON(emu_kernel_atomic_depth <= 0);
	emu_kernel_atomic_depth--;
}

static bool is_asked_for(void)
{
	static int answer; /* 0: the environment was not looked at */
	int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);

	if (!known) {
		const char *setting = getenv("FI_EMU_CHECK_ATOMIC");

		known = setting && !strcmp(setting, "1") ? 1 : -1;
		__atomic_store_n(&answer, known, __ATOMIC_RELAXED);
	}
	return known > 0;
}

/* One header's inline function is one site, though each file that includes it has a copy of the name. */
static bool is_first(const char *file, int line)
{
	bool found = false;

	pthread_mutex_lock(&reported.lock);
	for (int i = 0; i < reported.count && !found; i++)
		found = reported.sites[i].line == line && !strcmp(reported.sites[i].file, file);
	if (!found && reported.count < SITES_MAX) {
		reported.sites[reported.count].file = file;
		reported.sites[reported.count++].line = line;
	}
	pthread_mutex_unlock(&reported.lock);
	return !found;
}

void emu_kernel_report_sleep(const char *call, const char *file, int line)
{
	if (is_asked_for() && is_first(file, line))
		emu_kernel_printk(3, file,
				  "%s() at line %d may sleep, and was called in atomic context: under a spin lock, in a "
				  "timer, or in a callback of the device (depth %d)\n",
				  call, line, emu_kernel_atomic_depth);
}
