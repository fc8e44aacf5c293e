/* SPDX-License-Identifier: BSD-2-Clause */
/* small_float.h - floating point of 8 and 16 bits: half precision, brain float, and the two 8-bit formats of the Open Compute
 * Project. Pure. */
#ifndef EMU_NIC_SMALL_FLOAT_H
#define EMU_NIC_SMALL_FLOAT_H

#include <stdbool.h>
#include <stdint.h>

struct small_float {
	int exponent, mantissa; /* bits; the bias is half the exponent's range */
	bool infinite;          /* the largest exponent means infinity or NaN; else all bits set is NaN */
};

extern const struct small_float small_half, small_brain, small_e4m3, small_e5m2;

/* Exact. */
double small_decode(const struct small_float *format, uint16_t bits);
/* Rounds to nearest, ties to even. Past the largest number: infinity, or NaN where the format has none. */
uint16_t small_encode(const struct small_float *format, double value);

#endif
