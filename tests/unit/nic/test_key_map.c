/* SPDX-License-Identifier: BSD-2-Clause */
/* test_key_map.c - raw keys as bytes, and the table of those that are mapped. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "emu/nic/base/errno.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/regions/key_map.h"
#include "wire/codec.h"
#include "wire/digest.h"

static const uint64_t secret[2] = { 0x1234, 0x5678 };

Test(raw_key, there_and_back)
{
	static const struct raw_key keys[] = { { 0, 0 }, { UINT64_MAX, 0 }, { 0, 1 }, { 7, UINT64_MAX } };

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		uint8_t bytes[RAW_KEY_LONG + 1];
		struct raw_key key;
		size_t size = raw_key_size(&keys[i]);

		memset(bytes, 0xee, sizeof(bytes));
		raw_key_put(&keys[i], bytes);
		cr_assert_eq(bytes[size], 0xee);
		cr_assert(raw_key_get(bytes, size, &key));
		cr_assert(key.key == keys[i].key && key.tail == keys[i].tail);
	}
}

/* Each bit counts, and each byte. */
Test(raw_key, flaws_are_found)
{
	struct raw_key key = { .key = 0x1122334455667788, .tail = 0x99aabbccddeeff00 }, got;
	uint8_t bytes[RAW_KEY_LONG + 1] = { 0 };

	raw_key_put(&key, bytes);
	for (int bit = 0; bit < 8 * RAW_KEY_LONG; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_not(raw_key_get(bytes, RAW_KEY_LONG, &got), "bit %d", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t size = 0; size <= sizeof(bytes); size++)
		cr_assert_eq(raw_key_get(bytes, size, &got), size == RAW_KEY_PLAIN || size == RAW_KEY_LONG, "size %zu", size);
}

/* A right check makes no key of another version's bytes, nor of a plain key's. */
Test(raw_key, flaws_with_a_right_check)
{
	static const struct {
		uint64_t tail, version;
		bool good;
	} forms[] = { { 7, 1, true }, { 7, 2, false }, { 0, 1, false } };

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		wire_u64 form[4] = { wire_put64(5), wire_put64(forms[i].tail), wire_put64(forms[i].version) };
		struct raw_key got;

		form[3] = wire_put64(digest_bytes(form, 3 * sizeof(*form)));
		cr_assert_eq(raw_key_get((const uint8_t *)form, sizeof(form), &got), forms[i].good, "form %zu", i);
	}
}

/* A plain list beside it says what must be there. */
Test(key_map, as_a_list_would_have_it)
{
	struct {
		uint64_t handle;
		struct raw_key key;
		bool live;
	} list[500] = { 0 };
	struct key_map *map;
	struct raw_key key;
	uint64_t state = 1;
	size_t live = 0;

	cr_assert_eq(key_map_open(&map, secret), 0);
	for (int step = 0; step < 20000; step++) {
		size_t at;

		state = state * 6364136223846793005u + 1442695040888963407u;
		at = (state >> 33) % 500;
		if (list[at].live) {
			cr_assert(key_map_find(map, list[at].handle, &key));
			cr_assert(key.key == list[at].key.key && key.tail == list[at].key.tail);
			cr_assert_eq(key_map_remove(map, list[at].handle), 0);
			cr_assert_eq(key_map_remove(map, list[at].handle), -NIC_ENOKEY);
			live--;
		} else {
			list[at].key = (struct raw_key){ .key = state, .tail = state >> 7 | 1 };
			cr_assert_eq(key_map_add(map, &list[at].key, false, &list[at].handle), 0);
			live++;
		}
		list[at].live = !list[at].live;
		cr_assert_eq(key_map_count(map), live);
	}
	for (size_t i = 0; i < 500; i++)
		cr_assert_eq(key_map_find(map, list[i].handle, &key), list[i].live);
	key_map_close(map);
}

/* Under its own value a key is mapped as often as it is mapped. */
Test(key_map, as_itself)
{
	struct raw_key key = { .key = 42 }, got;
	struct key_map *map;
	uint64_t handle;

	cr_assert_eq(key_map_open(&map, secret), 0);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(key_map_add(map, &key, true, &handle), 0);
		cr_assert_eq(handle, 42);
	}
	for (int i = 0; i < 3; i++) {
		cr_assert(key_map_find(map, 42, &got));
		cr_assert_eq(key_map_remove(map, 42), 0);
	}
	cr_assert_not(key_map_find(map, 42, &got));
	cr_assert_eq(key_map_remove(map, 42), -NIC_ENOKEY);
	key_map_close(map);
}

/* Limit: each time that a key is mapped counts, and after one is unmapped there is room again. */
Test(key_map, is_bounded)
{
	struct raw_key key = { .key = 42 }, other = { .key = 43 };
	struct key_map *map;
	uint64_t handle = 7;

	cr_assert_eq(key_map_open(&map, secret), 0);
	for (int i = 0; i < LIMIT_MAPPINGS; i++)
		cr_assert_eq(key_map_add(map, &key, true, &handle), 0);
	cr_assert_eq(key_map_add(map, &key, true, &handle), -ENOMEM);
	cr_assert_eq(key_map_add(map, &other, true, &handle), -ENOMEM);
	cr_assert_eq(handle, 42);
	cr_assert_eq(key_map_count(map), LIMIT_MAPPINGS);
	cr_assert_eq(key_map_remove(map, 42), 0);
	cr_assert_eq(key_map_add(map, &other, true, &handle), 0);
	key_map_close(map);
}
