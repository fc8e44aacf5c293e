/* SPDX-License-Identifier: BSD-2-Clause */
/* raw.c - plain TCP: what the kernel alone costs for the same exchange. */
#include "raw.h"

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench.h"

#define BLOCK_OVER UINT64_MAX /* in place of a word */

enum {
	FRAME_SIZE = 72, /* what a protocol needs for key, address, length and 8 bytes of payload */
	FRAMES_MAX = 64,
};

/* Those of emu's data sockets. */
static const struct {
	int level, name, value;
} options[] = {
	{ IPPROTO_TCP, TCP_NODELAY, 1 },   { SOL_SOCKET, SO_KEEPALIVE, 1 },         { IPPROTO_TCP, TCP_KEEPIDLE, 5 }, /* s */
	{ IPPROTO_TCP, TCP_KEEPINTVL, 1 },                                                                            /* s */
	{ IPPROTO_TCP, TCP_KEEPCNT, 3 },   { IPPROTO_TCP, TCP_USER_TIMEOUT, 8000 },                                   /* ms */
};

void raw_pair(struct raw ends[2])
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(sin);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&sin, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&sin, &size) || connect(ends[0].fd, (struct sockaddr *)&sin, size))
		err(1, "raw connection");
	ends[1].fd = accept(listener, NULL, NULL);
	if (ends[1].fd < 0)
		err(1, "raw accept");
	close(listener);
	for (size_t i = 0; i < 2 * sizeof(options) / sizeof(options[0]); i++)
		if (setsockopt(ends[i % 2].fd, options[i / 2].level, options[i / 2].name, &options[i / 2].value, sizeof(int)))
			err(1, "a socket option of the floor");
}

/* Sends all of it, spinning where the socket is full. */
static int put(struct block *block, const void *bytes, size_t size)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	const uint8_t *next = bytes;

	while (size) {
		ssize_t n = send(block->cand->raw->fd, next, size, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			next += n;
			size -= (size_t)n;
		} else if (!patience_left(&patience)) {
			return -ETIMEDOUT;
		}
	}
	return 0;
}

/* Receives all of it, spinning. 1: done; 0: the block was over before the first byte; else a negative errno. */
static int get(struct block *block, void *bytes, size_t size)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	size_t have = 0;

	while (have < size) {
		ssize_t n = recv(block->cand->raw->fd, (uint8_t *)bytes + have, size - have, MSG_DONTWAIT);

		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0) {
			have += (size_t)n;
			continue;
		}
		if (have == 0 && block_stopped(block))
			return 0;
		if (!patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 1;
}

/* The initiator's receive: the block is not over before it says so itself. */
static int get_answer(struct block *block, void *bytes, size_t size)
{
	int rc = get(block, bytes, size);

	return rc == 1 ? 0 : rc ? rc : -EPROTO;
}

