/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_told.c - events of rdma_cm, their channels, and ids that wait for theirs: V222 to V229. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "tests/rules/verbs/rworld.h"

enum { BACKLOG = 2, ASKING = 6 };

static bool readable(struct rdma_event_channel *channel)
{
	struct pollfd in = { .fd = channel->fd, .events = POLLIN };

	return poll(&in, 1, 0) == 1;
}

RIDS(V222_a_channel_is_readable_while_it_has_an_event)
{
	r_nothing(w->channel);
	CHECK(!readable(w->channel), "the channel is readable, and has no event");
	r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, NULL));
	w->answers = r_told(w, RDMA_CM_EVENT_CONNECT_REQUEST);
	CHECK(!readable(w->channel), "the channel is readable, and has no event");
}

static void *destroys(void *arg)
{
	struct rworld *w = arg;

	R_RC(0, rdma_destroy_id(w->listens));
	w->listens = NULL;
	return NULL;
}

RIDS(V223_an_id_waits_for_its_acknowledgements)
{
	struct rdma_cm_event *event;
	pthread_t thread;

	r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, NULL));
	event = r_event(w->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	w->answers = event->id;
	CHECK(!pthread_create(&thread, NULL, destroys, w), "no thread");
	for (int i = 0; i < 1000; i++)
		sched_yield();
	CHECK(__atomic_load_n(&w->listens, __ATOMIC_RELAXED), "the id has gone, and its event is not acknowledged");
	R_RC(0, rdma_ack_cm_event(event));
	CHECK(!pthread_join(thread, NULL), "the thread does not end");
}

/* Also those of another channel, later. */
RIDS(V224_an_id_takes_its_unread_events_along)
{
	struct rdma_cm_id *id = r_id(w);

	R_RC(0, rdma_resolve_addr(id, NULL, (struct sockaddr *)&w->at, R_TIMEOUT_MS));
	CHECK(poll(&(struct pollfd){ .fd = w->channel->fd, .events = POLLIN }, 1, CHECK_GUARD_MS) == 1, "no event comes");
	R_RC(0, rdma_destroy_id(id));
	r_nothing(w->channel);
}

RIDS(V224_unread_requests_are_rejected_with_their_listener)
{
	struct pollfd in = { .fd = w->channel->fd, .events = POLLIN };

	r_give_qp(w->asks);
	R_RC(0, rdma_connect(w->asks, NULL));
	CHECK(poll(&in, 1, CHECK_GUARD_MS) == 1, "the request does not come");
	r_end(&w->listens);
	CHECK(r_told(w, RDMA_CM_EVENT_REJECTED) == w->asks, "REJECTED is for another id");
}

RIDS(V225_an_id_changes_its_channel_with_its_events)
{
	struct rdma_event_channel *other = rdma_create_event_channel();
	struct rdma_cm_event *event;

	r_ask(w, NULL, 0);
	R_RC(0, rdma_reject(w->answers, NULL, 0));
	R_RC(0, rdma_migrate_id(w->asks, other));
	CHECK(w->asks->channel == other, "id->channel is not the new one");
	event = r_event(other, RDMA_CM_EVENT_REJECTED);
	CHECK(event->id == w->asks, "REJECTED is for another id");
	R_RC(0, rdma_ack_cm_event(event));
	r_nothing(w->channel);
	r_end(&w->asks);
	rdma_destroy_event_channel(other);
}

RIDS(V226_events_of_an_id_come_in_their_order)
{
	struct rdma_cm_event *event;

	r_ask(w, NULL, 0);
	R_RC(0, rdma_accept(w->answers, NULL));
	CHECK(r_told(w, RDMA_CM_EVENT_ESTABLISHED) == w->asks, "ESTABLISHED is for another id");
	r_end(&w->asks); /* before the other is told ESTABLISHED */
	CHECK(r_told(w, RDMA_CM_EVENT_ESTABLISHED) == w->answers, "ESTABLISHED is for another id");
	event = r_event(w->channel, RDMA_CM_EVENT_DISCONNECTED);
	CHECK(event->id == w->answers && !event->status, "DISCONNECTED with status %d", event->status);
	R_RC(0, rdma_ack_cm_event(event));
}

