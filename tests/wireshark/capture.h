/* SPDX-License-Identifier: BSD-2-Clause */
/* capture.h - a file of captured packets, written by hand: TCP and UDP over IPv4, without the link's head.
 *
 * Each capture belongs to the one thread that made it. What cannot be written ends the program with a sentence. */
#ifndef TESTS_WIRESHARK_CAPTURE_H
#define TESTS_WIRESHARK_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { CAPTURE_WAITING_MAX = 128 * 1024 };

struct capture {
	FILE *file;
	uint64_t time_us;
	uint32_t snap; /* bytes kept of a packet; 0: all */
};

/* One TCP connection in it. Side 0 is the dialler. */
struct capture_stream {
	struct capture *capture;
	uint16_t port[2];
	uint32_t seq[2];
	size_t cut; /* bytes of a segment; 0: each piece is one */
	bool joins; /* what a side puts before the other does makes a stream, which is cut wherever a segment is full */
	int side;
	size_t waits;
	uint8_t waiting[CAPTURE_WAITING_MAX];
};

void capture_open(struct capture *capture, const char *folder, const char *name);
void capture_close(struct capture *capture);
/* Begins a connection from `port` to port 4711: its handshake is in the capture. */
void capture_stream_open(struct capture_stream *stream, struct capture *capture, uint16_t port);
void capture_stream_put(struct capture_stream *stream, int side, const void *bytes, size_t length);
/* Writes what waits to be joined with more. */
void capture_stream_flush(struct capture_stream *stream);
/* The side sends no more (FIN). */
void capture_stream_end(struct capture_stream *stream, int side);
void capture_datagram(struct capture *capture, uint16_t from, uint16_t to, const void *bytes, size_t length);

#endif
