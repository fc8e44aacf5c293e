/* SPDX-License-Identifier: BSD-2-Clause */
/* closed.c - a program that closes all, opens all anew, and closes it again; then no thread but its own is left, and it ends when
 * its last thread does: closed main|thread|passive|cond|events. Its main thread ends by pthread_exit() after all was closed, or
 * (thread) before another one opens anything. closed handler: a signal's handler calls exit() while the last fi_close waits for
 * the provider's threads. Run by exits.c. Exit status 0 where all went as it should; what did not is on stderr. */
#include "tests/rules/harness/region.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEN = 4096 };

static struct peer_want want = { .wait = FI_WAIT_UNSPEC, .counters = true };

static bool joins_end_program; /* the handler's, from now on */

/* In the place of the C library's, for the provider, too. */
__attribute__((visibility("default"))) int pthread_join(pthread_t thread, void **result)
{
	int (*join)(pthread_t thread, void **result);

	*(void **)&join = dlsym(RTLD_NEXT, "pthread_join");
	if (joins_end_program)
		raise(SIGTERM);
	return join(thread, result);
}

static void end_program(int number)
{
	(void)number;
	exit(0);
}

static void close_with_handler(void)
{
	struct peer peer;

	signal(SIGTERM, end_program);
	peer_open(&peer, &want);
	joins_end_program = true;
	peer_close(&peer);
	CHECK(0, "no thread was waited for");
}

/* Threads of this process. One that was joined may be counted for a moment. */
static int threads(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	CHECK(dir, "no /proc/self/task");
	while ((entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	closedir(dir);
	return count;
}

static void wait_for_threads(int count)
{
	struct deadline guard = deadline_start();

	while (threads() != count) {
		CHECK(check_now_ms() < guard.end_ms, "%d threads are left", threads());
		sched_yield();
	}
}

static void use(struct peer *peer)
{
	static const struct region_want all = { .len = { LEN }, .access = FI_SEND | FI_RECV };
	uint8_t name[PEER_ADDR_MAX];
	struct op sent, received;
	struct region region;
	fi_addr_t myself;
	char *bytes;

	peer_name(peer, name);
	myself = peer_insert(peer, name);
	region_open(&region, peer, &all, 1);
	bytes = region.iov[0].iov_base;
	CHECK_RC(0, peer_recv(peer, bytes + LEN / 2, LEN / 2, fi_mr_desc(region.mr), &received));
	CHECK_RC(0, peer_send(peer, myself, bytes, LEN / 2, fi_mr_desc(region.mr), &sent));
	peer_wait(peer, &received);
	peer_wait(peer, &sent);
	CHECK(!sent.err && !received.err, "a message to oneself failed: %s", peer->text);
	region_close(&region);
}

static void *open_and_close(void *arg)
{
	struct peer peer;

	for (int i = 0; i < 2; i++) {
		peer_open(&peer, &want);
		use(&peer);
		peer_close(&peer);
	}
	return arg;
}

/* A passive endpoint without a domain. */
static void listen_and_close(void)
{
	struct peer_want passive = { .type = FI_EP_MSG };
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_fabric *fabric;
	struct fi_info *info;
	struct fid_pep *pep;
	struct fid_eq *eq;

	CHECK_RC(0, peer_getinfo(&passive, &info));
	CHECK_RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	CHECK_RC(0, fi_eq_open(fabric, &attr, &eq, NULL));
	CHECK_RC(0, fi_passive_ep(fabric, info, &pep, NULL));
	CHECK_RC(0, fi_pep_bind(pep, &eq->fid, 0));
	CHECK_RC(0, fi_listen(pep));
	CHECK(threads() > 1, "nobody listens while the program sleeps");
	CHECK_RC(0, fi_close(&pep->fid));
	CHECK_RC(0, fi_close(&eq->fid));
	CHECK_RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
}

/* A queue whose wake-ups have a thread, without a NIC. */
static void open_and_close_queue(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_MUTEX_COND };
	struct fid_fabric *fabric;
	struct fi_info *info;
	struct fid_eq *eq;

	CHECK_RC(0, peer_getinfo(&want, &info));
	CHECK_RC(0, fi_fabric(info->fabric_attr, &fabric, NULL));
	CHECK_RC(0, fi_eq_open(fabric, &attr, &eq, NULL));
	CHECK_RC(0, fi_close(&eq->fid));
	CHECK_RC(0, fi_close(&fabric->fid));
	fi_freeinfo(info);
}

/* Once the first thread has ended, /proc/self tells nothing of the process's memory, and has no `exe`. */
static void *open_when_alone(void *arg)
{
	char byte;

	while (readlink("/proc/self/exe", &byte, 1) >= 0)
		sched_yield();
	want.mr_mode = FI_MR_MMU_NOTIFY; /* the device asks the kernel about pages */
	return open_and_close(arg);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t thread;
	int before = threads(); /* a sanitizer may have its own */

	alarm(2 * CHECK_GUARD_MS / 1000);
	if (!strcmp(what, "thread")) {
		CHECK(!pthread_create(&thread, NULL, open_when_alone, NULL), "no thread");
		pthread_exit(NULL);
	}
	if (!strcmp(what, "handler"))
		close_with_handler();
	if (!strcmp(what, "cond"))
		want.wait = FI_WAIT_MUTEX_COND;
	if (!strcmp(what, "passive"))
		listen_and_close();
	else if (!strcmp(what, "events"))
		open_and_close_queue();
	else
		open_and_close(NULL);
	wait_for_threads(before);
	pthread_exit(NULL);
}
