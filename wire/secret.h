/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.h - uses of a shared secret: proofs of knowing it, and tags on datagrams (PROTOCOL.md section 12).
 * HMAC-SHA-512-256 of libsodium. Comparisons take constant time. Pure; any thread. */
#ifndef WIRE_SECRET_H
#define WIRE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/codec.h"

enum { WIRE_SECRET_KEY = 32 };

/* The keys derived from a secret, one for each purpose (WIRE-100). */
struct wire_secret {
	uint8_t greeting[WIRE_SECRET_KEY];
	uint8_t datagrams[WIRE_SECRET_KEY];
};

enum secret_role { SECRET_DIALLER, SECRET_ACCEPTER };

/* Derives the keys from `length` bytes, which the caller wipes. */
void secret_take(struct wire_secret *secret, const void *bytes, size_t length);
/* Wipes secret bytes; each holder of such bytes calls it. */
void secret_wipe(void *bytes, size_t length);

/* The proof over all frames of the greeting so far, as they went over the wire (WIRE-104). */
void secret_prove(const struct wire_secret *secret, enum secret_role role, const void *frames, size_t length,
		  uint8_t proof[WIRE_PROOF_LEN]);
bool secret_proved(const struct wire_secret *secret, enum secret_role role, const void *frames, size_t length,
		   const uint8_t proof[WIRE_PROOF_LEN]);

/* The salt for the tokens of a connection's authorization keys, from its whole greeting (WIRE-106). */
void secret_salt(const struct wire_secret *secret, const void *frames, size_t length, uint8_t salt[WIRE_PROOF_LEN]);
/* The token for a key in requests of that role; `auth` stands for the key without a secret. Never zero. */
uint64_t secret_token(const uint8_t salt[WIRE_PROOF_LEN], enum secret_role role, uint64_t auth);

/* Replaces the digest of a datagram by the tag of the whole (WIRE-97). */
void secret_tag(const struct wire_secret *secret, struct wire_datagram *datagram, const struct wire_address_fields *to);
/* Checks the tag of a flawless datagram; `to` is the address of the caller's endpoint. */
bool secret_tagged(const struct wire_secret *secret, const struct wire_datagram *datagram, const struct wire_address_fields *to);

#endif
