/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_long.h - the payload digest of many bytes in one piece, for one instruction set; private to digest_*_long.c.
 *
 * A file that is compiled for an instruction set defines DIGEST_LONG, the function's name, and includes this. It is xxHash's
 * own, told to fetch further ahead than it does by itself: with a few hundred bytes it waits for memory a third of the time,
 * as the processor's own prefetching stops at each page. Short payloads are not to fetch what is behind them
 * (tests/bench/RESULTS.md says what this buys). */
#ifndef WIRE_DIGEST_LONG_H
#define WIRE_DIGEST_LONG_H

#define XXH_INLINE_ALL
#define XXH_PREFETCH_DIST 8192
#include <xxhash.h>

#include "wire/digest_kernel.h"

uint64_t DIGEST_LONG(const void *bytes, size_t length)
{
	return XXH3_64bits(bytes, length);
}

#endif
