/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_rate.c - connections of rdma_cm that are opened, used once and closed, one after another between two processes, beside queue
 * pairs that exchange their numbers by a TCP connection of their own, in turns. Prints the median of the ratios of both times; exit
 * status 1 if rdma_cm takes more than twice as long. `cm_rate --tiny` shows that it works. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 9, LOT = 500, LOT_TINY = 5, RESOLVE_MS = 2000, CQ_SIZE = 64 };

static int connections, rounds;
static struct rdma_event_channel *channel;
static struct rdma_cm_id *listens;
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static union ibv_gid gid;
static uint8_t gid_index;
static int listener;
static struct sockaddr_in at_cm, at_tcp;

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void open_device(void)
{
	static const uint8_t loopback[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 };
	struct ibv_context **list = rdma_get_devices(NULL);

	check(list && list[0], "no device");
	context = list[0];
	rdma_free_devices(list);
	channel = rdma_create_event_channel();
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, CQ_SIZE, NULL, NULL, 0);
	check(channel && pd && cq, "objects");
	for (gid_index = 0; !ibv_query_gid(context, 1, gid_index, &gid); gid_index++)
		if (!memcmp(gid.raw, loopback, sizeof(loopback)))
			return;
	check(0, "no GID of 127.0.0.1");
}

/* --- both --- */

static struct ibv_qp_init_attr init(void)
{
	return (struct ibv_qp_init_attr){
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 }, .sq_sig_all = 1
	};
}

static void expect(enum ibv_wc_status status)
{
	struct ibv_wc wc;
	int count;

	do
		count = ibv_poll_cq(cq, 1, &wc);
	while (!count);
	check(count == 1 && wc.status == status, "completion");
}

static void send_one(struct ibv_qp *qp)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	check(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	expect(IBV_WC_SUCCESS);
}

static void post_recv(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { 0 }, *bad;

	check(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
}

/* --- by rdma_cm --- */

static struct rdma_cm_id *event_of(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	do {
		check(!rdma_get_cm_event(channel, &event), "rdma_get_cm_event");
		check(event->event == type || event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT, rdma_event_str(event->event));
		id = event->event == type ? event->id : NULL;
		rdma_ack_cm_event(event);
	} while (!id);
	return id;
}

static void end_id(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	check(!rdma_destroy_id(id), "rdma_destroy_id");
}

static void ask_cm(void)
{
	struct ibv_qp_init_attr attr = init();
	struct rdma_cm_id *id;

	check(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(!rdma_resolve_addr(id, NULL, (struct sockaddr *)&at_cm, RESOLVE_MS), "rdma_resolve_addr");
	event_of(RDMA_CM_EVENT_ADDR_RESOLVED);
	check(!rdma_resolve_route(id, RESOLVE_MS), "rdma_resolve_route");
	event_of(RDMA_CM_EVENT_ROUTE_RESOLVED);
	check(!rdma_create_qp(id, pd, &attr), "rdma_create_qp");
	check(!rdma_connect(id, NULL), "rdma_connect");
	event_of(RDMA_CM_EVENT_ESTABLISHED);
	send_one(id->qp);
	check(!rdma_disconnect(id), "rdma_disconnect");
	event_of(RDMA_CM_EVENT_DISCONNECTED);
	end_id(id);
}

static void answer_cm(void)
{
	struct ibv_qp_init_attr attr = init();
	struct rdma_cm_id *id = event_of(RDMA_CM_EVENT_CONNECT_REQUEST);

	check(!rdma_create_qp(id, pd, &attr), "rdma_create_qp");
	post_recv(id->qp);
	check(!rdma_accept(id, NULL), "rdma_accept");
	event_of(RDMA_CM_EVENT_ESTABLISHED);
	event_of(RDMA_CM_EVENT_DISCONNECTED);
	expect(IBV_WC_SUCCESS);
	end_id(id);
}

/* --- by hand --- */

static struct ibv_qp *open_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp_init_attr how = init();
	struct ibv_qp *qp = ibv_create_qp(pd, &how);

	check(qp && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
	return qp;
}

static void connect_qp(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .sgid_index = gid_index, .hop_limit = 1 } },
	};

	check(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	      "RTR");
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7 };
	check(!ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_MAX_QP_RD_ATOMIC),
	      "RTS");
}

