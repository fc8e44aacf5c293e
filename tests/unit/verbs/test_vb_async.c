/* SPDX-License-Identifier: BSD-2-Clause */
/* test_vb_async.c - asynchronous events of each kind of object. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <poll.h>

#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/queues/vb_async.h"
#include "tests/unit/verbs/pushed.h"

static struct ibv_async_event next_event(void)
{
	struct ibv_async_event event;

	cr_assert_eq(ibv_get_async_event(context, &event), 0);
	return event;
}

static void none(void)
{
	struct ibv_async_event event;
	struct pollfd wait = { .fd = context->async_fd, .events = POLLIN };

	cr_assert_eq(poll(&wait, 1, 0), 0);
	cr_assert_eq(ibv_get_async_event(context, &event), -1);
	cr_assert_eq(errno, EAGAIN);
}

static void open_quiet(void)
{
	open_all(1);
	cr_assert_eq(fcntl(context->async_fd, F_SETFL, O_NONBLOCK), 0);
	none();
}

static void tell(enum ibv_event_type type, void *object, uint32_t *told)
{
	struct ibv_async_event event = { .element.cq = object, .event_type = type };

	vb_async_tell(vb_context_of(context), &event, told);
}

Test(vb_async, events_of_objects_are_acknowledged)
{
	struct ibv_qp qp = { .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };
	struct ibv_srq srq = { .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };
	struct ibv_async_event event;
	uint32_t qp_told = 0, srq_told = 0;

	open_quiet();
	tell(IBV_EVENT_COMM_EST, &qp, &qp_told);
	tell(IBV_EVENT_SRQ_LIMIT_REACHED, &srq, &srq_told);
	tell(IBV_EVENT_QP_FATAL, &qp, &qp_told);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_COMM_EST && event.element.qp == &qp);
	ibv_ack_async_event(&event);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq == &srq);
	ibv_ack_async_event(&event);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_QP_FATAL && event.element.qp == &qp);
	ibv_ack_async_event(&event);
	none();
	cr_assert(qp.events_completed == 2 && srq.events_completed == 1);
	cr_assert_eq(vb_async_forget(vb_context_of(context), &qp, &qp_told), 2);
	cr_assert_eq(vb_async_forget(vb_context_of(context), &srq, &srq_told), 1);
	vb_await_acks(&qp.mutex, &qp.cond, &qp.events_completed, 2);
	close_all();
}

/* Only its own. */
Test(vb_async, unread_events_go_with_their_object)
{
	struct ibv_qp one = { .mutex = PTHREAD_MUTEX_INITIALIZER }, two = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	struct ibv_async_event event;
	uint32_t one_told = 0, two_told = 0;

	open_quiet();
	tell(IBV_EVENT_QP_ACCESS_ERR, &one, &one_told);
	tell(IBV_EVENT_QP_REQ_ERR, &two, &two_told);
	tell(IBV_EVENT_QP_LAST_WQE_REACHED, &one, &one_told);
	cr_assert_eq(vb_async_forget(vb_context_of(context), &one, &one_told), 0);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_QP_REQ_ERR && event.element.qp == &two);
	none();
	close_all();
}

/* Nothing waits for those; what is unread at the end goes with the context. */
Test(vb_async, events_of_ports)
{
	struct ibv_async_event event = { .element.port_num = 1, .event_type = IBV_EVENT_PORT_ERR };

	open_quiet();
	vb_async_tell(vb_context_of(context), &event, NULL);
	event = next_event();
	cr_assert(event.event_type == IBV_EVENT_PORT_ERR && event.element.port_num == 1);
	ibv_ack_async_event(&event);
	event.event_type = IBV_EVENT_DEVICE_FATAL;
	vb_async_tell(vb_context_of(context), &event, NULL);
	close_all();
}

static atomic_int looks; /* at the addresses of this machine */

int getifaddrs(struct ifaddrs **all)
{
	int (*real)(struct ifaddrs * *all);

	*(void **)&real = dlsym(RTLD_NEXT, "getifaddrs");
	atomic_fetch_add(&looks, 1);
	return real(all);
}

/* GID_CHANGE may come within the device, which must not wait for the system: the next query looks for addresses, and no other. */
Test(vb_async, addresses_are_looked_for_by_the_program)
{
	union ibv_gid gid;
	int before;

	open_quiet();
	before = atomic_load(&looks);
	cr_assert_null(vb_fault_event(VB_GID_CHANGE, 0, 0));
	cr_assert_eq(atomic_load(&looks), before);
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(ibv_query_gid(context, 1, 0, &gid), 0);
		cr_assert_eq(atomic_load(&looks), before + 1);
	}
	cr_assert_eq(next_event().event_type, IBV_EVENT_GID_CHANGE);
	close_all();
}
