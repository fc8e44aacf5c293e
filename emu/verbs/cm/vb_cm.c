/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_cm.c - the device's side of rdma_cm. */
#include "emu/verbs/cm/vb_cm.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/service.h"
#include "emu/net/os/fork.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/cm/vb_manager.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/start/vb_nic.h"
#include "emu/verbs/start/vb_refuse.h"

enum { DEVICES_MOST = 64 };
enum { PORT_FIRST = 32768, PORTS = 28232, CM_REASON_CONSUMER = 28 };

/* Own numbers that are taken. With the driver role. */
static uint64_t ports_taken[(PORTS + 63) / 64];

static struct mutex devices_lock = MUTEX_INITIALIZER; /* held while one is opened */
static struct ibv_context *devices[DEVICES_MOST] GUARDED_BY(devices_lock);

static void cm_forked(void)
{
	mutex_forked(&devices_lock);
	vb_managers_forked();
	vb_seek_forked();
	memset(ports_taken, 0, sizeof(ports_taken));
}

static struct fork_reset reset = { .in_child = cm_forked };

void vb_cm_doze(void)
{
	vb_context_doze();
}

struct check_record *vb_cm_opened(const char *name, const char *end)
{
	return check_opened(&(struct check_what){ .name = name, .end = end });
}

void vb_cm_closed(struct check_record *record)
{
	check_closed(record);
}

/* The first call comes before the first device is opened, which would read the plan. */
int vb_cm_fault(const char *call)
{
	static atomic_bool begun;
	int err = 0;

	if (!atomic_exchange(&begun, true))
		err = vb_settings_check();
	return err ? err : vb_fault(call, NULL, 0);
}

bool vb_cm_plan(int event, bool sought, struct vb_cm_planned *planned)
{
	enum { REJECTED_BY_PROGRAM = 28 };
	struct fault_cm met;

	if (!vb_fault_shown() || !fault_cm((unsigned int)event, sought, &met))
		return false;
	*planned = (struct vb_cm_planned){ .wait_ns = met.wait_ns, .lost = met.becomes == FAULT_CM_NOTHING };
	if (met.becomes < FAULT_CM_FIRST)
		return true;
	planned->replaced = true;
	planned->becomes = (int)(met.becomes - FAULT_CM_FIRST);
	if (met.rejected)
		planned->status = met.reason ? (int)met.reason : REJECTED_BY_PROGRAM;
	else
		planned->status = met.err ? -met.err : -ETIMEDOUT;
	return true;
}

static struct ibv_context *open_at(unsigned int place)
{
	struct ibv_context *context = NULL;
	struct ibv_device **list;
	int count = 0;

	list = ibv_get_device_list(&count);
	if (list && place < (unsigned int)count)
		context = vb_context_open(list[place], false);
	else if (list)
		errno = ENODEV;
	if (list)
		ibv_free_device_list(list);
	return context;
}

struct ibv_context *vb_cm_device(unsigned int place)
{
	struct ibv_context *context = NULL;

	if (place >= DEVICES_MOST || fork_register(&reset)) {
		errno = place >= DEVICES_MOST ? ENODEV : ENOMEM;
		return NULL;
	}
	mutex_lock(&devices_lock);
	context = devices[place];
	if (!context || !vb_context_usable(vb_context_of(context)) || atomic_load(&vb_context_of(context)->dead))
		context = devices[place] = open_at(place);
	mutex_unlock(&devices_lock);
	return context;
}

/* --- opened and closed --- */

static struct vb_cm *cm_new(const struct vb_cm *as)
{
	struct vb_cm *cm = malloc(sizeof(*cm));

	if (!cm)
		return NULL;
	*cm = *as;
	vb_context_get(cm->context);
	return cm;
}

static void cm_free(struct vb_cm *cm)
{
	vb_context_put(cm->context);
	free(cm);
}

