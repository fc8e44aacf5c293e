/* SPDX-License-Identifier: BSD-2-Clause */
/* test_atomic.c - each atomic operation on each type against the C of the manual page, in the type's own arithmetic. */
#include <complex.h>
#include <criterion/criterion.h>
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/nic/atomics/atomic.h"
#include "emu/nic/atomics/atomic_ops.h"
#include "emu/nic/memory/guard.h"
#include "emu/nic/regions/mr.h"

static void setup(void)
{
	cr_assert_eq(guard_install(), 0);
}

TestSuite(atomic, .init = setup, .timeout = 60);

/* --- the model --- */

typedef __int128 int128;
typedef unsigned __int128 uint128;
typedef float _Complex float_complex;
typedef double _Complex double_complex;
typedef long double _Complex long_double_complex;

#define CASE(op, expression)      \
	case op:                  \
		t = (expression); \
		break
#define ORDERED(T)                             \
	CASE(ATOMIC_MIN, b < t ? b : t);       \
	CASE(ATOMIC_MAX, b > t ? b : t);       \
	CASE(ATOMIC_CSWAP_LE, c <= t ? b : t); \
	CASE(ATOMIC_CSWAP_LT, c < t ? b : t);  \
	CASE(ATOMIC_CSWAP_GE, c >= t ? b : t); \
	CASE(ATOMIC_CSWAP_GT, c > t ? b : t)
#define COMMON(T)                           \
	CASE(ATOMIC_LOR, (T)(t || b));      \
	CASE(ATOMIC_LAND, (T)(t && b));     \
	CASE(ATOMIC_LXOR, (T)(!t != !b));   \
	CASE(ATOMIC_READ, t);               \
	CASE(ATOMIC_WRITE, b);              \
	CASE(ATOMIC_CSWAP, c == t ? b : t); \
	CASE(ATOMIC_CSWAP_NE, c != t ? b : t)
#define ARITHMETIC(T)             \
	CASE(ATOMIC_SUM, t + b);  \
	CASE(ATOMIC_DIFF, t - b); \
	CASE(ATOMIC_PROD, t *b)
/* Signed overflow is defined for the device: the model reckons in the widest unsigned type. */
#define INTEGRAL(T)                                      \
	CASE(ATOMIC_SUM, (T)((uint128)t + (uint128)b));  \
	CASE(ATOMIC_DIFF, (T)((uint128)t - (uint128)b)); \
	CASE(ATOMIC_PROD, (T)((uint128)t * (uint128)b)); \
	CASE(ATOMIC_BOR, (T)(t | b));                    \
	CASE(ATOMIC_BAND, (T)(t & b));                   \
	CASE(ATOMIC_BXOR, (T)(t ^ b));                   \
	CASE(ATOMIC_MSWAP, (T)((b & c) | (t & ~c)))
#define MODEL(T, CASES)                                                                           \
	static bool model_##T(uint8_t op, void *target, const void *operand, const void *compare) \
	{                                                                                         \
		T t, b, c;                                                                        \
		memcpy(&t, target, sizeof(T));                                                    \
		memcpy(&b, operand, sizeof(T));                                                   \
		memcpy(&c, compare, sizeof(T));                                                   \
		switch (op) {                                                                     \
			CASES default : return false;                                             \
		}                                                                                 \
		memcpy(target, &t, sizeof(T));                                                    \
		return true;                                                                      \
	}
#define MODEL_INTEGER(T) MODEL(T, ORDERED(T); COMMON(T); INTEGRAL(T);)
#define MODEL_REAL(T) MODEL(T, ORDERED(T); COMMON(T); ARITHMETIC(T);)
#define MODEL_COMPLEX(T) MODEL(T, COMMON(T); ARITHMETIC(T);)
/* clang-format off */
MODEL_INTEGER(int8_t) MODEL_INTEGER(uint8_t) MODEL_INTEGER(int16_t) MODEL_INTEGER(uint16_t) MODEL_INTEGER(int32_t)
MODEL_INTEGER(uint32_t) MODEL_INTEGER(int64_t) MODEL_INTEGER(uint64_t) MODEL_INTEGER(int128) MODEL_INTEGER(uint128)
MODEL_REAL(float) MODEL_REAL(double)
typedef long double long_double;
MODEL_REAL(long_double)
MODEL_COMPLEX(float_complex) MODEL_COMPLEX(double_complex) MODEL_COMPLEX(long_double_complex)
	/* clang-format on */

	/* Small formats: the double model between conversions, which test_small_float.c tests. */
	static bool model_small(const struct small_float *format, size_t size, uint8_t op, void *target, const void *operand,
				const void *compare)
{
	const void *from[3] = { target, operand, compare };
	double number[3];
	uint16_t bits;

	for (int i = 0; i < 3; i++) {
		bits = 0;
		memcpy(&bits, from[i], size);
		number[i] = small_decode(format, bits);
	}
	if (!model_double(op, &number[0], &number[1], &number[2]))
		return false;
	bits = small_encode(format, number[0]);
	memcpy(target, &bits, size);
	return true;
}

