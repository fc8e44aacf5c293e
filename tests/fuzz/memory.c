/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - regions and buffers, and whether they are as they must be. */
#include "tests/fuzz/memory.h"

#include "tests/fuzz/fuzz.h"

static const struct {
	uint32_t access;
	bool virtual_addr, single_use;
	int pieces;
	uint64_t auth;
} kinds[REGIONS] = {
	[REGION_OPEN] = { .access = MR_REMOTE_READ | MR_REMOTE_WRITE, .pieces = 2 },
	[REGION_SHUT] = { .access = MR_REMOTE_READ, .pieces = 1, .virtual_addr = true },
	[REGION_INTO] = { .access = MR_REMOTE_WRITE, .pieces = 1, .virtual_addr = true },
	[REGION_SINGLE] = { .access = MR_REMOTE_READ | MR_REMOTE_WRITE, .pieces = 1, .single_use = true },
	[REGION_KEYED] = { .access = MR_REMOTE_READ | MR_REMOTE_WRITE, .pieces = 1, .auth = MEMORY_AUTH },
	[REGION_SPARE] = { .access = MR_REMOTE_WRITE, .pieces = 1 },
};

static size_t piece_bytes(const struct region *region)
{
	return (size_t)(REGION_BYTES / region->pieces);
}

static size_t piece_at(const struct region *region, size_t piece)
{
	return GAP + piece * (piece_bytes(region) + GAP);
}

void region_renew(struct memory *memory, struct region *region)
{
	struct iovec iov[PIECES];
	struct mr_attr attr = {
		.iov = iov,
		.iov_count = (size_t)region->pieces,
		.access = region->access,
		.key = region->key,
		.key_bytes = 8,
		.virtual_addr = region->virtual_addr,
		.single_use = region->single_use,
		.auth = region->auth,
		.persistent = true,
	};

	if (!region->closed)
		region_close(memory, region);
	for (int i = 0; i < region->pieces; i++)
		iov[i] = (struct iovec){ region->block + piece_at(region, (size_t)i), piece_bytes(region) };
	FUZZ_CHECK(driver_enter(memory->driver));
	FUZZ_CHECK(!mr_add(pd_regions(memory->pd), &attr, &region->mr));
	driver_leave(memory->driver);
	region->closed = false;
	region->life++;
}

void region_close(struct memory *memory, struct region *region)
{
	if (region->closed)
		return;
	FUZZ_CHECK(driver_enter(memory->driver));
	pd_remove_region(memory->pd, region->mr);
	driver_leave(memory->driver);
	region->mr = NULL;
	region->closed = true;
}

static uint8_t *block_open(size_t size, uint8_t from)
{
	uint8_t *block = malloc(size);

	FUZZ_CHECK(block);
	for (size_t i = 0; i < size; i++)
		block[i] = (uint8_t)(from + 7 * i);
	return block;
}

static void region_open(struct memory *memory, int number)
{
	struct region *region = &memory->region[number];

	*region = (struct region){
		.key = 100 + (uint64_t)number,
		.auth = kinds[number].auth,
		.access = kinds[number].access,
		.virtual_addr = kinds[number].virtual_addr,
		.single_use = kinds[number].single_use,
		.pieces = kinds[number].pieces,
		.closed = true,
	};
	region->size = piece_at(region, (size_t)region->pieces);
	region->block = block_open(region->size, (uint8_t)(1 + number));
	region->shadow = block_open(region->size, (uint8_t)(1 + number));
	region->first = block_open(region->size, (uint8_t)(1 + number));
	region_renew(memory, region);
}

void memory_open(struct memory *memory, struct nic *nic)
{
	memory->driver = nic_driver(nic);
	FUZZ_CHECK(!pd_open(nic, &memory->pd));
	for (int i = 0; i < REGIONS; i++)
		region_open(memory, i);
	for (int i = 0; i < BUFFERS; i++) {
		memory->buffer[i].bytes = block_open(BUFFER_BYTES, (uint8_t)(100 + i));
		memory->buffer[i].shadow = block_open(BUFFER_BYTES, (uint8_t)(100 + i));
	}
}

