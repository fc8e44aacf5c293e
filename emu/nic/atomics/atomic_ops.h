/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic_ops.h - one atomic operation on one element. Pure; the element is any memory of the device's own. */
#ifndef EMU_NIC_ATOMIC_OPS_H
#define EMU_NIC_ATOMIC_OPS_H

#include <stdbool.h>

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
#include <fenv.h>
struct atomic_float_mode {
	fenv_t env;
};
#endif
void atomic_float_begin(struct atomic_float_mode *before);
void atomic_float_end(const struct atomic_float_mode *before);

#endif