#define MODEL_SMALL(name, size)                                                                      \
	static bool model_##name(uint8_t op, void *target, const void *operand, const void *compare) \
	{                                                                                            \
		return model_small(&small_##name, size, op, target, operand, compare);               \
	}
MODEL_SMALL(half, 2)
MODEL_SMALL(brain, 2)
/* clang-format off */
MODEL_SMALL(e4m3, 1) MODEL_SMALL(e5m2, 1)
	/* clang-format on */

	static const struct {
	size_t size;
	bool (*model)(uint8_t op, void *target, const void *operand, const void *compare);
	char kind; /* of its numbers: i, f, c or s */
} types[ATOMIC_TYPES] = {
	[ATOMIC_INT8] = { 1, model_int8_t, 'i' },
	[ATOMIC_UINT8] = { 1, model_uint8_t, 'i' },
	[ATOMIC_INT16] = { 2, model_int16_t, 'i' },
	[ATOMIC_UINT16] = { 2, model_uint16_t, 'i' },
	[ATOMIC_INT32] = { 4, model_int32_t, 'i' },
	[ATOMIC_UINT32] = { 4, model_uint32_t, 'i' },
	[ATOMIC_INT64] = { 8, model_int64_t, 'i' },
	[ATOMIC_UINT64] = { 8, model_uint64_t, 'i' },
	[ATOMIC_INT128] = { 16, model_int128, 'i' },
	[ATOMIC_UINT128] = { 16, model_uint128, 'i' },
	[ATOMIC_FLOAT] = { 4, model_float, 'f' },
	[ATOMIC_DOUBLE] = { 8, model_double, 'f' },
	[ATOMIC_LONG_DOUBLE] = { sizeof(long double), model_long_double, 'f' },
	[ATOMIC_FLOAT_COMPLEX] = { 8, model_float_complex, 'c' },
	[ATOMIC_DOUBLE_COMPLEX] = { 16, model_double_complex, 'c' },
	[ATOMIC_LONG_DOUBLE_COMPLEX] = { 2 * sizeof(long double), model_long_double_complex, 'c' },
	[ATOMIC_FLOAT16] = { 2, model_half, 's' },
	[ATOMIC_BFLOAT16] = { 2, model_brain, 's' },
	[ATOMIC_FLOAT8_E4M3] = { 1, model_e4m3, 's' },
	[ATOMIC_FLOAT8_E5M2] = { 1, model_e5m2, 's' },
};

/* --- values --- */

enum { VALUES = 12 };

static void make_real(size_t size, double value, uint8_t *out)
{
	long double extended = value;
	float single = (float)value;

	if (size == sizeof(float))
		memcpy(out, &single, size);
	else if (size == sizeof(double))
		memcpy(out, &value, size);
	else
		memcpy(out, &extended, 10);
}

/* The edges of each kind of number; small integers for complex ones, whose products are then exact. */
static void make_value(uint8_t type, int which, uint8_t *out)
{
	static const double reals[VALUES] = { 0, -0.0, 1, -1, 1.0 / 3, 1e30, -1e30, 0x1p-126, INFINITY, -INFINITY, 3, 1e-40 };
	static const uint8_t first[VALUES] = { 0, 1, 0xff, 0, 0x7f, 0x80, 0x55, 0xaa, 3, 0xfe, 0x10, 0x7e },
			     last[VALUES] = { 0, 0, 0xff, 0x80, 0x7f, 0, 0x55, 0x2a, 0, 0xff, 0, 0x3c };
	size_t size = types[type].size;

	memset(out, 0, size);
	if (types[type].kind == 'f') {
		make_real(size, reals[which], out);
	} else if (types[type].kind == 'c') {
		make_real(size / 2, which % 4 - 1, out);
		make_real(size / 2, which / 4 - 1, out + size / 2);
	} else {
		memset(out, which % 3 ? last[which] : 0, size);
		out[0] = first[which];
		out[size - 1] = size > 1 ? last[which] : first[which];
	}
}

static long double real_of(uint8_t type, const uint8_t *bytes, size_t size)
{
	static const struct small_float *const small[] = { &small_half, &small_brain, &small_e4m3, &small_e5m2 };
	long double extended = 0;
	uint16_t code = 0;
	double number;
	float single;

	if (types[type].kind == 's') {
		memcpy(&code, bytes, size);
		return small_decode(small[type - ATOMIC_FLOAT16], code);
	}
	memcpy(&single, bytes, sizeof(single));
	memcpy(&number, bytes, size < sizeof(number) ? sizeof(single) : sizeof(number));
	memcpy(&extended, bytes, size < 10 ? 4 : 10);
	return size == sizeof(single) ? single : size == sizeof(number) ? number : extended;
}

/* Bit by bit, but for what is in a NaN and behind a long double. */
static bool same(uint8_t type, const uint8_t *a, const uint8_t *b)
{
	int parts = types[type].kind == 'c' ? 2 : 1;
	size_t size = types[type].size / (size_t)parts;

	if (types[type].kind == 'i')
		return !memcmp(a, b, size);
	for (int i = 0; i < parts; i++) {
		long double x = real_of(type, a + size * (size_t)i, size), y = real_of(type, b + size * (size_t)i, size);

		if (!(isnan(x) && isnan(y)) && (x != y || signbit(x) != signbit(y)))
			return false;
	}
	return true;
}

static enum atomic_end run(struct atomic_what what, void *target, size_t count, const void *operand, const void *compare,
			   void *result)
{
	struct mr_place place = { .run = { { target, count * types[what.type].size } }, .count = 1 };

	return atomic_run(what, &place, count, operand, compare, result);
}

/* --- each op on each type --- */

static void check_one(struct atomic_what what, const uint8_t *target, const uint8_t *operand, const uint8_t *compare, size_t skew)
{
	_Alignas(64) uint8_t memory[3 * ATOMIC_ELEMENT_MAX];
	uint8_t *at = memory + ATOMIC_ELEMENT_MAX + skew, wanted[ATOMIC_ELEMENT_MAX], result[ATOMIC_ELEMENT_MAX + 1];
	size_t size = types[what.type].size;
	enum atomic_end end;

	memset(memory, 0xc3, sizeof(memory));
	memset(result, 0xc3, sizeof(result));
	memcpy(at, target, size);
	memcpy(wanted, target, size);
	cr_assert(types[what.type].model(what.op, wanted, operand, compare));
	end = run(what, at, 1, what.op == ATOMIC_READ ? NULL : operand, what.kind == ATOMIC_COMPARE ? compare : NULL,
		  what.kind == ATOMIC_PLAIN ? NULL : result);
	cr_assert(end == ATOMIC_STORED || (end == ATOMIC_KEPT && !memcmp(at, target, size)));
	cr_assert(same(what.type, at, wanted), "kind %d op %d type %d skew %zu", what.kind, what.op, what.type, skew);
	cr_assert(at[-1] == 0xc3 && at[size] == 0xc3, "bytes beside it changed");
	cr_assert_eq(result[size], 0xc3);
	if (what.kind != ATOMIC_PLAIN)
		cr_assert_arr_eq(result, target, size);
}

static void check_values(struct atomic_what what)
{
	_Alignas(16) uint8_t target[ATOMIC_ELEMENT_MAX], operand[ATOMIC_ELEMENT_MAX], compare[ATOMIC_ELEMENT_MAX];

	for (int i = 0; i < VALUES; i++)
		for (int j = 0; j < VALUES; j++) {
			make_value(what.type, i, target);
			make_value(what.type, j, operand);
			make_value(what.type, (i * 5 + j) % VALUES, compare);
			check_one(what, target, operand, compare, 0);
			check_one(what, target, operand, target, 0);
			check_one(what, target, operand, compare, 1);
		}
}

Test(atomic, each_operation_on_each_type)
{
	int defined = 0;

	for (int kind = 0; kind < 3; kind++)
		for (int op = 0; op < ATOMIC_OPS; op++)
			for (int type = 0; type < ATOMIC_TYPES; type++) {
				struct atomic_what what = { (uint8_t)kind, (uint8_t)op, (uint8_t)type };

				if (atomic_valid(what)) {
					defined++;
					check_values(what);
				}
			}
	/* Ten integer types with 12, 13 and 7 operations, seven real ones with 9, 10 and 6, three complex with 7, 8 and 2. */
	cr_assert_eq(defined, 10 * (12 + 13 + 7) + 7 * (9 + 10 + 6) + 3 * (7 + 8 + 2));
}

Test(atomic, what_is_not_defined)
{
	static const struct atomic_what bad[] = {
		{ ATOMIC_PLAIN, ATOMIC_READ, ATOMIC_INT8 },
		{ ATOMIC_PLAIN, ATOMIC_CSWAP, ATOMIC_INT8 },
		{ ATOMIC_FETCH, ATOMIC_CSWAP, ATOMIC_INT8 },
		{ ATOMIC_COMPARE, ATOMIC_SUM, ATOMIC_INT8 },
		{ ATOMIC_PLAIN, ATOMIC_BOR, ATOMIC_FLOAT },
		{ ATOMIC_COMPARE, ATOMIC_MSWAP, ATOMIC_FLOAT16 },
		{ ATOMIC_PLAIN, ATOMIC_MIN, ATOMIC_FLOAT_COMPLEX },
		{ ATOMIC_COMPARE, ATOMIC_CSWAP_LT, ATOMIC_DOUBLE_COMPLEX },
		{ 3, ATOMIC_SUM, ATOMIC_INT8 },
		{ ATOMIC_PLAIN, ATOMIC_OPS, ATOMIC_INT8 },
		{ ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_TYPES },
		{ 255, 255, 255 },
		{ 32, ATOMIC_SUM, ATOMIC_INT8 },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		cr_assert_not(atomic_valid(bad[i]), "%zu", i);
	for (unsigned int type = 0; type < 256; type++)
		cr_assert_eq(atomic_size((uint8_t)type), type < ATOMIC_TYPES ? types[type].size : 0);
}

/* --- several elements --- */

static const struct atomic_what add32 = { ATOMIC_FETCH, ATOMIC_SUM, ATOMIC_UINT32 };

Test(atomic, elements_split_across_runs)
{
	_Alignas(16) uint8_t memory[64] = { 0 };
	uint32_t before[4] = { 1, 2, 0x00ffffff, 0xffffffff }, add[4] = { 10, 20, 1, 2 }, result[4], after[4];
	/* 16 bytes of elements, as runs of 6, 1, 3 and 6 */
	struct mr_place place = { .run = { { memory, 6 }, { memory + 20, 1 }, { memory + 33, 3 }, { memory + 40, 6 } },
				  .count = 4 };
	uint8_t *bytes = (uint8_t *)before;

	memcpy(memory, bytes, 6);
	memcpy(memory + 20, bytes + 6, 1);
	memcpy(memory + 33, bytes + 7, 3);
	memcpy(memory + 40, bytes + 10, 6);
	cr_assert(atomic_run(add32, &place, 4, add, NULL, result));
	cr_assert_arr_eq(result, before, sizeof(before));
	bytes = (uint8_t *)after;
	memcpy(bytes, memory, 6);
	memcpy(bytes + 6, memory + 20, 1);
	memcpy(bytes + 7, memory + 33, 3);
	memcpy(bytes + 10, memory + 40, 6);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(after[i], before[i] + add[i]);
	cr_assert(memory[6] == 0 && memory[19] == 0 && memory[21] == 0 && memory[36] == 0 && memory[46] == 0);
}

Test(atomic, each_element_has_its_own_comparison)
{
	struct atomic_what swap = { ATOMIC_COMPARE, ATOMIC_CSWAP, ATOMIC_INT64 };
	int64_t memory[4] = { 1, 2, 3, 4 }, operand[4] = { 10, 20, 30, 40 }, compare[4] = { 1, 0, 3, 0 }, result[4];

	cr_assert(run(swap, memory, 4, operand, compare, result));
	cr_assert(memory[0] == 10 && memory[1] == 2 && memory[2] == 30 && memory[3] == 4);
	cr_assert(result[0] == 1 && result[1] == 2 && result[2] == 3 && result[3] == 4);
}

/* What has a condition is told apart from what has none, at each of two elements, in one step and byte by byte. */
Test(atomic, what_is_stored)
{
	static const struct {
		struct atomic_what what;
		int64_t operand, compare;
		enum atomic_end end;
	} calls[] = {
		{ { ATOMIC_FETCH, ATOMIC_READ, ATOMIC_INT64 }, 0, 0, ATOMIC_KEPT },
		{ { ATOMIC_COMPARE, ATOMIC_CSWAP, ATOMIC_INT64 }, 9, 6, ATOMIC_KEPT },
		{ { ATOMIC_COMPARE, ATOMIC_CSWAP, ATOMIC_INT64 }, 9, 5, ATOMIC_STORED },
		{ { ATOMIC_COMPARE, ATOMIC_CSWAP_NE, ATOMIC_INT64 }, 9, 7, ATOMIC_STORED },
		{ { ATOMIC_COMPARE, ATOMIC_CSWAP_GT, ATOMIC_INT64 }, 9, 5, ATOMIC_KEPT },
		{ { ATOMIC_PLAIN, ATOMIC_MIN, ATOMIC_INT64 }, 8, 0, ATOMIC_KEPT },
		{ { ATOMIC_PLAIN, ATOMIC_MIN, ATOMIC_INT64 }, 6, 0, ATOMIC_STORED },
		{ { ATOMIC_FETCH, ATOMIC_MAX, ATOMIC_INT64 }, 4, 0, ATOMIC_KEPT },
		{ { ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_INT64 }, 0, 0, ATOMIC_STORED },
		{ { ATOMIC_PLAIN, ATOMIC_WRITE, ATOMIC_INT64 }, 7, 0, ATOMIC_STORED },
	};
	_Alignas(16) char memory[64];

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		for (int skew = 0; skew < 2; skew++) {
			int64_t values[2] = { 5, 7 }, operand[2] = { calls[i].operand, calls[i].operand };
			int64_t compare[2] = { calls[i].compare, calls[i].compare }, result[2];
			bool fetches = calls[i].what.kind != ATOMIC_PLAIN;

			memcpy(memory + skew, values, sizeof(values));
			cr_expect_eq(run(calls[i].what, memory + skew, 2, calls[i].what.op == ATOMIC_READ ? NULL : operand,
					 calls[i].what.kind == ATOMIC_COMPARE ? compare : NULL, fetches ? result : NULL),
				     calls[i].end, "call %zu, skew %d", i, skew);
		}
	}
}

/* --- in one step --- */

enum { ADDITIONS = 100000 };

struct adder {
	struct atomic_what what;
	void *at;
	const void *operand;
	atomic_int *ready;
};

static void *add_often(void *arg)
{
	const struct adder *adder = arg;

	atomic_fetch_add(adder->ready, 1);
	while (atomic_load(adder->ready) < 2)
		;
	for (int i = 0; i < ADDITIONS; i++)
		if (!run(adder->what, adder->at, 1, adder->operand, NULL, NULL))
			return arg;
	return NULL;
}

/* Two threads add to one element, and no addition is lost. */
static void add_at_once(uint8_t type, void *at, const void *operand)
{
	atomic_int ready = 0;
	struct adder adder = { { ATOMIC_PLAIN, ATOMIC_SUM, type }, at, operand, &ready };
	pthread_t thread;
	void *failed;

	cr_assert_eq(pthread_create(&thread, NULL, add_often, &adder), 0);
	cr_assert_null(add_often(&adder));
	pthread_join(thread, &failed);
	cr_assert_null(failed);
}

Test(atomic, no_addition_is_lost)
{
	uint64_t eight = 0;
	const uint64_t one = 1;

	add_at_once(ATOMIC_UINT64, &eight, &one);
	cr_assert_eq(eight, 2 * ADDITIONS);
}

static bool changes_sixteen(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("avx");
#elif defined(__aarch64__)
	return getauxval(AT_HWCAP) & 1 << 25; /* LSE2 */
#else
	return false;
#endif
}

Test(atomic, nor_to_a_long_element)
{
	_Alignas(16) double_complex sixteen = 0;
	const double_complex both = 1 + 2 * I;

	if (!changes_sixteen())
		cr_skip_test("this processor does not change 16 bytes in one step");
	add_at_once(ATOMIC_DOUBLE_COMPLEX, &sixteen, &both);
	cr_assert(creal(sixteen) == 2 * ADDITIONS && cimag(sixteen) == 4 * ADDITIONS);
}

Test(atomic, nothing_is_changed_where_memory_faults)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	static const size_t from_end[] = { 16, 6 }; /* aligned; an element across the edge */
	uint32_t add[8] = { 1, 1, 1, 1, 1, 1, 1, 1 }, result[8];
	struct atomic_what read = add32;

	read.op = ATOMIC_READ;
	for (int prot = PROT_NONE; prot <= PROT_READ; prot += PROT_READ)
		for (int i = 0; i < 2; i++) {
			uint32_t *at = (uint32_t *)(void *)(pages + page - from_end[i]);

			cr_assert_eq(mprotect(pages + page, page, prot), 0);
			cr_assert_not(run(add32, at, 8, add, NULL, result));
			cr_assert_eq(pages[page - 4], 0);
			cr_assert_eq(pages[page - 6], 0);
			cr_assert_eq(run(read, at, 8, NULL, NULL, result), prot == PROT_READ);
			cr_assert_eq(mprotect(pages + page, page, PROT_READ | PROT_WRITE), 0);
			cr_assert(run(add32, at, 8, add, NULL, result));
			memset(pages, 0, 2 * page);
		}
	cr_assert_not(run(add32, (void *)8, 1, add, NULL, result));
}

