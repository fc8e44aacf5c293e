/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.c - a file of captured packets, written by hand. */
#include "tests/wireshark/capture.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "wire/codec.h"

enum { LINKTYPE_RAW = 101, IP_HEAD = 20, TCP_HEAD = 20, UDP_HEAD = 8, FIN = 0x01, SYN = 0x02, ACK = 0x10, PACKET_MAX = 65000 };

static void put(struct capture *capture, const void *bytes, size_t length)
{
	if (fwrite(bytes, 1, length, capture->file) != length) {
		perror("wireshark_capture: cannot write");
		exit(2);
	}
}

void capture_open(struct capture *capture, const char *folder, const char *name)
{
	const uint32_t head[] = { 0xa1b2c3d4, 2 | 4 << 16, 0, 0, 1 << 18, LINKTYPE_RAW };
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.pcap", folder, name);
	*capture = (struct capture){ .file = fopen(path, "wb"), .time_us = 1000000000u };
	if (!capture->file) {
		perror(path);
		exit(2);
	}
	put(capture, head, sizeof(head));
}

void capture_close(struct capture *capture)
{
	if (fclose(capture->file)) {
		perror("wireshark_capture: cannot write");
		exit(2);
	}
}

/* A packet from side `side`'s host to the other's: IP's head, and what it carries in two parts. A millisecond has gone by. */
static void packet(struct capture *capture, int side, uint8_t protocol, const void *head, size_t head_length, const void *bytes,
		   size_t length)
{
	uint32_t all = (uint32_t)(IP_HEAD + head_length + length);
	uint32_t kept = capture->snap && capture->snap < all ? capture->snap : all;
	uint8_t ip[IP_HEAD] = {
		0x45, 0, (uint8_t)(all >> 8), (uint8_t)all, 0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, (uint8_t)(1 + side), 192,
		0,    2, (uint8_t)(2 - side)
	};
	uint8_t *whole = malloc(all);

	if (!whole)
		abort();
	memcpy(whole, ip, IP_HEAD);
	memcpy(whole + IP_HEAD, head, head_length);
	if (length)
		memcpy(whole + IP_HEAD + head_length, bytes, length);
	capture->time_us += 1000;
	put(capture, (uint32_t[]){ (uint32_t)(capture->time_us / 1000000), (uint32_t)(capture->time_us % 1000000), kept, all }, 16);
	put(capture, whole, kept);
	free(whole);
}

static void segment(struct capture_stream *stream, int side, uint8_t flags, const void *bytes, size_t length)
{
	uint8_t tcp[TCP_HEAD] = { 0 };
	const wire_u16 ports[] = { wire_put16(stream->port[side]), wire_put16(stream->port[!side]) };
	const wire_u32 numbers[] = { wire_put32(stream->seq[side]), wire_put32(stream->seq[!side]) };

	memcpy(tcp, ports, sizeof(ports));
	memcpy(tcp + 4, numbers, sizeof(numbers));
	tcp[12] = TCP_HEAD / 4 << 4;
	tcp[13] = flags;
	tcp[14] = 0xff;
	packet(stream->capture, side, 6, tcp, TCP_HEAD, bytes, length);
	stream->seq[side] += (uint32_t)length + (flags & (SYN | FIN) ? 1 : 0);
}

void capture_stream_open(struct capture_stream *stream, struct capture *capture, uint16_t port)
{
	*stream = (struct capture_stream){ .capture = capture,
					   .port = { port, 4711 },
					   .seq = { (uint32_t)capture->time_us, 5000 } };
	segment(stream, 0, SYN, NULL, 0);
	segment(stream, 1, SYN | ACK, NULL, 0);
	segment(stream, 0, ACK, NULL, 0);
}

static void cut(struct capture_stream *stream, int side, const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	size_t most = stream->cut && stream->cut < PACKET_MAX ? stream->cut : PACKET_MAX;

	while (length) {
		size_t part = length < most ? length : most;

		segment(stream, side, ACK, at, part);
		at += part;
		length -= part;
	}
}

void capture_stream_flush(struct capture_stream *stream)
{
	cut(stream, stream->side, stream->waiting, stream->waits);
	stream->waits = 0;
}

void capture_stream_put(struct capture_stream *stream, int side, const void *bytes, size_t length)
{
	if (!stream->joins) {
		cut(stream, side, bytes, length);
		return;
	}
	if (side != stream->side || stream->waits + length > sizeof(stream->waiting))
		capture_stream_flush(stream);
	stream->side = side;
	memcpy(stream->waiting + stream->waits, bytes, length);
	stream->waits += length;
}

void capture_stream_end(struct capture_stream *stream, int side)
{
	segment(stream, side, FIN | ACK, NULL, 0);
}

void capture_datagram(struct capture *capture, uint16_t from, uint16_t to, const void *bytes, size_t length)
{
	uint8_t udp[UDP_HEAD] = { 0 };
	const wire_u16 fields[] = { wire_put16(from), wire_put16(to), wire_put16((uint16_t)(UDP_HEAD + length)) };

	memcpy(udp, fields, sizeof(fields));
	packet(capture, 0, 17, udp, UDP_HEAD, bytes, length);
}
