/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_ops.h - one atomic operation on one element. Pure; the element is any memory of the device's own. */
#ifndef EMU_NIC_ATOMIC_OPS_H
#define EMU_NIC_ATOMIC_OPS_H

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/nic/atomics/atomic.h"

/* `value` is the target's element and becomes the value to store. False: there is none to store. `operand` and `compare`
 * may be unaligned, and NULL where the operation needs none. Valid combinations only. */
bool atomic_apply(struct atomic_what what, void *value, const void *operand, const void *compare);

/* Is the type one with a point, whose arithmetic needs the calls below? */
bool atomic_rounds(uint8_t type);

/* Rounding to nearest, no traps and no flushing of subnormals, whatever the thread has set; then all back as it was, with the
 * exceptions that the program has seen so far and no others. */
#if defined(__x86_64__)
struct atomic_float_mode {
	unsigned int simd, x87[7];
};
#else
struct atomic_float_mode {
	fenv_t env;
};
#endif
void atomic_float_begin(struct atomic_float_mode *before);
void atomic_float_end(const struct atomic_float_mode *before);

/* --- floating point of 8 and 16 bits (small_float.c) ---
 * Half precision, brain float, and the two 8-bit formats of the Open Compute Project. Pure. */

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
