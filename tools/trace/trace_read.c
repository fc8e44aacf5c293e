/* SPDX-License-Identifier: BSD-2-Clause */
/* trace_read.c - ring files: head, blocks, records, time. */
#include "tools/trace/trace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/trace/trace_memory.h"

/* A moment in both clocks. */
struct ring_sync {
	uint64_t ticks, mono_ns;
};

/* A block that counts. */
struct ring_block {
	uint32_t index, used;
	uint64_t number;
	bool cold;
};

static const uint32_t sizes[TRACE_REC_TYPES] = {
	[TRACE_REC_BYTES] = sizeof(struct trace_bytes),       [TRACE_REC_STORED] = sizeof(struct trace_stored),
	[TRACE_REC_DATAGRAM] = sizeof(struct trace_datagram), [TRACE_REC_OP] = sizeof(struct trace_op_end),
	[TRACE_REC_CONN] = sizeof(struct trace_conn_state),   [TRACE_REC_REGION] = sizeof(struct trace_region_state),
	[TRACE_REC_REFUSED] = sizeof(struct trace_refused),   [TRACE_REC_LOG] = sizeof(struct trace_line),
};

__attribute__((format(printf, 2, 3))) static int useless(struct ring_file *ring, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(ring->note, sizeof(ring->note), format, args);
	va_end(args);
	return -1;
}

__attribute__((format(printf, 2, 3))) static void damaged(struct ring_file *ring, const char *format, ...)
{
	va_list args;

	if (ring->damaged)
		return;
	ring->damaged = true;
	va_start(args, format);
	vsnprintf(ring->note, sizeof(ring->note), format, args);
	va_end(args);
}

static void clean_word(char *word, size_t size)
{
	word[size - 1] = 0;
	for (; *word; word++)
		if (*word < ' ' || *word > '~')
			*word = '?';
}

static int ring_load(struct ring_file *ring)
{
	int fd = open(ring->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t have = 0;

	if (fd < 0)
		return useless(ring, "%s", strerror(errno));
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return useless(ring, "it is no regular file");
	}
	ring->size = (size_t)st.st_size;
	if (ring->size > TRACE_HEAD + (uint64_t)TRACE_BLOCKS_MAX * TRACE_BLOCK) {
		close(fd);
		return useless(ring, "it is longer than any trace");
	}
	ring->bytes = trace_alloc(ring->size + 1);
	while (have < ring->size) {
		ssize_t got = read(fd, ring->bytes + have, ring->size - have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	close(fd);
	ring->size = have;
	return 0;
}

static int check_head(struct ring_file *ring)
{
	struct trace_head *head = &ring->head;

	if (ring->size < TRACE_HEAD)
		return useless(ring, ring->size ? "it is cut off in its head" : "it is empty");
	memcpy(head, ring->bytes, sizeof(*head));
	if (memcmp(head->magic, TRACE_MAGIC, sizeof(head->magic)))
		return useless(ring, "it is no trace of emu");
	if (head->order != TRACE_ORDER)
		return useless(ring, "a machine of another byte order has written it");
	if (head->version != TRACE_VERSION)
		return useless(ring, "it has version %u, and this emu_trace reads version %d", head->version, TRACE_VERSION);
	if (head->head_bytes != TRACE_HEAD || head->block_bytes != TRACE_BLOCK || head->blocks < TRACE_BLOCKS_MIN ||
	    head->blocks > TRACE_BLOCKS_MAX || !head->cold_blocks || head->cold_blocks >= head->blocks ||
	    head->clock > TRACE_CLOCK_TSC || !head->rate_ns || !head->rate_ticks || head->payload > TRACE_PIECE ||
	    head->mono_ns > RING_TIME_NS || head->real_ns > INT64_MAX / 2)
		return useless(ring, "its head is damaged");
	clean_word(head->host, sizeof(head->host));
	clean_word(head->boot, sizeof(head->boot));
	clean_word(head->program, sizeof(head->program));
	clean_word(head->release, sizeof(head->release));
	return 0;
}

static int blocks_by_number(const void *a, const void *b)
{
	const struct ring_block *x = a, *y = b;

	if (x->cold != y->cold)
		return x->cold ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* The blocks that count, in the order of writing. */
static uint32_t find_blocks(struct ring_file *ring, struct ring_block *blocks)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ring->head.blocks; i++) {
		size_t from = TRACE_HEAD + (size_t)i * TRACE_BLOCK;
		struct trace_block block;

		if (from + TRACE_BLOCK > ring->size) {
			damaged(ring, "it is cut off: %u of its %u blocks are there", i, ring->head.blocks);
			break;
		}
		memcpy(&block, ring->bytes + from, sizeof(block));
		if (!block.number)
			continue;
		if (block.used < sizeof(block) || block.used > TRACE_BLOCK || block.number > UINT32_MAX) {
			damaged(ring, "block %u is damaged", i);
			continue;
		}
		blocks[count++] = (struct ring_block){
			.index = i, .used = block.used, .number = block.number, .cold = i < ring->head.cold_blocks
		};
	}
	trace_sort(blocks, count, sizeof(*blocks), blocks_by_number);
	return count;
}

/* Numbers of a part that are missing between its first and its last, and before its first. */
static void count_lost(struct ring_file *ring, const struct ring_block *blocks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bool first = !i || blocks[i - 1].cold != blocks[i].cold;

		if (first)
			ring->lost += blocks[i].number - 1;
		else if (blocks[i].number == blocks[i - 1].number)
			damaged(ring, "two blocks have the number %llu", (unsigned long long)blocks[i].number);
		else if (blocks[i].number != blocks[i - 1].number + 1)
			damaged(ring, "%llu blocks are missing", (unsigned long long)(blocks[i].number - blocks[i - 1].number - 1));
	}
}