/* With the role, of a context that has a NIC then. 0 or an errno. */
static int context_enter(struct vb_context *context) TRY_ACQUIRE(0, driver_role)
{
	return vb_nic_get(context, "rdma_cm") ? vb_context_enter(context, "rdma_cm") : errno;
}

/* False: the process has not that NIC any more, or cannot have the role. */
static bool entered(struct vb_context *context) TRY_ACQUIRE(true, driver_role)
{
	return vb_context_usable(context) && !vb_context_enter(context, "rdma_cm");
}

/* What was said leaves at once. */
static void leave_saying(const struct vb_context *context) RELEASE(driver_role)
{
	(void)nic_work(atomic_load(&context->nic));
	vb_context_leave(context);
}

static int number_take(struct vb_cm *cm, uint16_t *number) REQUIRES(driver_role)
{
	bool everywhere = cm->served.ss_family == AF_UNSPEC;
	int err = vb_manager_any(cm->context, &cm->manager);

	if (!err)
		err = service_open(cm->manager->ep, &cm->served, number, cm, &cm->service);
	if (err)
		return err;
	((struct sockaddr_in *)&cm->served)->sin_port = htons(*number); /* at one place in both families; no port of TCP (V203) */
	if (!everywhere)
		(void)address_canonical((struct sockaddr *)&cm->served, &cm->served);
	return 0;
}

int vb_cm_serve(struct ibv_context *context, const struct sockaddr_storage *at, uint16_t *number, vb_cm_tell *tell, void *owner,
		struct vb_cm **out)
{
	struct vb_cm *cm = cm_new(
		&(struct vb_cm){ .context = vb_context_of(context), .tell = tell, .owner = owner, .served = *at });
	int err;

	if (!cm)
		return ENOMEM;
	err = context_enter(cm->context);
	if (err) {
		cm_free(cm);
		return err;
	}
	err = -number_take(cm, number);
	vb_context_leave(cm->context);
	if (err)
		cm_free(cm);
	else
		*out = cm;
	return err;
}

/* A number that was in use lately is the last to come again. 0: all are taken. */
static uint16_t port_take(const struct vb_manager *manager) REQUIRES(driver_role)
{
	static uint32_t turn;

	if (!turn)
		turn = (uint32_t)(manager->secret[0] % PORTS);
	for (uint32_t i = 0; i < PORTS; i++) {
		uint32_t port = turn++ % PORTS;

		if (ports_taken[port / 64] & 1ULL << port % 64)
			continue;
		ports_taken[port / 64] |= 1ULL << port % 64;
		return (uint16_t)(PORT_FIRST + port);
	}
	return 0;
}

static void port_give(uint16_t number) REQUIRES(driver_role)
{
	uint32_t port = (uint32_t)number - PORT_FIRST;

	if (number)
		ports_taken[port / 64] &= ~(1ULL << port % 64);
}

int vb_cm_open(struct ibv_context *context, const struct sockaddr_storage *at, vb_cm_tell *tell, void *owner, struct vb_cm **out,
	       uint16_t *port)
{
	struct vb_cm *cm = cm_new(&(struct vb_cm){ .context = vb_context_of(context), .tell = tell, .owner = owner });
	int err;

	if (!cm)
		return ENOMEM;
	err = context_enter(cm->context);
	if (err) {
		cm_free(cm);
		return err;
	}
	err = -vb_manager_get(cm->context, at, &cm->manager);
	if (!err)
		cm->port = port_take(cm->manager);
	err = !err && !cm->port ? EADDRNOTAVAIL : err;
	vb_context_leave(cm->context);
	if (err) {
		cm_free(cm);
		return err;
	}
	*port = cm->port;
	*out = cm;
	return 0;
}

void vb_cm_serve_hear(struct vb_cm *cm)
{
	if (!entered(cm->context))
		return;
	vb_manager_serve(cm);
	service_hear(cm->service);
	vb_context_leave(cm->context);
}

