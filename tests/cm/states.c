/* SPDX-License-Identifier: BSD-2-Clause */
/* states.c - calls in wrong states, bad arguments, channels, and strangers at a number. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_verbs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cm/meeting.h"

#define FAILS(call, error) cr_assert((call) == -1 && errno == (error), #call ": errno %d", errno)

static struct sockaddr_in number_of(struct rdma_cm_id *id)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = rdma_get_src_port(id),
				     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

Test(cm_states, calls_in_wrong_states)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct rdma_cm_id *id;
	struct meeting m;
	int mask;

	meeting_open(&m);
	cr_assert_eq(rdma_create_id(m.channel, &id, NULL, RDMA_PS_TCP), 0);
	FAILS(rdma_resolve_route(id, 1000), EINVAL);
	FAILS(rdma_connect(id, &param), EINVAL);
	FAILS(rdma_accept(id, &param), EINVAL);
	FAILS(rdma_reject(id, NULL, 0), EINVAL);
	FAILS(rdma_establish(id), EINVAL);
	FAILS(rdma_disconnect(id), EINVAL);
	FAILS(rdma_create_qp(id, NULL, &init), EINVAL);
	FAILS(rdma_init_qp_attr(id, &attr, &mask), EINVAL);
	cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&at), 0);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&at), EINVAL);
	FAILS(rdma_connect(id, &param), EINVAL);
	cr_assert_eq(rdma_destroy_id(id), 0);
	FAILS(rdma_listen(m.listens, 1), EINVAL);
	FAILS(rdma_resolve_route(m.asks, 1000), EINVAL);
	FAILS(rdma_init_qp_attr(m.asks, &attr, &mask), EINVAL);
	meeting_meet(&m);
	FAILS(rdma_accept(m.answers, &param), EINVAL);
	FAILS(rdma_reject(m.answers, NULL, 0), EINVAL);
	FAILS(rdma_connect(m.asks, &param), EINVAL);
	FAILS(rdma_establish(m.asks), EINVAL);
	FAILS(rdma_create_qp(m.asks, NULL, &init), EINVAL);
	meeting_close(&m);
}

Test(cm_states, a_queue_pair_is_of_the_programs_pd)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 }, .sq_sig_all = 1 };
	struct ibv_pd *pd;
	struct meeting m;

	meeting_open(&m);
	pd = ibv_alloc_pd(m.asks->verbs);
	cr_assert_eq(rdma_create_qp(m.asks, pd, &init), 0);
	cr_assert(m.asks->qp->pd == pd && m.asks->pd == pd && init.cap.max_send_wr == 1);
	rdma_destroy_qp(m.asks);
	cr_assert(!m.asks->qp && !m.asks->send_cq && !m.asks->recv_cq && !m.asks->send_cq_channel);
	cr_assert_eq(ibv_dealloc_pd(pd), 0);
	meeting_close(&m);
}

static void *destroys_qp(void *id)
{
	rdma_destroy_qp(id);
	return NULL;
}

/* A call that waits for the acknowledgement of a completion's event holds up none of another thread. */
Test(cm_states, a_queue_pair_is_destroyed_while_others_go_on)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_cq *cq, *told;
	struct meeting m;
	pthread_t thread;
	void *context;

	meeting_open(&m);
	meeting_give_qp(m.asks);
	cq = m.asks->recv_cq;
	cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
	cr_assert_eq(ibv_post_recv(m.asks->qp, &wr, &bad), 0);
	cr_assert_eq(ibv_modify_qp(m.asks->qp, &attr, IBV_QP_STATE), 0);
	cr_assert_eq(ibv_get_cq_event(m.asks->recv_cq_channel, &told, &context), 0);
	cr_assert_eq(told, cq);
	cr_assert_eq(pthread_create(&thread, NULL, destroys_qp, m.asks), 0);
	do { /* until there is none */
		sched_yield();
		init = (struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	} while (rdma_create_qp(m.asks, NULL, &init));
	ibv_ack_cq_events(cq, 1);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert(m.asks->qp && m.asks->recv_cq != cq);
	meeting_close(&m);
}