static int by_ticks(const void *a, const void *b)
{
	const struct ring_sync *x = a, *y = b;

	return x->ticks < y->ticks ? -1 : x->ticks > y->ticks;
}

static void add_sync(struct ring_file *ring, uint64_t ticks, uint64_t mono_ns)
{
	ring->syncs[ring->sync_count++] = (struct ring_sync){ ticks, mono_ns };
}

/* The opening's is the first: its head was looked at. */
static void find_syncs(struct ring_file *ring, const struct ring_block *blocks, uint32_t count)
{
	const struct trace_head *head = &ring->head;
	uint32_t kept = 1;

	ring->syncs = trace_alloc((count + 2) * sizeof(*ring->syncs));
	add_sync(ring, head->ticks, head->mono_ns);
	if (head->end_mono_ns)
		add_sync(ring, head->end_ticks, head->end_mono_ns);
	for (uint32_t i = 0; i < count; i++) {
		struct trace_block block;

		memcpy(&block, ring->bytes + TRACE_HEAD + (size_t)blocks[i].index * TRACE_BLOCK, sizeof(block));
		add_sync(ring, block.ticks, block.mono_ns);
	}
	trace_sort(ring->syncs + kept, ring->sync_count - kept, sizeof(*ring->syncs), by_ticks);
	/* Both clocks go forward, or a moment is not believed. */
	for (uint32_t i = 1; i < ring->sync_count; i++) {
		const struct ring_sync *last = &ring->syncs[kept - 1], *next = &ring->syncs[i];

		if (next->ticks > last->ticks && next->mono_ns > last->mono_ns && next->mono_ns <= RING_TIME_NS)
			ring->syncs[kept++] = *next;
	}
	ring->sync_count = kept;
}

static int64_t ns_within(const struct ring_file *ring, int64_t ns)
{
	int64_t first_ns = (int64_t)ring->head.mono_ns;

	return ns < first_ns ? first_ns : ns > RING_TIME_NS ? RING_TIME_NS : ns;
}

int64_t ring_ns(const struct ring_file *ring, uint64_t ticks)
{
	const struct ring_sync *low = ring->syncs, *high = NULL;
	uint32_t from = 0, to = ring->sync_count;
	double rate = (double)ring->head.rate_ns / (double)ring->head.rate_ticks, ns;

	if (ring->head.clock == TRACE_CLOCK_MONOTONIC)
		return ns_within(ring, ticks < RING_TIME_NS ? (int64_t)ticks : RING_TIME_NS);
	while (to - from > 1) {
		uint32_t middle = from + (to - from) / 2;

		if (ring->syncs[middle].ticks <= ticks)
			from = middle;
		else
			to = middle;
	}
	low = &ring->syncs[from];
	high = from + 1 < ring->sync_count ? low + 1 : NULL;
	/* Moments that are near to each other say less of the rate than the opening's. */
	if (high && high->mono_ns - low->mono_ns > ring->head.rate_ns)
		rate = (double)(high->mono_ns - low->mono_ns) / (double)(high->ticks - low->ticks);
	ns = (double)(int64_t)(ticks - low->ticks) * rate;
	if (ns > 1e18 || ns < -1e18)
		return (int64_t)low->mono_ns;
	return ns_within(ring, (int64_t)low->mono_ns + (int64_t)ns);
}