static void number_give(struct vb_cm *cm) REQUIRES(driver_role)
{
	vb_manager_serve_end(cm);
	if (cm->service)
		service_close(cm->service);
	cm->service = NULL;
}

void vb_cm_serve_end(struct vb_cm *cm)
{
	if (!entered(cm->context))
		return;
	number_give(cm);
	vb_context_leave(cm->context);
}

/* The peer is told that this side is no more, unless it knows, or does not know of it yet. One that asks and never was ready has
 * turned the reply down. */
static void say_end(struct vb_cm *cm) REQUIRES(driver_role)
{
	const unsigned int leaves = 1U << WIRE_RDMA_LEAVE | 1U << WIRE_RDMA_REJECT;
	struct wire_rdma_fields say = { .kind = WIRE_RDMA_LEAVE };

	if (cm->stage != STAGE_MET || (cm->asks && !cm->answered) || (cm->said | cm->heard) & leaves)
		return;
	if (cm->asks && !(cm->said & 1U << WIRE_RDMA_READY))
		say = (struct wire_rdma_fields){ .kind = WIRE_RDMA_REJECT, .reason = CM_REASON_CONSUMER };
	if (connection_say(cm, &say))
		vb_inform("rdma_destroy_id", "no memory to tell the peer, which hears nothing.");
}

static void close_connection(struct vb_cm *cm) REQUIRES(driver_role)
{
	if (cm->question)
		connection_seek_end(cm);
	say_end(cm);
	connection_enter(cm, STAGE_OVER);
	connection_remove(cm);
	port_give(cm->port);
}

void vb_cm_close(struct vb_cm *cm)
{
	if (entered(cm->context)) {
		number_give(cm);
		close_connection(cm);
		leave_saying(cm->context);
	}
	cm_free(cm);
}

/* --- what is said --- */

/* No op is free, no memory, no descriptor. */
static int refuse_means(int err, const char *call)
{
	return vb_refuse(-err, call, "the connection cannot begin: %s. Raise RLIMIT_NOFILE, or widen FI_EMU_PORTS.",
			 strerror(-err));
}

int vb_cm_ask(struct vb_cm *cm, const struct sockaddr_storage *server, const struct wire_rdma_fields *say)
{
	int err;

	if (!entered(cm->context))
		return vb_inherited("rdma_connect");
	cm->asks = true;
	cm->length = wire_put_rdma(cm->request, say);
	err = connection_seek(cm, server);
	leave_saying(cm->context);
	return err ? refuse_means(err, "rdma_connect") : 0;
}

int vb_cm_accept(struct vb_cm *cm, const struct vb_cm_request *request, const struct wire_rdma_fields *say)
{
	int err;

	if (!entered(cm->context))
		return vb_inherited("rdma_accept");
	connection_add(cm, request->manager, &request->peer, request->number);
	err = connection_say(cm, say);
	if (err)
		connection_remove(cm);
	else
		connection_enter(cm, STAGE_MET);
	leave_saying(cm->context);
	return err ? refuse_means(err, "rdma_accept") : 0;
}

int vb_cm_reject(const struct vb_cm_request *request, const struct wire_rdma_fields *say)
{
	struct vb_context *context = request->manager->context;
	int err;

	if (!entered(context))
		return vb_inherited("rdma_reject");
	err = vb_manager_answer(request, say);
	leave_saying(context);
	return err ? refuse_means(err, "rdma_reject") : 0;
}

int vb_cm_say(struct vb_cm *cm, const struct wire_rdma_fields *say)
{
	int err;

	if (!entered(cm->context))
		return ENOTCONN;
	err = cm->stage == STAGE_MET ? connection_say(cm, say) : -ENOTCONN;
	leave_saying(cm->context);
	return -err;
}

bool vb_cm_leave(struct vb_cm *cm)
{
	bool gone;

	if (!entered(cm->context))
		return false;
	gone = cm->gone;
	say_end(cm);
	connection_enter(cm, STAGE_OVER);
	leave_saying(cm->context);
	return gone;
}
