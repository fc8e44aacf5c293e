/* SPDX-License-Identifier: BSD-2-Clause */
/* unit_joined.c - rings that are written here, some of them damaged, joined and written in each form. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "emu/nic/trace/trace_impl.h"
#include "tools/trace/page/page.h"
#include "tools/trace/trace_out.h"
#include "tools/trace/trace_read.h"
#include "wire/codec.h"

enum { BLOCKS = TRACE_BLOCKS_MIN, SIZE = TRACE_HEAD + BLOCKS * TRACE_BLOCK, LINE = 3 };

static struct trace_ring ring;
static uint8_t *memory;
static uint64_t now_ns = 1000000;
static uint64_t stream_at[2];

/* They stay until the process ends, as in emu_trace. */
static struct ring_file read_ring;
static struct trace joined;

static uint64_t next_ns(void *arg)
{
	(void)arg;
	return now_ns += 1000;
}

static void open_ring(void)
{
	static const struct nic_clock clock = { .now_ns = next_ns };

	memory = aligned_alloc(4096, SIZE);
	cr_assert(memory);
	memset(memory, 0, SIZE);
	trace_ring_open(&ring, memory, BLOCKS, 7, &clock);
}

static struct trace_head *head_of(void)
{
	return (struct trace_head *)memory;
}

static struct trace_block *block_of(uint32_t index)
{
	return (struct trace_block *)(memory + TRACE_HEAD + index * TRACE_BLOCK);
}

static struct trace_address at_port(uint16_t port)
{
	return (struct trace_address){ .family = 4, .port = port, .addr = { 192, 0, 2, 1 } };
}

static struct trace_datagram *put_datagram(uint32_t whole, uint16_t family)
{
	enum { KEPT = 2 * TRACE_PAYLOAD };
	struct trace_datagram *note = trace_part_begin(&ring, &ring.hot, TRACE_REC_DATAGRAM, sizeof(*note) + KEPT,
						       trace_ticks(&ring));

	note->port = 0;
	note->way = TRACE_RECEIVED;
	note->here = at_port(4711);
	note->here.family = family;
	note->peer = (struct trace_address){ 0 };
	note->whole = whole;
	note->length = whole < KEPT ? whole : KEPT;
	memset(note + 1, 7, note->length);
	trace_part_end(&ring.hot, note);
	return note;
}

static struct trace_bytes *put_frame(uint32_t way, const uint8_t *bytes, size_t length)
{
	struct trace_bytes *note = trace_part_begin(&ring, &ring.hot, TRACE_REC_BYTES, (uint32_t)(sizeof(*note) + length),
						    trace_ticks(&ring));

	note->line = LINE;
	note->way = way;
	note->at = stream_at[way];
	note->length = (uint32_t)length;
	note->head_at = 0;
	memcpy(note + 1, bytes, length);
	trace_part_end(&ring.hot, note);
	stream_at[way] += length;
	return note;
}

/* A read, and that it is refused; returns the record of the latter. */
static struct trace_bytes *put_refused_read(uint32_t way)
{
	struct wire_target_fields from = { .key = 1, .addr = 2 };
	struct wire_nak_fields nak = { .verdict = 1, .ref = 1, .cause = 6 };
	uint8_t bytes[WIRE_FRAME_MAX];

	put_frame(way, bytes, wire_put_read(bytes, 0, 1, &from, 8));
	return put_frame(!way, bytes, wire_put_nak(bytes, &nak));
}

static void put_conn(uint32_t line, bool dialled)
{
	struct trace_conn_state *note = trace_part_begin(&ring, &ring.cold, TRACE_REC_CONN, sizeof(*note), trace_ticks(&ring));

	note->line = line;
	note->event = TRACE_CONN_OPEN;
	note->dialled = dialled;
	note->late = note->zero = 0;
	note->session = note->epoch = 1;
	note->here = at_port(dialled ? 4711 : 4712);
	note->peer = at_port(dialled ? 4712 : 4711);
	trace_part_end(&ring.cold, note);
}

static void put_pair(uint8_t family)
{
	struct trace_conn_state *note = trace_part_begin(&ring, &ring.cold, TRACE_REC_CONN, sizeof(*note), trace_ticks(&ring));

	*note = (struct trace_conn_state){ .record = note->record, .line = LINE, .event = TRACE_CONN_OPEN, .dialled = 1 };
	note->session = note->epoch = 1;
	note->here = note->peer = (struct trace_address){ .family = family | TRACE_PAIR, .index = 1, .port = 0x1267 };
	memcpy(note->peer.addr, (uint8_t[]){ 0x20, 1, 0xd, 0xb8 }, 4);
	note->peer.index = 0xff;
	trace_part_end(&ring.cold, note);
}

