/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_check_progress.c - calls that make progress, and posts that wait for some. */
#include "emu/fi/check/fi_check_impl.h"

#include <stdatomic.h>
#include <stdint.h>

#include "emu/net/os/monotonic.h"

static atomic_uint_fast64_t calls;   /* relaxed: a count that is a little old does no harm */
static atomic_uint_fast64_t last_ns; /* when the last ended */
static atomic_bool counts;
static atomic_uint inside; /* a thread that is cancelled in its sleep stays counted: then nothing is reported */

void check_progress_begin(void)
{
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&inside, 1, memory_order_relaxed);
}

void check_progress_end(void)
{
	atomic_store_explicit(&last_ns, monotonic_ns(), memory_order_relaxed);
	atomic_fetch_sub_explicit(&inside, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
}

void check_progress_counted(void)
{
	atomic_store_explicit(&counts, true, memory_order_relaxed);
}

bool check_progress_counts(void)
{
	return atomic_load_explicit(&counts, memory_order_relaxed);
}

bool check_progress_missing(const void *object, bool again)
{
	static _Thread_local struct {
		const void *object;
		uint64_t calls;
		unsigned int count;
	} series;
	uint64_t now = atomic_load_explicit(&calls, memory_order_relaxed);

	if (!again || series.object != object || series.calls != now || atomic_load_explicit(&inside, memory_order_relaxed)) {
		series.object = object;
		series.calls = now;
		series.count = again;
		return false;
	}
	return ++series.count == CHECK_RETRIES;
}

uint64_t check_progress_mark(void)
{
	uint64_t idle = monotonic_ns() - atomic_load_explicit(&last_ns, memory_order_relaxed);

	if (atomic_load_explicit(&inside, memory_order_relaxed) || idle < CHECK_IDLE_MS * UINT64_C(1000000))
		return 0;
	return atomic_load_explicit(&calls, memory_order_relaxed) + 1;
}

bool check_progress_none_since(uint64_t mark)
{
	return mark && !atomic_load_explicit(&inside, memory_order_relaxed) &&
	       mark == atomic_load_explicit(&calls, memory_order_relaxed) + 1;
}
