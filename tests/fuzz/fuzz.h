/* SPDX-License-Identifier: BSD-2-Clause */
/* fuzz.h - what the fuzz targets share. Each is a function of its input alone; what must not be aborts. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "wire/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                                   \
	do {                                                                               \
		if (!(cond)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                           \
		}                                                                          \
	} while (0)

/* The next frame of a stream, as far as it is there: *frame bytes of `left`. False: it is cut off, or has no op. */
bool fuzz_frame(const uint8_t *bytes, size_t left, size_t *frame);
/* Gives the digests of one whole frame what they must be, so that what is behind them is reached. */
void fuzz_redigest(uint8_t *frame, bool heads, bool payloads);

#endif
