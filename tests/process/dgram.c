/* SPDX-License-Identifier: BSD-2-Clause */
/* dgram.c - unreliable datagrams between two processes: the MTU, drops, losses by the seed, peers that sleep, die, or talk
 * nonsense. */
#include <criterion/criterion.h>

#include "tests/rules/harness/harness.h"

#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MTU = 1388, SERIES = 200, MARKERS = 32, ALL = SERIES + MARKERS, TRIES = 50 };

static const struct peer_want want = { .type = FI_EP_DGRAM, .caps = FI_MSG };

struct two {
	struct target target;
	struct peer peer;
	fi_addr_t to;
};

static void two_open(struct two *two)
{
	target_start(&two->target);
	peer_open(&two->peer, &want);
	two->to = target_open(&two->target, &want, &two->peer);
}

static void two_close(struct two *two)
{
	target_close(&two->target);
	peer_close(&two->peer);
	target_stop(&two->target);
}

/* Sends, and waits until it has left. */
static void send_one(struct two *two, const void *bytes, size_t len)
{
	struct op op;

	CHECK_RC(0, peer_send(&two->peer, two->to, bytes, len, NULL, &op));
	peer_wait(&two->peer, &op);
	CHECK(!op.err, "a datagram of %zu B failed: err %d, %s", len, op.err, two->peer.text);
}

/* --- in the target --- */

static uint8_t arrived[2 * MTU];
static struct op recv_op;

static void step_post(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	memset(arrived, 0, sizeof(arrived));
	CHECK_RC(0, peer_recv(&target_peer, arrived, sizeof(arrived), NULL, &recv_op));
}

/* Answers how much has come. */
static void step_take(const void *arg, void *reply)
{
	(void)arg;
	peer_wait(&target_peer, &recv_op);
	CHECK(!recv_op.err, "a receive failed: %s", target_peer.text);
	*(uint64_t *)reply = recv_op.len;
}

static uint64_t take(struct two *two)
{
	uint64_t len;

	target_do(&two->target, step_take, NULL, 0, &len, sizeof(len));
	return len;
}

/* Calls nothing of libfabric. */
static void step_watch(const void *arg, void *reply)
{
	volatile const uint8_t *byte = arrived;
	struct deadline guard = deadline_start();

	(void)arg;
	(void)reply;
	while (!*byte)
		deadline_check(&guard, "a datagram for a program that computes");
}

static void step_poll(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	for (int i = 0; i < 100; i++)
		CHECK(!peer_progress(&target_peer), "something completed that was not posted");
}

static uint32_t numbers[ALL];
static struct op ops[ALL];
static bool came[ALL];

static void step_post_series(const void *arg, void *reply)
{
	(void)arg;
	(void)reply;
	for (int i = 0; i < ALL; i++)
		CHECK_RC(0, peer_recv(&target_peer, &numbers[i], sizeof(numbers[i]), NULL, &ops[i]));
}

/* Answers which of the series have come before the first marker. */
static void step_take_series(const void *arg, void *reply)
{
	struct deadline guard = deadline_start();
	bool marked = false;

	(void)arg;
	for (int i = 0; i < ALL && !marked; i++) {
		while (!ops[i].done) {
			peer_progress(&target_peer);
			deadline_check(&guard, "a datagram of the series, or a marker");
		}
		CHECK(!ops[i].err && numbers[i] < ALL && !came[numbers[i]], "datagram %u came, err %d", numbers[i], ops[i].err);
		came[numbers[i]] = true;
		marked = numbers[i] >= SERIES;
	}
	memcpy(reply, came, SERIES);
}

/* --- the tests --- */

Test(process, dgram_the_mtu_and_not_a_byte_more)
{
	uint8_t bytes[MTU + 1];
	struct two two;
	struct op op;

	two_open(&two);
	CHECK(two.peer.info->ep_attr->max_msg_size == MTU, "max_msg_size is %zu", two.peer.info->ep_attr->max_msg_size);
	pattern_fill(bytes, sizeof(bytes), 1);
	target_do(&two.target, step_post, NULL, 0, NULL, 0);
	CHECK_RC(-FI_EMSGSIZE, peer_send(&two.peer, two.to, bytes, MTU + 1, NULL, &op));
	send_one(&two, bytes, MTU);
	CHECK(take(&two) == MTU, "not the whole datagram");
	two_close(&two);
}

/* Losses are drawn by the sender: the kernel keeps the order of one processor's datagrams to one socket. */
static void series(const char *seed, bool got[SERIES])
{
	cpu_set_t set;
	struct two two;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	target_start(&two.target);
	setenv("FI_EMU_DGRAM_LOSS", "0.3", 1);
	setenv("FI_EMU_DGRAM_SEED", seed, 1);
	CHECK(!sched_setaffinity(0, sizeof(set), &set), "no processor to be bound to");
	peer_open(&two.peer, &want);
	two.to = target_open(&two.target, &want, &two.peer);
	target_do(&two.target, step_post_series, NULL, 0, NULL, 0);
	for (uint32_t i = 0; i < ALL; i++)
		send_one(&two, &i, sizeof(i));
	target_do(&two.target, step_take_series, NULL, 0, got, SERIES);
	two_close(&two);
}