Test(cm_states, bad_arguments)
{
	struct rdma_conn_param param = { .private_data = "", .private_data_len = 57, .qp_num = 1 };
	struct sockaddr_in far = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201) };
	struct sockaddr_in6 other = { .sin6_family = AF_INET6 };
	struct sockaddr_in6 link = { .sin6_family = AF_INET6,
				     .sin6_addr.s6_addr = { 0xfe, 0x80, [15] = 1 } }; /* of which interface? */
	struct sockaddr unknown = { .sa_family = AF_UNIX }, infiniband = { .sa_family = AF_IB };
	struct rdma_cm_id *id;
	struct meeting m;

	meeting_open(&m);
	FAILS(rdma_connect(m.asks, &param), EINVAL);
	param = (struct rdma_conn_param){ .responder_resources = 200, .qp_num = 1 };
	FAILS(rdma_connect(m.asks, &param), EINVAL);
	param = (struct rdma_conn_param){ 0 };
	FAILS(rdma_connect(m.asks, &param), EINVAL);
	FAILS(rdma_create_id(m.channel, &id, NULL, 0x1234), EINVAL);
	cr_assert_eq(rdma_create_id(m.channel, &id, NULL, RDMA_PS_TCP), 0);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&far), EADDRNOTAVAIL);
	FAILS(rdma_bind_addr(id, &unknown), EINVAL);
	FAILS(rdma_resolve_addr(id, NULL, &unknown, 1000), EINVAL);
	FAILS(rdma_bind_addr(id, &infiniband), ENODEV);
	FAILS(rdma_resolve_addr(id, NULL, &infiniband, 1000), ENODEV);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&link), EINVAL);
	FAILS(rdma_resolve_addr(id, NULL, (struct sockaddr *)&link, 1000), EINVAL);
	FAILS(rdma_resolve_addr(id, (struct sockaddr *)&other, (struct sockaddr *)&far, 1000), EINVAL);
	FAILS(rdma_get_cm_event(NULL, NULL), EINVAL);
	cr_assert_eq(rdma_destroy_id(id), 0);
	meeting_close(&m);
}

/* As memset() leaves it. */
Test(cm_states, an_empty_source_is_none)
{
	struct sockaddr_storage empty = { 0 };
	struct sockaddr_in at;
	struct rdma_cm_id *id;
	struct meeting m;

	meeting_open(&m);
	at = number_of(m.listens);
	cr_assert_eq(rdma_create_id(m.channel, &id, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addr(id, (struct sockaddr *)&empty, (struct sockaddr *)&at, 1000), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_ADDR_RESOLVED, NULL), id);
	cr_assert_eq(rdma_destroy_id(id), 0);
	meeting_close(&m);
}

Test(cm_states, a_number_has_one_listener_and_is_no_port_of_tcp)
{
	struct sockaddr_in at, everywhere = { .sin_family = AF_INET };
	struct rdma_cm_id *id;
	struct meeting m;
	int tcp = socket(AF_INET, SOCK_STREAM, 0);

	meeting_open(&m);
	at = number_of(m.listens);
	cr_assert_eq(rdma_create_id(m.channel, &id, NULL, RDMA_PS_TCP), 0);
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&at), EADDRINUSE);
	everywhere.sin_port = at.sin_port;
	FAILS(rdma_bind_addr(id, (struct sockaddr *)&everywhere), EADDRNOTAVAIL);
	cr_assert(!bind(tcp, (struct sockaddr *)&at, sizeof(at)) && !listen(tcp, 1));
	close(tcp);
	cr_assert_eq(rdma_destroy_id(m.listens), 0);
	m.listens = NULL;
	cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&at), 0, "it is free again");
	cr_assert_eq(rdma_destroy_id(id), 0);
	meeting_close(&m);
}

static struct rdma_cm_id *routed(struct meeting *m, struct sockaddr_in *at, enum rdma_port_space space)
{
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_create_id(m->channel, &id, NULL, space), 0);
	cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)at, 1000), 0);
	meeting_expect(m, RDMA_CM_EVENT_ADDR_RESOLVED, NULL);
	cr_assert_eq(rdma_resolve_route(id, 1000), 0);
	meeting_expect(m, RDMA_CM_EVENT_ROUTE_RESOLVED, NULL);
	return id;
}

/* Asks there, and is rejected by the listener that is meant. */
static void is_heard_by(struct meeting *m, struct sockaddr_in *at, enum rdma_port_space space, const struct rdma_cm_id *listens)
{
	struct rdma_cm_id *id = routed(m, at, space), *request;
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;

	cr_assert_eq(rdma_connect(id, &param), 0);
	request = meeting_expect(m, RDMA_CM_EVENT_CONNECT_REQUEST, &event);
	cr_assert_eq(event->listen_id, listens);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(rdma_reject(request, NULL, 0), 0);
	cr_assert_eq(rdma_destroy_id(request), 0);
	meeting_expect(m, space == RDMA_PS_TCP ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE, NULL);
	cr_assert_eq(rdma_destroy_id(id), 0);
}