/* Where the outbox is to be found in the inbox in the end, its first word travels all the time. */
int raw_pingpong_run(struct block *block)
{
	bool each = block->bench->proof == PROOF_EACH;
	uint64_t since = now_ns(), ops = 0, back;
	int rc;

	do {
		uint64_t word = pattern_word(block->seed, each ? block->serial++ : 0);

		rc = put(block, &word, sizeof(word));
		if (!rc)
			rc = get_answer(block, &back, sizeof(back));
		if (rc)
			return rc;
		if (back != word)
			return -EBADMSG;
		ops++;
	} while (now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	memcpy(block->inbox, &back, sizeof(back));
	return 0;
}

int raw_pingpong_serve(struct block *block)
{
	uint64_t word;
	int rc;

	while ((rc = get(block, &word, sizeof(word))) == 1) {
		if (word != pattern_word(block->seed, block->serial++))
			return -EBADMSG;
		rc = put(block, &word, sizeof(word));
		if (rc)
			return rc;
	}
	return rc;
}

int raw_rate_run(struct block *block)
{
	uint8_t frames[FRAMES_MAX][FRAME_SIZE] = { 0 };
	uint64_t since = now_ns(), ops = 0, ack;
	int rc;

	for (unsigned i = 0; i < FRAMES_MAX; i++)
		memcpy(frames[i], block->outbox + block_slot(block, i), sizeof(uint64_t));
	do {
		rc = put(block, frames, sizeof(frames));
		if (!rc)
			rc = get_answer(block, &ack, sizeof(ack));
		if (rc)
			return rc;
		ops += FRAMES_MAX;
	} while (now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	return 0;
}

int raw_rate_serve(struct block *block)
{
	uint8_t frames[FRAMES_MAX][FRAME_SIZE];
	int rc;

	while ((rc = get(block, frames, sizeof(frames))) == 1) {
		uint64_t ack = block->serial++;

		for (unsigned i = 0; i < FRAMES_MAX; i++)
			memcpy(block->inbox + block_slot(block, i), frames[i], sizeof(uint64_t));
		rc = put(block, &ack, sizeof(ack));
		if (rc)
			return rc;
	}
	return rc;
}

int raw_stream_run(struct block *block)
{
	uint64_t since = now_ns(), first = block->serial, ack;
	size_t size = block->bench->size;
	int rc;

	do {
		rc = put(block, block->outbox + block_slot(block, block->serial++), size);
		if (rc)
			return rc;
	} while (now_ns() - since < block->length_ns || block->serial - first < block->bench->window);
	atomic_store_explicit(&block->host->shared->goal, block->serial * size, memory_order_release);
	rc = get_answer(block, &ack, sizeof(ack));
	block_count(block, block->serial - first, since);
	return rc;
}

/* Acknowledges each time that all bytes up to the initiator's goal are in. */
int raw_stream_serve(struct block *block)
{
	struct patience patience = patience_for(HANG_GUARD_NS);
	size_t span = bench_span(block->bench);
	uint64_t total = 0, acked = 0;

	while (!block_stopped(block)) {
		size_t at = (size_t)(total % span);
		ssize_t n = recv(block->cand->raw->fd, block->inbox + at, span - at, MSG_DONTWAIT);

		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return n ? -errno : -ECONNRESET;
		total += n > 0 ? (uint64_t)n : 0;
		if (total != acked && total == atomic_load_explicit(&block->host->shared->goal, memory_order_acquire)) {
			int rc = put(block, &total, sizeof(total));

			if (rc)
				return rc;
			acked = total;
		}
		if (n < 0 && !patience_left(&patience))
			return -ETIMEDOUT;
	}
	return 0;
}

static int ask(struct block *block, uint64_t *asked)
{
	uint64_t word = *asked % block->bench->window;

	(*asked)++;
	return put(block, &word, sizeof(word));
}

int raw_request_run(struct block *block)
{
	uint64_t since = now_ns(), asked = block->serial, first = block->serial;
	unsigned window = block->bench->window;
	bool over = false;
	int rc = 0;

	do {
		while (!rc && !over && asked - block->serial < window)
			rc = ask(block, &asked);
		if (!rc)
			rc = get_answer(block, block->inbox + block_slot(block, block->serial++), block->bench->size);
		if (rc)
			return rc;
		over = now_ns() - since >= block->length_ns && asked - first >= window;
	} while (!over || block->serial < asked);
	block_count(block, block->serial - first, since);
	return 0;
}

static int answer(struct block *block, uint64_t slot)
{
	if (slot >= block->bench->window)
		return -EBADMSG;
	return put(block, block->outbox + block_slot(block, slot), block->bench->size);
}

int raw_request_serve(struct block *block)
{
	uint64_t slot;
	int rc;

	while ((rc = get(block, &slot, sizeof(slot))) == 1) {
		rc = answer(block, slot);
		if (rc)
			return rc;
	}
	return rc;
}

/* Sleeps until the word has come. */
static int sleep_for(struct block *block, uint64_t *word)
{
	ssize_t n = recv(block->cand->raw->fd, word, sizeof(*word), MSG_WAITALL);

	if (n != (ssize_t)sizeof(*word))
		return n < 0 ? -errno : -ECONNRESET;
	return 0;
}

int raw_blocking_run(struct block *block)
{
	bool each = block->bench->proof == PROOF_EACH;
	uint64_t since = now_ns(), ops = 0, back;

	do {
		uint64_t word = pattern_word(block->seed, each ? block->serial++ : 0);
		int rc = put(block, &word, sizeof(word));

		if (!rc)
			rc = sleep_for(block, &back);
		if (rc)
			return rc;
		if (back != word)
			return -EBADMSG;
		ops++;
	} while (now_ns() - since < block->length_ns);
	block_count(block, ops, since);
	memcpy(block->inbox, &back, sizeof(back));
	return 0;
}

int raw_blocking_serve(struct block *block)
{
	uint64_t word;
	int rc;

	while (!(rc = sleep_for(block, &word)) && word != BLOCK_OVER)
		if ((rc = put(block, &word, sizeof(word))))
			break;
	return rc;
}

int raw_blocking_end(struct block *block)
{
	uint64_t word = BLOCK_OVER;

	return put(block, &word, sizeof(word));
}
