/* SPDX-License-Identifier: BSD-2-Clause */
/* ctl.c - the clients of the control socket: one request a line, one answer at a time, in pieces.
 *
 * All memory is static, so that a client can cost the program no more than CTL_CLIENTS places. A place whose handle is still being
 * closed is taken. Descriptors are noted so that a fork's child finds them: a number is forgotten before it is closed. */
#include "emu/net/ctl/ctl.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "emu/nic/base/cancel.h"

enum { ACCEPT_PAUSE_MS = 100, PIECES = 4 /* at most, before the loop serves its other handles */ };

struct client {
	uv_poll_t poll;
	bool taken;    /* until its handle is closed */
	atomic_int fd; /* -1: it is being closed */
	uint64_t used; /* grows with each request and each piece that has left */
	struct ctl_answer *answer;
	bool waits; /* the answer, for ctl_wake() */
	size_t in_length, out_length, out_sent;
	char in[CTL_REQUEST], out[CTL_PIECE];
};

static struct {
	const struct ctl_ops *ops;
	atomic_int fd;
	bool open;
	char path[CTL_PATH];
	uv_loop_t *loop;
	uv_poll_t poll;
	uv_timer_t pause; /* runs only while there is no descriptor for a client */
	uv_async_t async;
	uint64_t uses;
	atomic_uint waiting; /* answers */
	struct client clients[CTL_CLIENTS];
} ctl = { .fd = -1 };

static void close_noted(atomic_int *noted)
{
	int fd = atomic_exchange(noted, -1);

	if (fd >= 0)
		close(fd);
}

static void client_answered(struct client *client)
{
	if (client->waits)
		atomic_fetch_sub(&ctl.waiting, 1);
	client->waits = false;
	if (client->answer)
		ctl.ops->end(client->answer);
	client->answer = NULL;
}

static void on_client_closed(uv_handle_t *handle)
{
	struct client *client = handle->data;

	client->taken = false;
}

static void client_drop(struct client *client)
{
	if (atomic_load(&client->fd) < 0)
		return;
	client_answered(client);
	uv_close((uv_handle_t *)&client->poll, on_client_closed);
	close_noted(&client->fd);
}

static void on_client(uv_poll_t *poll, int status, int events);

static void client_watch(struct client *client, int events)
{
	if (uv_poll_start(&client->poll, events, on_client))
		client_drop(client);
}

/* False: the rest has to wait. */
static bool client_send(struct client *client)
{
	while (client->out_sent < client->out_length) {
		ssize_t sent = send(atomic_load(&client->fd), client->out + client->out_sent, client->out_length - client->out_sent,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0) {
			if (errno == EAGAIN)
				client_watch(client, UV_WRITABLE);
			else
				client_drop(client);
			return false;
		}
		client->out_sent += (size_t)sent;
		client->used = ++ctl.uses;
	}
	client->out_sent = client->out_length = 0;
	return true;
}

/* Begins the answer to the next request, if a whole one is here. False: it is not, or the client is gone. */
static bool client_ask(struct client *client)
{
	char *end = memchr(client->in, '\n', client->in_length);
	size_t length = end ? (size_t)(end - client->in) : 0;

	if (!end) {
		static const char too_long[] = "{\"type\":\"error\",\"text\":\"the request is too long\"}\n";

		if (client->in_length < sizeof(client->in)) {
			client_watch(client, UV_READABLE);
			return false;
		}
		(void)!send(atomic_load(&client->fd), too_long, sizeof(too_long) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		client_drop(client);
		return false;
	}
	client->used = ++ctl.uses;
	client->answer = ctl.ops->begin(client->in, length);
	client->in_length -= length + 1;
	memmove(client->in, end + 1, client->in_length);
	if (!client->answer)
		client_drop(client);
	return client->answer;
}

/* From now on ctl_wake() wakes it. False: before, it may have passed it by, and what is told may be there by now. */
static bool client_waits(struct client *client)
{
	bool waited = client->waits;

	if (!waited)
		atomic_fetch_add(&ctl.waiting, 1);
	client->waits = true;
	return waited;
}

/* Goes on with the answer, and with the requests behind it. */
static void client_go_on(struct client *client)
{
	for (int i = 0; i < PIECES; i++) {
		enum ctl_next next;

		if (!client_send(client) || (!client->answer && !client_ask(client)))
			return;
		next = ctl.ops->more(client->answer, client->out, &client->out_length);
		assert(client->out_length <= sizeof(client->out));
		if (next == CTL_END)
			client_answered(client);
		if (next == CTL_WAIT && !client->out_length && client_waits(client)) {
			client_watch(client, UV_READABLE);
			return;
		}
	}
	client_watch(client, UV_WRITABLE);
}

static void client_receive(struct client *client)
{
	size_t room = sizeof(client->in) - client->in_length;
	ssize_t got = recv(atomic_load(&client->fd), client->in + client->in_length, room, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || client->answer) { /* gone; or it speaks while it is answered, which ends an answer that waits */
		client_drop(client);
		return;
	}
	client->in_length += (size_t)got;
	client_go_on(client);
}

static void on_client(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;

	if (status < 0)
		client_drop(client);
	else if (events & UV_READABLE)
		client_receive(client);
	else
		client_go_on(client);
}

/* Root may look into each process; others have no way to the file. */
static bool is_allowed(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) && (peer.uid == geteuid() || peer.uid == 0);
}

