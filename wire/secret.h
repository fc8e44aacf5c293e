/* SPDX-License-Identifier: BSD-2-Clause */
/* secret.h - what a shared secret makes of bytes: proofs of knowing it, and tags on datagrams (PROTOCOL.md section 12).
 * HMAC-SHA-512-256, libsodium's. Comparisons take as long wherever two differ. Pure; any thread. */
#ifndef WIRE_SECRET_H
#define WIRE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/codec.h"

enum { WIRE_SECRET_KEY = 32 };

/* The keys that come of a secret, one a purpose (WIRE-100). */
struct wire_secret {
	uint8_t greeting[WIRE_SECRET_KEY];
	uint8_t datagrams[WIRE_SECRET_KEY];
};

enum secret_role { SECRET_DIALLER, SECRET_ACCEPTER };

/* Derives the keys from `length` bytes, which are the caller's to wipe. */
void secret_take(struct wire_secret *secret, const void *bytes, size_t length);
/* Whoever had them in memory wipes them, by this. */
void secret_wipe(void *bytes, size_t length);

/* Of all frames of the greeting so far, as they went over the wire (WIRE-104). */
void secret_prove(const struct wire_secret *secret, enum secret_role role, const void *frames, size_t length,
		  uint8_t proof[WIRE_PROOF_LEN]);
bool secret_proved(const struct wire_secret *secret, enum secret_role role, const void *frames, size_t length,
		   const uint8_t proof[WIRE_PROOF_LEN]);

/* What authorization keys are shown by on a connection comes of its whole greeting (WIRE-106). */
void secret_salt(const struct wire_secret *secret, const void *frames, size_t length, uint8_t salt[WIRE_PROOF_LEN]);
/* By the requests of that role; `auth` stands for the key as it does without a secret. Never zero. */
uint64_t secret_token(const uint8_t salt[WIRE_PROOF_LEN], enum secret_role role, uint64_t auth);

/* Puts the tag of a whole datagram in the place of its digest (WIRE-97). */
void secret_tag(const struct wire_secret *secret, struct wire_datagram *datagram, const struct wire_address_fields *to);
/* Of one that is flawless; `to` is the address of who asks. */
bool secret_tagged(const struct wire_secret *secret, const struct wire_datagram *datagram,
		   const struct wire_address_fields *to);

#endif
