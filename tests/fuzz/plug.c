/* SPDX-License-Identifier: BSD-2-Clause */
/* plug.c - the link of a NIC in a fuzz target. */
#include "tests/fuzz/plug.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "tests/sim/harness/plain_front.h"

enum { ROUNDS = 4096, IDLE_ROUNDS = 2, TURN_NS = 1000 };

static uint64_t now(void *arg)
{
	return ((const struct plug *)arg)->now_ns;
}

static struct line *line_take(struct plug *plug)
{
	for (int i = 0; i < PLUG_LINES; i++) {
		struct line *line = &plug->line[plug->turn++ % PLUG_LINES];

		if (line->used)
			continue;
		line->plug = plug;
		line->conn = NULL;
		line->used = true;
		line->dialled = line->rx_paused = line->wants = line->ended = false;
		line->left = line->piece = line->said = 0;
		line->note = 0;
		return line;
	}
	return NULL;
}

static int link_dial(void *arg, const struct sockaddr_storage *to, struct conn *conn, struct line **out)
{
	struct line *line = line_take(arg);

	(void)to;
	if (!line)
		return -EMFILE;
	line->dialled = true;
	line->conn = conn;
	*out = line;
	return 0;
}

static ssize_t link_send(struct line *line, const struct iovec *iov, int count)
{
	size_t before = line->said;

	for (int i = 0; i < count; i++) {
		size_t room = sizeof(line->out) - line->said, n = iov[i].iov_len < room ? iov[i].iov_len : room;

		memcpy(line->out + line->said, iov[i].iov_base, n);
		line->said += n;
	}
	return line->said > before ? (ssize_t)(line->said - before) : -EAGAIN;
}

static size_t link_at_once(const struct line *line)
{
	(void)line;
	return LIMIT_DIGESTED;
}

static ssize_t link_recv(struct line *line, const struct iovec *iov, int count)
{
	size_t most = line->piece && line->piece < line->left ? line->piece : line->left, got = 0;

	if (!line->left)
		return line->ended ? 0 : -EAGAIN;
	for (int i = 0; i < count && got < most; i++) {
		size_t n = iov[i].iov_len < most - got ? iov[i].iov_len : most - got;

		memcpy(iov[i].iov_base, line->in + got, n);
		got += n;
	}
	line->in += got;
	line->left -= got;
	return (ssize_t)got;
}

static void link_want_write(struct line *line)
{
	line->wants = true;
}

static void link_set_readable(struct line *line, bool on)
{
	line->rx_paused = !on;
}

/* The peer polls for about half of the numbers. */
static bool link_store_ack(struct line *line, uint64_t number)
{
	bool polls = (line->said + number) % 2;

	if (polls)
		line->note = number;
	return polls;
}

static bool link_stored_ack(struct line *line, uint64_t *number)
{
	(void)line;
	(void)number;
	return false;
}

static void link_note_executed(struct line *line, uint64_t number)
{
	(void)line;
	(void)number;
}

/* Half of the lines have a peer that says anything. */
static uint64_t link_peer_executed(const struct line *line)
{
	return line->said % 2 ? line->said : 0;
}

static void link_set_polling(void *arg, bool on)
{
	(void)arg;
	(void)on;
}

static void link_close(struct line *line)
{
	line->used = false;
	line->conn = NULL;
	line->left = 0;
}

static int link_listen(void *arg, struct sockaddr_storage *at, struct ep *ep, void **listener)
{
	struct plug *plug = arg;

	((struct sockaddr_in *)at)->sin_port = htons(4000);
	plug->ep = ep;
	*listener = plug;
	return 0;
}

static void link_unlisten(void *arg, void *listener)
{
	(void)listener;
	((struct plug *)arg)->ep = NULL;
}

static bool line_serve(struct line *line)
{
	if (!line->used || !line->conn)
		return false;
	if (line->dialled) {
		conn_down(line->conn, ECONNREFUSED);
		return true;
	}
	if (line->wants && line->said < sizeof(line->out)) {
		line->wants = false;
		conn_writable(line->conn);
		return true;
	}
	if (line->rx_paused || !(line->left || line->ended))
		return false;
	conn_readable(line->conn);
	return true;
}

static int link_poll(void *arg)
{
	struct plug *plug = arg;
	int events = 0;

	for (int i = 0; i < PLUG_LINES; i++)
		events += line_serve(&plug->line[i]);
	return events;
}

static void link_random(void *arg, void *bytes, size_t length)
{
	struct plug *plug = arg;
	uint8_t *to = bytes;

	while (length--) {
		plug->random = plug->random * 6364136223846793005u + 1442695040888963407u;
		*to++ = (uint8_t)(plug->random >> 56);
	}
}

static void link_log(void *arg, int level, const char *text)
{
	(void)arg;
	if (getenv("FUZZ_LOG"))
		fprintf(stderr, "  log %d: %s\n", level, text);
}

static const struct link_ops ops = {
	.dial = link_dial,
	.send = link_send,
	.recv = link_recv,
	.at_once = link_at_once,
	.want_write = link_want_write,
	.set_readable = link_set_readable,
	.store_ack = link_store_ack,
	.stored_ack = link_stored_ack,
	.note_executed = link_note_executed,
	.peer_executed = link_peer_executed,
	.set_polling = link_set_polling,
	.close = link_close,
	.listen = link_listen,
	.unlisten = link_unlisten,
	.poll = link_poll,
	.random = link_random,
	.log = link_log,
};

static void flush_begin(void *arg, struct flush *flush)
{
	struct plug *plug = arg;

	flush->next = plug->flushes;
	plug->flushes = flush;
}

static const struct flush_ops flush_ops = { .begin = flush_begin };

void plug_open(struct plug *plug, const struct nic_config *config)
{
	struct nic_config own = *config;
	struct nic_clock clock = { .now_ns = now, .arg = plug };

	memset(plug, 0, sizeof(*plug));
	plug->now_ns = 1000000000;
	own.front = &plain_front;
	own.flush = &flush_ops;
	own.flush_arg = plug;
	FUZZ_CHECK(!nic_open(&plug->nic, &own, &ops, plug, &clock));
}

struct line *plug_dial(struct plug *plug)
{
	struct line *line = line_take(plug);

	FUZZ_CHECK(plug->ep && driver_enter(nic_driver(plug->nic)));
	if (line)
		line->conn = conn_accept(plug->ep, line);
	if (line && !line->conn)
		line->used = false;
	driver_leave(nic_driver(plug->nic));
	return line && line->conn ? line : NULL;
}

void plug_end(struct line *line)
{
	line->ended = true;
}

static bool flush_some(struct plug *plug)
{
	struct flush *flush = plug->flushes;

	if (!flush)
		return false;
	plug->flushes = flush->next;
	flush->result = 0;
	nic_flushed(plug->nic, flush);
	return true;
}

void plug_run(struct plug *plug)
{
	struct driver *driver = nic_driver(plug->nic);

	for (int i = 0, idle = 0; idle < IDLE_ROUNDS; i++) {
		FUZZ_CHECK(i < ROUNDS);
		plug->now_ns += TURN_NS;
		idle = driver_run(driver) || flush_some(plug) ? 0 : idle + 1;
	}
	FUZZ_CHECK(driver_enter(driver));
	nic_flush_acks(plug->nic);
	driver_leave(driver);
}
