/* SPDX-License-Identifier: BSD-2-Clause */
/* key_map.c - handles by hash. A handle is a count, mixed with a secret: never the same twice. */
#include "emu/nic/regions/key_map.h"

#include <errno.h>
#include <stdlib.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/base/hash.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"

enum { FIRST_BUCKETS = 16 };

struct key_mapping {
	struct hash_node node; /* first */
	uint64_t handle;
	struct raw_key key;
	size_t uses;
};

struct key_map {
	struct mutex lock; /* leaf; guards all of it */
	struct hash handles;
	uint64_t secret[2], drawn;
	size_t count; /* uses of all mappings */
};

int key_map_open(struct key_map **out, const uint64_t secret[2])
{
	struct key_map *map = calloc(1, sizeof(*map));

	if (!map || hash_init(&map->handles, FIRST_BUCKETS)) {
		free(map);
		return -ENOMEM;
	}
	mutex_init(&map->lock);
	map->secret[0] = secret[0];
	map->secret[1] = secret[1];
	*out = map;
	return 0;
}

void key_map_close(struct key_map *map)
{
	for (size_t i = 0; i <= map->handles.mask; i++) {
		struct hash_node *node;

		while ((node = map->handles.buckets[i])) {
			hash_remove(&map->handles, node);
			free(node);
		}
	}
	hash_fini(&map->handles);
	mutex_destroy(&map->lock);
	free(map);
}

static struct key_mapping *key_map_lookup(const struct key_map *map, uint64_t handle)
{
	struct hash_node *node = hash_first(&map->handles, hash_u64(map->secret, handle));

	for (; node; node = hash_next(node)) {
		if (((struct key_mapping *)node)->handle == handle)
			return (struct key_mapping *)node;
	}
	return NULL;
}

static uint64_t fresh_handle(struct key_map *map)
{
	uint64_t handle;

	do {
		handle = hash_u64(map->secret, ~++map->drawn);
	} while (!handle || handle == UINT64_MAX || key_map_lookup(map, handle));
	return handle;
}

static int key_map_insert(struct key_map *map, const struct raw_key *key, bool as_itself, uint64_t *handle) REQUIRES(map->lock)
{
	struct key_mapping *mapping = as_itself ? key_map_lookup(map, key->key) : NULL;

	if (map->count >= LIMIT_MAPPINGS)
		return -ENOMEM;
	if (!mapping) {
		mapping = malloc(sizeof(*mapping));
		if (!mapping)
			return -ENOMEM;
		mapping->handle = as_itself ? key->key : fresh_handle(map);
		mapping->key = *key;
		mapping->uses = 0;
		hash_add(&map->handles, &mapping->node, hash_u64(map->secret, mapping->handle));
	}
	mapping->uses++;
	map->count++;
	*handle = mapping->handle;
	return 0;
}

int key_map_add(struct key_map *map, const struct raw_key *key, bool as_itself, uint64_t *handle)
{
	int err;

	mutex_lock(&map->lock);
	err = key_map_insert(map, key, as_itself, handle);
	mutex_unlock(&map->lock);
	return err;
}

int key_map_remove(struct key_map *map, uint64_t handle)
{
	struct key_mapping *mapping;

	mutex_lock(&map->lock);
	mapping = key_map_lookup(map, handle);
	if (mapping) {
		map->count--;
		if (!--mapping->uses) {
			hash_remove(&map->handles, &mapping->node);
			free(mapping);
		}
	}
	mutex_unlock(&map->lock);
	return mapping ? 0 : -NIC_ENOKEY;
}

bool key_map_find(struct key_map *map, uint64_t handle, struct raw_key *key)
{
	const struct key_mapping *mapping;

	mutex_lock(&map->lock);
	mapping = key_map_lookup(map, handle);
	if (mapping)
		*key = mapping->key;
	mutex_unlock(&map->lock);
	return mapping;
}

size_t key_map_count(struct key_map *map)
{
	size_t count;

	mutex_lock(&map->lock);
	count = map->count;
	mutex_unlock(&map->lock);
	return count;
}
