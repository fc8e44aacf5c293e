/* SPDX-License-Identifier: BSD-2-Clause */
/* cm_id.c - ids are made and destroyed, and the device that they have in common. */
#include "emu/cm/cm_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

pthread_mutex_t told_lock = PTHREAD_MUTEX_INITIALIZER;
unsigned int cm_life;

static pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ack_came = PTHREAD_COND_INITIALIZER; /* with cm_lock */
static int cancel_state;                                   /* with cm_lock: of its thread, once it gives it back */

static struct cm_number *all_numbers, *idle_numbers; /* with cm_lock */

static struct ibv_pd *default_pd;     /* of all ids that have a device; with cm_lock */
static struct ibv_xrcd *default_xrcd; /* likewise, once one of them wants it */
static unsigned int pd_users;

static const char *const names[ID_STATES] = {
	[ID_FRESH] = "new",
	[ID_BOUND] = "bound",
	[ID_ADDRESSED] = "resolved to an address",
	[ID_ROUTED] = "resolved to a route",
	[ID_LISTENING] = "listening",
	[ID_CONNECTING] = "connecting",
	[ID_ANSWERED] = "answered",
	[ID_REQUESTED] = "a request that waits for its answer",
	[ID_ACCEPTED] = "accepted",
	[ID_CONNECTED] = "connected",
	[ID_OVER] = "rejected, failed or disconnected",
};

void cm_hold(void)
{
	int state;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	pthread_mutex_lock(&cm_lock);
	cancel_state = state;
}

/* The end of a number may wait for the peers that it has answered. */
void cm_let_go(void)
{
	struct cm_number *number = idle_numbers;
	int state = cancel_state;

	idle_numbers = NULL;
	pthread_mutex_unlock(&cm_lock);
	while (number) {
		struct cm_number *next = number->next;

		vb_cm_close(number->cm);
		free(number);
		number = next;
	}
	pthread_setcancelstate(state, NULL);
}

void cm_await_ack(void)
{
	int state = cancel_state;

	pthread_cond_wait(&ack_came, &cm_lock);
	cancel_state = state;
}

void cm_acked(void)
{
	pthread_cond_broadcast(&ack_came);
}

int cm_result(int err)
{
	if (!err)
		return 0;
	errno = err;
	return -1;
}

void cm_enter(struct cm_id *id, enum id_state state)
{
	id->state = state;
}

int cm_check(struct cm_id *id, uint32_t states, const char *call, const char *wanted)
{
	if (!id)
		return cm_refuse(EINVAL, call, "id is NULL.");
	if (states & 1u << id->state)
		return 0;
	return cm_refuse(EINVAL, call, "the id is %s. %s", names[id->state], wanted);
}

/* --- numbers --- */

void cm_number_add(struct cm_number *number)
{
	number->next = all_numbers;
	all_numbers = number;
}

static void number_end(struct cm_number *number)
{
	struct cm_number **at = &all_numbers;

	while (*at && *at != number)
		at = &(*at)->next;
	if (*at)
		*at = number->next;
	number->next = idle_numbers;
	idle_numbers = number;
}

static bool is_served(const struct cm_number *number)
{
	const struct cm_listener *listener = number->listeners;

	while (listener && listener->over)
		listener = listener->next;
	return listener;
}

/* Would the same words be for both? A request does not say whether it is of RDMA_PS_TCP or RDMA_PS_IB. */
static bool is_alike(const struct cm_listener *listener, const struct cm_id *id)
{
	return !listener->over && listener->ud == cm_is_ud(id) && (!listener->ud || listener->space == id->id.ps);
}

struct cm_number *cm_number_shared(const struct sockaddr_storage *at, const struct cm_id *id)
{
	for (struct cm_number *number = all_numbers; number; number = number->next) {
		const struct cm_listener *listener = number->listeners;

		if (!is_served(number) || !vb_ip_same(&number->at, (const struct sockaddr *)at) ||
		    ((struct sockaddr_in *)&number->at)->sin_port != ((const struct sockaddr_in *)at)->sin_port)
			continue;
		while (listener && !is_alike(listener, id))
			listener = listener->next;
		if (!listener)
			return number;
	}
	return NULL;
}

struct cm_listener *cm_listener_new(struct cm_number *number, const struct cm_id *id)
{
	struct cm_listener *listener = calloc(1, sizeof(*listener));

