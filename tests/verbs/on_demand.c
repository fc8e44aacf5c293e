/* SPDX-License-Identifier: BSD-2-Clause */
/* on_demand.c - FI_EMU_FAULT: calls that fail, requests that complete with a chosen status, asynchronous events by plan. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/verbs/qp_pair.h"

enum { A, B, BYTES = 64, HANG_MS = 30000 };

static struct qp_pair pair;

static void begin(const char *text)
{
	fault_plan(text);
	qp_pair_open(&pair);
	qp_pair_meet(&pair);
}

/* --- calls --- */

static unsigned char bytes[BYTES] __attribute__((aligned(65536))); /* which an iova of 0 needs */
static struct ibv_send_wr send_wr = { .opcode = IBV_WR_RDMA_WRITE };
static struct ibv_recv_wr recv_wr, *bad_recv;
static struct ibv_send_wr *bad_send;

static int query_gid(struct verbs *verbs)
{
	union ibv_gid gid;

	return ibv_query_gid(verbs->context, 1, 0, &gid) ? errno : 0;
}

static int query_gid_entry(struct verbs *verbs)
{
	struct ibv_gid_entry entry;

	return ibv_query_gid_ex(verbs->context, 1, 0, &entry, 0);
}

static int query_gid_table(struct verbs *verbs)
{
	struct ibv_gid_entry entries[64];
	ssize_t got = ibv_query_gid_table(verbs->context, entries, 64, 0);

	return got < 0 ? (int)-got : 0;
}

static int query_port(struct verbs *verbs)
{
	struct ibv_port_attr attr;

	return ibv_query_port(verbs->context, 1, &attr);
}

static int query_device(struct verbs *verbs)
{
	struct ibv_device_attr attr;

	return ibv_query_device(verbs->context, &attr);
}

static int query_device_ex(struct verbs *verbs)
{
	struct ibv_device_attr_ex attr;

	return ibv_query_device_ex(verbs->context, NULL, &attr);
}

static int open_device(struct verbs *verbs)
{
	struct ibv_context *context = ibv_open_device(verbs->list[0]);

	return context ? ibv_close_device(context) : errno;
}

static int alloc_pd(struct verbs *verbs)
{
	struct ibv_pd *pd = ibv_alloc_pd(verbs->context);

	return pd ? ibv_dealloc_pd(pd) : errno;
}

static int reg_mr(struct verbs *verbs)
{
	struct ibv_mr *mr = ibv_reg_mr(verbs->pd, bytes, BYTES, IBV_ACCESS_LOCAL_WRITE);

	return mr ? ibv_dereg_mr(mr) : errno;
}

static int reg_mr_iova(struct verbs *verbs)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(verbs->pd, bytes, BYTES, 0, IBV_ACCESS_LOCAL_WRITE);

	return mr ? ibv_dereg_mr(mr) : errno;
}

static int create_channel(struct verbs *verbs)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(verbs->context);

	return channel ? ibv_destroy_comp_channel(channel) : errno;
}

static int create_cq(struct verbs *verbs)
{
	struct ibv_cq *cq = ibv_create_cq(verbs->context, 1, NULL, NULL, 0);

	return cq ? ibv_destroy_cq(cq) : errno;
}

static int create_cq_ex(struct verbs *verbs)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1 };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(verbs->context, &attr);

	return cq ? ibv_destroy_cq(ibv_cq_ex_to_cq(cq)) : errno;
}

static int create_srq(struct verbs *verbs)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(verbs->pd, &attr);

	return srq ? ibv_destroy_srq(srq) : errno;
}

static int create_qp(struct verbs *verbs)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .send_cq = pair.cq[A], .recv_cq = pair.cq[A] };
	struct ibv_qp *qp = ibv_create_qp(verbs->pd, &attr);

	return qp ? ibv_destroy_qp(qp) : errno;
}

static int create_qp_ex(struct verbs *verbs)
{
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC,
					    .send_cq = pair.cq[A],
					    .recv_cq = pair.cq[A],
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = verbs->pd };
	struct ibv_qp *qp = ibv_create_qp_ex(verbs->context, &attr);

	return qp ? ibv_destroy_qp(qp) : errno;
}