/* A device whose peers ask again tells the others later. */
RIDS(V227_requests_that_a_backlog_has_no_room_for_are_told_as_well)
{
	struct rdma_event_channel *apart = rdma_create_event_channel();
	struct rdma_cm_id *ids[ASKING], *few;
	struct sockaddr_in any = { .sin_family = AF_INET };

	R_RC(0, rdma_create_id(apart, &few, NULL, RDMA_PS_TCP));
	R_RC(0, rdma_bind_addr(few, (struct sockaddr *)&any));
	R_RC(0, rdma_listen(few, BACKLOG));
	w->at.sin_port = rdma_get_src_port(few);
	for (int i = 0; i < ASKING; i++) {
		ids[i] = r_id(w);
		r_route(w, ids[i]);
		r_give_qp(ids[i]);
	}
	for (int i = 0; i < ASKING; i++)
		R_RC(0, rdma_connect(ids[i], NULL));
	for (int i = 0; i < ASKING; i++) {
		struct rdma_cm_event *event = r_event(apart, RDMA_CM_EVENT_CONNECT_REQUEST);
		struct rdma_cm_id *id = event->id;

		R_RC(0, rdma_ack_cm_event(event));
		R_RC(0, rdma_destroy_id(id));
	}
	r_nothing(apart);
	for (int i = 0; i < ASKING; i++)
		r_told(w, RDMA_CM_EVENT_REJECTED);
	for (int i = 0; i < ASKING; i++)
		r_end(&ids[i]);
	R_RC(0, rdma_destroy_id(few));
	rdma_destroy_event_channel(apart);
}

static void *asks_alone(void *arg)
{
	struct rworld *w = arg;
	struct rdma_cm_id *id;

	R_RC(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	R_RC(0, rdma_resolve_addr(id, NULL, (struct sockaddr *)&w->at, R_TIMEOUT_MS));
	CHECK(id->event && id->event->event == RDMA_CM_EVENT_ADDR_RESOLVED, "the id has not the event of its call");
	R_RC(0, rdma_resolve_route(id, R_TIMEOUT_MS));
	r_give_qp(id);
	R_RC(0, rdma_connect(id, NULL));
	CHECK(id->event && id->event->event == RDMA_CM_EVENT_ESTABLISHED, "the id has not the event of its call");
	r_end(&id);
	return NULL;
}

RIDS(V228_an_id_without_a_channel_waits_for_its_event)
{
	pthread_t thread;

	CHECK(!pthread_create(&thread, NULL, asks_alone, w), "no thread");
	w->answers = r_told(w, RDMA_CM_EVENT_CONNECT_REQUEST);
	r_give_qp(w->answers);
	R_RC(0, rdma_accept(w->answers, NULL));
	CHECK(r_told(w, RDMA_CM_EVENT_ESTABLISHED) == w->answers, "ESTABLISHED is for another id");
	CHECK(!pthread_join(thread, NULL), "the thread does not end");
}

RIDS(V228_a_call_that_waits_fails_by_its_event)
{
	struct rdma_cm_id *id;

	R_RC(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	R_RC(0, rdma_resolve_addr(id, NULL, (struct sockaddr *)&w->at, R_TIMEOUT_MS));
	R_RC(0, rdma_resolve_route(id, R_TIMEOUT_MS));
	r_give_qp(id);
	r_end(&w->listens);
	R_RC(ECONNREFUSED, rdma_connect(id, NULL));
	r_end(&id);
}

RIDS(V229_requests_are_got_without_a_channel_alone)
{
	struct rdma_cm_id *id;

	R_RC(EINVAL, rdma_get_request(w->listens, &id));
	R_RC(0, rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP));
	R_RC(EINVAL, rdma_get_request(id, &id));
	r_end(&id);
}
