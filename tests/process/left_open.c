/* SPDX-License-Identifier: BSD-2-Clause */
/* left_open.c - a program that ends, forks or becomes another with everything still open: left_open
 * idle|flight|exit-thread|busy|fork|exec. By exec it becomes left_open after-exec COUNT, which must find COUNT descriptors.
 * Run by exits.c. Exit status 0 where all went as it should; what did not is on stderr. */
#include "tests/rules/harness/region.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEN = 8 << 20, FLIGHT = 8 };

static struct peer me;
static fi_addr_t myself;
static struct region region;
static struct op ops[FLIGHT], recv_op;

static void open_all(void)
{
	static const struct peer_want want = { .wait = FI_WAIT_FD, .counters = true };
	static const struct region_want all = {
		.len = { LEN }, .access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE
	};
	uint8_t name[PEER_ADDR_MAX];

	peer_open(&me, &want);
	peer_name(&me, name);
	myself = peer_insert(&me, name);
	region_open(&region, &me, &all, 1);
	CHECK_RC(0, peer_recv(&me, region.iov[0].iov_base, 64, fi_mr_desc(region.mr), &recv_op));
}

/* A write from the region's first half to its second. */
static void write_self(struct op *op)
{
	struct iovec iov = { region.iov[0].iov_base, LEN / 2 };
	void *desc = fi_mr_desc(region.mr);
	struct fi_rma_iov rma = { .addr = region_base(&region, &me, 0) + LEN / 2, .len = LEN / 2, .key = fi_mr_key(region.mr) };
	struct fi_msg_rma msg = {
		.msg_iov = &iov, .desc = &desc, .iov_count = 1, .addr = myself, .rma_iov = &rma, .rma_iov_count = 1
	};

	CHECK_RC(0, peer_rma(&me, RMA_WRITE, &msg, 0, op));
}

static void check_alive(void)
{
	struct op op;

	write_self(&op);
	peer_wait(&me, &op);
	CHECK(!op.err, "a write to oneself failed: %s", me.text);
}

static void *end_program(void *arg)
{
	(void)arg;
	exit(0);
}

static atomic_int rounds;

/* What a right program goes on after. Else the process ends here, as CHECK() would call exit() once more. */
static ssize_t must_go_on(const char *call, ssize_t rc)
{
	if (rc >= 0 || rc == -FI_EAGAIN)
		return rc;
	fprintf(stderr, "%s = %zd (%s) while another thread calls exit()\n", call, rc, fi_strerror((int)-rc));
	_exit(3);
}

/* Never ends by itself; from some moment on the calls do nothing, since the provider has been cleaned up. */
static void *write_on(void *arg)
{
	static struct op op;
	struct fi_cq_tagged_entry entry;

	(void)arg;
	for (;;) {
		if (must_go_on("fi_write", fi_write(me.ep, region.iov[0].iov_base, 64, fi_mr_desc(region.mr), myself,
						    region_base(&region, &me, 0) + 64, fi_mr_key(region.mr), &op)) < 0)
			sched_yield();
		if (must_go_on("fi_cq_read", fi_cq_read(me.cq, &entry, 1)) == 1)
			atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

static void *sleep_on(void *arg)
{
	struct fi_cq_tagged_entry entry;

	(void)arg;
	for (;;)
		if (must_go_on("fi_cq_sread", fi_cq_sread(me.cq, &entry, 1, NULL, 1)) == 1)
			atomic_fetch_add(&rounds, 1);
	return NULL;
}

/* No count comes that it waits for. */
static void *count_on(void *arg)
{
	(void)arg;
	for (;;)
		if (fi_cntr_wait(me.rx_cntr, UINT64_MAX, 1) != -FI_ETIMEDOUT)
			must_go_on("fi_cntr_wait", -FI_EOTHER);
	return NULL;
}

static void start_busy_threads(void)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, write_on, NULL), "no thread");
	CHECK(!pthread_create(&thread, NULL, sleep_on, NULL), "no thread");
	CHECK(!pthread_create(&thread, NULL, count_on, NULL), "no thread");
	while (atomic_load(&rounds) < 100)
		sched_yield();
}

/* In the child nothing of the parent's NIC may work, crash, or hang; then it ends like any program. */
static void child_of_fork(void)
{
	static const struct region_want small = { .len = { 64 }, .access = FI_REMOTE_READ };
	struct fi_cq_tagged_entry entry;
	struct region mine;
	struct fid_mr *old = region.mr;
	ssize_t rc;

	rc = fi_write(me.ep, region.iov[0].iov_base, 8, fi_mr_desc(old), myself, region_base(&region, &me, 0), fi_mr_key(old),
		      &ops[0]);
	CHECK(rc < 0, "a write in the child returned %zd", rc);
	rc = fi_recv(me.ep, region.iov[0].iov_base, 8, fi_mr_desc(old), FI_ADDR_UNSPEC, &ops[1]);
	CHECK(rc < 0, "a receive in the child returned %zd", rc);
	rc = fi_cq_read(me.cq, &entry, 1);
	CHECK(rc < 0, "reading the queue in the child returned %zd", rc);
	rc = fi_cq_sread(me.cq, &entry, 1, NULL, 10);
	CHECK(rc < 0, "waiting on the queue in the child returned %zd", rc);
	region_map(&mine, &small, 1);
	rc = region_reg(&mine, &me, &small);
	CHECK(rc < 0, "registering in the child returned %zd", rc);
	fi_close(&old->fid);
	fi_close(&me.ep->fid);
	exit(0);
}

static void run_fork(void)
{
	pid_t child;
	int status;

	check_alive();
	fflush(NULL);
	child = fork();
	CHECK(child >= 0, "no fork");
	if (!child)
		child_of_fork();
	check_alive();
	CHECK(waitpid(child, &status, 0) == child, "no child");
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status), "the child ended with wait status 0x%x", (unsigned int)status);
	check_alive();
}

static int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	CHECK(dir, "no /proc/self/fd");
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

/* The program that replaces this one finds nothing of the NIC's, and may have one of its own. */
static void run_exec(int before)
{
	char count[16];

	check_alive();
	snprintf(count, sizeof(count), "%d", before);
	execl("/proc/self/exe", "left_open", "after-exec", count, NULL);
	CHECK(0, "no exec");
}

static void see_own(bool good, int before)
{
	CHECK(good, "%d descriptors are open after exec", before);
	check_alive();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int before = descriptors();
	pthread_t thread;
	size_t i;

	alarm(2 * CHECK_GUARD_MS / 1000);
	open_all();
	if (!strcmp(what, "flight"))
		for (i = 0; i < FLIGHT; i++)
			write_self(&ops[i]);
	else if (!strcmp(what, "exit-thread"))
		CHECK(!pthread_create(&thread, NULL, end_program, NULL) && !pthread_join(thread, NULL), "no thread");
	else if (!strcmp(what, "busy"))
		start_busy_threads();
	else if (!strcmp(what, "fork"))
		run_fork();
	else if (!strcmp(what, "exec"))
		run_exec(before);
	else if (!strcmp(what, "after-exec"))
		see_own(argc > 2 && before == atoi(argv[2]), before);
	else
		CHECK(!strcmp(what, "idle"), "usage: left_open idle|flight|exit-thread|busy|fork|exec");
	return 0;
}
