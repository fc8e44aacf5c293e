/* SPDX-License-Identifier: BSD-2-Clause */
/* explore_orders.c - two processes that rely on an order which nobody promised them, or ask for it: explore_orders CASE
 *   flag        data is written, then a flag behind it; the reader sees the flag, and takes the data for written
 *   flag-asked  likewise, and FI_ORDER_RMA_WAW is asked for
 *   told        data is written, and the reader is told by a pipe when the write has completed
 *   told-asked  likewise, and FI_DELIVERY_COMPLETE is asked for
 *   messages    two messages, of which the second comes second, or else the reader waits for ever
 *   hasty       likewise told-asked, and a post that finds the queue full is not tried again
 * Ends with 0, or with 1 and a sentence. It runs undisturbed where the NIC does all as posted. */
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

enum { ROUNDS = 20, WORDS = 64, KEY = 42, FAILED = 1 };

#define RC(want, call)                                                               \
	do {                                                                         \
		long long rc_ = (long long)(call);                                   \
		if (rc_ != (want)) {                                                 \
			printf("%s:%d: %s: %lld\n", __FILE__, __LINE__, #call, rc_); \
			exit(FAILED);                                                \
		}                                                                    \
	} while (0)

/* A post, again and again while the queue is full. */
#define POST(call)                                       \
	do {                                             \
		ssize_t posted_;                         \
		do                                       \
			posted_ = (call);                \
		while (posted_ == -FI_EAGAIN && !hasty); \
		RC(0, posted_);                          \
	} while (0)

/* What the writer writes, and the reader has registered. */
struct cells {
	uint64_t data[ROUNDS][WORDS];
	uint64_t flag[ROUNDS];
};

struct side {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_av *av;
	struct fid_cq *cq;
	struct fid_ep *ep;
	struct fid_mr *mr;
	fi_addr_t peer;
	int pipe; /* to the other side */
};

static struct cells cells;
static uint64_t order, completes;
static bool hasty;

static struct fi_info *ask(void)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	hints->ep_attr->type = FI_EP_RDM;
	hints->caps = FI_MSG | FI_RMA;
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = order;
	hints->tx_attr->op_flags = completes;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->mr_mode = FI_MR_LOCAL;
	RC(0, fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void side_open(struct side *side, int pipe)
{
	char name[128] = "", other[sizeof(name)];
	size_t length = sizeof(name);

	side->pipe = pipe;
	side->info = ask();
	RC(0, fi_fabric(side->info->fabric_attr, &side->fabric, NULL));
	RC(0, fi_domain(side->fabric, side->info, &side->domain, NULL));
	RC(0, fi_av_open(side->domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &side->av, NULL));
	RC(0, fi_cq_open(side->domain, &(struct fi_cq_attr){ .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_UNSPEC },
			 &side->cq, NULL));
	RC(0, fi_endpoint(side->domain, side->info, &side->ep, NULL));
	RC(0, fi_ep_bind(side->ep, &side->av->fid, 0));
	RC(0, fi_ep_bind(side->ep, &side->cq->fid, FI_TRANSMIT | FI_RECV));
	RC(0, fi_enable(side->ep));
	RC(0, fi_mr_reg(side->domain, &cells, sizeof(cells), FI_WRITE | FI_SEND | FI_RECV | FI_REMOTE_WRITE, 0, KEY, 0, &side->mr,
			NULL));
	RC(0, fi_getname(&side->ep->fid, name, &length));
	RC((ssize_t)sizeof(name), write(pipe, name, sizeof(name)));
	RC((ssize_t)sizeof(other), recv(pipe, other, sizeof(other), MSG_WAITALL));
	RC(1, fi_av_insert(side->av, other, 1, &side->peer, 0, NULL));
}

static void side_close(struct side *side)
{
	char byte = 0;

	/* The other side is done with this one's memory and connection. */
	RC(1, write(side->pipe, &byte, 1));
	RC(1, read(side->pipe, &byte, 1));
	RC(0, fi_close(&side->ep->fid));
	RC(0, fi_close(&side->mr->fid));
	RC(0, fi_close(&side->cq->fid));
	RC(0, fi_close(&side->av->fid));
	RC(0, fi_close(&side->domain->fid));
	RC(0, fi_close(&side->fabric->fid));
	fi_freeinfo(side->info);
}

static void await(struct side *side, int completions)
{
	struct fi_cq_entry entry;

	while (completions--)
		RC(1, fi_cq_sread(side->cq, &entry, 1, NULL, -1));
}

static void put(struct side *side, void *from, size_t length)
{
	uint64_t at = (uint64_t)((char *)from - (char *)&cells);

	POST(fi_write(side->ep, from, length, fi_mr_desc(side->mr), side->peer, at, KEY, NULL));
}

static void look_at(int round)
{
	for (int i = 0; i < WORDS; i++) {
		if (__atomic_load_n(&cells.data[round][i], __ATOMIC_RELAXED) == (uint64_t)round + 1)
			continue;
		printf("round %d: word %d is not written\n", round, i);
		exit(FAILED);
	}
}

static void flag_writes(struct side *side)
{
	for (int i = 0; i < ROUNDS; i++) {
		put(side, cells.data[i], sizeof(cells.data[i]));
		put(side, &cells.flag[i], sizeof(cells.flag[i]));
		await(side, 2);
	}
}

static void flag_reads(struct side *side)
{
	(void)side;
	for (int i = 0; i < ROUNDS; i++) {
		while (!__atomic_load_n(&cells.flag[i], __ATOMIC_ACQUIRE))
			;
		look_at(i);
	}
}

static void told_writes(struct side *side)
{
	char byte = 0;

	for (int i = 0; i < ROUNDS; i++) {
		put(side, cells.data[i], sizeof(cells.data[i]));
		await(side, 1);
		RC(1, write(side->pipe, &byte, 1));
	}
}

static void told_reads(struct side *side)
{
	char byte;

	for (int i = 0; i < ROUNDS; i++) {
		RC(1, read(side->pipe, &byte, 1));
		look_at(i);
	}
}

static void messages_write(struct side *side)
{
	char byte;

	RC(1, read(side->pipe, &byte, 1));
	for (int i = 0; i < 2; i++)
		POST(fi_send(side->ep, &cells.flag[i], sizeof(cells.flag[i]), fi_mr_desc(side->mr), side->peer, NULL));
	await(side, 2);
}

static void messages_read(struct side *side)
{
	char byte = 0;

	for (int i = 0; i < 2; i++)
		POST(fi_recv(side->ep, &cells.flag[i], sizeof(cells.flag[i]), fi_mr_desc(side->mr), FI_ADDR_UNSPEC, NULL));
	RC(1, write(side->pipe, &byte, 1));
	await(side, 1);
	await(side, cells.flag[0] == 1 ? 1 : 2); /* two more, where it takes the second message for one that comes before both */
}

static const struct way {
	const char *name;
	uint64_t order, completes;
	bool hasty;
	void (*writes)(struct side *side), (*reads)(struct side *side);
} ways[] = {
	{ "flag", 0, 0, false, flag_writes, flag_reads },
	{ "flag-asked", FI_ORDER_RMA_WAW | FI_ORDER_WAW, 0, false, flag_writes, flag_reads },
	{ "told", 0, 0, false, told_writes, told_reads },
	{ "told-asked", 0, FI_DELIVERY_COMPLETE, false, told_writes, told_reads },
	{ "hasty", 0, FI_DELIVERY_COMPLETE, true, told_writes, told_reads },
	{ "messages", 0, 0, false, messages_write, messages_read },
};

static const struct way *way_find(const char *name)
{
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(ways[i].name, name))
			return &ways[i];
	fprintf(stderr, "usage: explore_orders flag|flag-asked|told|told-asked|messages|hasty\n");
	exit(FAILED);
}

int main(int argc, char **argv)
{
	const struct way *way = way_find(argc > 1 ? argv[1] : "");
	struct side side;
	int ends[2], status;
	pid_t reader;

	order = way->order;
	completes = way->completes;
	hasty = way->hasty;
	signal(SIGPIPE, SIG_IGN);
	RC(0, socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	reader = fork();
	close(ends[reader == 0]);
	side_open(&side, ends[reader != 0]);
	if (reader) {
		for (int i = 0; i < ROUNDS; i++) {
			for (int word = 0; word < WORDS; word++)
				cells.data[i][word] = (uint64_t)i + 1;
			cells.flag[i] = (uint64_t)i + 1;
		}
		way->writes(&side);
	} else {
		way->reads(&side);
	}
	side_close(&side);
	if (!reader)
		return 0;
	RC(reader, waitpid(reader, &status, 0));
	return status != 0;
}
