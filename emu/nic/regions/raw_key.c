/* SPDX-License-Identifier: BSD-2-Clause */
/* raw_key.c - key, tail, version and check, big-endian, as they may go to a host of another kind. */
#include "emu/nic/regions/raw_key.h"

#include <string.h>

#include "wire/codec.h"
#include "wire/digest.h"

struct long_form {
	wire_u64 key;
	wire_u64 tail; /* never zero */
	wire_u64 version;
	wire_u64 check; /* XXH3-64 of the fields before */
};
static_assert(sizeof(struct long_form) == RAW_KEY_LONG, "a raw key's bytes");

enum { VERSION = 1 };

size_t raw_key_size(const struct raw_key *key)
{
	return key->tail ? RAW_KEY_LONG : RAW_KEY_PLAIN;
}

void raw_key_put(const struct raw_key *key, uint8_t *bytes)
{
	struct long_form form = {
		.key = wire_put64(key->key),
		.tail = wire_put64(key->tail),
		.version = wire_put64(VERSION),
	};

	form.check = wire_put64(digest_bytes(&form, offsetof(struct long_form, check)));
	memcpy(bytes, &form, raw_key_size(key));
}

bool raw_key_get(const uint8_t *bytes, size_t size, struct raw_key *key)
{
	struct long_form form;

	*key = (struct raw_key){ .key = 0 };
	if (size == RAW_KEY_PLAIN) {
		memcpy(&form.key, bytes, size);
		key->key = wire_get64(form.key);
		return true;
	}
	if (size != RAW_KEY_LONG)
		return false;
	memcpy(&form, bytes, size);
	if (wire_get64(form.version) != VERSION || !wire_get64(form.tail) ||
	    wire_get64(form.check) != digest_bytes(&form, offsetof(struct long_form, check)))
		return false;
	*key = (struct raw_key){ .key = wire_get64(form.key), .tail = wire_get64(form.tail) };
	return true;
}
