/* SPDX-License-Identifier: BSD-2-Clause */
/* ring.c - trace files, however damaged, through every output of emu_trace: each is written, is of its form, and tells of no time
 * below zero.
 *
 * Input: pieces of two ring files, a byte for the place (high bit: the second file; 0: the head, else a block), two for the length,
 * and as many bytes, which go behind those that the place has. All else in a file is zero, up to the end of the last block that has
 * a piece. A block whose head does not say how
 * much of it counts ends behind its last piece. ring_input.py cuts real files so. */
#include <cjson/cJSON.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/freed.h"
#include "tests/fuzz/fuzz.h"
#include "tools/trace/page/page_impl.h"
#include "tools/trace/trace_read.h"
#include "tools/trace/trace_out.h"

enum { RINGS = 2, PLACES = 1 + TRACE_BLOCKS_MIN, PIECE_HEAD = 3 };

static int files[RINGS];

static off_t place_at(unsigned place)
{
	return place ? TRACE_HEAD + (off_t)(place - 1) * TRACE_BLOCK : 0;
}

static size_t place_room(unsigned place)
{
	return place ? TRACE_BLOCK : TRACE_HEAD;
}

static void put(int fd, const void *bytes, size_t length, off_t at)
{
	FUZZ_CHECK(pwrite(fd, bytes, length, at) == (ssize_t)length);
}

static void end_block(int fd, unsigned place, uint32_t used)
{
	struct trace_block block;

	if (used < sizeof(block))
		return;
	FUZZ_CHECK(pread(fd, &block, sizeof(block), place_at(place)) == sizeof(block));
	if (!block.used)
		put(fd, &used, sizeof(used), place_at(place) + (off_t)offsetof(struct trace_block, used));
}

/* It ends with a block, or somewhere in the head. */
static void end_file(int fd)
{
	off_t size = lseek(fd, 0, SEEK_END), over = size > TRACE_HEAD ? (size - TRACE_HEAD) % TRACE_BLOCK : 0;

	FUZZ_CHECK(!ftruncate(fd, over ? size - over + TRACE_BLOCK : size));
}

/* Returns how many files have something. */
static uint32_t fill_files(const uint8_t *data, size_t size)
{
	uint32_t used[RINGS][PLACES] = { { 0 } };
	uint32_t rings = 1;

	for (int i = 0; i < RINGS; i++)
		FUZZ_CHECK(!ftruncate(files[i], 0));
	while (size >= PIECE_HEAD) {
		unsigned ring = data[0] >> 7, place = (data[0] & 0x7f) % PLACES;
		size_t length = data[1] | (size_t)data[2] << 8, room = place_room(place) - used[ring][place];

		data += PIECE_HEAD;
		size -= PIECE_HEAD;
		length = length < size ? length : size;
		length = length < room ? length : room;
		put(files[ring], data, length, place_at(place) + used[ring][place]);
		used[ring][place] += (uint32_t)length;
		rings = ring + 1 > rings ? ring + 1 : rings;
		data += length;
		size -= length;
	}
	for (uint32_t i = 0; i < rings; i++) {
		for (unsigned place = 1; place < PLACES; place++)
			end_block(files[i], place, used[i][place]);
		end_file(files[i]);
	}
	return rings;
}

/* --- outputs --- */

static int text_form(const struct trace *trace, FILE *file)
{
	return lines_write(trace, file, &(struct trace_filter){ .kind = -1 });
}

static char *form_of(const struct trace *trace, int (*form)(const struct trace *trace, FILE *file), size_t *size)
{
	char *bytes = NULL;
	FILE *file = open_memstream(&bytes, size);

	FUZZ_CHECK(file && !form(trace, file) && !fclose(file));
	return bytes;
}

static void check_json(const struct trace *trace, int (*form)(const struct trace *trace, FILE *file))
{
	size_t size;
	char *text = form_of(trace, form, &size);
	cJSON *json = cJSON_ParseWithLength(text, size);

	FUZZ_CHECK(json);
	cJSON_Delete(json);
	free(text);
}

/* Blocks follow each other, each with its length at both ends. */
static void check_capture(const struct trace *trace)
{
	size_t size, at = 0;
	char *bytes = form_of(trace, pcapng_write, &size);
	uint32_t length, again;

	while (at < size) {
		FUZZ_CHECK(size - at >= 12);
		memcpy(&length, bytes + at + 4, sizeof(length));
		FUZZ_CHECK(length >= 12 && length % 4 == 0 && length <= size - at);
		memcpy(&again, bytes + at + length - 4, sizeof(again));
		FUZZ_CHECK(length == again);
		at += length;
	}
	free(bytes);
}

static void check_time(int64_t ns)
{
	FUZZ_CHECK(ns == TRACE_NEVER || ns >= 0);
}

static void check_times(const struct trace *trace)
{
	for (uint32_t i = 0; i < trace->frame_count; i++) {
		check_time(trace->frames[i].sent_ns);
		check_time(trace->frames[i].received_ns);
	}
	for (uint32_t i = 0; i < trace->op_count; i++) {
		check_time(trace->ops[i].posted_ns);
		check_time(trace->ops[i].completed_ns);
	}
	for (uint32_t i = 0; i < trace->refusal_count; i++)
		FUZZ_CHECK(trace->refusals[i].at_ns >= 0);
	for (uint32_t i = 0; i < trace->log_count; i++)
		FUZZ_CHECK(trace->logs[i].at_ns >= 0);
}

static void check_outputs(const struct trace *trace)
{
	size_t size;

	check_times(trace);
	free(form_of(trace, text_form, &size));
	check_json(trace, perfetto_write);
	check_json(trace, page_data_write);
	check_capture(trace);
}

static void read_files(uint32_t count)
{
	struct ring_file rings[RINGS];
	struct trace trace;
	uint32_t good = 0;
	char path[64];

	for (uint32_t i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", files[i]);
		if (!ring_read(&rings[good], path))
			rings[good++].path = "ring";
	}
	if (!good)
		return;
	trace_join(&trace, rings, good);
	check_outputs(&trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int i = 0; i < RINGS && files[RINGS - 1] <= 0; i++) {
		files[i] = memfd_create("ring", MFD_CLOEXEC);
		FUZZ_CHECK(files[i] > 0);
	}
	freed_begin();
	read_files(fill_files(data, size));
	freed_end();
	return 0;
}
