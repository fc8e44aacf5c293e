/* SPDX-License-Identifier: BSD-2-Clause */
/* verbs_rkey.c - tools/demo_verbs.sh's program of libibverbs. By ADDRESS, which is one of this host:
 *   verbs_rkey index ADDRESS                   prints the index of its GID
 *   verbs_rkey target ADDRESS HEARS TELLS      offers a page, until the initiator has done its two writes
 *   verbs_rkey initiator ADDRESS HEARS TELLS   writes to that page, by the rkey that it was told, and by that plus one
 * HEARS and TELLS are FIFOs, by which the two exchange what queue pairs have to know of each other. Exit status 0 if all went
 * so. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 1, PAGE = 4096, PSN = 7, QUEUE = 4 };

/* What one side tells the other. */
struct rkey_side {
	union ibv_gid gid;
	uint32_t qpn, rkey;
	uint64_t addr;
};

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static int index_of_gid;

static void check(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void find_gid(const char *address, union ibv_gid *gid)
{
	union ibv_gid wanted = { .raw = { [10] = 0xff, [11] = 0xff } }; /* ::ffff:ADDRESS */

	check(inet_pton(AF_INET, address, wanted.raw + 12) == 1, address);
	while (!ibv_query_gid(context, PORT, index_of_gid, gid)) {
		if (!memcmp(gid, &wanted, sizeof(wanted)))
			return;
		index_of_gid++;
	}
	check(0, address);
}

static void modify_to(struct ibv_qp_attr attr, int mask)
{
	check(!ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE), "ibv_modify_qp");
}

static void make_queue_pair(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { QUEUE, QUEUE, 1, 1, 0 }, .sq_sig_all = 1 };

	cq = ibv_create_cq(context, QUEUE, NULL, NULL, 0);
	check(cq != NULL, "ibv_create_cq");
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	check(qp != NULL, "ibv_create_qp");
	modify_to((struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = PORT, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE },
		  IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

/* To RTS. */
static void connect_to(const struct rkey_side *peer)
{
	modify_to((struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR,
					.path_mtu = IBV_MTU_1024,
					.dest_qp_num = peer->qpn,
					.rq_psn = PSN,
					.ah_attr = { .is_global = 1,
						     .port_num = PORT,
						     .grh = { .dgid = peer->gid,
							      .sgid_index = (uint8_t)index_of_gid,
							      .hop_limit = 1 } } },
		  IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	modify_to((struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .sq_psn = PSN, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7 },
		  IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static enum ibv_wc_status write_to(const struct rkey_side *peer, uint32_t rkey, const struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, PAGE, mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = peer->addr;
	wr.wr.rdma.rkey = rkey;
	check(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	printf("ibv_wc_status_str: %s\n", ibv_wc_status_str(wc.status));
	fflush(stdout);
	return wc.status;
}

/* The initiator's writes; the target waits until its pipe ends. */
static int go_on(int initiates, const struct rkey_side *peer, const struct ibv_mr *mr, FILE *hears)
{
	if (!initiates)
		return fgetc(hears) == EOF && ((const char *)mr->addr)[PAGE - 1] == 1;
	memset(mr->addr, 1, PAGE);
	return write_to(peer, peer->rkey, mr) == IBV_WC_SUCCESS && write_to(peer, peer->rkey + 1, mr) == IBV_WC_REM_ACCESS_ERR;
}

static int run_side(int initiates, const char *address, FILE *hears, FILE *tells)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	void *page = aligned_alloc(PAGE, PAGE);
	struct ibv_mr *mr = ibv_reg_mr(pd, page, PAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	struct rkey_side own, peer;
	int good;

	check(mr != NULL, "ibv_reg_mr");
	make_queue_pair(pd);
	find_gid(address, &own.gid);
	own.qpn = qp->qp_num;
	own.rkey = mr->rkey;
	own.addr = (uintptr_t)page;
	check(fwrite(&own, sizeof(own), 1, tells) == 1 && !fflush(tells) && fread(&peer, sizeof(peer), 1, hears) == 1, "the FIFO");
	connect_to(&peer);
	/* Both are ready before either goes on. */
	check(fputc(1, tells) == 1 && !fflush(tells) && fgetc(hears) == 1, "the FIFO");
	good = go_on(initiates, &peer, mr, hears);
	fclose(tells);
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
	free(page);
	return good;
}

/* One opens the first FIFO while the other does. */
static int talk(const char *address, int initiates, const char *heard, const char *told)
{
	FILE *hears = initiates ? fopen(heard, "r") : NULL, *tells = fopen(told, "w");
	int good;

	hears = hears ? hears : fopen(heard, "r");
	check(hears && tells, "the FIFOs");
	good = run_side(initiates, address, hears, tells);
	fclose(hears);
	return good;
}

int main(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;
	int good = 1;

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	check(context && argc >= 3, "a device and arguments");
	if (argc < 5) {
		find_gid(argv[2], &gid);
		printf("%d\n", index_of_gid);
	} else {
		good = talk(argv[2], !strcmp(argv[1], "initiator"), argv[3], argv[4]);
	}
	ibv_close_device(context);
	ibv_free_device_list(list);
	return !good;
}
