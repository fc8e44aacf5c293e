/* SPDX-License-Identifier: BSD-2-Clause */
/* digest.c - digests against values that another build of xxHash gave, on each instruction set, whole and in pieces. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "golden.h"
#include "wire/codec.h"
#include "wire/digest.h"
#include "wire/digest_kernel.h"

enum { LONGEST = 70000 };

/* Of the first `length` bytes of pattern(). Lengths around where XXH3 changes its way. */
static const struct {
	size_t length;
	uint64_t digest;
} vectors[] = {
	{ 0, 0x2d06800538d394c2 },    { 1, 0x4c5cca45d0f4811f },     { 3, 0x6e3e2670e61106ac },     { 8, 0xf9fd4dd0b04d78f5 },
	{ 9, 0x7c20df9712c26edf },    { 16, 0x86abf6baccea0858 },    { 17, 0xb58bf5dc5022d071 },    { 128, 0x10d17f72c0ccba41 },
	{ 129, 0x1648bdc3db49d1a2 },  { 240, 0xb6cfaf343fab81e6 },   { 241, 0x956cae592c67279e },   { 1024, 0x70bd377d9574f4bb },
	{ 1025, 0x66c4487c41e127a7 }, { 65536, 0x04404b28125b4786 }, { 70000, 0xb851fcc28c3570c0 },
};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

static const uint8_t *pattern(void)
{
	static uint8_t bytes[LONGEST];

	for (size_t i = 0; i < LONGEST; i++)
		bytes[i] = (uint8_t)(i * 131 + 7);
	return bytes;
}

/* Through a state, in pieces of `piece` bytes. */
static uint64_t in_pieces(const struct digest_kernel *kernel, const uint8_t *bytes, size_t length, size_t piece)
{
	struct digest_state state;

	kernel->begin(&state);
	for (size_t done = 0; done < length; done += piece)
		kernel->add(&state, bytes + done, length - done < piece ? length - done : piece);
	return kernel->end(&state);
}

/* Any length, from and to any address; and in place. Nothing behind the copy is written. */
static void check_copy(const struct digest_kernel *kernel)
{
	static uint8_t room[LONGEST + 128];
	const uint8_t *bytes = pattern();

	for (size_t length = 0; length <= LONGEST - 64; length += length < 3200 ? 1 : 4097) {
		size_t from = length * 7 % 64, to = length * 3 % 64;
		uint64_t digest = kernel->bytes(bytes + from, length);

		memset(room, 0xee, length + 128);
		cr_assert_eq(kernel->copy(room + to, bytes + from, length), digest, "%zu", length);
		cr_assert(!memcmp(room + to, bytes + from, length), "%zu", length);
		cr_assert_eq(kernel->copy(room + to, room + to, length), digest, "%zu in place", length);
		for (size_t i = 0; i < length + 128; i++)
			cr_assert(i - to < length || room[i] == 0xee, "%zu: byte %zu", length, i);
	}
}

static void check_kernel(const struct digest_kernel *kernel)
{
	static const size_t pieces[] = { 1, 7, 64, 255, 256, 257, 4096, LONGEST };
	const uint8_t *bytes = pattern();

	for (int i = 0; i < VECTORS; i++) {
		cr_assert_eq(kernel->bytes(bytes, vectors[i].length), vectors[i].digest, "%zu", vectors[i].length);
		for (size_t p = 0; p < sizeof(pieces) / sizeof(pieces[0]); p++)
			cr_assert_eq(in_pieces(kernel, bytes, vectors[i].length, pieces[p]), vectors[i].digest, "%zu in %zu",
				     vectors[i].length, pieces[p]);
	}
	check_copy(kernel);
}

/* WIRE-11 */
Test(digest, base_kernel)
{
	check_kernel(&digest_base);
}

Test(digest, avx2_kernel)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2")) {
		check_kernel(&digest_avx2);
		return;
	}
#endif
	cr_skip_test("this processor has no AVX2");
}

#if defined(__x86_64__)
/* Of more bytes than a vector register holds at once, and at any address. */
static void check_long(uint64_t (*digest)(const void *bytes, size_t length))
{
	static uint8_t room[LONGEST + 64];

	for (int i = VECTORS - 2; i < VECTORS; i++) {
		for (size_t shift = 0; shift < 64; shift += 7) {
			memcpy(room + shift, pattern(), vectors[i].length);
			cr_assert_eq(digest(room + shift, vectors[i].length), vectors[i].digest, "%zu", vectors[i].length);
		}
	}
}
#endif

/* Of which the chosen kernel takes one. */
Test(digest, long_ones)
{
	bool any = false;

#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx2"))
		check_long(digest_avx2_long);
	if (__builtin_cpu_supports("avx512f"))
		check_long(digest_avx512_long);
	any = __builtin_cpu_supports("avx2");
#endif
	if (!any)
		cr_skip_test("this processor has no AVX2");
}

Test(digest, chosen_kernel)
{
	const struct digest_kernel chosen = { digest_bytes, digest_begin, digest_add, digest_end, digest_copy };

	check_kernel(&chosen);
}

/* A frame is a small array of bytes at any address. */
Test(digest, any_alignment)
{
	uint8_t room[64 + 1025];

	for (size_t shift = 0; shift < 64; shift++) {
		memcpy(room + shift, pattern(), 1025);
		cr_assert_eq(digest_bytes(room + shift, 1025), vectors[12].digest);
	}
}

/* WIRE-9: the field itself counts as zero, every other bit of head and body counts. */
Test(digest, of_a_head_covers_each_bit_but_its_own)
{
	for (int name = 0; name < GOLDENS; name++) {
		uint8_t frame[WIRE_FRAME_MAX];
		const struct wire_head *head = (const struct wire_head *)frame;
		size_t length = sizeof(*head) + wire_body_len(goldens[name].bytes[0]);
		uint64_t digest;

		memcpy(frame, goldens[name].bytes, length);
		digest = wire_get64(head->digest);
		cr_assert_eq(digest_head(head), digest, "%s", goldens[name].text);
		for (size_t bit = 8; bit < 8 * length; bit++) { /* not op: another op has another length */
			bool own = bit / 64 == offsetof(struct wire_head, digest) / 8;

			frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
			cr_assert_eq(digest_head(head) == digest, own, "%s: bit %zu", goldens[name].text, bit);
			frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
}
