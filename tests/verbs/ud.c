/* SPDX-License-Identifier: BSD-2-Clause */
/* ud.c - queue pairs of type UD beyond the rules (tests/rules/verbs/ibv_datagrams.c): what the log says of datagrams that are
 * dropped or lost, headers of both families, states, and many queue pairs behind one listener. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/verbs/world.h"

enum { GRH = 40, LENGTH = 32, QKEY = 0x1234, WR = 64, MANY = 300, SIDE = 8192 };

static struct verbs verbs;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static unsigned char memory[2 * SIDE]; /* of the sender, and of the receiver */

static void begin(void)
{
	setenv("EMU_LOG_LEVEL", "info", 0);
	verbs_open(&verbs);
	cq = ibv_create_cq(verbs.context, 4 * WR, NULL, NULL, 0);
	mr = ibv_reg_mr(verbs.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	cr_assert(cq && mr);
	memset(memory, 0x5a, SIDE);
	memset(memory + SIDE, 0xee, SIDE);
}

static void end(void)
{
	cr_assert_eq(ibv_dereg_mr(mr), 0);
	cr_assert_eq(ibv_destroy_cq(cq), 0);
	verbs_close(&verbs);
}

TestSuite(verbs_ud, .init = begin, .fini = end, .timeout = 120);
TestSuite(verbs_ud_set, .timeout = 120); /* the test says how the device begins */

static struct ibv_qp *qp_new(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = cq, .recv_cq = cq, .sq_sig_all = 1, .cap = { WR, WR, 2, 2, 64 }
	};
	struct ibv_qp *qp = ibv_create_qp(verbs.pd, &init);

	cr_assert_not_null(qp, "%s", strerror(errno));
	return qp;
}

static void to(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1, .qkey = QKEY };
	int mask = state == IBV_QPS_INIT ? IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY : state == IBV_QPS_RTS ? IBV_QP_SQ_PSN : 0;

	cr_assert_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask), 0, "to state %d", (int)state);
}

static struct ibv_qp *qp_ready(void)
{
	struct ibv_qp *qp = qp_new();

	to(qp, IBV_QPS_INIT);
	to(qp, IBV_QPS_RTR);
	to(qp, IBV_QPS_RTS);
	return qp;
}

static bool is_mapped(const union ibv_gid *gid)
{
	static const unsigned char head[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, head, sizeof(head));
}

/* To the port's own GID of that family; NULL: it has none. */
static struct ibv_ah *ah_to_self(bool ipv4, union ibv_gid *gid)
{
	struct ibv_ah_attr path = { .is_global = 1,
				    .port_num = 1,
				    .sl = 5,
				    .grh = { .hop_limit = 9, .traffic_class = 0x20, .flow_label = ipv4 ? 0 : 0x12345 } };
	struct ibv_gid_entry table[32];
	ssize_t count = ibv_query_gid_table(verbs.context, table, 32, 0);

	for (ssize_t i = 0; i < count; i++) {
		struct ibv_ah *ah;

		if (is_mapped(&table[i].gid) != ipv4)
			continue;
		path.grh.sgid_index = (uint8_t)table[i].gid_index;
		path.grh.dgid = *gid = table[i].gid;
		ah = ibv_create_ah(verbs.pd, &path);
		cr_assert_not_null(ah, "%s", strerror(errno));
		return ah;
	}
	return NULL;
}

static struct ibv_ah *self(void)
{
	union ibv_gid gid;

	return ah_to_self(true, &gid);
}

static void receive(struct ibv_qp *qp, uint64_t wr_id, uint32_t length)
{
	struct ibv_sge sge = { (uintptr_t)memory + SIDE, length, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	cr_assert_eq(ibv_post_recv(qp, &wr, &bad), 0);
}

static int send_to(struct ibv_qp *from, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)memory, LENGTH, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return ibv_post_send(from, &wr, &bad);
}

static struct ibv_wc next(void)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	cr_assert_eq(n, 1);
	return wc;
}

static struct ibv_wc done(uint64_t wr_id, enum ibv_wc_status status)
{
	struct ibv_wc wc = next();