static int modify_qp(struct verbs *verbs)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	(void)verbs;
	return ibv_modify_qp(pair.qp[B], &attr, IBV_QP_STATE);
}

static int post_send(struct verbs *verbs)
{
	(void)verbs;
	send_wr.wr.rdma.rkey = pair.mr[B]->rkey;
	send_wr.wr.rdma.remote_addr = (uintptr_t)pair.memory[B];
	return ibv_post_send(pair.qp[A], &send_wr, &bad_send);
}

static int post_recv(struct verbs *verbs)
{
	(void)verbs;
	return ibv_post_recv(pair.qp[A], &recv_wr, &bad_recv);
}

static int post_srq_recv(struct verbs *verbs)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(verbs->pd, &attr);
	int err = ibv_post_srq_recv(srq, &recv_wr, &bad_recv);

	cr_assert_eq(ibv_destroy_srq(srq), 0);
	return err;
}

static const struct planned_call {
	const char *name;
	int (*call)(struct verbs *verbs); /* 0, or its errno */
	int had;                          /* calls of it that had come before */
} planned_calls[] = {
	{ "ibv_open_device", open_device, 1 },
	{ "ibv_query_device", query_device, 0 },
	{ "ibv_query_device", query_device_ex, 0 },
	{ "ibv_query_port", query_port, 0 },
	{ "ibv_query_gid", query_gid, 2 },
	{ "ibv_query_gid", query_gid_entry, 2 },
	{ "ibv_query_gid", query_gid_table, 2 },
	{ "ibv_alloc_pd", alloc_pd, 1 },
	{ "ibv_reg_mr", reg_mr, 2 },
	{ "ibv_reg_mr", reg_mr_iova, 2 },
	{ "ibv_create_comp_channel", create_channel, 0 },
	{ "ibv_create_cq", create_cq, 2 },
	{ "ibv_create_cq", create_cq_ex, 2 },
	{ "ibv_create_srq", create_srq, 0 },
	{ "ibv_create_qp", create_qp, 2 },
	{ "ibv_create_qp", create_qp_ex, 2 },
	{ "ibv_modify_qp", modify_qp, 6 },
	{ "ibv_post_send", post_send, 0 },
	{ "ibv_post_recv", post_recv, 0 },
	{ "ibv_post_srq_recv", post_srq_recv, 0 },
};

ParameterizedTestParameters(verbs_on_demand, fails_a_call)
{
	static size_t all[sizeof(planned_calls) / sizeof(planned_calls[0])];

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		all[i] = i;
	return cr_make_param_array(size_t, all, sizeof(all) / sizeof(all[0]));
}

/* The second of three fails, and does nothing; those around it are as ever. */
ParameterizedTest(size_t *index, verbs_on_demand, fails_a_call)
{
	const struct planned_call *planned = &planned_calls[*index];
	char text[200], said[100];

	snprintf(text, sizeof(text), "[x]\nfault = call\ncall = %s\nerror = EOVERFLOW\nfirst = %d\nmost = 1\n", planned->name,
		 planned->had + 2);
	said_begin();
	begin(text);
	for (int i = 1; i <= 3; i++)
		cr_assert_eq(planned->call(&pair.verbs), i == 2 ? EOVERFLOW : 0, "%s, call %d", planned->name, i);
	snprintf(said, sizeof(said), "%s: call %d: EOVERFLOW", planned->name, planned->had + 2);
	cr_assert(said_has(said) && said_has("injected by the fault plan (FI_EMU_FAULT)"));
	qp_pair_close(&pair);
}

Test(verbs_on_demand, leaves_the_request_that_was_not_posted)
{
	begin("[x]\nfault = call\ncall = ibv_post_send, ibv_post_recv\nerror = ENOMEM\nqp = 1\n");
	cr_assert_eq(post_send(&pair.verbs), ENOMEM);
	cr_assert_eq(bad_send, &send_wr);
	cr_assert_eq(post_recv(&pair.verbs), ENOMEM);
	cr_assert_eq(bad_recv, &recv_wr);
	qp_receive(&pair, B, 8, 7); /* the second queue pair */
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, 8, 8);
	qp_done(&pair, B, 8, IBV_WC_SUCCESS);
	qp_pair_close(&pair);
}

