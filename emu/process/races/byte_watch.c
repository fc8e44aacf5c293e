/* SPDX-License-Identifier: BSD-2-Clause */
/* byte_watch.c - breakpoints on the bytes of watches. */
#include "emu/process/races/byte_watch.h"

#include <assert.h>
#include <linux/hw_breakpoint.h>
#include <sys/syscall.h>

#include "emu/process/races/watched_threads.h"

#ifndef PERF_FLAG_FD_CLOEXEC
#define PERF_FLAG_FD_CLOEXEC 8
#endif

enum { BREAKPOINTS = 4, WIDEST = 8, THREADS = 16, FIRST_DESCRIPTOR = 3, TRAP_OF_EVENT = 6 /* TRAP_PERF */ };

/* struct perf_event_attr, to the end of the part that tells of SIGTRAP (Linux 5.13), which older headers do not have. */
struct breakpoint {
	uint32_t type, size;
	uint64_t config, sample_period, sample_type, read_format;
	uint64_t flags;
	uint32_t wakeup, access;
	uint64_t at, length;
	uint8_t unused[48];
	uint64_t data;
};
static_assert(sizeof(struct breakpoint) == 128, "PERF_ATTR_SIZE_VER7");

enum { OF_BREAKPOINTS = 5 /* PERF_TYPE_BREAKPOINT */ };
#define NUMBER_OF_EVENT 0x80082407     /* PERF_EVENT_IOC_ID */
#define NOT_KERNEL (UINT64_C(3) << 5)  /* exclude_kernel, exclude_hv */
#define BY_SIGTRAP (UINT64_C(3) << 36) /* remove_on_exec, which goes with it, and sigtrap */

/* `watch` is stored last, and taken away first. */
struct slot {
	_Atomic uint16_t watch; /* 0: free */
	_Atomic uintptr_t at;
	uint8_t length;
	bool stores_alone;
	_Atomic uint64_t before; /* the bytes, as they were */
	unsigned int threads;
	int descriptor[THREADS];
	uint64_t event[THREADS]; /* the kernel's number of each */
};

static struct slot slots[BREAKPOINTS];

/* By the kernel, which meets no breakpoint. */
static uint64_t breakpoint_bytes(uintptr_t at, uint8_t length)
{
	uint64_t bytes = 0;
	struct iovec to = { &bytes, length }, from = { (void *)at, length };

	exempt_call(SYS_process_vm_readv, exempt_call(SYS_getpid, 0, 0, 0, 0, 0, 0), (long)&to, 1, (long)&from, 1, 0);
	return bytes;
}

static int breakpoint_set(const struct slot *slot, int thread)
{
	const struct breakpoint breakpoint = {
		.type = OF_BREAKPOINTS,
		.size = sizeof(breakpoint),
		.sample_period = 1,
		.flags = NOT_KERNEL | BY_SIGTRAP,
		.access = slot->stores_alone ? HW_BREAKPOINT_W : HW_BREAKPOINT_RW,
		.at = atomic_load(&slot->at),
		.length = slot->length,
		.data = (uint64_t)(slot - slots),
	};
	long descriptor = exempt_call(SYS_perf_event_open, (long)&breakpoint, thread, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);

	if (descriptor >= 0 && descriptor < FIRST_DESCRIPTOR) { /* the program may be about to open one of these itself */
		exempt_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
		return -1;
	}
	return descriptor < 0 ? -1 : (int)descriptor;
}

/* 0: the descriptor is no event's. */
static uint64_t event_number(int descriptor)
{
	uint64_t event = 0;

	return exempt_call(SYS_ioctl, descriptor, NUMBER_OF_EVENT, (long)&event, 0, 0, 0) ? 0 : event;
}

/* The program may have closed all descriptors, and have another file of that number. */
static void breakpoint_end(struct slot *slot)
{
	atomic_store(&slot->watch, 0);
	while (slot->threads) {
		int descriptor = slot->descriptor[--slot->threads];

		if (event_number(descriptor) == slot->event[slot->threads])
			exempt_call(SYS_close, descriptor, 0, 0, 0, 0, 0);
	}
}

static bool breakpoint_begin(struct slot *slot, uint16_t watch, uintptr_t at, uint8_t length, bool stores_alone)
	REQUIRES(watched_lock)
{
	int thread[THREADS];
	unsigned int count = watched_threads_list(thread, THREADS);

	atomic_store(&slot->at, at);
	slot->length = length;
	slot->stores_alone = stores_alone;
	atomic_store(&slot->before, breakpoint_bytes(at, length));
	slot->threads = 0;
	for (unsigned int i = 0; i < count; i++) {
		int descriptor = breakpoint_set(slot, thread[i]);

		if (descriptor < 0) {
			breakpoint_end(slot);
			return false;
		}
		slot->descriptor[slot->threads] = descriptor;
		slot->event[slot->threads++] = event_number(descriptor);
	}
	atomic_store(&slot->watch, watch);
	return count;
}

