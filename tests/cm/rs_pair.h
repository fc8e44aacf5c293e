/* SPDX-License-Identifier: BSD-2-Clause */
/* rs_pair.h - rsockets of one process, by the calls of <rdma/rsocket.h> alone. Failures end the test. */
#ifndef TESTS_CM_RS_PAIR_H
#define TESTS_CM_RS_PAIR_H

#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stddef.h>
#include <stdint.h>

enum { RS_GUARD_MS = 30000 };

struct rs_pair {
	int listens, asks, answers;
};

/* One that listens at loopback, and its address. */
int rs_listener(struct sockaddr_in *at);
/* An option of `fd` that is an int. */
void rs_set(int fd, int level, int name, int value);
/* What the listener and the asking one are given before they meet: {level, name, value} of each, up to a level of -1; or NULL. */
void rs_pair_open(struct rs_pair *pair, const int (*options)[3]);
void rs_pair_close(struct rs_pair *pair);
/* Until `events` are there: what is. */
short rs_poll_for(int fd, short events);

/* Byte i of a stream. */
uint8_t rs_byte(size_t i);
/* Bytes from `begin` on, all of them; blocking. */
void rs_send_bytes(int fd, size_t begin, size_t length, size_t part);
void rs_expect_bytes(int fd, size_t begin, size_t length, size_t part);

#endif
