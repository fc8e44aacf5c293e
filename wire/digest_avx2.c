/* SPDX-License-Identifier: BSD-2-Clause */
/* digest_avx2.c - payload digests for x86-64 processors with AVX2; compiled with -mavx2, called only on such.
 *
 * The copy is written here, from XXH3's published algorithm, as the library has no function that also copies: each byte is loaded
 * once, and arithmetic overlaps with waiting for memory. */
#define DIGEST_KERNEL digest_avx2
#include "wire/digest_kernel.h"

#include <immintrin.h>
#include <string.h>

enum { STRIPE = 64, BLOCK = 1024, SECRET_STEP = 8, SECRET_SCRAMBLE = 128, SECRET_LAST = 121, SECRET_MERGE = 11 };

/* Bytes by which both sides of a copy are prefetched. The processor's own prefetching stops at each page, and fetches the
 * destination for reading (tests/bench/RESULTS.md has the gain). */
enum { AHEAD = 2048 };

/* From so many bytes on, the bytes prefetched behind the end hardly count (digest_long.h). */
enum { LONG = 64 * 1024 };

static const uint64_t prime32_1 = 0x9e3779b1, prime64_1 = 0x9e3779b185ebca87, prime_mix = 0x165667919e3779f9;

typedef long long any_vector __attribute__((vector_size(32), aligned(1), may_alias));

/* Volatile: read once, as another thread may be writing there. */
static inline __m256i load_volatile(const uint8_t *from)
{
	return (__m256i) * (const volatile any_vector *)from;
}

/* Sums the same bytes that it stores. */
static inline void stripe_copy(__m256i sum[2], uint8_t *to, const uint8_t *from, const uint8_t *secret)
{
	for (int i = 0; i < 2; i++) {
		__m256i data = load_volatile(from + 32 * i), key = _mm256_xor_si256(data, load_volatile(secret + 32 * i));
		__m256i product = _mm256_mul_epu32(key, _mm256_srli_epi64(key, 32));

		*(any_vector *)(to + 32 * i) = (any_vector)data;
		sum[i] = _mm256_add_epi64(sum[i], _mm256_add_epi64(product, _mm256_shuffle_epi32(data, 0x4e)));
	}
}

static inline void scramble(__m256i sum[2])
{
	const __m256i prime = _mm256_set1_epi64x((long long)prime32_1);

	for (int i = 0; i < 2; i++) {
		__m256i mixed = _mm256_xor_si256(sum[i], _mm256_srli_epi64(sum[i], 47));
		__m256i key = _mm256_xor_si256(mixed, load_volatile(XXH3_kSecret + SECRET_SCRAMBLE + 32 * i));
		__m256i high = _mm256_mul_epu32(_mm256_srli_epi64(key, 32), prime);

		sum[i] = _mm256_add_epi64(_mm256_mul_epu32(key, prime), _mm256_slli_epi64(high, 32));
	}
}

static inline uint64_t word(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t merge(const __m256i sum[2], size_t length)
{
	uint64_t part[8], digest = length * prime64_1;

	memcpy(part, sum, sizeof(part));
	for (int i = 0; i < 8; i += 2) {
		const uint8_t *secret = XXH3_kSecret + SECRET_MERGE + 8 * i;
		unsigned __int128 product = (unsigned __int128)(part[i] ^ word(secret)) * (part[i + 1] ^ word(secret + 8));

		digest += (uint64_t)product ^ (uint64_t)(product >> 64);
	}
	digest = (digest ^ digest >> 37) * prime_mix;
	return digest ^ digest >> 32;
}

static uint64_t digest_kernel_bytes(const void *bytes, size_t length)
{
	if (length < LONG)
		return XXH3_64bits(bytes, length);
	return __builtin_cpu_supports("avx512f") ? digest_avx512_long(bytes, length) : digest_avx2_long(bytes, length);
}

static uint64_t digest_kernel_copy(void *to_bytes, const void *from_bytes, size_t length)
{
	const uint8_t *from = from_bytes;
	uint8_t *to = to_bytes;
	__m256i sum[2];
	size_t at = 0;

	if (length < BLOCK) { /* XXH3 has other algorithms for short inputs */
		memmove(to, from, length);
		return XXH3_64bits(to, length);
	}
	sum[0] = _mm256_set_epi64x((long long)0x165667b19e3779f9, (long long)0xc2b2ae3d27d4eb4f, (long long)prime64_1,
				   (long long)0xc2b2ae3d);
	sum[1] = _mm256_set_epi64x((long long)prime32_1, (long long)0x27d4eb2f165667c5, (long long)0x85ebca77,
				   (long long)0x85ebca77c2b2ae63);
	for (; length - at > BLOCK; at += BLOCK) {
		const uint8_t *secret = XXH3_kSecret;

		for (size_t done = at; done < at + BLOCK; done += STRIPE, secret += SECRET_STEP) {
			__builtin_prefetch(from + done + AHEAD);
			__builtin_prefetch(to + done + AHEAD, 1);
			stripe_copy(sum, to + done, from + done, secret);
		}
		scramble(sum);
	}
	for (const uint8_t *secret = XXH3_kSecret; length - at > STRIPE; at += STRIPE, secret += SECRET_STEP)
		stripe_copy(sum, to + at, from + at, secret);
	memmove(to + at, from + at, length - at);
	stripe_copy(sum, to + length - STRIPE, to + length - STRIPE, XXH3_kSecret + SECRET_LAST);
	return merge(sum, length);
}