static struct slot *breakpoint_free(void)
{
	for (int i = 0; i < BREAKPOINTS; i++)
		if (!atomic_load(&slots[i].watch))
			return &slots[i];
	return NULL;
}

/* A breakpoint begins at a multiple of its length. */
static uint8_t widest_at(uintptr_t at, size_t length)
{
	uint8_t width = WIDEST;

	while (width > length || at % width)
		width /= 2;
	return width;
}

static uint8_t widest_before(uintptr_t end, size_t length)
{
	uint8_t width = WIDEST;

	while (width > length || end % width)
		width /= 2;
	return width;
}

static bool slots_are_free(void)
{
	for (int i = 0; i < BREAKPOINTS; i++)
		if (atomic_load(&slots[i].watch))
			return false;
	return true;
}

/* The first ones in turn, and the last ones. */
bool byte_watch_begin(uint16_t watch, const struct iovec *range, bool stores_alone, bool whole)
{
	uintptr_t at = (uintptr_t)range->iov_base, end = at + range->iov_len, last = end;
	int most = range->iov_len <= BREAKPOINTS * WIDEST && slots_are_free() ? BREAKPOINTS - 1 : 1;
	struct slot *slot = breakpoint_free();
	bool any = false;
	uint8_t width;

	for (int i = 0; i < most && slot && at < end; i++, at += width) {
		width = widest_at(at, end - at);
		if (!breakpoint_begin(slot, watch, at, width, stores_alone))
			break;
		any = true;
		slot = breakpoint_free();
	}
	if (any && slot && at < end) {
		width = widest_before(end, end - at);
		last -= breakpoint_begin(slot, watch, end - width, width, stores_alone) ? width : 0;
	}
	return any && (at >= last || !whole);
}

bool byte_watch_end(uint16_t watch)
{
	bool any = false;

	for (int i = 0; i < BREAKPOINTS; i++) {
		if (atomic_load(&slots[i].watch) != watch)
			continue;
		breakpoint_end(&slots[i]);
		any = true;
	}
	return any;
}

static atomic_uint_fast64_t renewals;

static void access_of(const struct slot *slot, uint16_t watch, struct byte_access *access)
{
	*access = (struct byte_access){
		.watch = watch, .at = atomic_load(&slot->at), .is_sure = slot->stores_alone, .renewals = atomic_load(&renewals)
	};
	access->is_store = slot->stores_alone || breakpoint_bytes(access->at, slot->length) != atomic_load(&slot->before);
}

static struct slot *watched_slot(const struct touch *touch)
{
	for (int i = 0; i < BREAKPOINTS; i++) {
		uintptr_t first = atomic_load(&slots[i].at);

		if (atomic_load(&slots[i].watch) && (touch->at - first < slots[i].length || first - touch->at < touch->length))
			return &slots[i];
	}
	return NULL;
}

bool byte_watch_on(const struct touch *touch)
{
	return watched_slot(touch);
}

bool byte_watch_has(const struct touch *touch, struct byte_access *access)
{
	const struct slot *slot = watched_slot(touch);
	uint16_t watch = slot ? atomic_load(&slot->watch) : 0;

	if (!watch || (slot->stores_alone && !touch->is_store))
		return false;
	*access = (struct byte_access){
		.watch = watch, .at = atomic_load(&slot->at), .is_store = touch->is_store, .is_sure = true
	};
	return true;
}

uint64_t byte_watch_renewals(void)
{
	return atomic_load(&renewals);
}

void byte_watch_renew(void)
{
	atomic_fetch_add(&renewals, 1);
	for (int i = 0; i < BREAKPOINTS; i++)
		if (atomic_load(&slots[i].watch))
			atomic_store(&slots[i].before, breakpoint_bytes(atomic_load(&slots[i].at), slots[i].length));
	atomic_fetch_add(&renewals, 1); /* at the end, too: else what was seen in between looked as if it had been after it */
}

bool byte_watch_find(const siginfo_t *info, struct byte_access *access)
{
	if (info->si_code != TRAP_OF_EVENT)
		return false;
	for (int i = 0; i < BREAKPOINTS; i++) {
		const struct slot *slot = &slots[i];
		uint16_t watch = atomic_load(&slot->watch);

		if (!watch || (uintptr_t)info->si_addr != atomic_load(&slot->at))
			continue;
		access_of(slot, watch, access);
		return true;
	}
	return false;
}

static void breakpoints_end(void)
{
	for (int i = 0; i < BREAKPOINTS; i++)
		breakpoint_end(&slots[i]);
}

void byte_watch_end_all(void)
{
	breakpoints_end();
}

/* The descriptors that it has inherited would keep its parent's breakpoints. */
void byte_watch_forked(void)
{
	breakpoints_end();
}