/* One process has one NIC, which reads its settings once: a process for each series. */
static void series_apart(const char *seed, bool got[SERIES])
{
	int ends[2];
	pid_t pid;

	CHECK(!pipe(ends), "no pipe");
	pid = fork();
	CHECK(pid >= 0, "no process");
	if (pid == 0) {
		series(seed, got);
		_exit(write(ends[1], got, SERIES) == SERIES ? 0 : 1);
	}
	close(ends[1]);
	CHECK(read(ends[0], got, SERIES) == SERIES, "the series with seed %s came to nothing", seed);
	close(ends[0]);
}

Test(process, dgram_the_same_seed_loses_the_same)
{
	static bool first[SERIES], second[SERIES], other[SERIES];
	int lost = 0;

	series_apart("5", first);
	series_apart("5", second);
	series_apart("6", other);
	for (int i = 0; i < SERIES; i++)
		lost += !first[i];
	CHECK(!memcmp(first, second, SERIES), "the same seed has lost others");
	CHECK(memcmp(first, other, SERIES), "another seed has lost the same");
	CHECK(lost > SERIES / 10 && lost < SERIES / 2, "%d of %d lost at a rate of 0.3", lost, SERIES);
}

/* When a datagram arrives the sender cannot know: where the receive was posted in time after all, it is tried again. */
Test(process, dgram_a_target_without_receives_drops)
{
	struct deadline guard = deadline_start();
	struct two two;
	uint64_t len;

	two_open(&two);
	do {
		send_one(&two, "dropped", 7);
		target_do(&two.target, step_poll, NULL, 0, NULL, 0);
		target_do(&two.target, step_post, NULL, 0, NULL, 0);
		send_one(&two, "taken", 5);
		len = take(&two);
		deadline_check(&guard, "a datagram to be dropped");
	} while (len != 5);
	two_close(&two);
}

/* The target's program computes, and its receive is served. */
Test(process, dgram_a_target_that_calls_nothing_is_served)
{
	struct two two;

	two_open(&two);
	if (two.peer.info->domain_attr->data_progress != FI_PROGRESS_MANUAL) {
		target_do(&two.target, step_post, NULL, 0, NULL, 0);
		target_begin(&two.target, step_watch, NULL, 0, 0);
		send_one(&two, "hello", 5);
		target_end(&two.target, NULL, 0);
		CHECK(take(&two) == 5, "not the datagram");
	}
	two_close(&two);
}

/* No peer is there any more, and no call waits for one, also when the endpoint closes. */
Test(process, dgram_to_a_dead_peer)
{
	struct two two;

	two_open(&two);
	send_one(&two, "hello", 5);
	target_kill(&two.target);
	for (int i = 0; i < TRIES; i++)
		send_one(&two, "are you there?", 14);
	CHECK(peer_progress(&two.peer) == 0, "something came from a dead peer");
	peer_close(&two.peer);
}

static int stranger(const struct two *two, struct sockaddr_in *to)
{
	size_t length = sizeof(*to);
	uint8_t name[PEER_ADDR_MAX];
	int fd;

	CHECK_RC(0, fi_av_lookup(two->peer.av, two->to, name, &length));
	memcpy(to, name, sizeof(*to));
	if (to->sin_family != AF_INET)
		return -1;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	CHECK(fd >= 0, "no socket");
	return fd;
}

/* A foreign datagram changes nothing, and is not answered: so no endpoint can be used to flood another host. */
Test(process, dgram_strangers_get_no_answer)
{
	uint8_t bytes[3000], back[16];
	struct sockaddr_in to;
	struct two two;
	int fd;

	two_open(&two);
	fd = stranger(&two, &to);
	target_do(&two.target, step_post, NULL, 0, NULL, 0);
	for (size_t i = 0; fd >= 0 && i < 64; i++) {
		pattern_fill(bytes, sizeof(bytes), (uint32_t)i);
		if (i % 2)
			memcpy(bytes, "emudgrm\n\0\1", 10);
		CHECK(sendto(fd, bytes, i * 45, 0, (struct sockaddr *)&to, sizeof(to)) == (ssize_t)(i * 45), "sendto failed");
	}
	send_one(&two, "real", 4);
	CHECK(take(&two) == 4, "not the datagram that was meant");
	CHECK(fd < 0 || recv(fd, back, sizeof(back), MSG_DONTWAIT) < 0, "a stranger was answered");
	if (fd >= 0)
		close(fd);
	two_close(&two);
}