Test(cm_states, port_spaces_of_a_process_have_numbers_of_their_own)
{
	struct rdma_cm_id *ud, *third;
	struct sockaddr_in at;
	struct meeting m;

	meeting_open(&m);
	at = number_of(m.listens);
	cr_assert_eq(rdma_create_id(m.channel, &ud, NULL, RDMA_PS_UDP), 0);
	cr_assert_eq(rdma_bind_addr(ud, (struct sockaddr *)&at), 0, "errno %d", errno);
	cr_assert_eq(rdma_get_src_port(ud), at.sin_port);
	cr_assert_eq(rdma_listen(ud, 1), 0);
	cr_assert_eq(rdma_create_id(m.channel, &third, NULL, RDMA_PS_UDP), 0);
	FAILS(rdma_bind_addr(third, (struct sockaddr *)&at), EADDRINUSE);
	cr_assert_eq(rdma_destroy_id(third), 0);
	for (int i = 0; i < 3; i++) {
		is_heard_by(&m, &at, RDMA_PS_UDP, ud);
		is_heard_by(&m, &at, RDMA_PS_TCP, m.listens);
	}
	cr_assert_eq(rdma_destroy_id(m.listens), 0);
	is_heard_by(&m, &at, RDMA_PS_UDP, ud);
	cr_assert_eq(rdma_create_id(m.channel, &m.listens, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_bind_addr(m.listens, (struct sockaddr *)&at), 0, "errno %d", errno);
	cr_assert_eq(rdma_listen(m.listens, 1), 0);
	is_heard_by(&m, &at, RDMA_PS_TCP, m.listens);
	cr_assert_eq(rdma_destroy_id(ud), 0);
	is_heard_by(&m, &at, RDMA_PS_TCP, m.listens);
	meeting_close(&m);
}

Test(cm_states, a_channel_is_a_descriptor)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;
	struct meeting m;
	struct pollfd look;

	meeting_open(&m);
	look = (struct pollfd){ .fd = m.channel->fd, .events = POLLIN };
	cr_assert_eq(fcntl(m.channel->fd, F_SETFL, O_NONBLOCK), 0);
	FAILS(rdma_get_cm_event(m.channel, &event), EAGAIN);
	cr_assert_eq(poll(&look, 1, 0), 0);
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	cr_assert_eq(poll(&look, 1, 60000), 1);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	meeting_close(&m);
}

static atomic_int destroyed;

static void *destroys(void *id)
{
	cr_assert_eq(rdma_destroy_id(id), 0);
	atomic_store(&destroyed, 1);
	return NULL;
}

Test(cm_states, an_id_waits_for_acknowledgements)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct rdma_cm_event *event;
	struct meeting m;
	pthread_t thread;

	meeting_open(&m);
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, &event);
	cr_assert_eq(pthread_create(&thread, NULL, destroys, m.listens), 0);
	m.listens = NULL;
	for (int i = 0; i < 1000; i++)
		sched_yield();
	cr_assert_eq(atomic_load(&destroyed), 0);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_assert_eq(atomic_load(&destroyed), 1);
	meeting_close(&m);
}

/* The peer's end shows that the connection of the id is gone. */
Test(cm_states, an_id_that_waits_for_acknowledgements_is_over)
{
	struct rdma_conn_param param = { 0 };
	struct rdma_cm_event *event;
	struct meeting m;
	pthread_t thread;

	meeting_open(&m);
	meeting_ask(&m, "", 0);
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_ESTABLISHED, &event), m.asks);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_ESTABLISHED, NULL), m.answers);
	rdma_destroy_qp(m.asks);
	cr_assert_eq(pthread_create(&thread, NULL, destroys, m.asks), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_DISCONNECTED, NULL), m.answers);
	cr_assert_eq(rdma_disconnect(m.asks), 0);
	FAILS(rdma_establish(m.asks), EINVAL);
	m.asks = NULL;
	cr_assert_eq(pthread_cancel(thread), 0); /* it would leave a lock taken */
	for (int i = 0; i < 1000; i++)
		sched_yield();
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	meeting_close(&m);
}

static atomic_int returned;

static void *takes(void *channel)
{
	struct rdma_cm_event *event;

	rdma_get_cm_event(channel, &event);
	atomic_store(&returned, 1);
	return NULL;
}

/* As in the read() of a descriptor that is closed: rping ends with an error when it returns. */
Test(cm_states, a_thread_sleeps_on_in_a_channel_that_is_destroyed)
{
	for (int i = 0; i < 16; i++) { /* a thread that comes late finds one of the last 16 channels still in memory */
		struct rdma_event_channel *channel = rdma_create_event_channel();
		pthread_t thread;

		cr_assert_eq(pthread_create(&thread, NULL, takes, channel), 0);
		for (int turn = 0; turn < 3 * i; turn++)
			sched_yield();
		rdma_destroy_event_channel(channel);
	}
	for (int i = 0; i < 1000; i++)
		sched_yield();
	cr_assert_eq(atomic_load(&returned), 0);
}