	cr_assert(wc.wr_id == wr_id && wc.status == status, "%llu: %s", (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	return wc;
}

/* A message comes; its send completes first. */
static struct ibv_wc comes(struct ibv_qp *from, struct ibv_qp *qp, struct ibv_ah *ah)
{
	receive(qp, 100, GRH + LENGTH);
	cr_assert_eq(send_to(from, ah, qp->qp_num, QKEY, 101), 0);
	done(101, IBV_WC_SUCCESS);
	return done(100, IBV_WC_SUCCESS);
}

/* Polls, so that the device runs, until it has been said. */
static void await_said(const char *text)
{
	struct ibv_wc wc;

	while (!said_has(text))
		cr_assert_eq(ibv_poll_cq(cq, 1, &wc), 0, "a completion before: %s", text);
}

/* WIRE-152: each drop has its words, with what differs. */
Test(verbs_ud, drops_are_told)
{
	struct ibv_qp *a = qp_ready(), *b = qp_ready(), *early = qp_new();
	struct ibv_ah *ah = self();
	uint32_t gone = early->qp_num;

	said_begin();
	cr_assert_eq(send_to(a, ah, b->qp_num, QKEY + 1, 1), 0);
	done(1, IBV_WC_SUCCESS);
	await_said("dropped: its Q_Key is not the queue pair's: 0x00001235 from QPN 0x");
	cr_assert_eq(send_to(a, ah, b->qp_num, QKEY, 2), 0);
	done(2, IBV_WC_SUCCESS);
	await_said("dropped: no receive is posted for it");
	receive(b, 3, GRH + LENGTH - 1);
	cr_assert_eq(send_to(a, ah, b->qp_num, QKEY, 4), 0);
	done(4, IBV_WC_SUCCESS);
	await_said("which needs 40 bytes for the GRH in addition: 72 bytes with the GRH, for 71");
	cr_assert_eq(send_to(a, ah, early->qp_num, QKEY, 5), 0);
	done(5, IBV_WC_SUCCESS);
	await_said("dropped: the queue pair is neither in RTR nor beyond");
	cr_assert_eq(ibv_destroy_qp(early), 0);
	cr_assert_eq(send_to(a, ah, gone, QKEY, 6), 0);
	done(6, IBV_WC_SUCCESS);
	await_said("dropped: no queue pair for datagrams has the QPN: 0x");
	comes(b, a, ah);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
}

/* FI_EMU_DGRAM_LOSS */
Test(verbs_ud_set, all_are_lost)
{
	struct ibv_qp *a, *b;
	struct ibv_ah *ah;

	setenv("FI_EMU_DGRAM_LOSS", "1", 1);
	setenv("EMU_LOG_LEVEL", "debug", 1);
	said_begin();
	begin();
	a = qp_ready();
	b = qp_ready();
	ah = self();
	receive(b, 1, GRH + LENGTH);
	cr_assert_eq(send_to(a, ah, b->qp_num, QKEY, 2), 0);
	done(2, IBV_WC_SUCCESS);
	cr_assert(said_has("lost, as FI_EMU_DGRAM_LOSS asks for"));
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	end();
}

/* Of checked mode; one of just as many bytes has room for an empty message. */
Test(verbs_ud_set, receives_without_room_for_the_header)
{
	struct ibv_qp *qp;

	setenv("FI_EMU_CHECK", "1", 1);
	said_begin();
	begin();
	qp = qp_ready();
	receive(qp, 1, GRH);
	cr_assert(!said_has("[no-header-room]"));
	receive(qp, 2, GRH - 1);
	cr_assert(said_has("ibv_post_recv: receive 0x2 has 39 bytes, and a datagram begins with a header of 40"));
	cr_assert(said_has("[no-header-room]"));
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	end();
}

/* WIRE-153: tagged, and the tag is taken. */
Test(verbs_ud_set, with_a_secret)
{
	char path[] = "/tmp/emu-ud-secret-XXXXXX";
	int fd = mkstemp(path);
	struct ibv_qp *a, *b;
	struct ibv_ah *ah;

	cr_assert(fd >= 0 && write(fd, "sixteen bytes...", 16) == 16);
	setenv("FI_EMU_SECRET_FILE", path, 1);
	begin();
	a = qp_ready();
	b = qp_ready();
	ah = self();
	cr_assert_eq(comes(a, b, ah).byte_len, GRH + LENGTH);
	cr_assert_arr_eq(memory + SIDE + GRH, memory, LENGTH);
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	close(fd);
	unlink(path);
	end();
}

static uint32_t sum16(const unsigned char *at, int length)
{
	uint32_t sum = 0;

	for (int i = 0; i < length; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

Test(verbs_ud, header_of_ipv4)
{
	struct ibv_qp *a = qp_ready(), *b = qp_ready();
	union ibv_gid gid;
	struct ibv_ah *ah = ah_to_self(true, &gid);
	const unsigned char *ip = memory + SIDE + 20;
	struct ibv_wc wc = comes(a, b, ah);

	cr_assert(wc.byte_len == GRH + LENGTH && wc.sl == 10 && wc.src_qp == a->qp_num && wc.wc_flags == IBV_WC_GRH);
	for (int i = 0; i < 20; i++)
		cr_assert_eq(memory[SIDE + i], 0);
	cr_assert(ip[0] == 0x45 && ip[1] == 0x20 && ip[8] == 9 && ip[9] == IPPROTO_UDP);
	cr_assert_eq(ip[2] << 8 | ip[3], 20 + 8 + 12 + 8 + LENGTH + 4);
	cr_assert_eq(sum16(ip, 20), 0xffff);
	cr_assert_arr_eq(ip + 12, gid.raw + 12, 4);
	cr_assert_arr_eq(ip + 16, gid.raw + 12, 4);
	cr_assert_arr_eq(memory + SIDE + GRH, memory, LENGTH);
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
}

static atomic_uint heard;
static atomic_bool enough;

/* So often that posts of others find the device busy. */
static void *polls(void *unused)
{
	struct ibv_wc wc;

	while (!atomic_load(&enough))
		if (ibv_poll_cq(cq, 1, &wc) && wc.opcode == IBV_WC_RECV && wc.status == IBV_WC_SUCCESS)
			atomic_fetch_add(&heard, 1);
	return unused;
}

/* As mckey does, which polls no completion of what it sends. */
Test(verbs_ud, what_was_posted_leaves_before_its_queue_pair_is_destroyed)
{
	enum { TIMES = 50, MESSAGES = 8 };
	struct ibv_qp *b = qp_ready();
	struct ibv_ah *ah = self();
	pthread_t thread;

	cr_assert_eq(pthread_create(&thread, NULL, polls, NULL), 0);
	for (unsigned int i = 1; i <= TIMES; i++) {
		struct ibv_qp *a = qp_ready();

		for (int k = 0; k < MESSAGES; k++)
			receive(b, 0, GRH + LENGTH);
		for (int k = 0; k < MESSAGES; k++)
			cr_assert_eq(send_to(a, ah, b->qp_num, QKEY, 0), 0);
		cr_assert_eq(ibv_destroy_qp(a), 0);
		while (atomic_load(&heard) < i * MESSAGES) /* the suite's time is the limit */
			sched_yield();
	}
	atomic_store(&enough, true);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
}

Test(verbs_ud, header_of_ipv6)
{
	struct ibv_qp *a = qp_ready(), *b = qp_ready();
	union ibv_gid gid;
	struct ibv_ah *ah = ah_to_self(false, &gid), *back;
	const unsigned char *grh = memory + SIDE;
	struct ibv_ah_attr path;
	struct ibv_wc wc;

	if (!ah)
		cr_skip("this host has no address of IPv6");
	wc = comes(a, b, ah);
	cr_assert(grh[0] == 0x62 && grh[1] == 0x01 && grh[2] == 0x23 && grh[3] == 0x45 && grh[6] == IPPROTO_UDP && grh[7] == 9);
	cr_assert_eq(grh[4] << 8 | grh[5], 8 + 12 + 8 + LENGTH + 4);
	cr_assert_arr_eq(grh + 8, gid.raw, 16);
	cr_assert_arr_eq(grh + 24, gid.raw, 16);
	cr_assert_eq(ibv_init_ah_from_wc(verbs.context, 1, &wc, (struct ibv_grh *)(memory + SIDE), &path), 0);
	cr_assert(path.is_global && path.sl == 9 && path.grh.flow_label == 0x12345 && path.grh.traffic_class == 0x20);
	cr_assert_arr_eq(path.grh.dgid.raw, gid.raw, 16);
	back = ibv_create_ah(verbs.pd, &path);
	cr_assert_not_null(back);
	comes(b, a, back);
	cr_assert_eq(ibv_destroy_ah(back), 0);
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
}

/* What no device has left there. */
Test(verbs_ud, no_header)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah_attr path;
	struct ibv_grh grh;

	memset(&grh, 0xee, sizeof(grh));
	cr_assert_eq(ibv_init_ah_from_wc(verbs.context, 1, &wc, &grh, &path), -1);
	cr_assert_null(ibv_create_ah_from_wc(verbs.pd, &wc, &grh, 1));
}

Test(verbs_ud, an_address_handle_may_go_before_its_message_leaves)
{
	struct ibv_qp *a = qp_ready(), *b = qp_ready();
	struct ibv_ah *ah = self();
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };

	cr_assert_eq(ibv_modify_qp(a, &attr, IBV_QP_STATE), 0);
	receive(b, 1, GRH + LENGTH);
	cr_assert_eq(send_to(a, ah, b->qp_num, QKEY, 2), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	cr_assert_eq(ibv_poll_cq(cq, 1, &(struct ibv_wc){ 0 }), 0, "it was sent in SQD");
	attr.qp_state = IBV_QPS_RTS;
	cr_assert_eq(ibv_modify_qp(a, &attr, IBV_QP_STATE), 0);
	done(2, IBV_WC_SUCCESS);
	done(1, IBV_WC_SUCCESS);
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
}

Test(verbs_ud, err_flushes_and_reset_forgets)
{
	struct ibv_qp *a = qp_ready(), *b = qp_ready();
	struct ibv_ah *ah = self();

	receive(b, 1, GRH + LENGTH);
	to(b, IBV_QPS_ERR);
	done(1, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(send_to(b, ah, a->qp_num, QKEY, 2), 0);
	done(2, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(send_to(a, ah, b->qp_num, QKEY, 3), 0);
	done(3, IBV_WC_SUCCESS);
	to(b, IBV_QPS_RESET);
	cr_assert_eq(send_to(b, ah, a->qp_num, QKEY, 4), EINVAL);
	to(b, IBV_QPS_INIT);
	receive(b, 5, GRH + LENGTH);
	to(b, IBV_QPS_RESET);
	to(b, IBV_QPS_INIT);
	to(b, IBV_QPS_RTR);
	comes(a, b, ah);
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
}

/* A receive whose key does not allow it fails when a message is so long, and brings the queue pair to ERR. */
Test(verbs_ud, a_receive_with_a_wrong_key)
{
	struct ibv_qp *a = qp_ready(), *b = qp_ready();
	struct ibv_ah *ah = self();
	struct ibv_sge sge = { (uintptr_t)memory + SIDE, GRH + LENGTH, mr->lkey ^ 0xff };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	cr_assert_eq(ibv_post_recv(b, &wr, &bad), 0);
	receive(b, 2, GRH + LENGTH);
	cr_assert_eq(send_to(a, ah, b->qp_num, QKEY, 3), 0);
	done(3, IBV_WC_SUCCESS);
	done(1, IBV_WC_LOC_PROT_ERR);
	done(2, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(ibv_query_qp(b, &attr, IBV_QP_STATE, &init), 0);
	cr_assert_eq(attr.qp_state, IBV_QPS_ERR);
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
}

/* More than one listener has; each has a number of its own, and hears its own messages. */
Test(verbs_ud, many)
{
	static struct ibv_qp *qps[MANY];
	struct ibv_ah *ah = self();

	for (int i = 0; i < MANY; i++) {
		qps[i] = qp_ready();
		for (int j = 0; j < i; j++)
			cr_assert_neq(qps[j]->qp_num, qps[i]->qp_num);
	}
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(comes(qps[0], qps[i], ah).qp_num, qps[i]->qp_num);
	for (int i = 0; i < MANY; i++)
		cr_assert_eq(ibv_destroy_qp(qps[i]), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
}

/* Of extended queue pairs, by a setter before and behind the data's. */
Test(verbs_ud, requests_built_by_calls)
{
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_UD,
					    .send_cq = cq,
					    .recv_cq = cq,
					    .sq_sig_all = 1,
					    .cap = { WR, WR, 2, 2, 64 },
					    .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = verbs.pd,
					    .send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM };
	struct ibv_qp *a = ibv_create_qp_ex(verbs.context, &init), *b = qp_ready();
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah = self();
	struct ibv_wc wc;

	cr_assert_not_null(a);
	to(a, IBV_QPS_INIT);
	to(a, IBV_QPS_RTR);
	to(a, IBV_QPS_RTS);
	ex = ibv_qp_to_qp_ex(a);
	receive(b, 1, GRH + LENGTH);
	receive(b, 2, GRH + LENGTH);
	ibv_wr_start(ex);
	ex->wr_id = 3;
	ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, b->qp_num, QKEY);
	ibv_wr_set_sge(ex, mr->lkey, (uintptr_t)memory, LENGTH);
	ex->wr_id = 4;
	ibv_wr_send_imm(ex, htonl(77));
	ibv_wr_set_inline_data(ex, memory, LENGTH);
	ibv_wr_set_ud_addr(ex, ah, b->qp_num, QKEY);
	cr_assert_eq(ibv_wr_complete(ex), 0);
	done(3, IBV_WC_SUCCESS);
	done(4, IBV_WC_SUCCESS);
	done(1, IBV_WC_SUCCESS);
	wc = done(2, IBV_WC_SUCCESS);
	cr_assert(wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM) && wc.imm_data == htonl(77));
	cr_assert_eq(ibv_destroy_qp(a), 0);
	cr_assert_eq(ibv_destroy_qp(b), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
}

/* --- groups --- */

static struct ibv_ah *ah_to_group(const union ibv_gid *group)
{
	union ibv_gid own;
	struct ibv_ah_attr path = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 9, .dgid = *group } };

	for (uint8_t i = 0; i < 32; i++)
		if (!ibv_query_gid(verbs.context, 1, i, &own) && is_mapped(&own)) {
			struct ibv_ah *ah;

			path.grh.sgid_index = i;
			ah = ibv_create_ah(verbs.pd, &path);
			cr_assert_not_null(ah, "%s", strerror(errno));
			return ah;
		}
	cr_assert_fail("no GID of IPv4");
	return NULL;
}

/* In a process of its own: attached, it says so, and gets one message. */
static void hear_in_child(const union ibv_gid *group, const uint8_t ipv4[4], int ready)
{
	struct ibv_qp *qp;

	begin();
	qp = qp_ready();
	cr_assert_eq(ibv_attach_mcast(qp, group, 0), 0);
	receive(qp, 1, GRH + LENGTH);
	cr_assert_eq(write(ready, "", 1), 1);
	done(1, IBV_WC_SUCCESS);
	cr_assert_arr_eq(memory + SIDE + GRH, memory, LENGTH);
	cr_assert_arr_eq(memory + SIDE + 36, ipv4, 4);
	cr_assert_eq(ibv_detach_mcast(qp, group, 0), 0);
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	end();
}

static void have_group_of_processes(const union ibv_gid *group, const uint8_t ipv4[4])
{
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	int ready[2], status;
	pid_t child[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	for (int i = 0; i < 2; i++) {
		child[i] = fork();
		cr_assert_geq(child[i], 0);
		if (!child[i]) {
			hear_in_child(group, ipv4, ready[1]);
			_exit(0);
		}
	}
	begin();
	qp = qp_ready();
	ah = ah_to_group(group);
	for (int i = 0; i < 2; i++)
		cr_assert_eq(read(ready[0], &byte, 1), 1);
	cr_assert_eq(send_to(qp, ah, 0xffffff, QKEY, 3), 0);
	done(3, IBV_WC_SUCCESS);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(waitpid(child[i], &status, 0), child[i]);
		cr_assert_eq(status, 0);
	}
	cr_assert_eq(ibv_destroy_qp(qp), 0);
	cr_assert_eq(ibv_destroy_ah(ah), 0);
	end();
}

/* WIRE-154, with a group of IPv4. */
Test(verbs_ud_set, a_group_of_processes)
{
	const union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 77, 65, 66 } };

	have_group_of_processes(&group, group.raw + 12);
}

/* The message's header of IPv4 has the group's address of IPv4. */
Test(verbs_ud_set, a_group_of_ipv6_in_a_network_of_ipv4)
{
	static const uint8_t folded[] = { 239, 192, 0xff ^ 0x41, 0x12 ^ 0x42 };
	const union ibv_gid group = { .raw = { 0xff, 0x12, [14] = 0x41, 0x42 } };

	have_group_of_processes(&group, folded);
}
