/* SPDX-License-Identifier: BSD-2-Clause */
/* forked.c - a program whose forks' children, and theirs in turn, open NICs of their own: forked open|closed|busy|asking. The
 * parent has everything open at the fork, or has closed it, or has other threads in all kinds of calls, or, with `asking`, in
 * fi_getinfo() alone. Run by exits.c. Exit status 0 where all went as it should; what did not is on stderr. */
#include "tests/rules/harness/region.h"

#include <dirent.h>
#include <dlfcn.h>
#include <rdma/providers/fi_prov.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEN = 4096, GENERATIONS = 3, CHILDREN = 20, THREADS = 3, ASKING = 200 };

static bool busy;
static atomic_bool over;

struct own {
	struct peer peer;
	struct region region;
	fi_addr_t myself;
};

static void own_open(struct own *own)
{
	static const struct peer_want want = { .wait = FI_WAIT_FD, .counters = true };
	static const struct region_want all = {
		.len = { LEN }, .access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE
	};
	uint8_t name[PEER_ADDR_MAX];

	peer_open(&own->peer, &want);
	peer_name(&own->peer, name);
	own->myself = peer_insert(&own->peer, name);
	region_open(&own->region, &own->peer, &all, 1);
}

/* A write from the region's first half to its second. */
static void own_use(struct own *own)
{
	struct iovec iov = { own->region.iov[0].iov_base, LEN / 2 };
	void *desc = fi_mr_desc(own->region.mr);
	struct fi_rma_iov rma = {
		.addr = region_base(&own->region, &own->peer, 0) + LEN / 2,
		.len = LEN / 2,
		.key = fi_mr_key(own->region.mr),
	};
	struct fi_msg_rma msg = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.addr = own->myself,
		.rma_iov = &rma,
		.rma_iov_count = 1,
	};
	struct op op;

	memset(iov.iov_base, (int)getpid() & 0xff, LEN / 2);
	CHECK_RC(0, peer_rma(&own->peer, RMA_WRITE, &msg, FI_DELIVERY_COMPLETE, &op));
	peer_wait(&own->peer, &op);
	CHECK(!op.err, "a write to oneself failed: %s", own->peer.text);
	CHECK(!memcmp(iov.iov_base, (char *)iov.iov_base + LEN / 2, LEN / 2), "other bytes arrived");
}

static void own_close(struct own *own)
{
	region_close(&own->region);
	peer_close(&own->peer);
}

/* The objects that the parent has opened. */
static void check_dead(struct own *own)
{
	struct fi_cq_tagged_entry entry;
	struct fid_mr *mr;
	char byte;

	CHECK_RC(-FI_ENODEV, fi_recv(own->peer.ep, &byte, 1, NULL, FI_ADDR_UNSPEC, NULL));
	CHECK_RC(-FI_ENODEV, fi_cq_read(own->peer.cq, &entry, 1));
	CHECK_RC(-FI_ENODEV, fi_mr_reg(own->peer.domain, &byte, 1, FI_SEND, 0, 1, 0, &mr, NULL));
}

static void fork_one(struct own *inherited, int generations);

/* In a child. Dead is what it inherits before it has a NIC, and while it has one. */
static void live(struct own *inherited, int generations)
{
	struct own own;

	if (inherited)
		check_dead(inherited);
	own_open(&own);
	own_use(&own);
	if (inherited)
		check_dead(inherited);
	if (generations > 1)
		fork_one(&own, generations - 1);
	if (inherited && !busy) /* an object that another thread was opening stands for good */
		own_close(inherited);
	own_use(&own);
	own_close(&own);
}

#if defined(__SANITIZE_ADDRESS__)
static bool others_sleep(void)
{
	DIR *tasks = opendir("/proc/self/task");
	char path[300], state;
	struct dirent *task;
	bool sleep = true;

	CHECK(tasks, "no /proc/self/task");
	while ((task = readdir(tasks))) {
		FILE *stat;

		snprintf(path, sizeof(path), "/proc/self/task/%s/stat", task->d_name);
		if (task->d_name[0] == '.' || atoi(task->d_name) == gettid() || !(stat = fopen(path, "r")))
			continue;
		sleep &= fscanf(stat, "%*d (%*[^)]) %c", &state) == 1 && state == 'S';
		fclose(stat);
	}
	closedir(tasks);
	return sleep;
}
#endif

