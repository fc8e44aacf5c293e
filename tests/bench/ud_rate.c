/* SPDX-License-Identifier: BSD-2-Clause */
/* ud_rate.c - messages between two UD queue pairs, beside datagrams between two bare UDP sockets: windows of 32, in one thread, in
 * turns. Prints the median of the ratios of both rates; exit status 1 if the socket's is more than twice the queue pairs'. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WINDOW = 32, BYTES = 64, GRH = 40, WINDOWS = 4000, ROUNDS = 9, QKEY = 1 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp[2];
static struct ibv_mr *mr;
static struct ibv_ah *ah;
static char memory[BYTES + WINDOW * (GRH + BYTES)];
static int sockets[2];
static struct sockaddr_in to = { .sin_family = AF_INET };

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

static void to_rts(struct ibv_qp *of)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	check(!ibv_modify_qp(of, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), "INIT");
	attr.qp_state = IBV_QPS_RTR;
	check(!ibv_modify_qp(of, &attr, IBV_QP_STATE), "RTR");
	attr.qp_state = IBV_QPS_RTS;
	check(!ibv_modify_qp(of, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

static void open_queue_pairs(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 2 * WINDOW, 2 * WINDOW, 1, 1, 0 } };
	struct ibv_ah_attr path = { .is_global = 1, .port_num = 1, .grh.hop_limit = 1 };
	struct ibv_device **list = ibv_get_device_list(NULL);

	check(list && list[0], "no device");
	context = ibv_open_device(list[0]);
	pd = ibv_alloc_pd(context);
	cq = init.send_cq = init.recv_cq = ibv_create_cq(context, 8 * WINDOW, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	check(pd && cq && mr, "objects");
	for (int i = 0; i < 2; i++) {
		qp[i] = ibv_create_qp(pd, &init);
		check(qp[i] != NULL, "ibv_create_qp");
		to_rts(qp[i]);
	}
	check(!ibv_query_gid(context, 1, 0, &path.grh.dgid), "ibv_query_gid");
	ah = ibv_create_ah(pd, &path);
	check(ah != NULL, "ibv_create_ah");
	ibv_free_device_list(list);
}

static void open_sockets(void)
{
	socklen_t length = sizeof(to);

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 2; i++) {
		sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
		check(sockets[i] >= 0 && !bind(sockets[i], (struct sockaddr *)&to, sizeof(to)), "socket");
	}
	check(!getsockname(sockets[1], (struct sockaddr *)&to, &length), "getsockname");
}

static double by_queue_pairs(void)
{
	struct ibv_sge from = { (uintptr_t)memory, BYTES, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;
	struct ibv_wc wc[WINDOW];
	double begun = now();

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp[1]->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	for (int window = 0; window < WINDOWS; window++) {
		int left = WINDOW + 1;

		for (int i = 0; i < WINDOW; i++) {
			struct ibv_sge into = { (uintptr_t)memory + BYTES + (uintptr_t)i * (GRH + BYTES), GRH + BYTES, mr->lkey };
			struct ibv_recv_wr receive = { .sg_list = &into, .num_sge = 1 }, *bad_receive;

			check(!ibv_post_recv(qp[1], &receive, &bad_receive), "ibv_post_recv");
		}
		for (int i = 0; i < WINDOW; i++) {
			wr.send_flags = i + 1 == WINDOW ? IBV_SEND_SIGNALED : 0;
			check(!ibv_post_send(qp[0], &wr, &bad), "ibv_post_send");
		}
		while (left > 0)
			left -= ibv_poll_cq(cq, WINDOW, wc);
	}
	return WINDOW * WINDOWS / (now() - begun);
}

static double by_sockets(void)
{
	char bytes[BYTES];
	double begun = now();

	for (int window = 0; window < WINDOWS; window++) {
		for (int i = 0; i < WINDOW; i++)
			check(sendto(sockets[0], memory, BYTES, 0, (struct sockaddr *)&to, sizeof(to)) == BYTES, "sendto");
		for (int i = 0; i < WINDOW; i++)
			check(recv(sockets[1], bytes, BYTES, 0) == BYTES, "recv");
	}
	return WINDOW * WINDOWS / (now() - begun);
}

static int by_size(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(void)
{
	double ratio[ROUNDS], pairs = 0, udp = 0;

	open_queue_pairs();
	open_sockets();
	by_queue_pairs();
	by_sockets();
	for (int i = 0; i < ROUNDS; i++) {
		pairs = by_queue_pairs();
		udp = by_sockets();
		ratio[i] = udp / pairs;
	}
	qsort(ratio, ROUNDS, sizeof(*ratio), by_size);
	printf("%-5s UD %d B  %.0f messages/s  UDP socket %.0f datagrams/s  %.2f\n", ratio[ROUNDS / 2] <= 2 ? "pass" : "short",
	       BYTES, pairs, udp, ratio[ROUNDS / 2]);
	return ratio[ROUNDS / 2] > 2;
}
