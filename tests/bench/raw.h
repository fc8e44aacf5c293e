/* SPDX-License-Identifier: BSD-2-Clause */
/* raw.h - the floor: one plain TCP connection over loopback, with nothing on it but the bytes. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

struct block;

struct raw {
	int fd;
};

/* A connected pair; exits on failure. */
void raw_pair(struct raw ends[2]);

int raw_pingpong_run(struct block *block); /* a word each way, both sides spinning */
int raw_pingpong_serve(struct block *block);
int raw_rate_run(struct block *block); /* a window of small frames in one send, one acknowledgement */
int raw_rate_serve(struct block *block);
int raw_stream_run(struct block *block); /* bytes one way, acknowledged at the end */
int raw_stream_serve(struct block *block);
int raw_request_run(struct block *block); /* a word asks for `size` bytes; `window` requests outstanding */
int raw_request_serve(struct block *block);
int raw_blocking_run(struct block *block); /* a word each way, both sides sleep in recv() */
int raw_blocking_serve(struct block *block);
int raw_blocking_end(struct block *block);

#endif
