/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_ops.c - the operations: integers in 128 bits, of which the low ones are stored; numbers with a point in the
 * precision of their type; compare and swap on both. */
#include "emu/nic/atomics/atomic_ops.h"

#include <float.h>
#include <string.h>

typedef unsigned __int128 wide;
typedef __int128 wide_signed;

/* complex: two parts. A long double of x86 has 10 bytes; the padding behind it is the target's. */
struct number {
	long double part[2];
};

static const struct type {
	uint8_t size;   /* of an element */
	uint8_t parts;  /* 0: an integer; 2: complex */
	bool is_signed; /* integers */
	const struct small_float *small;
} types[ATOMIC_TYPES] = {
	[ATOMIC_INT8] = { .size = 1, .is_signed = true },
	[ATOMIC_UINT8] = { .size = 1 },
	[ATOMIC_INT16] = { .size = 2, .is_signed = true },
	[ATOMIC_UINT16] = { .size = 2 },
	[ATOMIC_INT32] = { .size = 4, .is_signed = true },
	[ATOMIC_UINT32] = { .size = 4 },
	[ATOMIC_INT64] = { .size = 8, .is_signed = true },
	[ATOMIC_UINT64] = { .size = 8 },
	[ATOMIC_INT128] = { .size = 16, .is_signed = true },
	[ATOMIC_UINT128] = { .size = 16 },
	[ATOMIC_FLOAT] = { .size = sizeof(float), .parts = 1 },
	[ATOMIC_DOUBLE] = { .size = sizeof(double), .parts = 1 },
	[ATOMIC_LONG_DOUBLE] = { .size = sizeof(long double), .parts = 1 },
	[ATOMIC_FLOAT_COMPLEX] = { .size = 2 * sizeof(float), .parts = 2 },
	[ATOMIC_DOUBLE_COMPLEX] = { .size = 2 * sizeof(double), .parts = 2 },
	[ATOMIC_LONG_DOUBLE_COMPLEX] = { .size = 2 * sizeof(long double), .parts = 2 },
	[ATOMIC_FLOAT16] = { .size = 2, .parts = 1, .small = &small_half },
	[ATOMIC_BFLOAT16] = { .size = 2, .parts = 1, .small = &small_brain },
	[ATOMIC_FLOAT8_E4M3] = { .size = 1, .parts = 1, .small = &small_e4m3 },
	[ATOMIC_FLOAT8_E5M2] = { .size = 1, .parts = 1, .small = &small_e5m2 },
};

size_t atomic_size(uint8_t type)
{
	return type < ATOMIC_TYPES ? types[type].size : 0;
}

size_t atomic_alignment(uint8_t type)
{
	size_t size = atomic_size(type) / (type < ATOMIC_TYPES && types[type].parts == 2 ? 2 : 1);

	return size > sizeof(uint64_t) ? sizeof(uint64_t) : size ? size : 1;
}

/* --- which there are --- */

enum { ON_INTEGER = 0x1, ON_REAL = 0x2, ON_COMPLEX = 0x4, ON_ORDERED = ON_INTEGER | ON_REAL, ON_ALL = 0x7 };
enum {
	IN_PLAIN = 1 << ATOMIC_PLAIN,
	IN_FETCH = 1 << ATOMIC_FETCH,
	IN_BOTH = IN_PLAIN | IN_FETCH,
	IN_COMPARE = 1 << ATOMIC_COMPARE
};

static const struct {
	uint8_t kinds, types;
} defined[ATOMIC_OPS] = {
	[ATOMIC_MIN] = { IN_BOTH, ON_ORDERED },
	[ATOMIC_MAX] = { IN_BOTH, ON_ORDERED },
	[ATOMIC_SUM] = { IN_BOTH, ON_ALL },
	[ATOMIC_DIFF] = { IN_BOTH, ON_ALL },
	[ATOMIC_PROD] = { IN_BOTH, ON_ALL },
	[ATOMIC_LOR] = { IN_BOTH, ON_ALL },
	[ATOMIC_LAND] = { IN_BOTH, ON_ALL },
	[ATOMIC_LXOR] = { IN_BOTH, ON_ALL },
	[ATOMIC_BOR] = { IN_BOTH, ON_INTEGER },
	[ATOMIC_BAND] = { IN_BOTH, ON_INTEGER },
	[ATOMIC_BXOR] = { IN_BOTH, ON_INTEGER },
	[ATOMIC_READ] = { IN_FETCH, ON_ALL },
	[ATOMIC_WRITE] = { IN_BOTH, ON_ALL },
	[ATOMIC_CSWAP] = { IN_COMPARE, ON_ALL },
	[ATOMIC_CSWAP_NE] = { IN_COMPARE, ON_ALL },
	[ATOMIC_CSWAP_LE] = { IN_COMPARE, ON_ORDERED },
	[ATOMIC_CSWAP_LT] = { IN_COMPARE, ON_ORDERED },
	[ATOMIC_CSWAP_GE] = { IN_COMPARE, ON_ORDERED },
	[ATOMIC_CSWAP_GT] = { IN_COMPARE, ON_ORDERED },
	[ATOMIC_MSWAP] = { IN_COMPARE, ON_INTEGER },
};

