/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.c - HMAC-SHA-512-256 for each purpose.
 *
 * libsodium has one implementation of it, which keeps no state. So sodium_init() is not called: it chooses implementations and
 * starts a source of random numbers, and would link the rest of the library. */
#include "wire/secret.h"

#include <assert.h>
#include <sodium/crypto_auth_hmacsha512256.h>
#include <sodium/utils.h>
#include <string.h>

#include "wire/datagram.h"

static_assert((int)WIRE_SECRET_KEY == (int)crypto_auth_hmacsha512256_KEYBYTES, "a key is as long as the MAC's");
static_assert((int)WIRE_PROOF_LEN == (int)crypto_auth_hmacsha512256_BYTES, "a proof is a whole MAC");

typedef crypto_auth_hmacsha512256_state mac_state;

static void mac_begin(mac_state *state, const uint8_t key[WIRE_SECRET_KEY])
{
	crypto_auth_hmacsha512256_init(state, key, WIRE_SECRET_KEY);
}

static void mac_update(mac_state *state, const void *bytes, size_t length)
{
	crypto_auth_hmacsha512256_update(state, bytes, length);
}

/* Wipes the state, as it is as good as the key. */
static void mac_end(mac_state *state, uint8_t mac[WIRE_PROOF_LEN])
{
	crypto_auth_hmacsha512256_final(state, mac);
	sodium_memzero(state, sizeof(*state));
}

static void derive(uint8_t key[WIRE_SECRET_KEY], const void *bytes, size_t length, const char *purpose)
{
	mac_state state;

	crypto_auth_hmacsha512256_init(&state, bytes, length);
	mac_update(&state, purpose, strlen(purpose));
	mac_end(&state, key);
}

void secret_take(struct wire_secret *secret, const void *bytes, size_t length)
{
	derive(secret->greeting, bytes, length, "emu wire 1 greeting");
	derive(secret->datagrams, bytes, length, "emu wire 1 datagrams");
}

void secret_wipe(void *bytes, size_t length)
{
	sodium_memzero(bytes, length);
}

static const char *const names[] = { [SECRET_DIALLER] = "dialler ", [SECRET_ACCEPTER] = "accepter" };
enum { NAME = 8 };

static void of_frames(const struct wire_secret *secret, const char *what, const void *frames, size_t length,
		      uint8_t mac[WIRE_PROOF_LEN])
{
	mac_state state;

	mac_begin(&state, secret->greeting);
	mac_update(&state, what, NAME);
	mac_update(&state, frames, length);
	mac_end(&state, mac);
}

void secret_prove(const struct wire_secret *secret, enum secret_role role, const void *frames, size_t length,
		  uint8_t proof[WIRE_PROOF_LEN])
{
	of_frames(secret, names[role], frames, length, proof);
}

bool secret_proved(const struct wire_secret *secret, enum secret_role role, const void *frames, size_t length,
		   const uint8_t proof[WIRE_PROOF_LEN])
{
	uint8_t expected[WIRE_PROOF_LEN];
	bool same;

	secret_prove(secret, role, frames, length, expected);
	same = sodium_memcmp(expected, proof, sizeof(expected)) == 0;
	sodium_memzero(expected, sizeof(expected));
	return same;
}

void secret_salt(const struct wire_secret *secret, const void *frames, size_t length, uint8_t salt[WIRE_PROOF_LEN])
{
	of_frames(secret, "tokens  ", frames, length, salt);
}

uint64_t secret_token(const uint8_t salt[WIRE_PROOF_LEN], enum secret_role role, uint64_t auth)
{
	wire_u64 bytes = wire_put64(auth);
	uint8_t mac[WIRE_PROOF_LEN];
	mac_state state;
	uint64_t token;

	mac_begin(&state, salt);
	mac_update(&state, names[role], NAME);
	mac_update(&state, &bytes, sizeof(bytes));
	mac_end(&state, mac);
	memcpy(&bytes, mac, sizeof(bytes));
	token = wire_get64(bytes);
	return token ? token : 1;
}

/* The tag, with the digest field taken as zero. */
static void tag_of(const struct wire_secret *secret, const struct wire_datagram *datagram, const struct wire_address_fields *to,
		   wire_u64 *tag)
{
	struct {
		wire_u16 family, port;
		uint8_t addr[16];
	} address = { wire_put16(to->family), wire_put16(to->port), { 0 } };
	struct wire_datagram head = *datagram;
	uint8_t mac[WIRE_PROOF_LEN];
	mac_state state;

	head.digest = wire_put64(0);
	memcpy(address.addr, to->addr, sizeof(address.addr));
	mac_begin(&state, secret->datagrams);
	mac_update(&state, &head, sizeof(head));
	mac_update(&state, datagram + 1, wire_get32(head.payload));
	mac_update(&state, &address, sizeof(address));
	mac_end(&state, mac);
	memcpy(tag, mac, sizeof(*tag));
}

void secret_tag(const struct wire_secret *secret, struct wire_datagram *datagram, const struct wire_address_fields *to)
{
	tag_of(secret, datagram, to, &datagram->digest);
}

bool secret_tagged(const struct wire_secret *secret, const struct wire_datagram *datagram, const struct wire_address_fields *to)
{
	wire_u64 expected;

	tag_of(secret, datagram, to, &expected);
	return sodium_memcmp(&expected, &datagram->digest, sizeof(expected)) == 0;
}
