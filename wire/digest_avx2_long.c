/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_avx2_long.c - the payload digest of many bytes in one piece; compiled with -mavx2, called only on such processors.
 *
 * It is xxHash's own, told to fetch further ahead than it does by itself: with a few hundred bytes it waits for memory a third of
 * the time, as the processor's own prefetching stops at each page. Short payloads are not to fetch what is behind them
 * (tests/bench/RESULTS.md says what this buys). */
#define XXH_INLINE_ALL
#define XXH_PREFETCH_DIST 8192
#include <xxhash.h>

#include "wire/digest_kernel.h"

uint64_t digest_avx2_long(const void *bytes, size_t length)
{
	return XXH3_64bits(bytes, length);
}