/* A thread that has just begun may be inside of the address sanitizer's allocator, which stays locked in a fork's child then. */
static void let_threads_begin(void)
{
#if defined(__SANITIZE_ADDRESS__)
	struct deadline guard = deadline_start();

	while (!others_sleep())
		deadline_check(&guard, "the other threads to sleep");
#endif
}

static void fork_one(struct own *inherited, int generations)
{
	int status;
	pid_t child;

	if (!busy)
		let_threads_begin();
	fflush(NULL);
	child = fork();
	CHECK(child >= 0, "no fork");
	if (!child) {
		alarm(CHECK_GUARD_MS / 1000);
		live(inherited, generations);
		exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child, "no child");
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "a child ended with wait status 0x%x", (unsigned int)status);
}

/* Takes every lock of the device's, and of the lists of what is open, again and again. */
static void *call_on(void *arg)
{
	struct own *own = arg;
	struct fid_domain *domain;
	struct fid_mr *mr;

	while (!atomic_load(&over)) {
		struct fi_info *info = fi_dupinfo(own->peer.info), *got;

		CHECK_RC(0, fi_getinfo(fi_version(), NULL, NULL, 0, info, &got));
		CHECK_RC(0, fi_domain(own->peer.fabric, got, &domain, NULL));
		CHECK_RC(0, fi_mr_reg(domain, own->region.iov[0].iov_base, 64, FI_SEND, 0, 1, 0, &mr, NULL));
		(void)fi_cntr_read(own->peer.tx_cntr);
		CHECK_RC(0, fi_close(&mr->fid));
		CHECK_RC(0, fi_close(&domain->fid));
		fi_freeinfo(info);
		fi_freeinfo(got);
	}
	return NULL;
}

static void run_busy(struct own *own)
{
	pthread_t thread[THREADS];

	busy = true;
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, call_on, own), "no thread");
	for (int i = 0; i < CHILDREN; i++)
		fork_one(own, 1);
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

/* Of all that there is: with devices, for which the provider asks the loader each time. The provider itself is called, as
 * libfabric's fi_getinfo() has a lock, which a child may find held. */
static struct fi_provider *provider;

static void find_provider(void)
{
	struct fi_provider *(*entry)(void);
	struct fi_info *info;
	char path[4096];

	CHECK_RC(0, fi_getinfo(fi_version(), NULL, NULL, 0, NULL, &info));
	fi_freeinfo(info);
	snprintf(path, sizeof(path), "%s/libemu-fi.so", getenv("FI_PROVIDER_PATH"));
	*(void **)&entry = dlsym(dlopen(path, RTLD_NOW | RTLD_NOLOAD), "fi_prov_ini");
	CHECK(entry, "no provider at %s", path);
	provider = entry();
}

static void ask(void)
{
	struct fi_info *info;

	CHECK_RC(0, provider->getinfo(provider->fi_version, NULL, NULL, 0, NULL, &info));
	fi_freeinfo(info);
}

static void *ask_on(void *arg)
{
	while (!atomic_load(&over))
		ask();
	return arg;
}

static void run_asking(void)
{
	pthread_t thread[THREADS];
	int status;

	setenv("FI_PROVIDER", "emu", 1);
	find_provider();
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&thread[i], NULL, ask_on, NULL), "no thread");
	for (int i = 0; i < ASKING; i++) {
		pid_t child = fork();

		CHECK(child >= 0, "no fork");
		if (!child) {
			alarm(CHECK_GUARD_MS / 1000);
			ask();
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child, "no child");
		CHECK(!status, "child %d ended with wait status 0x%x", i, (unsigned int)status);
	}
	atomic_store(&over, true);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct own own;

	alarm(4 * CHECK_GUARD_MS / 1000);
	if (!strcmp(what, "asking")) {
		run_asking();
		return 0;
	}
	own_open(&own);
	own_use(&own);
	if (!strcmp(what, "closed")) {
		own_close(&own);
		for (int i = 0; i < GENERATIONS; i++)
			fork_one(NULL, GENERATIONS);
		return 0;
	}
	if (!strcmp(what, "busy")) {
		run_busy(&own);
	} else {
		CHECK(!strcmp(what, "open"), "usage: forked open|closed|busy|asking");
		fork_one(&own, GENERATIONS);
		own_use(&own);
		fork_one(&own, 1);
	}
	own_use(&own);
	own_close(&own);
	return 0;
}
