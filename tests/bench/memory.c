/* SPDX-License-Identifier: BSD-2-Clause */
/* memory.c - what the provider takes of a process's memory: emu-memory [--test].
 *
 *   idle    a process with everything open that has talked to nobody, beyond one that has only asked libfabric for a
 *           provider that is not there
 *   peers   an endpoint that has sent a message to each of so many and has been answered by each, beyond the idle one
 *
 * All pages that are resident count (Rss of smaps_rollup), the provider's code among them. Prints a row for run.sh each; with
 * --test fewer peers, and `ok` or `not ok`. The peers live in a process of their own. */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

enum { PEERS = 1000, PEERS_TESTED = 200, IDLE_KIB_MAX = 2048, PEERS_KIB_MAX = 8192 };

static bool failed;

struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
};

struct name {
	struct sockaddr_storage addr;
	size_t length;
};

static void must(long long rc, const char *what)
{
	if (rc < 0)
		errx(1, "%s: %s", what, fi_strerror((int)-rc));
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	char line[256];
	long kib = -1;

	while (file && kib < 0 && fgets(line, sizeof(line), file))
		(void)sscanf(line, "Rss: %ld kB", &kib);
	if (kib < 0)
		err(1, "/proc/self/smaps_rollup");
	fclose(file);
	return kib;
}

static int get_info(const char *provider, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(provider);
	rc = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "0", FI_SOURCE, hints, info);
	fi_freeinfo(hints);
	return rc;
}

static void side_open(struct side *side)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED };

	must(get_info("emu", &side->info), "fi_getinfo");
	must(fi_fabric(side->info->fabric_attr, &side->fabric, NULL), "fi_fabric");
	must(fi_domain(side->fabric, side->info, &side->domain, NULL), "fi_domain");
	must(fi_av_open(side->domain, &av_attr, &side->av, NULL), "fi_av_open");
	must(fi_cq_open(side->domain, &cq_attr, &side->cq, NULL), "fi_cq_open");
}

static struct fid_ep *endpoint(struct side *side, struct name *name)
{
	struct fid_ep *ep;

	must(fi_endpoint(side->domain, side->info, &ep, NULL), "fi_endpoint");
	must(fi_ep_bind(ep, &side->av->fid, 0), "fi_ep_bind");
	must(fi_ep_bind(ep, &side->cq->fid, FI_TRANSMIT | FI_RECV), "fi_ep_bind");
	must(fi_enable(ep), "fi_enable");
	name->length = sizeof(name->addr);
	must(fi_getname(&ep->fid, &name->addr, &name->length), "fi_getname");
	return ep;
}

static fi_addr_t insert(struct side *side, const struct name *name)
{
	fi_addr_t addr;

	if (fi_av_insert(side->av, &name->addr, 1, &addr, 0, NULL) != 1)
		errx(1, "fi_av_insert");
	return addr;
}

/* Waits for the next completions of either kind. */
static void complete(struct side *side, int count)
{
	struct fi_cq_tagged_entry entry;

	while (count) {
		ssize_t got = fi_cq_read(side->cq, &entry, 1);

		if (got != -FI_EAGAIN)
			must(got, "fi_cq_read");
		count -= got == 1;
	}
}

static void put(int fd, const void *bytes, size_t length)
{
	if (write(fd, bytes, length) != (ssize_t)length)
		err(1, "pipe");
}

static void get(int fd, void *bytes, size_t length)
{
	if (read(fd, bytes, length) != (ssize_t)length)
		errx(1, "the other process has ended");
}

/* Each endpoint of this process sends one message to who asks, and takes one. */
static void be_peers(int from, int to, int count)
{
	static char bytes[64];
	struct name name, asker;
	struct side side;
	char end;

	side_open(&side);
	get(from, &asker, sizeof(asker));
	for (int i = 0; i < count; i++) {
		struct fid_ep *ep = endpoint(&side, &name);

		must(fi_recv(ep, bytes, sizeof(bytes), NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
		put(to, &name, sizeof(name));
		complete(&side, 1);
		must(fi_send(ep, bytes, sizeof(bytes), NULL, insert(&side, &asker), NULL), "fi_send");
		complete(&side, 1);
	}
	get(from, &end, 1);
	_exit(0);
}

/* Resident with nobody, and with all; -1: not asked. */
static void measure(int from, int to, int count, long kib[2])
{
	static char bytes[64];
	struct name name;
	struct fid_ep *ep;
	struct side side;

	side_open(&side);
	ep = endpoint(&side, &name);
	kib[0] = resident_kib();
	if (count)
		put(to, &name, sizeof(name));
	for (int i = 0; i < count; i++) {
		get(from, &name, sizeof(name));
		must(fi_recv(ep, bytes, sizeof(bytes), NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
		must(fi_send(ep, bytes, sizeof(bytes), NULL, insert(&side, &name), NULL), "fi_send");
		complete(&side, 2);
	}
	kib[1] = resident_kib();
	if (count)
		put(to, "", 1);
}

/* Runs `what` in a process that has not touched libfabric, and gives what it measured. */
static void apart(void (*what)(int count, long kib[2]), int count, long kib[2])
{
	int result[2], status;
	pid_t pid;

	if (pipe(result))
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		what(count, kib);
		put(result[1], kib, 2 * sizeof(*kib));
		_exit(0);
	}
	close(result[1]);
	get(result[0], kib, 2 * sizeof(*kib));
	close(result[0]);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a process failed");
}

static void libfabric_alone(int count, long kib[2])
{
	struct fi_info *info;

	(void)count;
	unsetenv("FI_PROVIDER_PATH");
	setenv("FI_PROVIDER", "none", 1);
	(void)get_info("none", &info);
	kib[0] = kib[1] = resident_kib();
}

static void with_peers(int count, long kib[2])
{
	int there[2], back[2], status;
	pid_t pid;

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_peers(there[0], back[1], count);
	}
	measure(back[0], there[1], count, kib);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "the peers' process failed");
}

/* As many descriptors as there may be: two a peer in the process that has them all. */
static void raise_descriptors(int peers)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		err(1, "RLIMIT_NOFILE");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < (rlim_t)(2 * peers + 64))
		errx(1, "%d peers need %d descriptors", peers, 2 * peers + 64);
}

static void report(bool test, const char *name, int count, long kib, long most)
{
	if (test)
		printf("%s %s %ld KiB, at most %ld\n", kib <= most ? "ok" : "not ok", name, kib, most);
	else
		printf("memory %s\t%d\temu\tKiB\t%ld\t\t\t\n", name, count, kib);
	failed |= test && kib > most;
}

int main(int argc, char **argv)
{
	bool test = argc > 1 && !strcmp(argv[1], "--test");
	int count = test ? PEERS_TESTED : PEERS;
	long alone[2], open[2];

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	puts("skip memory the sanitizer's own bytes count, too");
	return 77;
#endif
	raise_descriptors(count);
	apart(libfabric_alone, 0, alone);
	apart(with_peers, count, open);
	report(test, "idle", 0, open[0] - alone[0], IDLE_KIB_MAX);
	report(test, "peers", count, open[1] - open[0], (long)PEERS_KIB_MAX * count / PEERS);
	return failed;
}
