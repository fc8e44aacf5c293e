/* SPDX-License-Identifier: BSD-2-Clause */
/* many.c - one endpoint and its many peers. */
#include "many.h"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

void must(long long rc, const char *what)
{
	if (rc < 0)
		errx(1, "%s: %s", what, fi_strerror((int)-rc));
}

int many_info(const char *provider, struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int rc;

	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup(provider);
	rc = fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "0", FI_SOURCE, hints, info);
	fi_freeinfo(hints);
	return rc;
}

void side_open(struct side *side, enum fi_wait_obj wait)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = wait };

	must(many_info("emu", &side->info), "fi_getinfo");
	must(fi_fabric(side->info->fabric_attr, &side->fabric, NULL), "fi_fabric");
	must(fi_domain(side->fabric, side->info, &side->domain, NULL), "fi_domain");
	must(fi_av_open(side->domain, &av_attr, &side->av, NULL), "fi_av_open");
	must(fi_cq_open(side->domain, &cq_attr, &side->cq, NULL), "fi_cq_open");
}

struct fid_ep *side_endpoint(struct side *side, struct name *name)
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

void put(int fd, const void *bytes, size_t length)
{
	if (write(fd, bytes, length) != (ssize_t)length)
		err(1, "pipe");
}

void get(int fd, void *bytes, size_t length)
{
	if (read(fd, bytes, length) != (ssize_t)length)
		errx(1, "the other process has ended");
}

/* Each endpoint of this process sends one message to the asking process, and takes one. */
static void be_peers(int from, int to, int count)
{
	static char bytes[64];
	struct name name, asker;
	struct side side;
	char end;

	side_open(&side, FI_WAIT_NONE);
	get(from, &asker, sizeof(asker));
	for (int i = 0; i < count; i++) {
		struct fid_ep *ep = side_endpoint(&side, &name);

		must(fi_recv(ep, bytes, sizeof(bytes), NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
		put(to, &name, sizeof(name));
		complete(&side, 1);
		must(fi_send(ep, bytes, sizeof(bytes), NULL, insert(&side, &asker), NULL), "fi_send");
		complete(&side, 1);
	}
	get(from, &end, 1);
	_exit(0);
}

void side_close(struct side *side, struct fid_ep *ep)
{
	must(fi_close(&ep->fid), "fi_close");
	must(fi_close(&side->cq->fid), "fi_close");
	must(fi_close(&side->av->fid), "fi_close");
	must(fi_close(&side->domain->fid), "fi_close");
	must(fi_close(&side->fabric->fid), "fi_close");
	fi_freeinfo(side->info);
}

pid_t peers_start(struct peers *peers, int count)
{
	int there[2], back[2];
	pid_t pid;

	if (pipe(there) || pipe(back))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_peers(there[0], back[1], count);
	}
	*peers = (struct peers){ .from = back[0], .to = there[1], .count = count };
	return pid;
}

void peers_meet(const struct peers *peers, struct side *side, struct fid_ep *ep, const struct name *own)
{
	static char bytes[64];
	struct name name;

	put(peers->to, own, sizeof(*own));
	for (int i = 0; i < peers->count; i++) {
		get(peers->from, &name, sizeof(name));
		must(fi_recv(ep, bytes, sizeof(bytes), NULL, FI_ADDR_UNSPEC, NULL), "fi_recv");
		must(fi_send(ep, bytes, sizeof(bytes), NULL, insert(side, &name), NULL), "fi_send");
		complete(side, 2);
	}
}

void peers_stop(const struct peers *peers, pid_t pid)
{
	int status;

	put(peers->to, "", 1);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "the peers' process failed");
}

void raise_descriptors(int peers)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		err(1, "RLIMIT_NOFILE");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < (rlim_t)(2 * peers + 64))
		errx(1, "%d peers need %d descriptors", peers, 2 * peers + 64);
}

long resident_kib(void)
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