	if (!listener) {
		if (!number->listeners)
			number_end(number);
		return NULL;
	}
	*listener = (struct cm_listener){ .number = number, .space = id->id.ps, .ud = cm_is_ud(id), .users = 1 };
	pthread_mutex_lock(&told_lock);
	listener->next = number->listeners;
	number->listeners = listener;
	pthread_mutex_unlock(&told_lock);
	return listener;
}

static void listener_end(struct cm_listener *listener)
{
	struct cm_number *number = listener->number;
	struct cm_listener **at = &number->listeners;

	pthread_mutex_lock(&told_lock);
	while (*at != listener)
		at = &(*at)->next;
	*at = listener->next;
	pthread_mutex_unlock(&told_lock);
	free(listener);
	if (!number->listeners)
		number_end(number);
}

void cm_listener_put(struct cm_listener *listener)
{
	bool last;

	pthread_mutex_lock(&told_lock);
	last = !--listener->users;
	pthread_mutex_unlock(&told_lock);
	if (last)
		listener_end(listener);
}

/* --- the device --- */

int cm_take_device(struct cm_id *id, const struct vb_gid *own, unsigned int index)
{
	struct ibv_context *context = vb_cm_device(0);

	if (!context)
		return errno;
	if (id->id.ps == RDMA_PS_IPOIB)
		return vb_refuse(
			EINVAL, "rdma_cm",
			"ids of RDMA_PS_IPOIB are for interfaces of IPoIB, and the device's are Ethernet. Use RDMA_PS_UDP.");
	if (!pd_users || default_pd->context != context) { /* or it is a fork's parent's */
		pd_users = 0;
		default_xrcd = NULL;
		default_pd = ibv_alloc_pd(context);
		if (!default_pd)
			return errno;
	}
	pd_users++;
	id->id.verbs = context;
	id->id.pd = default_pd;
	id->id.port_num = 1;
	id->own = *own;
	id->own_index = index;
	return 0;
}

struct ibv_xrcd *cm_default_xrcd(void)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };

	if (!default_xrcd)
		default_xrcd = ibv_open_xrcd(default_pd->context, &attr);
	return default_xrcd;
}

/* What the program leaves in the PD, or in the domain, keeps it. */
void cm_give_device(struct cm_id *id)
{
	const struct ibv_context *had = id->id.verbs;

	id->id.verbs = NULL;
	id->id.pd = NULL;
	id->id.port_num = 0;
	if (!had || !pd_users || had != default_pd->context || --pd_users)
		return;
	if (default_xrcd)
		(void)ibv_close_xrcd(default_xrcd);
	default_xrcd = NULL;
	(void)ibv_dealloc_pd(default_pd);
	default_pd = NULL;
}

/* A fork's child is one thread, and what it inherits is the parent's. */
static void ids_forked(void)
{
	cm_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	told_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	ack_came = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	all_numbers = idle_numbers = NULL;
	default_pd = NULL;
	default_xrcd = NULL;
	pd_users = 0;
	cm_life++;
	cm_plans_forked();
}

static void watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, ids_forked); /* it fails without memory alone */
}

struct ibv_context **rdma_get_devices(int *count)
{
	struct ibv_context **list = NULL, **longer, *context;
	int found = 0;

