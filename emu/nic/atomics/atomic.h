/* SPDX-License-Identifier: BSD-2-Clause */
/* atomic.h - atomic operations on the memory of a target: which there are, and how they are executed.
 *
 * Naturally aligned elements of 1, 2, 4, 8 and 16 bytes are changed by compare-and-swap, so they are atomic with respect
 * to the CPU atomics of the program too (16 bytes: on x86-64 processors with cmpxchg16b and AVX). All others, misaligned, longer
 * or split over two runs, are atomic with respect to ops of the same device only.
 * Thread: holder of the driver role. */
#ifndef EMU_NIC_ATOMIC_H
#define EMU_NIC_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_place;

enum atomic_kind {
	ATOMIC_PLAIN,   /* changes, returns no value */
	ATOMIC_FETCH,   /* returns the old value */
	ATOMIC_COMPARE, /* changes or not, as a comparison says; returns the old value */
};

/* Datatypes and operations, with the numbers that they have on the wire (ATOMIC in wire/PROTOCOL.md). */
enum atomic_type {
	ATOMIC_INT8,
	ATOMIC_UINT8,
	ATOMIC_INT16,
	ATOMIC_UINT16,
	ATOMIC_INT32,
	ATOMIC_UINT32,
	ATOMIC_INT64,
	ATOMIC_UINT64,
	ATOMIC_FLOAT,
	ATOMIC_DOUBLE,
	ATOMIC_FLOAT_COMPLEX,
	ATOMIC_DOUBLE_COMPLEX,
	ATOMIC_LONG_DOUBLE,
	ATOMIC_LONG_DOUBLE_COMPLEX,
	ATOMIC_INT128,
	ATOMIC_UINT128,
	ATOMIC_FLOAT16,
	ATOMIC_BFLOAT16,
	ATOMIC_FLOAT8_E4M3,
	ATOMIC_FLOAT8_E5M2,
	ATOMIC_TYPES
};

enum atomic_op {
	ATOMIC_MIN,
	ATOMIC_MAX,
	ATOMIC_SUM,
	ATOMIC_PROD,
	ATOMIC_LOR,
	ATOMIC_LAND,
	ATOMIC_BOR,
	ATOMIC_BAND,
	ATOMIC_LXOR,
	ATOMIC_BXOR,
	ATOMIC_READ,
	ATOMIC_WRITE,
	ATOMIC_CSWAP,
	ATOMIC_CSWAP_NE,
	ATOMIC_CSWAP_LE,
	ATOMIC_CSWAP_LT,
	ATOMIC_CSWAP_GE,
	ATOMIC_CSWAP_GT,
	ATOMIC_MSWAP,
	ATOMIC_DIFF,
	ATOMIC_OPS
};

struct atomic_what {
	uint8_t kind; /* enum atomic_kind */
	uint8_t op;   /* enum atomic_op */
	uint8_t type; /* enum atomic_type */
};

enum { ATOMIC_ELEMENT_MAX = 32 }; /* bytes of the longest element */

/* Bytes an element; 0: no such type. */
size_t atomic_size(uint8_t type);
/* What its address has to be a multiple of, for NICs; 1: anything. */
size_t atomic_alignment(uint8_t type);
/* Is the operation defined for the type and the kind of call? Any values are allowed. */
bool atomic_valid(struct atomic_what what);
/* How a call ended. */
enum atomic_end {
	ATOMIC_FAULT,  /* the memory cannot be read, or not written where the operation may write */
	ATOMIC_KEPT,   /* no element was stored: it was read, or no comparison held */
	ATOMIC_STORED, /* at least one was, be it with the value that it had */
};

/* Executes `count` elements on program memory at `place`, whose runs may split elements and hold count elements in all.
 * `operand`, `compare` and `result` are the device's own buffers, of any alignment; those that the kind or ATOMIC_READ lacks
 * are NULL. After ATOMIC_FAULT nothing has been changed, unless the memory went away in the middle. ATOMIC_READ needs no right to
 * write. */
enum atomic_end atomic_run(struct atomic_what what, const struct mr_place *place, size_t count, const void *operand,
			   const void *compare, void *result);

#endif