void memory_reset(struct memory *memory)
{
	for (int i = 0; i < REGIONS; i++) {
		struct region *region = &memory->region[i];

		if (region->closed || region->single_use || region->mr->invalidated)
			region_renew(memory, region);
		memcpy(region->block, region->first, region->size);
		memcpy(region->shadow, region->first, region->size);
	}
}

uint64_t region_name(const struct region *region, uint64_t offset)
{
	return region->virtual_addr ? (uintptr_t)region->block + piece_at(region, 0) + offset : offset;
}

static struct region *region_of(struct memory *memory, uint64_t key)
{
	for (int i = 0; i < REGIONS; i++)
		if (memory->region[i].key == key && !memory->region[i].closed)
			return &memory->region[i];
	return NULL;
}

struct permit memory_permit(struct memory *memory, const struct wire_target_fields *to, uint64_t length, uint32_t right)
{
	struct region *region = region_of(memory, to->key);
	struct permit whole = { .region = region };
	uint64_t offset = to->addr;

	if (!region || to->key_tail || to->auth != region->auth || !(region->access & right))
		return (struct permit){ .region = NULL };
	if (region->virtual_addr)
		offset -= region_name(region, 0);
	if (offset > REGION_BYTES || length > REGION_BYTES - offset)
		return (struct permit){ .region = NULL };
	whole.runs = (size_t)region->pieces;
	for (size_t i = 0; i < whole.runs; i++) {
		whole.run[i].at = piece_at(region, i);
		whole.run[i].length = piece_bytes(region);
	}
	return permit_part(&whole, offset, length);
}

struct permit permit_part(const struct permit *permit, uint64_t offset, uint64_t length)
{
	struct permit part = { .region = permit->region };

	for (size_t i = 0; i < permit->runs; i++) {
		uint64_t skip = offset < permit->run[i].length ? offset : permit->run[i].length;
		uint64_t n = permit->run[i].length - skip < length ? permit->run[i].length - skip : length;

		offset -= skip;
		length -= n;
		if (!n)
			continue;
		part.run[part.runs].at = permit->run[i].at + skip;
		part.run[part.runs++].length = n;
	}
	return part;
}

bool permit_holds(const struct permit *permit, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; permit->region && i < permit->runs; i++) {
		size_t n = permit->run[i].length;

		if (length < n || memcmp(permit->region->shadow + permit->run[i].at, bytes, n))
			return false;
		bytes += n;
		length -= n;
	}
	return permit->region && !length;
}

/* Bytes that may have changed are the expected ones from now on. */
static void take(const struct permit *permit, const uint8_t *bytes)
{
	size_t from = 0;

	for (size_t i = 0; i < permit->runs; i++) {
		uint8_t *is = permit->region->block + permit->run[i].at, *was = permit->region->shadow + permit->run[i].at;

		for (size_t j = 0; j < permit->run[i].length; j++, from++) {
			FUZZ_CHECK(!bytes || is[j] == was[j] || is[j] == bytes[from]);
			was[j] = is[j];
		}
	}
}

void memory_check(struct memory *memory, const struct permit *permit, const uint8_t *bytes)
{
	if (permit->region)
		take(permit, bytes);
	for (int i = 0; i < REGIONS; i++)
		FUZZ_CHECK(!memcmp(memory->region[i].block, memory->region[i].shadow, memory->region[i].size));
	for (int i = 0; i < BUFFERS; i++) {
		const struct buffer *buffer = &memory->buffer[i];
		size_t open = buffer->lent && !buffer->source ? buffer->length : 0;

		FUZZ_CHECK(!memcmp(buffer->bytes + open, buffer->shadow + open, BUFFER_BYTES - open));
	}
}

struct buffer *buffer_lend(struct memory *memory, size_t length, bool source)
{
	for (int i = 0; i < BUFFERS; i++) {
		struct buffer *buffer = &memory->buffer[i];

		if (buffer->lent)
			continue;
		buffer->lent = true;
		buffer->source = source;
		buffer->length = length;
		return buffer;
	}
	return NULL;
}

void buffer_done(struct buffer *buffer)
{
	FUZZ_CHECK(buffer->lent);
	buffer->lent = false;
	memcpy(buffer->shadow, buffer->bytes, BUFFER_BYTES);
}