/* The swap would not be made, and is refused all the same: what a target allows does not depend on what it holds. */
Test(atomic, comparisons_need_memory_that_can_be_written)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *fixed = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct atomic_what swap = { ATOMIC_COMPARE, ATOMIC_CSWAP, ATOMIC_INT64 };
	int64_t operand = 1, compare = 1, result;

	cr_assert_not(run(swap, fixed, 1, &operand, &compare, &result));
}

/* The program has put its own handler over ours: the kernel looks first. */
static void give_up(int sig)
{
	(void)sig;
	_exit(9);
}

Test(atomic, behind_a_handler_of_the_program)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t add[2] = { 3, 4 }, result[2];
	uint32_t *across = (uint32_t *)(void *)(pages + page - 4);
	struct atomic_what read = add32;

	signal(SIGSEGV, give_up);
	guard_check();
	cr_assert(run(add32, across, 2, add, NULL, result));
	cr_assert(across[0] == 3 && across[1] == 4);
	cr_assert_eq(mprotect(pages + page, page, PROT_READ), 0);
	cr_assert_not(run(add32, across, 2, add, NULL, result));
	cr_assert(across[0] == 3 && across[1] == 4);
	read.op = ATOMIC_READ;
	cr_assert(run(read, across, 2, NULL, NULL, result));
	cr_assert(result[0] == 3 && result[1] == 4);
}

