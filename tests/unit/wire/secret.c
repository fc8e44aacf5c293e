/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.c - proofs and tags, against what another build of HMAC-SHA-512 gives; and that one bit makes all the difference. */
#include <criterion/criterion.h>
#include <string.h>

#include "golden.h"
#include "wire/datagram.h"
#include "wire/secret.h"

enum { HEAD = sizeof(struct wire_head), TEXT = 12 };

static const char words[] = "a secret of 16 B";
static const uint8_t as_accepter[WIRE_PROOF_LEN] = {
	0xec, 0x49, 0xee, 0x05, 0x0c, 0xbe, 0x38, 0xc0, 0x8c, 0x70, 0xd6, 0x6c, 0xf1, 0xf9, 0x6f, 0xdc,
	0x94, 0x52, 0xd0, 0xc5, 0x47, 0xbf, 0x7b, 0x56, 0x00, 0x82, 0x19, 0xbd, 0x08, 0x55, 0xb0, 0x28,
};
static const uint8_t tag4[] = { 0x4a, 0x76, 0xde, 0x19, 0x61, 0xcf, 0xbc, 0xe2 };
static const uint8_t tag6[] = { 0xc1, 0x46, 0x26, 0xec, 0x5b, 0xa2, 0xe2, 0x2d };

static const struct wire_address_fields at4 = { .family = 4, .port = 7472, .addr = { 192, 0, 2, 10 } };
static const struct wire_address_fields at6 = {
	.family = 6,
	.port = 65535,
	.addr = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1 },
	.scope = 3,
};

static struct wire_secret taken(void)
{
	struct wire_secret secret;

	secret_take(&secret, words, strlen(words));
	return secret;
}

/* WIRE-100, WIRE-104 */
Test(secret, proofs_of_a_golden_frame)
{
	const struct golden *said = &goldens[GOLDEN_CHALLENGE];
	const uint8_t *as_dialler = goldens[GOLDEN_PROOF].bytes + HEAD;
	struct wire_secret secret = taken();
	uint8_t proof[WIRE_PROOF_LEN];

	secret_prove(&secret, SECRET_DIALLER, said->bytes, said->length, proof);
	cr_assert_arr_eq(proof, as_dialler, sizeof(proof));
	secret_prove(&secret, SECRET_ACCEPTER, said->bytes, said->length, proof);
	cr_assert_arr_eq(proof, as_accepter, sizeof(proof));
	cr_assert(secret_proved(&secret, SECRET_DIALLER, said->bytes, said->length, as_dialler));
	cr_assert(secret_proved(&secret, SECRET_ACCEPTER, said->bytes, said->length, as_accepter));
	cr_assert_not(secret_proved(&secret, SECRET_ACCEPTER, said->bytes, said->length, as_dialler));
	cr_assert_not(secret_proved(&secret, SECRET_DIALLER, said->bytes, said->length, as_accepter));
}

Test(secret, a_proof_is_of_every_bit)
{
	const struct golden *said = &goldens[GOLDEN_CHALLENGE];
	struct wire_secret secret = taken(), other;
	uint8_t proof[WIRE_PROOF_LEN], bytes[256];

	memcpy(bytes, said->bytes, said->length);
	secret_prove(&secret, SECRET_DIALLER, bytes, said->length, proof);
	for (size_t bit = 0; bit < said->length * 8; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(secret_proved(&secret, SECRET_DIALLER, bytes, said->length, proof), "bit %zu", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < sizeof(proof) * 8; bit++) {
		proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(secret_proved(&secret, SECRET_DIALLER, bytes, said->length, proof), "bit %zu of the proof", bit);
		proof[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cr_assert_not(secret_proved(&secret, SECRET_DIALLER, bytes, said->length - 1, proof));
	secret_take(&other, "a secret of 16 C", strlen(words));
	cr_assert_not(secret_proved(&other, SECRET_DIALLER, bytes, said->length, proof));
	cr_assert(secret_proved(&secret, SECRET_DIALLER, bytes, said->length, proof));
}

static struct wire_datagram *tagged(uint8_t bytes[WIRE_DATAGRAM_MAX], const struct wire_address_fields *to)
{
	const struct wire_datagram_fields fields = {
		.flags = WIRE_DG_CQ_DATA | WIRE_DG_TAGGED,
		.from = { .family = 4, .port = 7471, .addr = { 192, 0, 2, 9 } },
		.payload = TEXT,
		.cq_data = 0xfeedface,
		.auth = 0x6175746800000007,
	};
	struct wire_datagram *datagram = (struct wire_datagram *)bytes;
	struct wire_secret secret = taken();

	memcpy(datagram + 1, "emu datagram", TEXT);
	wire_put_datagram(bytes, &fields);
	secret_tag(&secret, datagram, to);
	return datagram;
}

/* WIRE-106 */
Test(secret, tokens_of_a_golden_frame)
{
	static const uint8_t expected[WIRE_PROOF_LEN] = {
		0x44, 0xd8, 0xef, 0xc7, 0x0a, 0x87, 0x11, 0x8e, 0x4a, 0xdd, 0x6c, 0xeb, 0x00, 0xcf, 0x2b, 0xea,
		0x7c, 0x41, 0xf1, 0x92, 0x90, 0xc7, 0xbb, 0xfa, 0x26, 0x34, 0x63, 0x57, 0x28, 0x4a, 0x0f, 0xe2,
	};
	const struct golden *said = &goldens[GOLDEN_CHALLENGE];
	struct wire_secret secret = taken();
	uint8_t salt[WIRE_PROOF_LEN];

	secret_salt(&secret, said->bytes, said->length, salt);
	cr_assert_arr_eq(salt, expected, sizeof(salt));
	cr_assert_eq(secret_token(salt, SECRET_DIALLER, 0x6175746800000007), 0x1d99cddccdcb7e5f);
	cr_assert_eq(secret_token(salt, SECRET_ACCEPTER, 0x6175746800000007), 0x2b8459accb8560d7);
}

/* WIRE-97 */
Test(secret, tags_of_a_datagram)
{
	uint8_t bytes[WIRE_DATAGRAM_MAX];
	struct wire_datagram *datagram = tagged(bytes, &at4);
	struct wire_secret secret = taken();
	struct wire_address_fields other = at4;

	cr_assert_arr_eq(datagram->digest.b, tag4, sizeof(tag4));
	cr_assert_eq(wire_check_datagram(bytes, sizeof(*datagram) + TEXT), WIRE_DG_FLAWLESS);
	for (size_t bit = 0; bit < (sizeof(*datagram) + TEXT) * 8; bit++) {
		bool length = bit / 8 >= offsetof(struct wire_datagram, payload) &&
			      bit / 8 < offsetof(struct wire_datagram, cq_data); /* must be one that is there */

		if (length)
			continue;
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(secret_tagged(&secret, datagram, &at4), "bit %zu", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	cr_assert(secret_tagged(&secret, datagram, &at4));
	other.port++;
	cr_assert_not(secret_tagged(&secret, datagram, &other));
	other = at4;
	other.addr[3]++;
	cr_assert_not(secret_tagged(&secret, datagram, &other));
	other = at6;
	other.scope++; /* means something to its host alone */
	cr_assert_arr_eq(tagged(bytes, &at6)->digest.b, tag6, sizeof(tag6));
	cr_assert(secret_tagged(&secret, datagram, &other));
}

Test(secret, is_wiped)
{
	static const struct wire_secret nothing;
	struct wire_secret secret = taken();

	secret_wipe(&secret, sizeof(secret));
	cr_assert_eq(memcmp(&secret, &nothing, sizeof(secret)), 0);
}
