/* SPDX-License-Identifier: BSD-2-Clause */
/* av.c - address vector: a dense table of entries, and a hash index from address to entries. */
#include "emu/nic/queues/av.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/hash.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/base/nocancel_file.h"

enum { FIRST_BUCKETS = 64, FIRST_ENTRIES = 64 };

/* The canonical form without the empty rest of sockaddr_storage: a vector may hold a million. */
union address {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

struct av_entry {
	struct hash_node node;
	union address address;
	uint64_t index;
	uint64_t stamp;
	uint64_t auth;
	uint64_t times; /* inserted, and not yet removed again */
	bool walled;    /* av_wall() */
};

struct av {
	struct mutex lock;         /* leaf; guards all but users and generation's reads */
	struct av_entry **table;   /* NULL where removed */
	unsigned int bits;         /* see av_open() */
	void (*follow)(void *arg); /* see av_follow(); NULL: nothing */
	void *follow_arg;
	bool walls;              /* an entry was walled */
	uint64_t size, capacity; /* indices ever given out; room */
	uint64_t *free_list;     /* removed indices, a stack of the table's capacity */
	uint64_t free_count;
	struct hash hash;
	uint64_t secret[2];
	uint64_t stamps;
	atomic_uint_fast64_t generation;
	atomic_uint users;
};

int av_open(struct av **out, unsigned int bits)
{
	struct av *av = calloc(1, sizeof(*av));

	if (!av)
		return -ENOMEM;
	av->bits = bits;
	/* Without randomness the index is right all the same, only its chains can then be chosen. */
	if (nocancel_getrandom(av->secret, sizeof(av->secret), GRND_NONBLOCK) < 0)
		av->secret[0] = (uintptr_t)av;
	if (hash_init(&av->hash, FIRST_BUCKETS)) {
		free(av);
		return -ENOMEM;
	}
	mutex_init(&av->lock);
	*out = av;
	return 0;
}

int av_close(struct av *av)
{
	if (atomic_load(&av->users))
		return -EBUSY;
	for (uint64_t i = 0; i < av->size; i++)
		free(av->table[i]);
	mutex_destroy(&av->lock);
	hash_fini(&av->hash);
	free(av->free_list);
	free(av->table);
	free(av);
	return 0;
}

void av_get(struct av *av)
{
	atomic_fetch_add(&av->users, 1);
}

void av_put(struct av *av)
{
	unsigned int before = atomic_fetch_sub(&av->users, 1);

	assert(before);
}

/* Room for one more index, in the table and, for its removal, on the free list. */
static int make_room(struct av *av) REQUIRES(av->lock)
{
	uint64_t capacity = av->capacity ? 2 * av->capacity : FIRST_ENTRIES;
	void *table, *free_list;

	if (av->free_count || av->size < av->capacity)
		return 0;
	if (av->size == LIMIT_AV)
		return -ENOMEM;
	table = realloc(av->table, capacity * sizeof(*av->table));
	if (!table)
		return -ENOMEM;
	av->table = table;
	free_list = realloc(av->free_list, capacity * sizeof(*av->free_list));
	if (!free_list)
		return -ENOMEM;
	av->free_list = free_list;
	av->capacity = capacity;
	return 0;
}

static struct av_entry *find_with(const struct av *av, const union address *address, uint64_t auth) REQUIRES(av->lock)
{
	struct hash_node *node;

	for (node = hash_first(&av->hash, address_hash(av->secret, address)); node; node = hash_next(node)) {
		struct av_entry *entry = (struct av_entry *)((char *)node - offsetof(struct av_entry, node));

		if (entry->auth == auth && !memcmp(&entry->address, address, sizeof(*address)))
			return entry;
	}
	return NULL;
}

/* An entry of its own for an address that has none; NULL: there is no memory, or no room. */
static struct av_entry *av_entry_new(struct av *av, const union address *address, uint64_t auth) REQUIRES(av->lock)
{
	struct av_entry *entry = calloc(1, sizeof(*entry));