static const char no_first_device[] = "[x]\nfault = call\ncall = ibv_open_device\nerror = ENODEV\nmost = 1\n";

static void open_the_second_alone(void)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context;

	cr_assert_null(ibv_open_device(list[0]));
	cr_assert_eq(errno, ENODEV);
	context = ibv_open_device(list[0]);
	cr_assert_not_null(context);
	cr_assert_eq(ibv_close_device(context), 0);
	ibv_free_device_list(list);
}

Test(verbs_on_demand, has_the_first_device_not_open)
{
	fault_plan(no_first_device);
	open_the_second_alone();
}

/* All that open a device count on, however long the name of the file is. */
Test(verbs_on_demand, counts_on_under_a_long_path)
{
	char path[2000];
	size_t length = 0;

	fault_plan(no_first_device);
	while (length < 1500)
		path[length++] = '/';
	snprintf(path + length, sizeof(path) - length, "%s", getenv("FI_EMU_FAULT"));
	cr_assert_eq(setenv("FI_EMU_FAULT", path, 1), 0);
	open_the_second_alone();
}

static uint64_t monotonic_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

Test(verbs_on_demand, has_a_call_late)
{
	uint64_t begun;

	begin("[x]\nfault = call\ncall = ibv_query_port\nwait = 200ms\nmost = 1\n");
	begun = monotonic_ms();
	cr_assert_eq(query_port(&pair.verbs), 0);
	cr_assert_geq(monotonic_ms() - begun, 199);
	qp_pair_close(&pair);
}

/* --- requests --- */

struct planned_status {
	char name[30];
	enum ibv_wc_status status;
};

ParameterizedTestParameters(verbs_on_demand, fails_a_request)
{
	static struct planned_status all[] = {
		{ "LOC_LEN_ERR", IBV_WC_LOC_LEN_ERR },           { "LOC_QP_OP_ERR", IBV_WC_LOC_QP_OP_ERR },
		{ "LOC_PROT_ERR", IBV_WC_LOC_PROT_ERR },         { "WR_FLUSH_ERR", IBV_WC_WR_FLUSH_ERR },
		{ "BAD_RESP_ERR", IBV_WC_BAD_RESP_ERR },         { "REM_INV_REQ_ERR", IBV_WC_REM_INV_REQ_ERR },
		{ "REM_ACCESS_ERR", IBV_WC_REM_ACCESS_ERR },     { "IBV_WC_REM_OP_ERR", IBV_WC_REM_OP_ERR },
		{ "RETRY_EXC_ERR", IBV_WC_RETRY_EXC_ERR },       { "RNR_RETRY_EXC_ERR", IBV_WC_RNR_RETRY_EXC_ERR },
		{ "REM_ABORT_ERR", IBV_WC_REM_ABORT_ERR },       { "FATAL_ERR", IBV_WC_FATAL_ERR },
		{ "RESP_TIMEOUT_ERR", IBV_WC_RESP_TIMEOUT_ERR }, { "IBV_WC_GENERAL_ERR", IBV_WC_GENERAL_ERR },
	};

	return cr_make_param_array(struct planned_status, all, sizeof(all) / sizeof(all[0]));
}

/* The second write of the first queue pair, after a read that does not count. What is behind it is flushed, though it is to fail,
 * too, and the queue pair is in ERR; the bytes of it never came. */
