/* SPDX-License-Identifier: BSD-2-Clause */
/* auth.c - the proof of an authorization key is a digest of it. */
#include "emu/nic/auth.h"

#include "wire/digest.h"

uint64_t auth_proof(const void *key, size_t size)
{
	uint64_t digest;

	if (!size)
		return 0;
	digest = digest_bytes(key, size);
	return digest ? digest : 1;	/* zero says that there is none */
}