/* The thread's own settings for arithmetic do not matter, and are as before. */
Test(atomic, rounds_to_nearest_whatever_the_thread_has_set)
{
	struct atomic_what sum = { ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_FLOAT };
	struct atomic_what sum_extended = { ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_LONG_DOUBLE };
	float target = 1, add = 0x1p-24f * 1.5f;
	long double extended = 1, add_extended = 0x1p-64L * 1.5L;
	volatile long double zero = 0, infinite;

	cr_assert_eq(fesetround(FE_TOWARDZERO), 0);
	feclearexcept(FE_ALL_EXCEPT);
	infinite = 1 / zero; /* seen by the x87, where there is one */
	cr_assert(run(sum, &target, 1, &add, NULL, NULL));
	cr_assert(run(sum_extended, &extended, 1, &add_extended, NULL, NULL));
	cr_assert_eq(fegetround(), FE_TOWARDZERO);
	cr_assert_eq(fetestexcept(FE_ALL_EXCEPT), FE_DIVBYZERO);
	fesetround(FE_TONEAREST);
	cr_assert(isinf(infinite));
	cr_assert_eq(target, 1 + 0x1p-23f);
	cr_assert_eq(extended, LDBL_MANT_DIG == 64 ? 1 + 0x1p-63L : 1 + add_extended);
}

/* fi_atomic(3), Data Types: a double is reckoned in double, which by way of a longer format would be rounded twice; a long
 * double in all of its bits. */
Test(atomic, in_the_precision_of_the_type)
{
	struct atomic_what sum = { ATOMIC_PLAIN, ATOMIC_SUM, ATOMIC_DOUBLE };
	struct atomic_what product = { ATOMIC_PLAIN, ATOMIC_PROD, ATOMIC_LONG_DOUBLE_COMPLEX };
	double target = 1, add = 0x1p-53 + 0x1p-64; /* a little more than half of the last place */
	long_double_complex many = 1 + 0x1p-60L, one = 1;

	cr_assert(run(sum, &target, 1, &add, NULL, NULL));
	cr_assert_eq(target, 1 + 0x1p-52);
	cr_assert(run(product, &many, 1, &one, NULL, NULL));
	cr_assert_eq(creall(many), 1 + 0x1p-60L);
}