	do {
		context = vb_cm_device((unsigned int)found);
		longer = realloc(list, ((size_t)found + 1) * sizeof(struct ibv_context *));
		if (!longer) {
			free(list);
			return vb_refuse_null(ENOMEM, "rdma_get_devices", "no memory for the list of devices.");
		}
		list = longer;
		list[found++] = context;
	} while (context);
	if (count)
		*count = found - 1;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

/* --- made --- */

struct cm_id *cm_id_new(struct cm_channel *channel, void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cm_id *id = calloc(1, sizeof(*id));

	if (!id)
		return NULL;
	pthread_once(&once, watch_forks);
	id->life = cm_life;
	id->channel = channel;
	id->id.channel = &channel->channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	/* For life: a program's own queue pair may have it (rdma_init_qp_attr()) before the peer is told. */
	(void)!getrandom(&id->psn, sizeof(id->psn), 0);
	id->psn &= CM_PSN_MASK;
	id->check = vb_cm_opened("id of rdma_cm", "rdma_destroy_id");
	return id;
}

/* The type of the queue pairs goes with the port space, but for RDMA_PS_IB, where it is the program's. */
static int check_space(enum rdma_port_space ps, enum ibv_qp_type *qp_type)
{
	switch (ps) {
	case RDMA_PS_TCP:
		*qp_type = IBV_QPT_RC;
		return 0;
	case RDMA_PS_UDP:
	case RDMA_PS_IPOIB:
		*qp_type = IBV_QPT_UD;
		return 0;
	case RDMA_PS_IB:
		if (*qp_type == IBV_QPT_RC || *qp_type == IBV_QPT_UD || *qp_type == IBV_QPT_XRC_SEND ||
		    *qp_type == IBV_QPT_XRC_RECV)
			return 0;
		return cm_refuse(EINVAL, "rdma_create_id", "ids of queue pairs of type %d are not built: RC, UD and XRC are.",
				 (int)*qp_type);
	default:
		return cm_refuse(EINVAL, "rdma_create_id", "ps 0x%x is no port space. Use RDMA_PS_TCP or RDMA_PS_UDP.",
				 (unsigned int)ps);
	}
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context, enum rdma_port_space ps)
{
	return cm_create(channel, out, context, ps, IBV_QPT_RC);
}

int cm_create(struct rdma_event_channel *channel, struct rdma_cm_id **out, void *context, enum rdma_port_space ps,
	      enum ibv_qp_type qp_type)
{
	int fault = vb_cm_fault("rdma_create_id");
	struct cm_channel *own = channel || fault ? NULL : cm_channel_new();
	struct cm_id *id;

	if (fault)
		return cm_result(fault);

	if (!channel && !own)
		return cm_refuse(errno, "rdma_create_id", "no memory or no descriptor for the id's channel. Raise RLIMIT_NOFILE.");
	if (!out || check_space(ps, &qp_type)) {
		int err = !out ? vb_refuse(EINVAL, "rdma_create_id", "id is NULL.") : errno;

		if (own)
			cm_channel_free(own);
		return cm_result(err);
	}
	id = cm_id_new(channel ? cm_channel_of(channel) : own, context, ps, qp_type);
	if (!id) {
		if (own)
			cm_channel_free(own);
		return cm_refuse(ENOMEM, "rdma_create_id", "no memory for an id.");
	}
	id->sync = own;
	*out = &id->id;
	return 0;
}

/* --- destroyed --- */

/* It hears no more, but requests that were told may still be answered. */
static void end_listener(struct cm_id *id)
{
	struct cm_listener *listener = id->listener;

	if (!listener || listener->id != id)
		return;
	pthread_mutex_lock(&told_lock);
	listener->id = NULL;
	listener->over = true;
	pthread_mutex_unlock(&told_lock);
	if (!is_served(listener->number))
		vb_cm_serve_end(listener->number->cm);
}

static void await_acks(struct cm_id *id) /* V223 */
{
	if (id->told != id->acked)
		vb_inform("rdma_destroy_id", "it waits for rdma_ack_cm_event() of %u events.", id->told - id->acked);
	while (id->told != id->acked)
		cm_await_ack();
}

int rdma_destroy_id(struct rdma_cm_id *pub)
{
	struct cm_id *id = cm_id_of(pub);
	struct vb_cm *cm;

	if (!id)
		return cm_refuse(EINVAL, "rdma_destroy_id", "id is NULL.");
	if (id->sync && pub->event) {
		rdma_ack_cm_event(pub->event);
		pub->event = NULL;
	}
	cm_hold();
	end_listener(id);
	if (id->state == ID_REQUESTED)
		(void)cm_reject_request(id, CM_REJECT_CONSUMER, NULL, 0);
	cm = id->cm;
	id->cm = NULL;
	cm_enter(id, ID_OVER); /* for calls of other threads, until events are acknowledged */
	cm_let_go();
	if (cm)
		vb_cm_close(cm); /* V216; may wait for the peer */
	cm_hold();
	cm_drop_events(id);
	await_acks(id);
	if (id->listener)
		cm_listener_put(id->listener);
	cm_groups_free(id);
	cm_give_device(id);
	cm_let_go();
	vb_cm_closed(id->check);
	if (id->sync)
		cm_channel_free(id->channel);
	rdma_freeaddrinfo(id->info);
	free(id->wish);
	free(id);
	return 0;
}