ParameterizedTest(struct planned_status *planned, verbs_on_demand, fails_a_request)
{
	char text[200];

	snprintf(text, sizeof(text), "[x]\nfault = fail\nstatus = %s\nop = write\nqp = 1\nfirst = 2\nmost = 2\n", planned->name);
	said_begin();
	begin(text);
	memset(pair.memory[A], 0xa5, 3);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 64, 8, 10);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 64, 8, 11);
	qp_done(&pair, B, 10, IBV_WC_SUCCESS);
	qp_done(&pair, B, 11, IBV_WC_SUCCESS);
	qp_post(&pair, A, IBV_WR_RDMA_READ, 128, 8, 0);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 1, 1);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 1, 1, 2);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 2, 1, 3);
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 3, 1, 4);
	qp_done(&pair, A, 0, IBV_WC_SUCCESS);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_done(&pair, A, 2, planned->status);
	cr_assert(strstr(ibv_wc_status_str(planned->status), "injected by the fault plan (FI_EMU_FAULT)"), "%s",
		  ibv_wc_status_str(planned->status));
	qp_done(&pair, A, 3, IBV_WC_WR_FLUSH_ERR);
	qp_done(&pair, A, 4, IBV_WC_WR_FLUSH_ERR);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	cr_assert_eq(pair.memory[B][1], 0);
	cr_assert(said_has("request 0x2 fails (IBV_WC_") && said_has("injected by the fault plan (FI_EMU_FAULT)"));
	qp_pair_close(&pair);
}

/* The first request has a wrong lkey; the second one is another queue pair's. */
Test(verbs_on_demand, counts_a_request_that_fails_by_itself)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;

	begin("[x]\nfault = fail\nstatus = RESP_TIMEOUT_ERR\nfirst = 2\nmost = 1\n");
	wr = qp_request(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, &sge);
	wr.wr_id = 1;
	sge.lkey ^= 0x5a5a5a5a;
	cr_assert_eq(ibv_post_send(pair.qp[A], &wr, &bad), 0);
	qp_done(&pair, A, 1, IBV_WC_LOC_PROT_ERR);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, 8, 2);
	qp_done(&pair, B, 2, IBV_WC_RESP_TIMEOUT_ERR);
	qp_pair_close(&pair);
}

ParameterizedTestParameters(verbs_on_demand, fails_each_kind)
{
	static enum ibv_wr_opcode all[] = { IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD };

	return cr_make_param_array(enum ibv_wr_opcode, all, sizeof(all) / sizeof(all[0]));
}

/* Also where nothing has gone before. The peer finds out that the queue pair has left. */
ParameterizedTest(enum ibv_wr_opcode *opcode, verbs_on_demand, fails_each_kind)
{
	begin("[x]\nfault = fail\nstatus = REM_OP_ERR\nop = send, read, atomic\nqp = 1\n");
	qp_receive(&pair, B, 8, 70);
	memset(pair.memory[A], 0xa5, 8);
	qp_post(&pair, A, *opcode, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_REM_OP_ERR);
	cr_assert_eq(pair.memory[A][0], 0xa5);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 8, 8, 2);
	qp_done(&pair, B, 2, IBV_WC_RETRY_EXC_ERR);
	qp_done(&pair, B, 70, IBV_WC_WR_FLUSH_ERR);
	qp_pair_close(&pair);
}

/* --- events --- */

static struct ibv_async_event next_event(void)
{
	struct ibv_async_event event = { .event_type = IBV_EVENT_CLIENT_REREGISTER };
	struct pollfd wait = { .fd = pair.verbs.context->async_fd, .events = POLLIN };

	cr_assert_eq(poll(&wait, 1, HANG_MS), 1, "no event");
	cr_assert_eq(ibv_get_async_event(pair.verbs.context, &event), 0);
	ibv_ack_async_event(&event);
	return event;
}

static enum ibv_port_state port_state(void)
{
	struct ibv_port_attr attr;

	cr_assert_eq(ibv_query_port(pair.verbs.context, 1, &attr), 0);
	return attr.state;
}

static void expect_port_event(enum ibv_event_type type, enum ibv_port_state state)
{
	struct ibv_async_event event = next_event();

	cr_assert_eq(event.event_type, type);
	cr_assert_eq(event.element.port_num, 1);
	cr_assert_eq(port_state(), state);
}