/* With the kernel's that closes a descriptor, and waits for nothing. */
Test(cm_states, a_channel_is_destroyed_before_its_event_is_acknowledged)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(1), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&at, 1000), 0);
	cr_assert_eq(rdma_get_cm_event(channel, &event), 0);
	rdma_destroy_event_channel(channel);
	for (int i = 0; i < 40; i++) /* more than stay in memory */
		rdma_destroy_event_channel(rdma_create_event_channel());
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert_eq(rdma_destroy_id(id), 0);
}

Test(cm_states, an_id_may_change_its_channel)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct meeting m, other;

	meeting_open(&m);
	other.channel = rdma_create_event_channel();
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	cr_assert_eq(rdma_reject(m.answers, NULL, 0), 0);
	cr_assert_eq(rdma_migrate_id(m.asks, other.channel), 0);
	cr_assert_eq(m.asks->channel, other.channel);
	cr_assert_eq(meeting_expect(&other, RDMA_CM_EVENT_REJECTED, NULL), m.asks);
	meeting_close(&m);
	rdma_destroy_event_channel(other.channel);
}

/* For the device that is opened next. */
static void set_plan(const char *plan, char path[static 32])
{
	int fd;

	strcpy(path, "/tmp/emu-cm-plan-XXXXXX");
	fd = mkstemp(path);
	cr_assert_eq(write(fd, plan, strlen(plan)), (ssize_t)strlen(plan));
	close(fd);
	setenv("FI_EMU_FAULT", path, 1);
}

Test(cm_states, a_plan_fails_calls)
{
	struct rdma_conn_param param = { .qp_num = 1 };
	struct meeting m;
	char path[32];

	set_plan("[once]\nfault = call\ncall = rdma_resolve_addr, rdma_connect\nerror = ENETDOWN\nfirst = 2\nmost = 1\n", path);
	meeting_open(&m);
	unlink(path);
	FAILS(rdma_connect(m.asks, &param), ENETDOWN);
	cr_assert_eq(rdma_connect(m.asks, &param), 0);
	m.answers = meeting_expect(&m, RDMA_CM_EVENT_CONNECT_REQUEST, NULL);
	meeting_close(&m);
}

/* The sixth change of state: both queue pairs were made, and that of the accepting side is ready. */
Test(cm_states, a_queue_pair_that_cannot_be_made_ready_gives_its_receives_back)
{
	struct rdma_conn_param param = { 0 };
	struct ibv_recv_wr wr = { 0 }, *bad;
	struct rdma_cm_event *event;
	struct ibv_wc wc;
	struct meeting m;
	char path[32];

	set_plan("[once]\nfault = call\ncall = ibv_modify_qp\nerror = ENOMEM\nfirst = 6\nmost = 1\n", path);
	meeting_open(&m);
	unlink(path);
	meeting_ask(&m, "", 0);
	cr_assert_eq(ibv_post_recv(m.asks->qp, &wr, &bad), 0);
	cr_assert_eq(rdma_accept(m.answers, &param), 0);
	cr_assert_eq(meeting_expect(&m, RDMA_CM_EVENT_CONNECT_ERROR, &event), m.asks);
	cr_assert_eq(event->status, -ENOMEM);
	cr_assert_eq(rdma_ack_cm_event(event), 0);
	cr_assert(rdma_get_recv_comp(m.asks, &wc) == 1 && wc.status == IBV_WC_WR_FLUSH_ERR);
	meeting_close(&m);
}

/* Random bytes, and questions that are nearly right: nothing is answered, and the next right one is. */
Test(cm_states, strangers_at_a_number)
{
	uint8_t junk[64], answer[64];
	struct sockaddr_in at;
	struct meeting m;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	meeting_open(&m);
	at = number_of(m.listens);
	for (unsigned int i = 0; i < 2000; i++) {
		memset(junk, (int)(i * 37), sizeof(junk));
		memcpy(junk, "emusrvc\n", 8 * (i & 1));
		sendto(fd, junk, i % 65, 0, (struct sockaddr *)&at, sizeof(at));
	}
	meeting_meet(&m);
	cr_assert_eq(recv(fd, answer, sizeof(answer), MSG_DONTWAIT), -1);
	close(fd);
	meeting_close(&m);
}