/* Are the lengths in it right? */
static bool record_is_good(const struct trace_record *record, uint32_t left)
{
	uint64_t tail = 0;

	if (left < sizeof(*record) || record->bytes < sizeof(*record) || record->bytes % 8 || record->bytes > left ||
	    record->bytes > TRACE_RECORD_MAX)
		return false;
	if (!record->type || record->type >= TRACE_REC_TYPES)
		return true; /* a newer writer's */
	if (record->bytes < sizes[record->type])
		return false;
	if (record->type == TRACE_REC_BYTES) {
		const struct trace_bytes *bytes = (const struct trace_bytes *)record;

		tail = bytes->length;
		if (bytes->way > TRACE_RECEIVED || (bytes->head_at != TRACE_NO_HEAD && bytes->head_at >= bytes->length) ||
		    bytes->at > INT64_MAX)
			return false;
	} else if (record->type == TRACE_REC_DATAGRAM) {
		const struct trace_datagram *datagram = (const struct trace_datagram *)record;

		tail = datagram->length;
		if (datagram->way > TRACE_RECEIVED || datagram->length > datagram->whole || datagram->whole > UINT16_MAX)
			return false;
	} else if (record->type == TRACE_REC_REFUSED) {
		tail = ((const struct trace_refused *)record)->text;
	} else if (record->type == TRACE_REC_LOG) {
		tail = ((const struct trace_line *)record)->text;
	}
	return tail <= record->bytes - sizes[record->type];
}

static void read_block(struct ring_file *ring, const struct ring_block *block, uint32_t *room)
{
	const uint8_t *bytes = ring->bytes + TRACE_HEAD + (size_t)block->index * TRACE_BLOCK;
	uint32_t at = sizeof(struct trace_block);

	while (at < block->used) {
		const struct trace_record *record = (const struct trace_record *)(const void *)(bytes + at);

		if (!record_is_good(record, block->used - at)) {
			damaged(ring, "block %u is damaged at byte %u", block->index, at);
			return;
		}
		at += record->bytes;
		if (!record->type || record->type >= TRACE_REC_TYPES)
			continue;
		if (ring->count == *room) {
			*room = *room ? *room * 2 : 1024;
			ring->events = trace_realloc(ring->events, *room * sizeof(*ring->events));
		}
		ring->events[ring->count++] = (struct ring_event){ record, ring_ns(ring, record->ticks) };
	}
}

/* The rare events come first, each part in its order: merges them by time. A time that goes back is that of the record before. */
static void ring_merge(struct ring_file *ring, uint32_t cold)
{
	struct ring_event *merged = trace_alloc((ring->count + 1) * sizeof(*merged));
	uint32_t a = 0, b = cold, count = 0;

	for (uint32_t i = 1; i < ring->count; i++)
		if (i != cold && ring->events[i].at_ns < ring->events[i - 1].at_ns)
			ring->events[i].at_ns = ring->events[i - 1].at_ns;
	while (a < cold || b < ring->count) {
		bool first = b == ring->count || (a < cold && ring->events[a].at_ns <= ring->events[b].at_ns);

		merged[count++] = first ? ring->events[a++] : ring->events[b++];
	}
	free(ring->events);
	ring->events = merged;
}

int ring_read(struct ring_file *ring, const char *path)
{
	struct ring_block *blocks;
	uint32_t count, room = 0, cold = 0;

	*ring = (struct ring_file){ .path = path };
	if (ring_load(ring) || check_head(ring))
		return -1;
	blocks = trace_alloc(ring->head.blocks * sizeof(*blocks));
	count = find_blocks(ring, blocks);
	count_lost(ring, blocks, count);
	find_syncs(ring, blocks, count);
	for (uint32_t i = 0; i < count; i++) {
		read_block(ring, &blocks[i], &room);
		if (blocks[i].cold)
			cold = ring->count;
	}
	free(blocks);
	ring_merge(ring, cold);
	return 0;
}

void ring_free(struct ring_file *ring)
{
	free(ring->bytes);
	free(ring->events);
	free(ring->syncs);
}
