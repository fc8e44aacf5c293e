/* SPDX-License-Identifier: BSD-2-Clause */
/* group.c - one side of a message to a group: group GID_INDEX hear | send. The one that hears prints "ready" when it is attached,
 * and ends well when the message has come, whole and from another queue pair. */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRH = 40, LENGTH = 100, QKEY = 5, ALL_QPS = 0xffffff };

static const union ibv_gid group = { .raw = { 0xff, 0x12, 0x40, 0x1b, [15] = 0x77 } };
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static unsigned char memory[GRH + LENGTH];

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void modify(enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1, .qkey = QKEY };

	must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), "ibv_modify_qp");
}

static void begin(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .sq_sig_all = 1, .cap = { 4, 4, 1, 1, 0 } };
	struct ibv_device **list = ibv_get_device_list(NULL);

	context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	must(context != NULL, "ibv_open_device");
	pd = ibv_alloc_pd(context);
	init.send_cq = init.recv_cq = cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	qp = ibv_create_qp(pd, &init);
	must(mr && qp, "ibv_create_qp");
	modify(IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	modify(IBV_QPS_RTR, 0);
	modify(IBV_QPS_RTS, IBV_QP_SQ_PSN);
	ibv_free_device_list(list);
}

static struct ibv_wc completion(void)
{
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		;
	must(wc.status == IBV_WC_SUCCESS, ibv_wc_status_str(wc.status));
	return wc;
}

static int hear(void)
{
	struct ibv_sge sge = { (uintptr_t)memory, sizeof(memory), mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_wc wc;

	must(!ibv_post_recv(qp, &wr, &bad), "ibv_post_recv");
	must(!ibv_attach_mcast(qp, &group, 0), "ibv_attach_mcast");
	puts("ready");
	fflush(stdout);
	wc = completion();
	for (int i = 0; i < LENGTH; i++)
		if (memory[GRH + i] != (unsigned char)i)
			return 1;
	return wc.byte_len != sizeof(memory) || wc.src_qp == qp->qp_num || ibv_detach_mcast(qp, &group, 0);
}

static int send_one(uint8_t index)
{
	struct ibv_ah_attr path = { .is_global = 1, .port_num = 1, .grh = { .dgid = group, .sgid_index = index, .hop_limit = 1 } };
	struct ibv_sge sge = { (uintptr_t)memory, LENGTH, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	for (int i = 0; i < LENGTH; i++)
		memory[i] = (unsigned char)i;
	wr.wr.ud.ah = ibv_create_ah(pd, &path);
	must(wr.wr.ud.ah != NULL, "ibv_create_ah");
	wr.wr.ud.remote_qpn = ALL_QPS;
	wr.wr.ud.remote_qkey = QKEY;
	must(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
	completion();
	return ibv_destroy_ah(wr.wr.ud.ah);
}

int main(int argc, char **argv)
{
	int failed;

	if (argc != 3)
		return 2;
	begin();
	failed = strcmp(argv[2], "hear") ? send_one((uint8_t)strtoul(argv[1], NULL, 10)) : hear();
	failed |= ibv_destroy_qp(qp) || ibv_dereg_mr(mr) || ibv_destroy_cq(cq) || ibv_dealloc_pd(pd) || ibv_close_device(context);
	return failed;
}
