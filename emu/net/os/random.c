/* SPDX-License-Identifier: BSD-2-Clause */
/* random.c - a key stream of ChaCha20 (libsodium's), whose key is replaced by its first bytes at each call. */
#include "emu/net/os/random.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include <sodium/crypto_stream_chacha20.h>
#include <sodium/utils.h>

static_assert((int)RANDOM_KEY == (int)crypto_stream_chacha20_KEYBYTES, "one key");

int random_open(struct random *random)
{
	ssize_t n;

	do
		n = getrandom(random->key, RANDOM_KEY, 0);
	while (n < 0 && errno == EINTR);
	if (n != RANDOM_KEY)
		return n < 0 ? -errno : -EIO;
	mutex_init(&random->lock);
	return 0;
}

void random_bytes(struct random *random, void *bytes, size_t length)
{
	static const uint8_t nonce[crypto_stream_chacha20_NONCEBYTES];
	struct {
		uint8_t next[RANDOM_KEY], here[RANDOM_KEY];
	} keys;

	mutex_lock(&random->lock);
	crypto_stream_chacha20((uint8_t *)&keys, sizeof(keys), nonce, random->key);
	memcpy(random->key, keys.next, RANDOM_KEY);
	mutex_unlock(&random->lock);
	crypto_stream_chacha20(bytes, length, nonce, keys.here);
	sodium_memzero(&keys, sizeof(keys));
}

void random_close(struct random *random)
{
	sodium_memzero(random->key, RANDOM_KEY);
	mutex_destroy(&random->lock);
}
