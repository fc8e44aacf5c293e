/* SPDX-License-Identifier: BSD-2-Clause */
/* firewall.c - a process behind a firewall (FI_FIREWALL_ADDR) that only waits: after a cut it connects again by itself, as the
 * process outside cannot dial. */
#include <criterion/criterion.h>

#include "emu/fi/provider/fi_compat.h"
#include "tests/rules/harness/harness.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { WORD = 8, CUTS = 3 };

static void step_connect(const void *arg, void *reply)
{
	struct op op;

	(void)reply;
	CHECK_RC(0, peer_send(&target_peer, target_tester, arg, WORD, NULL, &op));
	peer_wait(&target_peer, &op);
	CHECK(!op.err, "the first message: %s", target_peer.text);
}

/* Waits for one message, and sends nothing. */
static void step_wait(const void *arg, void *reply)
{
	struct op op;

	(void)arg;
	CHECK_RC(0, peer_recv(&target_peer, reply, WORD, NULL, &op));
	peer_wait(&target_peer, &op);
	CHECK(!op.err && op.len == WORD, "the message: %s", target_peer.text);
}

/* Shuts all TCP connections of this process down. */
static int cut(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int cuts = 0;

	CHECK(dir, "no /proc/self/fd");
	while ((entry = readdir(dir))) {
		struct sockaddr_storage at;
		socklen_t length = sizeof(at);
		int fd = atoi(entry->d_name);

		if (fd > 2 && !getpeername(fd, (struct sockaddr *)&at, &length) && at.ss_family != AF_UNIX)
			cuts += !shutdown(fd, SHUT_RDWR);
	}
	closedir(dir);
	return cuts;
}

static void wall(struct peer *peer, fi_addr_t known)
{
	uint8_t name[PEER_ADDR_MAX];
	size_t length = sizeof(name);
	fi_addr_t addr;

	CHECK(fi_av_lookup(peer->av, known, name, &length) == 0, "the target's address");
	CHECK_RC(1, fi_av_insert(peer->av, name, 1, &addr, COMPAT_FIREWALL_ADDR, NULL));
	CHECK(addr == known, "another index");
}

Test(process_firewall, a_peer_that_waits_connects_again)
{
	static const struct peer_want plain = { .caps = FI_MSG };
	char first[WORD] = "inside", word[WORD] = "outside", heard[WORD];
	struct target target;
	struct peer peer;
	struct op op;
	fi_addr_t to;

	if (!peer_is_emu())
		cr_skip_test("FI_FIREWALL_ADDR is tested with emu");
	setenv("FI_EMU_LOCAL", "tcp", 1);
	target_start(&target);
	peer_open(&peer, &plain);
	to = target_open(&target, &plain, &peer);
	wall(&peer, to);
	CHECK_RC(0, peer_recv(&peer, heard, WORD, NULL, &op));
	target_do(&target, step_connect, first, WORD, NULL, 0);
	peer_wait(&peer, &op);
	CHECK(!op.err && !memcmp(heard, first, WORD), "the first message: %s", peer.text);
	for (int i = 0; i < CUTS; i++) {
		CHECK(cut() > 0, "nothing was connected");
		target_begin(&target, step_wait, NULL, 0, WORD);
		word[WORD - 1] = (char)i;
		CHECK_RC(0, peer_send(&peer, to, word, WORD, NULL, &op));
		peer_wait(&peer, &op);
		CHECK(!op.err, "after cut %d: %s", i, peer.text);
		target_end(&target, heard, WORD);
		CHECK(!memcmp(heard, word, WORD), "after cut %d: another message came", i);
	}
	target_close(&target);
	peer_close(&peer);
	target_stop(&target);
}