static void join_ring(void)
{
	char path[64];
	int fd = memfd_create("ring", MFD_CLOEXEC);

	trace_ring_close(&ring);
	cr_assert(fd >= 0);
	cr_assert_eq(write(fd, memory, SIZE), SIZE);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_assert_eq(ring_read(&read_ring, path), 0, "%s", read_ring.note);
	read_ring.path = "ring";
	close(fd);
	free(memory);
	trace_join(&joined, &read_ring, 1);
}

static int text_write(const struct trace *trace, FILE *file)
{
	return lines_write(trace, file, &(struct trace_filter){ .kind = -1 });
}

/* What is written in a form; *size bytes, and a zero behind them. */
static char *form_of(int (*form)(const struct trace *trace, FILE *file), size_t *size)
{
	char *bytes = NULL;
	FILE *file = open_memstream(&bytes, size);

	cr_assert(file);
	cr_assert_eq(form(&joined, file), 0);
	cr_assert_eq(fclose(file), 0);
	return bytes;
}

/* In the forms of times, a time below zero shows as a minus where a number's digits are. */
static void expect_no_time_below_zero(void)
{
	size_t size;
	char *text = form_of(text_write, &size), *json = form_of(perfetto_write, &size), *page = form_of(page_write, &size);

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		cr_expect(!strchr(line, '-') || *line == '#' || strchr(line, ' ') < strchr(line, '-'), "%s", line);
	for (const char *at = json; (at = strstr(at, "\"ts\":")); at += 5)
		cr_expect_eq(strspn(at + 5, "0123456789."), strcspn(at + 5, ","), "%.60s", at);
	free(text);
	free(json);
	free(page);
	for (uint32_t i = 0; i < joined.refusal_count; i++)
		cr_expect_geq(joined.refusals[i].at_ns, 0);
	for (uint32_t i = 0; i < joined.frame_count; i++)
		cr_expect(joined.frames[i].sent_ns == TRACE_NEVER || joined.frames[i].sent_ns >= 0);
}

static const uint8_t *packet_of(const char *capture, size_t size, uint32_t *length)
{
	enum { HEADS = 28 + 32, BODY = 28 };

	cr_assert_gt(size, HEADS + BODY);
	memcpy(length, capture + HEADS + 20, sizeof(*length));
	cr_assert_leq(*length, size - HEADS - BODY);
	return (const uint8_t *)capture + HEADS + BODY;
}

/* Queue pairs of one port are told by their numbers; a capture has the port. */
static void expect_pair(uint8_t family, const char *here, const char *peer)
{
	static const uint8_t port[] = { 0x12, 0x67 };
	size_t size;
	uint32_t length;
	char *capture;

	open_ring();
	put_pair(family);
	put_refused_read(TRACE_SENT);
	join_ring();
	cr_assert_eq(joined.conn_count, 1);
	cr_expect_str_eq(joined.conns[0].end[0].address, here);
	cr_expect_str_eq(joined.conns[0].end[1].address, peer);
	capture = form_of(pcapng_write, &size);
	cr_expect_eq(memcmp(packet_of(capture, size, &length) + (family == 6 ? 42 : 22), port, 2), 0);
	free(capture);
}

Test(joined, queue_pairs_have_their_numbers)
{
	expect_pair(4, "0.0.0.0 QPN 0x126701", "32.1.13.184 QPN 0x1267ff");
}

Test(joined, queue_pairs_of_gids)
{
	expect_pair(6, ":: QPN 0x126701", "2001:db8:: QPN 0x1267ff");
}

Test(joined, an_address_of_no_family_is_none)
{
	open_ring();
	put_pair(5);
	join_ring();
	cr_expect_str_eq(joined.conns[0].end[1].address, "?");
}

static void expect_datagram(uint32_t whole, uint32_t shown)
{
	size_t size;
	uint32_t length;
	const uint8_t *packet;
	char *capture;

	open_ring();
	put_datagram(whole, 4);
	join_ring();
	capture = form_of(pcapng_write, &size);
	packet = packet_of(capture, size, &length);
	cr_expect_eq(length, 20 + 8 + shown, "%u", length);
	cr_expect_eq(packet[2] << 8 | packet[3], 20 + 8 + (int)shown, "as IP's head has it");
	cr_expect_eq(packet[24] << 8 | packet[25], 8 + (int)shown, "as UDP's head has it");
	free(capture);
}