/* By time, with a device that nobody has used for anything. */
Test(verbs_on_demand, has_the_port_down_for_a_while)
{
	fault_plan("[b]\nfault = event\nevent = PORT_ACTIVE\nafter = 300ms\n"
		   "[a]\nfault = event\nevent = PORT_ERR\nafter = 20ms\n");
	verbs_open(&pair.verbs);
	expect_port_event(IBV_EVENT_PORT_ERR, IBV_PORT_DOWN);
	expect_port_event(IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
	verbs_close(&pair.verbs);
}

Test(verbs_on_demand, has_the_port_down_at_open)
{
	static const char text[] = "[a]\nfault = unplugged\n[b]\nfault = event\nevent = IBV_EVENT_PORT_ACTIVE\n"
				   "call = ibv_query_device\nfirst = 2\nmost = 1\n";

	fault_plan(text);
	verbs_open(&pair.verbs);
	cr_assert_eq(port_state(), IBV_PORT_DOWN);
	cr_assert_eq(query_device(&pair.verbs), 0);
	cr_assert_eq(port_state(), IBV_PORT_DOWN);
	cr_assert_eq(query_device(&pair.verbs), 0);
	expect_port_event(IBV_EVENT_PORT_ACTIVE, IBV_PORT_ACTIVE);
	verbs_close(&pair.verbs);
}

/* It is not told to the parent. */
Test(verbs_on_demand, has_an_event_in_a_forks_child)
{
	struct pollfd wait = { .events = POLLIN };
	pid_t child;
	int status;

	fault_plan("[a]\nfault = event\nevent = PORT_ERR\ncall = ibv_query_device\n");
	verbs_open(&pair.verbs);
	child = fork();
	if (!child)
		_exit(query_device(&pair.verbs) || port_state() != IBV_PORT_DOWN || ibv_close_device(pair.verbs.context));
	cr_assert(waitpid(child, &status, 0) == child && status == 0);
	wait.fd = pair.verbs.context->async_fd;
	cr_assert_eq(poll(&wait, 1, 0), 0);
	verbs_close(&pair.verbs);
}

Test(verbs_on_demand, changes_a_gid)
{
	begin("[a]\nfault = event\nevent = GID_CHANGE\ncall = ibv_query_device\n");
	cr_assert_eq(query_device(&pair.verbs), 0);
	expect_port_event(IBV_EVENT_GID_CHANGE, IBV_PORT_ACTIVE);
	qp_pair_close(&pair);
}

/* At the third post, whose request is flushed. */
Test(verbs_on_demand, ends_a_queue_pair_at_a_post)
{
	struct ibv_async_event event;

	begin("[a]\nfault = event\nevent = QP_FATAL\ncall = ibv_post_send\nqp = 2\nfirst = 3\nmost = 1\n");
	for (uint64_t i = 1; i <= 2; i++) {
		qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, i);
		qp_done(&pair, A, i, IBV_WC_SUCCESS);
		qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, 8, i);
		qp_done(&pair, B, i, IBV_WC_SUCCESS);
	}
	qp_receive(&pair, B, 8, 70);
	qp_post(&pair, B, IBV_WR_RDMA_WRITE, 0, 8, 3);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == pair.qp[B]);
	qp_done(&pair, B, 70, IBV_WC_WR_FLUSH_ERR);
	qp_done(&pair, B, 3, IBV_WC_WR_FLUSH_ERR);
	cr_assert(pair.qp[B]->state == IBV_QPS_ERR && pair.qp[A]->state == IBV_QPS_RTS);
	qp_pair_close(&pair);
}

/* At a call that is on none. */
Test(verbs_on_demand, ends_a_queue_pair_at_a_query)
{
	begin("[a]\nfault = event\nevent = QP_FATAL\ncall = ibv_query_device\nqp = 2\nmost = 1\n");
	cr_assert_eq(query_device(&pair.verbs), 0);
	cr_assert_eq(next_event().event_type, IBV_EVENT_QP_FATAL);
	cr_assert(pair.qp[B]->state == IBV_QPS_ERR && pair.qp[A]->state == IBV_QPS_RTS);
	qp_pair_close(&pair);
}

