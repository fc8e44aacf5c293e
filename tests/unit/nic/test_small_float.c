/* SPDX-License-Identifier: BSD-2-Clause */
/* test_small_float.c - every number of the four small formats, and every rounding between two of them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

#include "emu/nic/atomics/atomic_ops.h"

TestSuite(small_float, .timeout = 60);

/* Largest finite code, and values that the formats' descriptions name. */
static const struct sample {
	const char *name;
	const struct small_float *format;
	unsigned int largest, sign, one;
	double max, least;
} samples[] = {
	{ "half", &small_half, 0x7bff, 0x8000, 0x3c00, 65504, 0x1p-24 },
	{ "brain", &small_brain, 0x7f7f, 0x8000, 0x3f80, 0x1.fep127, 0x1p-133 },
	{ "e4m3", &small_e4m3, 0x7e, 0x80, 0x38, 448, 0x1p-9 },
	{ "e5m2", &small_e5m2, 0x7b, 0x80, 0x3c, 57344, 0x1p-16 },
};
#define EACH(s) for (const struct sample *s = samples; s < samples + sizeof(samples) / sizeof(*samples); s++)

Test(small_float, known_numbers)
{
	EACH(s)
	{
		cr_assert_eq(small_decode(s->format, 0), 0);
		cr_assert(signbit(small_decode(s->format, (uint16_t)s->sign)));
		cr_assert_eq(small_decode(s->format, (uint16_t)s->one), 1);
		cr_assert_eq(small_decode(s->format, (uint16_t)(s->sign | s->one)), -1);
		cr_assert_eq(small_decode(s->format, 1), s->least, "%s", s->name);
		cr_assert_eq(small_decode(s->format, (uint16_t)s->largest), s->max, "%s", s->name);
	}
}

Test(small_float, each_number_comes_back)
{
	EACH(s)
	for (unsigned int code = 0; code <= s->largest; code++) {
		double value = small_decode(s->format, (uint16_t)code);

		cr_assert_eq(small_encode(s->format, value), code, "%s %#x", s->name, code);
		cr_assert_eq(small_encode(s->format, -value), code | s->sign, "%s -%#x", s->name, code);
	}
}

Test(small_float, rounds_to_nearest_and_ties_to_even)
{
	EACH(s)
	for (unsigned int code = 0; code < s->largest; code++) {
		double low = small_decode(s->format, (uint16_t)code);
		double high = small_decode(s->format, (uint16_t)(code + 1)), middle = (low + high) / 2;

		cr_assert_lt(low, high);
		cr_assert_eq(small_encode(s->format, middle), code + (code & 1), "%s %#x", s->name, code);
		cr_assert_eq(small_encode(s->format, nextafter(middle, high)), code + 1, "%s %#x", s->name, code);
		cr_assert_eq(small_encode(s->format, nextafter(middle, low)), code, "%s %#x", s->name, code);
	}
}

Test(small_float, past_the_largest)
{
	EACH(s)
	{
		double below = small_decode(s->format, (uint16_t)(s->largest - 1)), edge = s->max + (s->max - below) / 2;
		unsigned int behind = s->format->infinite ? s->largest + 1 : 0x7f;
		bool odd = s->largest & 1;

		cr_assert_eq(small_encode(s->format, nextafter(edge, 0)), s->largest, "%s", s->name);
		cr_assert_eq(small_encode(s->format, edge), odd ? behind : s->largest, "%s", s->name);
		cr_assert_eq(small_encode(s->format, nextafter(edge, INFINITY)), behind, "%s", s->name);
		cr_assert_eq(small_encode(s->format, 1e300), behind);
		cr_assert_eq(small_encode(s->format, INFINITY), behind);
		cr_assert_eq(small_encode(s->format, -INFINITY), behind | s->sign);
		cr_assert_eq(small_encode(s->format, 1e-300), 0);
		cr_assert_eq(small_encode(s->format, -5e-324), s->sign);
		cr_assert(isnan(small_decode(s->format, small_encode(s->format, (double)NAN))));
		for (unsigned int code = s->largest + 1; code < s->sign; code++) {
			double value = small_decode(s->format, (uint16_t)code);

			cr_assert(s->format->infinite && code == s->largest + 1 ? isinf(value) : isnan(value), "%#x", code);
		}
	}
}