Test(joined, a_byte_is_a_packet)
{
	expect_datagram(1, 1);
}

/* A stream's frames are cut there. */
Test(joined, a_datagram_longer_than_a_segment_is_a_packet)
{
	expect_datagram(60001, 60001);
}

Test(joined, the_longest_datagram_is_a_packet)
{
	expect_datagram(65507, 65507);
}

/* IPv4 carries none as long. */
Test(joined, a_datagram_that_cannot_be_is_cut)
{
	expect_datagram(UINT16_MAX, 65507);
}

Test(joined, a_ring_without_events_is_a_trace)
{
	open_ring();
	join_ring();
	expect_no_time_below_zero();
	cr_expect_eq(joined.process_count, 1);
	cr_expect_eq(joined.frame_count, 0);
}

/* The records that say what connection it is were overwritten. */
Test(joined, a_refusal_on_a_connection_of_which_nothing_is_known_is_its_processs)
{
	open_ring();
	put_refused_read(TRACE_SENT);
	join_ring();
	expect_no_time_below_zero();
	cr_assert_eq(joined.refusal_count, 1);
	cr_expect_eq(joined.refusals[0].process, 0);
	cr_assert_eq(joined.endpoint_count, 1);
	cr_expect_str_eq(joined.endpoints[0].address, "?");
}

/* Both ends of the connection are this process's: the answer's sender is known, and when it left is not. */
Test(joined, a_refusal_of_which_the_senders_record_is_lost_has_the_receivers_time)
{
	open_ring();
	put_conn(LINE, true);
	put_conn(LINE + 1, false);
	put_refused_read(TRACE_SENT);
	join_ring();
	expect_no_time_below_zero();
	cr_assert_eq(joined.refusal_count, 1);
	cr_expect_eq(joined.refusals[0].at_ns, joined.ops[0].completed_ns);
}

static void put_segment(uint8_t flags, uint32_t payload, uint64_t seq, uint64_t rest)
{
	uint8_t bytes[256] = { 0 };
	size_t length = wire_put_rsend(bytes, flags, payload, seq, rest, &(struct wire_message_fields){ .cq_data = 5 }) + payload;

	put_frame(TRACE_SENT, bytes, length + wire_put_trailer(bytes + length, WIRE_GOOD, 0));
}

/* As a write is. */
Test(joined, a_message_in_segments_is_one_op)
{
	open_ring();
	put_conn(LINE, true);
	put_segment(WIRE_F_FIRST | WIRE_F_CQ_DATA, 40, 1, 100);
	put_segment(WIRE_F_CQ_DATA, 40, 2, 60);
	put_segment(WIRE_F_CQ_DATA, 20, 3, 20);
	put_segment(WIRE_F_FIRST | WIRE_F_CQ_DATA, 8, 4, 8);
	join_ring();
	cr_assert_eq(joined.op_count, 2);
	cr_expect(joined.ops[0].kind == TRACE_SEND && joined.ops[0].length == 100 && joined.ops[0].cq_data == 5);
	cr_expect(joined.ops[0].seq == 1 && joined.ops[0].last_seq == 3);
	cr_expect(joined.ops[1].length == 8 && joined.ops[1].seq == 4);
}

/* Nothing was noted before the ring was opened. */
Test(joined, times_before_the_opening_are_not_believed)
{
	struct trace_bytes *nak;

	open_ring();
	put_conn(LINE, true);
	nak = put_refused_read(TRACE_SENT);
	nak->record.ticks = 0;
	((struct trace_bytes *)((uint8_t *)block_of(head_of()->cold_blocks) + sizeof(struct trace_block)))->record.ticks = 0;
	block_of(0)->ticks = 1;
	block_of(0)->mono_ns = UINT64_C(1) << 63;
	join_ring();
	expect_no_time_below_zero();
	cr_expect_eq(joined.ops[0].sent_ns, 0);
}

Test(joined, times_that_no_clock_reaches_are_not_believed)
{
	open_ring();
	put_conn(LINE, true);
	put_refused_read(TRACE_SENT)->record.ticks = UINT64_MAX / 2;
	head_of()->clock = TRACE_CLOCK_MONOTONIC;
	join_ring();
	expect_no_time_below_zero();
	cr_expect_leq(joined.end_ns, RING_TIME_NS);
}