	if (!entry || make_room(av)) {
		free(entry);
		return NULL;
	}
	entry->address = *address;
	entry->index = av->free_count ? av->free_list[--av->free_count] : av->size++;
	entry->stamp = ++av->stamps;
	entry->auth = auth;
	av->table[entry->index] = entry;
	hash_add(&av->hash, &entry->node, address_hash(av->secret, &entry->address));
	atomic_fetch_add(&av->generation, 1);
	return entry;
}

int av_insert(struct av *av, const struct sockaddr_storage *addr, uint64_t auth, uint64_t *index)
{
	struct sockaddr_storage canonical;
	union address address;
	struct av_entry *entry;

	if (!address_canonical((const struct sockaddr *)addr, &canonical))
		return -EINVAL;
	memcpy(&address, &canonical, sizeof(address));
	mutex_lock(&av->lock);
	entry = find_with(av, &address, auth);
	if (!entry)
		entry = av_entry_new(av, &address, auth);
	if (entry) {
		entry->times++;
		*index = entry->index;
	}
	mutex_unlock(&av->lock);
	return entry ? 0 : -ENOMEM;
}

/* The receive context that an index names, by number. */
static uint16_t av_rx_context_of(const struct av *av, uint64_t index)
{
	return av->bits ? (uint16_t)(index >> (64 - av->bits)) : 0;
}

uint64_t av_entry(const struct av *av, uint64_t index)
{
	return index & UINT64_MAX >> av->bits;
}

static struct av_entry *entry_at(const struct av *av, uint64_t index) REQUIRES(av->lock)
{
	index = av_entry(av, index);
	return index < av->size ? av->table[index] : NULL;
}

int av_remove(struct av *av, uint64_t index)
{
	struct av_entry *entry, *gone = NULL;

	mutex_lock(&av->lock);
	entry = entry_at(av, index);
	if (entry && --entry->times == 0) {
		gone = entry;
		hash_remove(&av->hash, &entry->node);
		av->table[entry->index] = NULL;
		av->free_list[av->free_count++] = entry->index;
		atomic_fetch_add(&av->generation, 1);
	}
	mutex_unlock(&av->lock);
	free(gone);
	return entry ? 0 : -EINVAL;
}

void av_move_port(struct sockaddr_storage *addr, uint16_t by)
{
	in_port_t *port = addr->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)addr)->sin6_port
						      : &((struct sockaddr_in *)addr)->sin_port;

	*port = htons((uint16_t)(ntohs(*port) + by));
}

int av_lookup(struct av *av, uint64_t index, struct sockaddr_storage *addr, uint64_t *stamp)
{
	const struct av_entry *entry;

	mutex_lock(&av->lock);
	entry = entry_at(av, index);
	if (entry) {
		memset(addr, 0, sizeof(*addr));
		memcpy(addr, &entry->address, sizeof(entry->address));
		av_move_port(addr, av_rx_context_of(av, index));
		*stamp = entry->stamp;
	}
	mutex_unlock(&av->lock);
	return entry ? 0 : -EINVAL;
}

void av_wall(struct av *av, uint64_t index)
{
	struct av_entry *entry;

	mutex_lock(&av->lock);
	entry = entry_at(av, index);
	if (entry)
		entry->walled = av->walls = true;
	mutex_unlock(&av->lock);
}

static bool entry_walled(const struct av *av, const union address *address) REQUIRES(av->lock)
{
	struct hash_node *node;

	for (node = hash_first(&av->hash, address_hash(av->secret, address)); node; node = hash_next(node)) {
		const struct av_entry *entry = (struct av_entry *)((char *)node - offsetof(struct av_entry, node));

		if (entry->walled && !memcmp(&entry->address, address, sizeof(*address)))
			return true;
	}
	return false;
}

/* Contexts listen at the ports behind their entry's. */
bool av_walled(struct av *av, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage at = *addr; /* canonical */
	union address address;
	bool walled = false;

	mutex_lock(&av->lock);
	for (uint32_t context = 0; av->walls && !walled && context >> av->bits == 0; context++) {
		memcpy(&address, &at, sizeof(address));
		walled = entry_walled(av, &address);
		av_move_port(&at, UINT16_MAX); /* by -1 */
	}
	mutex_unlock(&av->lock);
	return walled;
}

uint64_t av_shown(struct av *av, uint64_t index)
{
	const struct av_entry *entry;
	uint64_t auth;

	mutex_lock(&av->lock);
	entry = entry_at(av, index);
	auth = entry ? entry->auth : 0;
	mutex_unlock(&av->lock);
	return auth;
}

uint64_t av_find(struct av *av, const struct sockaddr_storage *addr, uint64_t auth)
{
	struct sockaddr_storage canonical;
	const struct av_entry *entry;
	union address address;
	uint64_t index;

	if (!address_canonical((const struct sockaddr *)addr, &canonical))
		return AV_NONE;
	memcpy(&address, &canonical, sizeof(address));
	mutex_lock(&av->lock);
	entry = find_with(av, &address, auth);
	if (!entry && auth)
		entry = find_with(av, &address, 0);
	index = entry ? entry->index : AV_NONE;
	mutex_unlock(&av->lock);
	return index;
}

void av_follow(struct av *av, void (*follow)(void *arg), void *arg)
{
	av->follow_arg = arg;
	av->follow = follow;
}

uint64_t av_generation(const struct av *av)
{
	if (av->follow)
		av->follow(av->follow_arg);
	return atomic_load(&av->generation);
}

uint64_t av_end(struct av *av)
{
	uint64_t end;

	mutex_lock(&av->lock);
	end = av->size;
	mutex_unlock(&av->lock);
	return end;
}