bool atomic_valid(struct atomic_what what)
{
	static const uint8_t by_parts[] = { ON_INTEGER, ON_REAL, ON_COMPLEX };

	if (what.kind > ATOMIC_COMPARE || what.op >= ATOMIC_OPS || what.type >= ATOMIC_TYPES)
		return false;
	return (defined[what.op].kinds & 1 << what.kind) && (defined[what.op].types & by_parts[types[what.type].parts]);
}

/* --- integers --- */

static wide integer_load(const struct type *type, const void *from)
{
	unsigned int unused = 128 - 8u * type->size;
	wide value = 0;

	memcpy(&value, from, type->size); /* little-endian */
	return type->is_signed ? (wide)((wide_signed)(value << unused) >> unused) : value;
}

static bool integer_less(const struct type *type, wide a, wide b)
{
	return type->is_signed ? (wide_signed)a < (wide_signed)b : a < b;
}

/* Results are modulo the type's range. */
static wide integer_result(uint8_t op, wide a, wide b)
{
	switch (op) {
	case ATOMIC_SUM:
		return a + b;
	case ATOMIC_DIFF:
		return a - b;
	case ATOMIC_PROD:
		return a * b;
	case ATOMIC_LOR:
		return a || b;
	case ATOMIC_LAND:
		return a && b;
	case ATOMIC_LXOR:
		return !a != !b;
	case ATOMIC_BOR:
		return a | b;
	case ATOMIC_BAND:
		return a & b;
	default: /* ATOMIC_BXOR */
		return a ^ b;
	}
}

/* --- numbers with a point --- */

enum { LONG_DOUBLE_BYTES = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double) };

static long double real_load(const struct type *type, const void *from)
{
	size_t size = type->size / type->parts;
	long double extended = 0;
	uint16_t bits = 0;
	double number;
	float single;

	if (type->small) {
		memcpy(&bits, from, size);
		return small_decode(type->small, bits);
	}
	if (size == sizeof(single)) {
		memcpy(&single, from, sizeof(single));
		return single;
	}
	if (size == sizeof(number)) {
		memcpy(&number, from, sizeof(number));
		return number;
	}
	memcpy(&extended, from, LONG_DOUBLE_BYTES);
	return extended;
}

static void real_store(const struct type *type, void *to, long double value)
{
	size_t size = type->size / type->parts;
	double number = (double)value;
	float single = (float)number;
	uint16_t bits;

	if (type->small) {
		bits = small_encode(type->small, number);
		memcpy(to, &bits, size);
	} else if (size == sizeof(single)) {
		memcpy(to, &single, sizeof(single));
	} else if (size == sizeof(number)) {
		memcpy(to, &number, sizeof(number));
	} else {
		memcpy(to, &value, LONG_DOUBLE_BYTES);
	}
}

static struct number number_load(const struct type *type, const void *from)
{
	struct number number = { { 0, 0 } };

	for (int i = 0; i < type->parts; i++)
		number.part[i] = real_load(type, (const char *)from + i * (type->size / type->parts));
	return number;
}

static void number_store(const struct type *type, void *to, const struct number *number)
{
	for (int i = 0; i < type->parts; i++)
		real_store(type, (char *)to + i * (type->size / type->parts), number->part[i]);
}

static bool is_extended(const struct type *type)
{
	return type->size / type->parts > sizeof(double);
}

/* C's complex product, which keeps infinities. */
static struct number complex_product(const struct type *type, const struct number *a, const struct number *b)
{
	long double _Complex wide_product;
	double _Complex product;

	if (is_extended(type)) {
		wide_product = __builtin_complex(a->part[0], a->part[1]) * __builtin_complex(b->part[0], b->part[1]);
		return (struct number){ { __real__ wide_product, __imag__ wide_product } };
	}
	product = __builtin_complex((double)a->part[0], (double)a->part[1]) *
		  __builtin_complex((double)b->part[0], (double)b->part[1]);
	return (struct number){ { __real__ product, __imag__ product } };
}

static long double real_result(const struct type *type, uint8_t op, long double a, long double b)
{
	double x = (double)a, y = (double)b;

	if (is_extended(type))
		return op == ATOMIC_SUM ? a + b : op == ATOMIC_DIFF ? a - b : a * b;
	return op == ATOMIC_SUM ? x + y : op == ATOMIC_DIFF ? x - y : x * y;
}

