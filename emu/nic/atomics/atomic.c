/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.c - atomic operations on program memory: element by element, by compare-and-swap where the CPU can.
 *
 * Before the first element is changed every page is tried, so that memory that is not there is found while nothing has
 * been changed yet, and that an operation needs the same memory whatever its comparison says. */
#include "emu/nic/atomics/atomic.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "emu/nic/atomics/atomic_ops.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/memory/place.h"

/* As in guard.c: the program's memory is not the sanitizers' affair. */
#define UNWATCHED __attribute__((no_sanitize("address", "thread", "undefined"), noinline))

enum { PAGE = 4096 }; /* the smallest there is: a larger page is tried more than once */

union lane {
	uint8_t byte[16];
	uint16_t two;
	uint32_t four;
	uint64_t eight[2];
};

/* --- the processor's instructions --- */

#if defined(__x86_64__)
static bool cas_sixteen(void *at, union lane *seen, const union lane *wanted)
{
	bool swapped;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(swapped), "+m"(*(union lane *)at), "+a"(seen->eight[0]), "+d"(seen->eight[1])
			 : "b"(wanted->eight[0]), "c"(wanted->eight[1])
			 : "memory");
	return swapped;
}

/* Aligned 16-byte loads are atomic on processors with AVX, says their makers' manuals. */
UNWATCHED static void load_sixteen(const void *at, union lane *value)
{
	typedef long long vector __attribute__((vector_size(16)));
	vector loaded;

	__asm__ volatile("movdqa %1, %0" : "=x"(loaded) : "m"(*(const vector *)at));
	memcpy(value, &loaded, sizeof(loaded));
}

static bool has_sixteen(void)
{
	const unsigned int both = 1u << 13 | 1u << 28; /* CMPXCHG16B and AVX */
	unsigned int eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & both) == both;
}
#elif defined(__aarch64__)
/* Aligned loads of a pair are atomic with LSE2. */
UNWATCHED static void load_sixteen(const void *at, union lane *value)
{
	__asm__ volatile("ldp\t%0, %1, [%2]\n\t"
			 "dmb\tishld"
			 : "=&r"(value->eight[0]), "=&r"(value->eight[1])
			 : "r"(at)
			 : "memory");
}

/* ldaxp has read one value only if the store succeeds. */
static bool cas_sixteen(void *at, union lane *seen, const union lane *wanted)
{
	uint64_t low, high;
	uint32_t swapped;

	__asm__ volatile("1:\tldaxp\t%[low], %[high], [%[at]]\n\t"
			 "cmp\t%[low], %[seen_low]\n\t"
			 "ccmp\t%[high], %[seen_high], #0, eq\n\t"
			 "b.ne\t2f\n\t"
			 "stlxp\t%w[swapped], %[wanted_low], %[wanted_high], [%[at]]\n\t"
			 "cbnz\t%w[swapped], 1b\n"
			 "2:\tcset\t%w[swapped], eq"
			 : [low] "=&r"(low), [high] "=&r"(high), [swapped] "=&r"(swapped)
			 : [at] "r"(at), [seen_low] "r"(seen->eight[0]), [seen_high] "r"(seen->eight[1]),
			   [wanted_low] "r"(wanted->eight[0]), [wanted_high] "r"(wanted->eight[1])
			 : "cc", "memory");
	if (!swapped)
		load_sixteen(at, seen);
	return swapped;
}

static bool has_sixteen(void)
{
	const unsigned long uscat = 1ul << 25; /* HWCAP_USCAT, which is LSE2 */

	return getauxval(AT_HWCAP) & uscat;
}
#else
static bool cas_sixteen(void *at, union lane *seen, const union lane *wanted)
{
	(void)at, (void)seen, (void)wanted;
	return false;
}

static void load_sixteen(const void *at, union lane *value)
{
	(void)at, (void)value;
}

static bool has_sixteen(void)
{
	return false;
}
#endif

UNWATCHED static void lane_load(const void *at, size_t size, union lane *value)
{
	switch (size) {
	case 1:
		value->byte[0] = __atomic_load_n((const uint8_t *)at, __ATOMIC_SEQ_CST);
		break;
	case 2:
		value->two = __atomic_load_n((const uint16_t *)at, __ATOMIC_SEQ_CST);
		break;
	case 4:
		value->four = __atomic_load_n((const uint32_t *)at, __ATOMIC_SEQ_CST);
		break;
	case 8:
		value->eight[0] = __atomic_load_n((const uint64_t *)at, __ATOMIC_SEQ_CST);
		break;
	default:
		load_sixteen(at, value);
	}
}

/* True if swapped; else *seen is the present value. */
UNWATCHED static bool lane_swap(void *at, size_t size, union lane *seen, const union lane *wanted)
{
	enum { ORDER = __ATOMIC_SEQ_CST };

	switch (size) {
	case 1:
		return __atomic_compare_exchange_n((uint8_t *)at, &seen->byte[0], wanted->byte[0], false, ORDER, ORDER);
	case 2:
		return __atomic_compare_exchange_n((uint16_t *)at, &seen->two, wanted->two, false, ORDER, ORDER);
	case 4:
		return __atomic_compare_exchange_n((uint32_t *)at, &seen->four, wanted->four, false, ORDER, ORDER);
	case 8:
		return __atomic_compare_exchange_n((uint64_t *)at, &seen->eight[0], wanted->eight[0], false, ORDER, ORDER);
	default:
		return cas_sixteen(at, seen, wanted);
	}
}

