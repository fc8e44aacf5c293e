/* SPDX-License-Identifier: BSD-2-Clause */
/* auth.c - a digest stands for an authorization key. */
#include "emu/nic/regions/auth.h"

#include <stdatomic.h>

#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"
#include "wire/digest.h"

/* Shared by all nics of the process; entries below `count` do not change. */
static struct {
	struct mutex lock; /* taken to add one; a leaf */
	atomic_uint count;
	uint64_t proof[LIMIT_AUTH_KEYS];
} had = { .lock = MUTEX_INITIALIZER };

uint32_t auth_count(void)
{
	return atomic_load_explicit(&had.count, memory_order_acquire); /* of remember() */
}

uint64_t auth_at(uint32_t number)
{
	return had.proof[number];
}

void auth_forked(void)
{
	mutex_forked(&had.lock);
}

static bool is_had(uint64_t proof)
{
	uint32_t count = auth_count();

	for (uint32_t i = 0; i < count; i++)
		if (had.proof[i] == proof)
			return true;
	return false;
}

static bool remember(uint64_t proof)
{
	bool known;

	if (is_had(proof))
		return true;
	mutex_lock(&had.lock);
	known = is_had(proof);
	if (!known && auth_count() < LIMIT_AUTH_KEYS) {
		had.proof[auth_count()] = proof;
		atomic_fetch_add_explicit(&had.count, 1, memory_order_release); /* auth_count() acquires */
		known = true;
	}
	mutex_unlock(&had.lock);
	return known;
}

uint64_t auth_proof(const void *key, size_t size)
{
	uint64_t digest;

	if (!size)
		return 0;
	digest = digest_bytes(key, size);
	if (digest == 0 || digest == AUTH_STRANGE) /* these two have other meanings */
		digest = 1;
	return remember(digest) ? digest : AUTH_STRANGE;
}
