/* SPDX-License-Identifier: BSD-2-Clause */
/* many.c - many connections between two processes: what each costs in descriptors, and what is left of them. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cm/meeting.h"

enum { ROUNDS = 5, IDS = 400, TIMEOUT_MS = 2000, LOT = 500, FILES = 256 };

/* Of one process: its ids share a channel and a completion queue. */
struct side {
	struct rdma_event_channel *channel;
	struct ibv_cq *cq;
	unsigned int open; /* ids */
};

static unsigned int descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	cr_assert(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 3; /* `.`, `..` and its own */
}

static void give_qp(struct side *side, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = { .cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
					 .qp_type = IBV_QPT_RC };
	struct ibv_recv_wr *bad;

	if (!side->cq)
		side->cq = ibv_create_cq(id->verbs, 4 * IDS, NULL, NULL, 0);
	attr.send_cq = attr.recv_cq = side->cq;
	cr_assert_eq(rdma_create_qp(id, NULL, &attr), 0, "errno %d after %u", errno, side->open);
	cr_assert_eq(ibv_post_recv(id->qp, &(struct ibv_recv_wr){ 0 }, &bad), 0);
}

/* A message of no bytes by each: the queue pairs are connected from here on. */
static void use(const struct side *side, struct rdma_cm_id **ids, unsigned int count)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	for (unsigned int i = 0; i < count; i++)
		cr_assert_eq(ibv_post_send(ids[i]->qp, &wr, &bad), 0);
	for (unsigned int i = 0; i < count;) {
		int polled = ibv_poll_cq(side->cq, 1, &wc);

		cr_assert(polled == 0 || (polled == 1 && wc.status == IBV_WC_SUCCESS), "%s", ibv_wc_status_str(wc.status));
		i += (unsigned int)polled;
	}
}

static void end_id(struct side *side, struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	cr_assert_eq(rdma_destroy_id(id), 0);
	side->open--;
}

static struct rdma_cm_id *next_event(struct side *side, enum rdma_cm_event_type *type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_get_cm_event(side->channel, &event), 0);
	*type = event->event;
	id = event->id;
	cr_assert(event->status == 0 || *type == RDMA_CM_EVENT_TIMEWAIT_EXIT, "%s, status %d", rdma_event_str(*type),
		  event->status);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	return id;
}

/* Accepts all, and ends those that leave, until its peer is done with it. */
static void serve(int fd)
{
	struct side side = { .channel = rdma_create_event_channel() };
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_id *listens;
	uint16_t number;

	cr_assert_eq(rdma_create_id(side.channel, &listens, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_bind_addr(listens, (struct sockaddr *)&at), 0);
	cr_assert_eq(rdma_listen(listens, 0), 0);
	number = rdma_get_src_port(listens);
	cr_assert_eq(write(fd, &number, sizeof(number)), (ssize_t)sizeof(number));
	for (;;) {
		enum rdma_cm_event_type type;
		struct rdma_cm_id *id = next_event(&side, &type);

		if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			side.open++;
			give_qp(&side, id);
			cr_assert_eq(rdma_accept(id, &param), 0, "errno %d", errno);
		} else if (type == RDMA_CM_EVENT_DISCONNECTED) {
			end_id(&side, id);
			while (ibv_poll_cq(side.cq, 1, &(struct ibv_wc){ 0 }) > 0)
				;
		}
	}
}

static pid_t server_start(struct sockaddr_in *at)
{
	int pipes[2];
	pid_t child;

	cr_assert_eq(pipe(pipes), 0);
	child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(pipes[1]);
	}
	*at = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	cr_assert_eq(read(pipes[0], &at->sin_port, sizeof(at->sin_port)), (ssize_t)sizeof(at->sin_port));
	close(pipes[0]);
	close(pipes[1]);
	return child;
}

/* All together, as many at once as a listener lets wait. Returns descriptors in use while they are connected. */
static unsigned int meet_and_part(struct side *side, const struct sockaddr_in *at, unsigned int count)
{
	static struct rdma_cm_id *ids[IDS];
	unsigned int up = 0, used;
	enum rdma_cm_event_type type;

	while (up < count) {
		struct rdma_cm_id *id;

		for (; side->open < count && side->open < up + LOT; side->open++) {
			id = ids[side->open] = NULL;
			cr_assert_eq(rdma_create_id(side->channel, &id, NULL, RDMA_PS_TCP), 0);
			cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)(uintptr_t)at, TIMEOUT_MS), 0, "errno %d",
				     errno);
			ids[side->open] = id;
		}
		id = next_event(side, &type);
		if (type == RDMA_CM_EVENT_ADDR_RESOLVED) {
			cr_assert_eq(rdma_resolve_route(id, TIMEOUT_MS), 0);
		} else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED) {
			give_qp(side, id);
			cr_assert_eq(rdma_connect(id, NULL), 0, "errno %d", errno);
		} else {
			cr_assert_eq(type, RDMA_CM_EVENT_ESTABLISHED, "%s", rdma_event_str(type));
			up++;
		}
	}
	use(side, ids, count);
	used = descriptors();
	for (unsigned int i = 0; i < count; i++)
		cr_assert_eq(rdma_disconnect(ids[i]), 0);
	for (unsigned int down = 0; down < count; down += type == RDMA_CM_EVENT_DISCONNECTED)
		(void)next_event(side, &type);
	for (unsigned int i = 0; i < count; i++)
		end_id(side, ids[i]);
	while (ibv_poll_cq(side->cq, 1, &(struct ibv_wc){ 0 }) > 0) /* flushed receives */
		;
	return used;
}

/* Of an id beside its queue pair, none; and what one lot has left, the next one uses. */
Test(cm_many, no_descriptor_and_no_memory_is_left)
{
	struct side side = { .channel = rdma_create_event_channel() };
	struct rlimit files = { FILES, FILES };
	unsigned int one, before, used;
	struct sockaddr_in at;
	size_t bytes = 0, last, more, least = SIZE_MAX;
	pid_t child;

	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	child = server_start(&at);
	one = meet_and_part(&side, &at, 1);
	before = descriptors();
	for (int i = 0; i < ROUNDS; i++) {
		used = meet_and_part(&side, &at, IDS);
		cr_assert_leq(used, one + 2 * (IDS / 256 + 1), "%u descriptors for %d ids, %u for one", used, IDS, one);
		last = bytes;
		bytes = mallinfo2().uordblks;
		more = bytes > last ? bytes - last : 0;
		if (i && more < least)
			least = more;
	}
	cr_assert_leq(descriptors(), before + 4);
	cr_assert_lt(least, IDS * 16, "each lot has left %zu bytes at least", least); /* pools may grow in some */
	ibv_destroy_cq(side.cq);
	rdma_destroy_event_channel(side.channel);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
