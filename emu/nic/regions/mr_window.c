/* SPDX-License-Identifier: BSD-2-Clause */
/* mr_window.c - the names of memory windows. */
#include "emu/nic/regions/mr_window.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "emu/nic/regions/mr_table.h"
#include "emu/nic/role/driver.h"

enum { FIRST_NAMES = 16, NAME_DRAWS = 100 };

struct mr_window *mr_window_find(const struct mr_windows *windows, uint64_t key)
{
	uint64_t name = key >> MR_WINDOW_TAG_BITS;
	struct hash_node *node;

	role_assert();
	if (!windows->names.count)
		return NULL;
	for (node = hash_first(&windows->names, hash_u64(windows->secret, name)); node; node = hash_next(node)) {
		struct mr_window *window = (struct mr_window *)((char *)node - offsetof(struct mr_window, node));

		if (window->name == name)
			return window;
	}
	return NULL;
}

/* Regions have keys of their own: a name under which one stands is not to be a window's. */
static bool name_is_free(const struct mr_windows *windows, const struct mr_table *table, uint32_t name)
{
	uint64_t first = (uint64_t)name << MR_WINDOW_TAG_BITS;

	if (!name || mr_window_find(windows, first))
		return false;
	for (uint64_t key = first; key < first + (1 << MR_WINDOW_TAG_BITS); key++)
		if (mr_find(table, key))
			return false;
	return true;
}

int mr_window_open(struct mr_windows *windows, const struct mr_table *table, void (*random)(void *arg, void *bytes, size_t length),
		   void *arg, struct mr_window **out)
{
	struct mr_window *window = calloc(1, sizeof(*window));

	role_assert();
	if (!window)
		return -ENOMEM;
	if (!windows->names.buckets) {
		random(arg, windows->secret, sizeof(windows->secret));
		if (hash_init(&windows->names, FIRST_NAMES))
			goto free_window;
	}
	for (int draw = 0; draw < NAME_DRAWS; draw++) {
		random(arg, &window->name, sizeof(window->name));
		window->name &= (1u << MR_WINDOW_NAME_BITS) - 1;
		if (!name_is_free(windows, table, window->name))
			continue;
		hash_add(&windows->names, &window->node, hash_u64(windows->secret, window->name));
		*out = window;
		return 0;
	}

free_window:
	free(window);
	return -ENOMEM;
}

void mr_window_close(struct mr_windows *windows, struct mr_window *window)
{
	role_assert();
	assert(!window->mr);
	hash_remove(&windows->names, &window->node);
	free(window);
}

void mr_windows_fini(struct mr_windows *windows)
{
	assert(!windows->names.count);
	if (windows->names.buckets)
		hash_fini(&windows->names);
}