/* May elements at `at` be changed in one step? */
static bool is_lane(const void *at, size_t size)
{
	static atomic_int sixteen; /* 0: not asked yet; relaxed, since asking again gives the same */
	int known;

	if (size > sizeof(union lane) || (uintptr_t)at % size)
		return false;
	if (size < sizeof(union lane))
		return true;
	known = atomic_load_explicit(&sixteen, memory_order_relaxed);
	if (!known) {
		known = has_sixteen() ? 1 : -1;
		atomic_store_explicit(&sixteen, known, memory_order_relaxed);
	}
	return known > 0;
}

/* --- elements --- */

/* The elements left to do: moves on as elements are done. */
struct batch {
	struct atomic_what what;
	size_t size; /* bytes an element */
	char *at;    /* aligned elements in a row */
	size_t count;
	const char *operand, *compare;
	char *result;
	bool stored; /* an element was */
};

static void batch_next(struct batch *batch, const void *before)
{
	if (batch->result) {
		memcpy(batch->result, before, batch->size);
		batch->result += batch->size;
	}
	if (batch->operand)
		batch->operand += batch->size;
	if (batch->compare)
		batch->compare += batch->size;
}

/* Body of guard_run(). */
static void run_lanes(void *arg)
{
	struct batch *batch = arg;
	union lane seen, wanted;
	bool stored;

	for (; batch->count; batch->count--, batch->at += batch->size) {
		memset(&seen, 0, sizeof(seen));
		lane_load(batch->at, batch->size, &seen);
		do {
			wanted = seen;
			stored = atomic_apply(batch->what, &wanted, batch->operand, batch->compare);
		} while (stored && !lane_swap(batch->at, batch->size, &seen, &wanted));
		batch->stored |= stored;
		batch_next(batch, &seen);
	}
}

/* One element that cannot be changed in one step. */
static bool run_scattered(struct batch *batch, const struct place *from)
{
	uint8_t before[ATOMIC_ELEMENT_MAX], after[ATOMIC_ELEMENT_MAX];
	struct place get = *from, put = *from;
	bool stored;

	if (!place_get(&get, before, batch->size))
		return false;
	memcpy(after, before, batch->size);
	stored = atomic_apply(batch->what, after, batch->operand, batch->compare);
	if (stored && !place_put(&put, after, batch->size))
		return false;
	batch->stored |= stored;
	batch_next(batch, before);
	return true;
}

static bool run_all(struct batch *batch, struct place *place, size_t count)
{
	bool writes = batch->what.op != ATOMIC_READ;
	struct iovec run;

	while (count && place_runs(place, SIZE_MAX, &run, 1) == 1) {
		size_t whole = run.iov_len / batch->size;

		if (whole && is_lane(run.iov_base, batch->size)) {
			whole = whole < count ? whole : count;
			batch->at = run.iov_base;
			batch->count = whole;
			if (!guard_run(run.iov_base, whole * batch->size, writes, run_lanes, batch))
				return false;
		} else {
			whole = 1;
			if (!run_scattered(batch, place))
				return false;
		}
		place_advance(place, whole * batch->size);
		count -= whole;
	}
	return true;
}

/* --- trying --- */

/* Body of guard_run(): writes back the byte that is there, in one step. */
static void rewrite_byte(void *arg)
{
	union lane seen, wanted;

	lane_load(arg, 1, &seen);
	do {
		wanted.byte[0] = seen.byte[0];
	} while (!lane_swap(arg, 1, &seen, &wanted));
}

static bool run_writable(const struct iovec *run)
{
	char *from = run->iov_base;
	size_t at = 0;

	while (at < run->iov_len) {
		if (!guard_run(from + at, 1, true, rewrite_byte, from + at))
			return false;
		at += PAGE - ((uintptr_t)(from + at) & (PAGE - 1));
	}
	return true;
}

static bool place_backed(const struct place *place, bool writes, size_t length)
{
	struct iovec runs[LIMIT_IOV];
	int count = place_runs(place, length, runs, LIMIT_IOV);

	if (!writes)
		return place_readable(place, length);
	for (int i = 0; i < count; i++)
		if (!run_writable(&runs[i]))
			return false;
	return true;
}

enum atomic_end atomic_run(struct atomic_what what, const struct mr_place *where, size_t count, const void *operand,
			   const void *compare, void *result)
{
	struct batch batch = {
		.what = what, .size = atomic_size(what.type), .operand = operand, .compare = compare, .result = result
	};
	bool writes = what.op != ATOMIC_READ, rounds = atomic_rounds(what.type), done;
	struct atomic_float_mode mode;
	struct place place;

	place_set(&place, where->run, where->count);
	if (!place_backed(&place, writes, count * batch.size))
		return ATOMIC_FAULT;
	if (rounds)
		atomic_float_begin(&mode);
	done = run_all(&batch, &place, count);
	if (rounds)
		atomic_float_end(&mode);
	return !done ? ATOMIC_FAULT : batch.stored ? ATOMIC_STORED : ATOMIC_KEPT;
}
