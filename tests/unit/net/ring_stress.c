/* SPDX-License-Identifier: BSD-2-Clause */
/* ring_stress.c - one thread writes a stream by a ring and a socket, as it comes, another reads it and opens and closes the ring as
 * it likes; for tsan to watch. Which bytes they are, and in which order, is checked. A plain program, as Criterion does not
 * go with tsan. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "emu/net/shm/shm_ring.h"
#include "emu/nic/memory/guard.h"

enum { TOTAL = 64 << 20, MOST = 20000 };

static struct shm_ring from, to;
static struct shm_ring_words words[2];
static uint8_t bytes[2][RING_BYTES];
static int sockets[2];
static size_t by_ring;

static void check(int good, const char *what)
{
	if (good)
		return;
	printf("not ok ring_turns %s\n", what);
	exit(1);
}

/* Of the byte at that place. */
static uint8_t value(size_t at)
{
	return (uint8_t)(at ^ at >> 8 ^ at >> 16);
}

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 12;
}

static void *writer(void *arg)
{
	static uint8_t out[MOST];
	uint32_t seed = 1;

	for (size_t done = 0, n; done < TOTAL; done += n) {
		struct iovec iov = { out, 1 + next(&seed) % MOST };
		ssize_t sent;

		if (iov.iov_len > TOTAL - done)
			iov.iov_len = TOTAL - done;
		for (size_t i = 0; i < iov.iov_len; i++)
			out[i] = value(done + i);
		n = shm_ring_put(&from, &iov, 1);
		by_ring += n;
		if (n)
			continue;
		shm_ring_tell(&from, &iov, 1);
		sent = send(sockets[0], out, iov.iov_len, MSG_DONTWAIT);
		check(sent > 0 || errno == EAGAIN, "not sent");
		n = sent > 0 ? (size_t)sent : 0;
		from.sent += n;
	}
	close(sockets[0]);
	return arg;
}

static ssize_t read_some(uint8_t *in, size_t room)
{
	struct iovec iov = { in, room };
	uint64_t most;
	ssize_t n;

	switch (shm_ring_next(&to, &most)) {
	case RING_ITSELF:
		return shm_ring_take(&to, &iov, 1);
	case RING_SOCKET:
		n = most ? recv(sockets[1], in, most < room ? most : room, MSG_DONTWAIT) : 0;
		to.received += n > 0 ? (uint64_t)n : 0;
		return n > 0 ? n : 0;
	case RING_FLAW:
		check(0, "a flaw");
	}
	return 0;
}

int main(void)
{
	static uint8_t in[MOST];
	pthread_t thread;
	uint32_t seed = 2;

	check(!guard_install(), "no handler"); /* not every container lets the kernel copy */
	shm_ring_begin(&from, &words[0], &words[1], bytes[0], bytes[1]);
	shm_ring_begin(&to, &words[1], &words[0], bytes[1], bytes[0]);
	check(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "no sockets");
	check(!pthread_create(&thread, NULL, writer, NULL), "no thread");
	for (size_t done = 0; done < TOTAL;) {
		ssize_t n;

		if (next(&seed) % 64 == 0)
			shm_ring_open(&to, next(&seed) % 4);
		n = read_some(in, 1 + next(&seed) % MOST);
		check(n >= 0 && done + (size_t)n <= TOTAL, "more than was sent");
		for (ssize_t i = 0; i < n; i++)
			check(in[i] == value(done + (size_t)i), "other bytes");
		done += (size_t)n;
	}
	pthread_join(thread, NULL);
	check(by_ring && from.sent && by_ring + from.sent == TOTAL, "one way alone");
	printf("ok ring_turns\n");
	return 0;
}
