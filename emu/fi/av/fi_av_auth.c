/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_av_auth.c - a small table of keys. Each counts the endpoints that were enabled with it. */
#include "emu/fi/av/fi_av.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "emu/fi/domain/fi_auth.h"
#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/queues/av.h"
#include "emu/nic/regions/auth.h"
#include "emu/nic/regions/auth_set.h"

#define KEY_MARK (UINT64_C(1) << 62)

struct key {
	size_t size; /* 0: free */
	uint32_t users;
	uint64_t proof;
	uint8_t bytes[LIMIT_AUTH_KEY];
};

struct av_auth {
	struct key key[LIMIT_AV_KEYS];
	struct mutex lock;
};

int av_auth_open(struct av_auth **out)
{
	struct av_auth *keys = calloc(1, sizeof(*keys));

	if (!keys)
		return -FI_ENOMEM;
	mutex_init(&keys->lock);
	*out = keys;
	return 0;
}

void av_auth_close(struct av_auth *keys)
{
	if (!keys)
		return;
	mutex_destroy(&keys->lock);
	free(keys);
}

/* NULL: there is none. */
static struct key *key_at(struct av_auth *keys, fi_addr_t addr) REQUIRES(keys->lock)
{
	uint64_t at = addr ^ KEY_MARK;

	return at < LIMIT_AV_KEYS && keys->key[at].size ? &keys->key[at] : NULL;
}

int av_auth_proof(struct av_auth *keys, fi_addr_t addr, uint64_t *proof)
{
	const struct key *key;

	mutex_lock(&keys->lock);
	key = key_at(keys, addr);
	if (key)
		*proof = key->proof;
	mutex_unlock(&keys->lock);
	return key ? 0 : -FI_EINVAL;
}

int av_auth_remove(struct av_auth *keys, fi_addr_t addr)
{
	struct key *key;
	int err = 0;

	mutex_lock(&keys->lock);
	key = key_at(keys, addr);
	if (!key)
		err = -FI_EINVAL;
	else if (key->users)
		err = -FI_EBUSY;
	else
		memset(key, 0, sizeof(*key));
	mutex_unlock(&keys->lock);
	return err;
}

struct auth_set *av_auth_all(struct av_auth *keys, const struct sockaddr_storage *peer, uint64_t *used)
{
	uint64_t proof[LIMIT_AV_KEYS], which = 0;
	struct auth_set *set;
	uint32_t count = 0;

	mutex_lock(&keys->lock);
	for (uint32_t i = 0; i < LIMIT_AV_KEYS; i++) {
		if (!keys->key[i].size)
			continue;
		proof[count++] = keys->key[i].proof;
		which |= UINT64_C(1) << i;
	}
	set = auth_set_make(proof, count, peer);
	for (uint32_t i = 0; set && used && i < LIMIT_AV_KEYS; i++)
		keys->key[i].users += which >> i & 1;
	mutex_unlock(&keys->lock);
	if (used)
		*used = which;
	return set;
}

void av_auth_give(struct av_auth *keys, uint64_t used)
{
	mutex_lock(&keys->lock);
	for (uint32_t i = 0; i < LIMIT_AV_KEYS; i++)
		keys->key[i].users -= used >> i & 1;
	mutex_unlock(&keys->lock);
}

/* The key with these bytes, else a free place, else NULL. */
static struct key *place_for(struct av_auth *keys, const void *bytes, size_t size) REQUIRES(keys->lock)
{
	struct key *free_place = NULL;

	for (struct key *key = keys->key; key < keys->key + LIMIT_AV_KEYS; key++) {
		if (key->size == size && !memcmp(key->bytes, bytes, size))
			return key;
		if (!key->size && !free_place)
			free_place = key;
	}
	return free_place;
}

static struct av_auth *keys_of(struct fid_av *fid)
{
	return ((struct emu_av *)fid)->keys;
}

int emu_av_insert_auth_key(struct fid_av *fid, const void *bytes, size_t size, fi_addr_t *fi_addr, uint64_t flags)
{
	struct av_auth *keys = keys_of(fid);
	const char *flaw;
	struct key *key;

	if (flags)
		return REFUSE_FLAGS(AV, "fi_av_insert_auth_key", flags);
	if (!keys)
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_insert_auth_key: the domain was not opened with FI_AV_AUTH_KEY. Ask for it by "
			      "domain_attr->auth_key_size.");
	flaw = size ? auth_flaw(bytes, size, 0) : "auth_key_size is 0";
	if (flaw || !fi_addr)
		return REFUSE(AV, -FI_EINVAL, "fi_av_insert_auth_key: %s.", flaw ? flaw : "fi_addr is NULL");
	mutex_lock(&keys->lock);
	key = auth_proof(bytes, size) != AUTH_STRANGE ? place_for(keys, bytes, size) : NULL;
	if (key && !key->size) {
		key->size = size;
		key->proof = auth_proof(bytes, size);
		memcpy(key->bytes, bytes, size);
	}
	mutex_unlock(&keys->lock);
	if (!key)
		return REFUSE(AV, -FI_ENOMEM,
			      "fi_av_insert_auth_key: %d authorization keys are in this address vector, or %d in "
			      "this process: the limit.",
			      LIMIT_AV_KEYS, LIMIT_AUTH_KEYS);
	*fi_addr = KEY_MARK | (uint64_t)(key - keys->key);
	return 0;
}

/* Looks up a key's fi_addr_t, or an address that was inserted with a key. */
int emu_av_lookup_auth_key(struct fid_av *fid, fi_addr_t fi_addr, void *bytes, size_t *size)
{
	struct av_auth *keys = keys_of(fid);
	uint64_t shown = av_shown(((struct emu_av *)fid)->av, fi_addr);
	const struct key *key;
	size_t room;

	if (!keys || !size || (*size && !bytes))
		return REFUSE(AV, -FI_EINVAL,
			      "fi_av_lookup_auth_key: the domain was not opened with FI_AV_AUTH_KEY, or "
			      "auth_key or auth_key_size is NULL.");
	mutex_lock(&keys->lock);
	key = key_at(keys, fi_addr);
	for (uint32_t i = 0; shown && i < LIMIT_AV_KEYS; i++)
		if (keys->key[i].proof == shown)
			key = &keys->key[i];
	if (key) {
		room = *size < key->size ? *size : key->size;
		if (room)
			memcpy(bytes, key->bytes, room);
		*size = key->size;
	}
	mutex_unlock(&keys->lock);
	return key ? 0
		   : REFUSE(AV, -FI_EINVAL,
			    "fi_av_lookup_auth_key: fi_addr_t %#llx is no key's, and no address's that was "
			    "inserted with one.",
			    (unsigned long long)fi_addr);
}
