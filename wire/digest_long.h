/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_long.h - the payload digest of many bytes in one piece, for one instruction set; private to digest_*_long.c.
 *
 * A file that is compiled for an instruction set defines DIGEST_LONG, the function's name, and includes this. The function is
 * xxHash's own, set to prefetch further ahead: with its default of a few hundred bytes it waits for memory a third of the time,
 * as the processor's own prefetching stops at each page. Short payloads must not prefetch the bytes behind them
 * (tests/bench/RESULTS.md has the gain). */
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
