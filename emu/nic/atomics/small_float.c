/* SPDX-License-Identifier: BSD-2-Clause */
/* small_float.c - conversions between double and the formats that C has no type for. Sums and products of two such numbers
 * are made in double, whose 53 bits are more than twice the small ones' plus two: rounding twice is rounding once. */
#include "emu/nic/atomics/atomic_ops.h"

#include <string.h>

const struct small_float small_half = { 5, 10, true }, small_brain = { 8, 7, true }, small_e4m3 = { 4, 3, false },
			 small_e5m2 = { 5, 2, true };

enum { DOUBLE_BIAS = 1023, DOUBLE_MANTISSA = 52, DOUBLE_MAX = 2047 };

static double double_of(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* 2 to the power of `n`, which is that of a normal number. */
static double power(int n)
{
	return double_of((uint64_t)(n + DOUBLE_BIAS) << DOUBLE_MANTISSA);
}

static int bias(const struct small_float *format)
{
	return (1 << (format->exponent - 1)) - 1;
}

static unsigned int largest_exponent(const struct small_float *format)
{
	return (1u << format->exponent) - 1;
}

/* The bits behind those of the largest number: infinity, or NaN in a format that has none. */
static unsigned int behind_largest(const struct small_float *format)
{
	unsigned int all = (1u << (format->exponent + format->mantissa)) - 1;

	return format->infinite ? largest_exponent(format) << format->mantissa : all;
}

static unsigned int nan_bits(const struct small_float *format)
{
	return behind_largest(format) | 1u << (format->mantissa - 1);
}

double small_decode(const struct small_float *format, uint16_t bits)
{
	unsigned int mantissa = bits & ((1u << format->mantissa) - 1);
	unsigned int exponent = bits >> format->mantissa & largest_exponent(format);
	bool negative = bits >> (format->exponent + format->mantissa) & 1;
	uint64_t sign = (uint64_t)negative << 63;
	double size;

	if ((bits & ((1u << (format->exponent + format->mantissa)) - 1)) >= behind_largest(format)) {
		bool nan = !format->infinite || mantissa;

		return double_of(sign | (uint64_t)DOUBLE_MAX << DOUBLE_MANTISSA | (uint64_t)nan << (DOUBLE_MANTISSA - 1));
	}
	if (exponent)
		mantissa |= 1u << format->mantissa;
	else
		exponent = 1; /* a subnormal, in the scale of the smallest normal */
	size = mantissa * power((int)exponent - bias(format) - format->mantissa);
	return negative ? -size : size;
}

uint16_t small_encode(const struct small_float *format, double value)
{
	uint64_t bits, mantissa, rounded, rest, half;
	unsigned int sign, limit = behind_largest(format);
	int exponent, lowest = 1 - bias(format), scale, drop;

	memcpy(&bits, &value, sizeof(bits));
	sign = (unsigned int)(bits >> 63) << (format->exponent + format->mantissa);
	exponent = (int)(bits >> DOUBLE_MANTISSA & DOUBLE_MAX) - DOUBLE_BIAS;
	mantissa = bits & ((UINT64_C(1) << DOUBLE_MANTISSA) - 1);
	if (exponent == DOUBLE_MAX - DOUBLE_BIAS)
		return (uint16_t)(sign | (mantissa ? nan_bits(format) : limit));
	scale = exponent < lowest ? lowest : exponent;
	drop = DOUBLE_MANTISSA - format->mantissa + scale - exponent;
	if (drop > DOUBLE_MANTISSA + 1) /* less than half of the smallest; zero too, and double's subnormals */
		return (uint16_t)sign;
	mantissa |= UINT64_C(1) << DOUBLE_MANTISSA;
	rounded = mantissa >> drop;
	half = UINT64_C(1) << (drop - 1);
	rest = mantissa & (2 * half - 1);
	if (rest > half || (rest == half && rounded & 1))
		rounded++;
	rounded += (uint64_t)(scale - lowest) << format->mantissa; /* the leading one counts as one more exponent */
	return (uint16_t)(sign | (rounded < limit ? (unsigned int)rounded : limit));
}