/* The first queue takes nothing any more; the other one is as ever. */
Test(verbs_on_demand, ends_a_completion_queue)
{
	struct ibv_async_event event;
	struct ibv_wc wc;

	begin("[a]\nfault = event\nevent = CQ_ERR\ncq = 1\ncall = ibv_query_device\nmost = 1\n");
	qp_post(&pair, A, IBV_WR_RDMA_WRITE, 0, 8, 1);
	qp_done(&pair, A, 1, IBV_WC_SUCCESS);
	qp_receive(&pair, A, 8, 70);
	cr_assert_eq(query_device(&pair.verbs), 0);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_CQ_ERR && event.element.cq == pair.cq[A]);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == pair.qp[A]);
	cr_assert_eq(pair.qp[A]->state, IBV_QPS_ERR);
	cr_assert_eq(ibv_poll_cq(pair.cq[A], 1, &wc), 0, "the flushed receive is told where nothing can be");
	cr_assert_eq(pair.qp[B]->state, IBV_QPS_RTS);
	qp_pair_close(&pair);
}

Test(verbs_on_demand, ends_a_device)
{
	struct verbs again;

	said_begin();
	begin("[a]\nfault = event\nevent = DEVICE_FATAL\ncall = ibv_query_port\nmost = 1\n");
	qp_receive(&pair, A, 8, 70);
	cr_assert_eq(query_port(&pair.verbs), EIO);
	cr_assert_eq(next_event().event_type, IBV_EVENT_DEVICE_FATAL);
	cr_assert(post_send(&pair.verbs) == EIO && reg_mr(&pair.verbs) == EIO && create_cq(&pair.verbs) == EIO);
	qp_done(&pair, A, 70, IBV_WC_WR_FLUSH_ERR);
	cr_assert(pair.qp[A]->state == IBV_QPS_ERR && pair.qp[B]->state == IBV_QPS_ERR);
	cr_assert(said_has("IBV_EVENT_DEVICE_FATAL, injected by the fault plan"));
	verbs_open(&again); /* it has recovered */
	cr_assert(query_port(&again) == 0 && reg_mr(&again) == 0);
	verbs_close(&again);
	qp_pair_close(&pair);
}

/* --- plans with errors --- */

static char wrong[][160] = {
	"fault = call\ncall = ibv_reg\nerror = EIO\n",
	"fault = call\ncall = ibv_reg_mr\n",
	"fault = call\nerror = EIO\n",
	"fault = call\ncall = ibv_reg_mr\nerror = EIO\nop = write\n",
	"fault = rnr\nop = recv\n",
	"fault = fail\nop = write\n",
	"fault = fail\nstatus = SUCCESS\n",
	"fault = fail\nstatus = NONE\n",
	"fault = event\nevent = PORT_ERR\n",
	"fault = event\nevent = PORT_ERR\nafter = 1ms\ncall = ibv_reg_mr\n",
	"fault = event\nevent = LID_CHANGE\nafter = 1ms\n",
	"fault = event\nevent = QP_FATAL\nqp = 0\nafter = 1ms\n",
	"fault = event\nevent = QP_FATAL\nafter = 1ms\n",
	"fault = event\nevent = CQ_ERR\nafter = 1ms\n",
	"fault = event\nevent = CQ_ERR\nqp = 1\ncall = ibv_post_send\n",
	"fault = unplugged\nqp = 1\n",
};
struct wrong_plan {
	char text[sizeof(wrong[0])];
};

ParameterizedTestParameters(verbs_on_demand, refuses_plans)
{
	return cr_make_param_array(struct wrong_plan, (struct wrong_plan *)wrong, sizeof(wrong) / sizeof(wrong[0]));
}

ParameterizedTest(struct wrong_plan *plan, verbs_on_demand, refuses_plans)
{
	char text[200];
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);

	snprintf(text, sizeof(text), "[a]\n%s", plan->text);
	fault_plan(text);
	said_begin();
	cr_assert_null(ibv_open_device(list[0]));
	cr_assert_eq(errno, EINVAL);
	cr_assert(said_has("see emu_fault(5)"));
	ibv_free_device_list(list);
}