static bool number_is_true(const struct number *number)
{
	return number->part[0] != 0 || number->part[1] != 0;
}

static struct number number_result(const struct type *type, uint8_t op, const struct number *a, const struct number *b)
{
	bool is_a = number_is_true(a), is_b = number_is_true(b);

	switch (op) {
	case ATOMIC_LOR:
		return (struct number){ { is_a || is_b, 0 } };
	case ATOMIC_LAND:
		return (struct number){ { is_a && is_b, 0 } };
	case ATOMIC_LXOR:
		return (struct number){ { is_a != is_b, 0 } };
	case ATOMIC_PROD:
		if (type->parts == 2)
			return complex_product(type, a, b);
		break;
	default:
		break;
	}
	return (struct number){ { real_result(type, op, a->part[0], b->part[0]),
				  type->parts == 2 ? real_result(type, op, a->part[1], b->part[1]) : 0 } };
}

/* --- all --- */

/* How `a` stands to `b`. Unordered: NaN. Complex numbers are compared for equality alone. */
enum order { LESS = 0x1, EQUAL = 0x2, GREATER = 0x4, UNORDERED = 0x8 };

static enum order compare_elements(const struct type *type, const void *left, const void *right)
{
	struct number x, y;

	if (!type->parts) {
		wide a = integer_load(type, left), b = integer_load(type, right);

		return a == b ? EQUAL : integer_less(type, a, b) ? LESS : GREATER;
	}
	x = number_load(type, left);
	y = number_load(type, right);
	if (x.part[0] == y.part[0] && x.part[1] == y.part[1])
		return EQUAL;
	return x.part[0] < y.part[0] ? LESS : x.part[0] > y.part[0] ? GREATER : UNORDERED;
}

/* For MIN and MAX: how the operand must stand to the target; for compare and swap: how `compare` must. */
static const uint8_t swaps_when[ATOMIC_OPS] = {
	[ATOMIC_MIN] = LESS,
	[ATOMIC_MAX] = GREATER,
	[ATOMIC_CSWAP] = EQUAL,
	[ATOMIC_CSWAP_NE] = LESS | GREATER | UNORDERED,
	[ATOMIC_CSWAP_LE] = LESS | EQUAL,
	[ATOMIC_CSWAP_LT] = LESS,
	[ATOMIC_CSWAP_GE] = GREATER | EQUAL,
	[ATOMIC_CSWAP_GT] = GREATER,
};

static void compute(const struct type *type, uint8_t op, void *value, const void *operand)
{
	struct number x, y;

	if (!type->parts) {
		wide result = integer_result(op, integer_load(type, value), integer_load(type, operand));

		memcpy(value, &result, type->size);
		return;
	}
	x = number_load(type, value);
	y = number_load(type, operand);
	x = number_result(type, op, &x, &y);
	number_store(type, value, &x);
}

static void swap_masked(const struct type *type, uint8_t *value, const uint8_t *operand, const uint8_t *mask)
{
	for (int i = 0; i < type->size; i++)
		value[i] = (uint8_t)((operand[i] & mask[i]) | (value[i] & ~mask[i]));
}

bool atomic_apply(struct atomic_what what, void *value, const void *operand, const void *compare)
{
	const struct type *type = &types[what.type];
	uint8_t when = swaps_when[what.op];

	if (what.op == ATOMIC_READ)
		return false;
	if (when) {
		if (!(compare_elements(type, what.kind == ATOMIC_COMPARE ? compare : operand, value) & when))
			return false;
		memcpy(value, operand, type->size);
	} else if (what.op == ATOMIC_WRITE) {
		memcpy(value, operand, type->size);
	} else if (what.op == ATOMIC_MSWAP) {
		swap_masked(type, value, operand, compare);
	} else {
		compute(type, what.op, value, operand);
	}
	return true;
}

bool atomic_rounds(uint8_t type)
{
	return types[type].parts;
}

#if defined(__x86_64__)
void atomic_float_begin(struct atomic_float_mode *before)
{
	const unsigned short control = 0x37f; /* all masked, 64 bits of mantissa, to nearest */

	before->simd = __builtin_ia32_stmxcsr();
	__asm__ volatile("fnstenv %0" : "=m"(before->x87));
	__asm__ volatile("fldcw %0" : : "m"(control));
	__builtin_ia32_ldmxcsr(0x1f80); /* the same */
}

void atomic_float_end(const struct atomic_float_mode *before)
{
	__asm__ volatile("fldenv %0" : : "m"(before->x87));
	__builtin_ia32_ldmxcsr(before->simd);
}
#else
void atomic_float_begin(struct atomic_float_mode *before)
{
	fegetenv(&before->env);
	fesetenv(FE_DFL_ENV);
}

void atomic_float_end(const struct atomic_float_mode *before)
{
	fesetenv(&before->env);
}
#endif