static uint32_t exchange(int fd, uint32_t own)
{
	uint32_t peer = 0;

	check(write(fd, &own, sizeof(own)) == sizeof(own) && read(fd, &peer, sizeof(peer)) == sizeof(peer), "exchange");
	return peer;
}

static void ask_by_hand(void)
{
	struct ibv_qp *qp = open_qp();
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	check(!connect(fd, (struct sockaddr *)&at_tcp, sizeof(at_tcp)), "connect");
	connect_qp(qp, exchange(fd, qp->qp_num));
	send_one(qp);
	close(fd);
	ibv_destroy_qp(qp);
}

static void answer_by_hand(void)
{
	int fd = accept(listener, NULL, NULL);
	struct ibv_qp *qp = open_qp();
	uint32_t peer = 0;
	char byte;

	post_recv(qp);
	check(read(fd, &peer, sizeof(peer)) == sizeof(peer), "read");
	connect_qp(qp, peer);
	check(write(fd, &qp->qp_num, sizeof(qp->qp_num)) == sizeof(qp->qp_num), "write");
	check(read(fd, &byte, 1) == 0, "end");
	expect(IBV_WC_SUCCESS);
	ibv_destroy_qp(qp);
	close(fd);
}

/* --- in turns --- */

static double lot(void (*one)(void))
{
	double begun = now();

	for (int i = 0; i < connections; i++)
		one();
	return (now() - begun) / connections;
}

static void answers(int fd)
{
	socklen_t length = sizeof(at_tcp);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	open_device();
	check(!rdma_create_id(channel, &listens, NULL, RDMA_PS_TCP), "rdma_create_id");
	check(!rdma_bind_addr(listens, (struct sockaddr *)&at_cm) && !rdma_listen(listens, 0), "rdma_listen");
	listener = socket(AF_INET, SOCK_STREAM, 0);
	check(!bind(listener, (struct sockaddr *)&at_tcp, sizeof(at_tcp)) && !listen(listener, 1), "listen");
	check(!getsockname(listener, (struct sockaddr *)&at_tcp, &length), "getsockname");
	at_cm.sin_port = rdma_get_src_port(listens);
	check(write(fd, &at_cm, sizeof(at_cm)) > 0 && write(fd, &at_tcp, sizeof(at_tcp)) > 0, "write");
	for (int i = 0; i < rounds; i++) {
		lot(answer_cm);
		lot(answer_by_hand);
	}
	exit(0);
}

static int by_size(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

int main(int argc, char **argv)
{
	double ratio[ROUNDS], cm = 0, hand = 0;
	int tiny = argc > 1 && !strcmp(argv[1], "--tiny"), pipes[2];

	if (argc > 1 && !tiny) {
		printf("usage: cm_rate [--tiny]\n");
		return strcmp(argv[1], "--help") ? 2 : 0;
	}
	connections = tiny ? LOT_TINY : LOT;
	rounds = tiny ? 1 : ROUNDS;
	at_cm = at_tcp = (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	check(!pipe(pipes), "pipe");
	if (!fork())
		answers(pipes[1]);
	check(read(pipes[0], &at_cm, sizeof(at_cm)) > 0 && read(pipes[0], &at_tcp, sizeof(at_tcp)) > 0, "read");
	open_device();
	for (int i = 0; i < rounds; i++) {
		double a = lot(ask_cm), b = lot(ask_by_hand);

		cm += a / rounds;
		hand += b / rounds;
		ratio[i] = a / b;
	}
	qsort(ratio, (size_t)rounds, sizeof(*ratio), by_size);
	printf("%-5s connections   by rdma_cm %8.1f us  by hand %8.1f us  %.2f\n", ratio[rounds / 2] <= 2 ? "pass" : "short",
	       cm * 1e6, hand * 1e6, ratio[rounds / 2]);
	return !tiny && ratio[rounds / 2] > 2;
}