/* NULL: all are taken. */
static struct client *place_free(void)
{
	for (int i = 0; i < CTL_CLIENTS; i++)
		if (!ctl.clients[i].taken)
			return &ctl.clients[i];
	return NULL;
}

/* Clients that wait for what is to come go last. False: there is no client. */
static bool drop_oldest(void)
{
	struct client *oldest = NULL;

	for (int i = 0; i < CTL_CLIENTS; i++) {
		struct client *client = &ctl.clients[i];

		if (client->taken && atomic_load(&client->fd) >= 0 &&
		    (!oldest || (oldest->waits != client->waits ? oldest->waits : client->used < oldest->used)))
			oldest = client;
	}
	if (oldest)
		client_drop(oldest);
	return oldest;
}

static void client_new(struct client *client, int fd)
{
	if (uv_poll_init(ctl.loop, &client->poll, fd)) {
		close(fd);
		return;
	}
	client->poll.data = client;
	client->taken = true;
	atomic_store(&client->fd, fd);
	client->used = ++ctl.uses;
	client->in_length = client->out_length = client->out_sent = 0;
	client_watch(client, UV_READABLE);
}

static void on_listener(uv_poll_t *poll, int status, int events);

static void on_pause(uv_timer_t *timer)
{
	(void)timer;
	uv_poll_start(&ctl.poll, UV_READABLE, on_listener);
}

/* A place that was given up is free when the loop comes here again. */
static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct client *client = place_free();
	int fd;

	(void)status;
	(void)events;
	if (!client) {
		drop_oldest();
		return;
	}
	fd = accept4(atomic_load(&ctl.fd), NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		if ((errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) && !drop_oldest()) {
			uv_poll_stop(poll);
			uv_timer_start(&ctl.pause, on_pause, ACCEPT_PAUSE_MS, 0);
		}
		return;
	}
	if (is_allowed(fd))
		client_new(client, fd);
	else
		close(fd);
}

static void on_wake(uv_async_t *async)
{
	(void)async;
	for (int i = 0; i < CTL_CLIENTS; i++)
		if (ctl.clients[i].taken && ctl.clients[i].waits)
			client_go_on(&ctl.clients[i]);
}

int ctl_open(const struct ctl_config *config, uv_loop_t *loop, const char **why)
{
	int fd = ctl_place_open(config->folder, ctl.path, why), err;

	if (fd < 0)
		return fd;
	*why = "its loop has no room";
	ctl.ops = config->ops;
	ctl.loop = loop;
	atomic_store(&ctl.waiting, 0);
	memset(&ctl.poll, 0, sizeof(ctl.poll)); /* a fork's child may find its parent's here, and in the clients */
	memset(&ctl.async, 0, sizeof(ctl.async));
	for (int i = 0; i < CTL_CLIENTS; i++) {
		ctl.clients[i].taken = ctl.clients[i].waits = false;
		ctl.clients[i].answer = NULL;
		atomic_store(&ctl.clients[i].fd, -1);
	}
	uv_timer_init(loop, &ctl.pause);
	err = uv_async_init(loop, &ctl.async, on_wake);
	err = err ? err : uv_poll_init(loop, &ctl.poll, fd);
	err = err ? err : uv_poll_start(&ctl.poll, UV_READABLE, on_listener);
	atomic_store(&ctl.fd, fd);
	ctl.open = true;
	if (err)
		ctl_close();
	return err;
}

/* Only a handle that was opened has a loop. */
static void close_opened(uv_handle_t *handle)
{
	if (handle->loop)
		uv_close(handle, NULL);
}

void ctl_close(void)
{
	if (!ctl.open)
		return;
	ctl.open = false;
	unlink(ctl.path);
	for (int i = 0; i < CTL_CLIENTS; i++)
		client_drop(&ctl.clients[i]);
	close_opened((uv_handle_t *)&ctl.pause);
	close_opened((uv_handle_t *)&ctl.async);
	close_opened((uv_handle_t *)&ctl.poll);
	close_noted(&ctl.fd);
}

void ctl_forget(void)
{
	ctl.open = false;
	close_noted(&ctl.fd);
	for (int i = 0; i < CTL_CLIENTS; i++)
		close_noted(&ctl.clients[i].fd);
	atomic_store(&ctl.waiting, 0);
}

void ctl_wake(void)
{
	int state;

	if (!atomic_load(&ctl.waiting))
		return;
	state = cancel_off();
	uv_async_send(&ctl.async);
	cancel_back(state);
}
