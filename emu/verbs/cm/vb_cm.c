/* SPDX-License-Identifier: BSD-2-Clause */
/* vb_cm.c - the device's side of rdma_cm. */
#include "emu/verbs/cm/vb_cm.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "emu/nic/base/address.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/device/nic.h"
#include "emu/nic/endpoint/cm.h"
#include "emu/nic/endpoint/service.h"
#include "emu/nic/queues/av.h"
#include "emu/net/os/fork.h"
#include "emu/net/os/monotonic.h"
#include "emu/process/check/check_object.h"
#include "emu/verbs/device/vb_context.h"
#include "emu/verbs/device/vb_fault.h"
#include "emu/verbs/start/vb_nic.h"
#include "emu/verbs/start/vb_refuse.h"

enum { OPS = 4, DEVICES_MOST = 64 };

struct vb_cm {
	struct vb_context *context;
	struct ep *ep;
	vb_cm_tell *tell;
	void *owner;
	uint8_t kinds; /* of the peer's notes, a bit each; with the driver role */
	bool gone;     /* GONE was told; likewise */
};

/* Of all these endpoints: no peer reaches memory through them. With the driver role. */
static struct pd *shared_pd;
static unsigned int pd_users;

static struct mutex devices_lock = MUTEX_INITIALIZER; /* held while one is opened */
static struct ibv_context *devices[DEVICES_MOST] GUARDED_BY(devices_lock);

static void cm_forked(void)
{
	mutex_forked(&devices_lock);
	shared_pd = NULL; /* the parent's */
	pd_users = 0;
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

/* --- what the device tells --- */

/* The words that go with each frame (WIRE-182, WIRE-184, WIRE-185). */
enum {
	IN_CONNECT = 1 << WIRE_RDMA_REQUEST | 1 << WIRE_RDMA_LOOKUP,
	IN_ACCEPT = 1 << WIRE_RDMA_REPLY,
	IN_REJECT = 1 << WIRE_RDMA_REJECT | 1 << WIRE_RDMA_FOUND,
	IN_NOTE = 1 << WIRE_RDMA_REJECT | 1 << WIRE_RDMA_READY | 1 << WIRE_RDMA_LEAVE,
};

/* The peer's bytes. NULL: they are no word of this frame, and the log says why. */
static const struct wire_rdma_fields *heard(const struct cm_event *event, unsigned int kinds, struct wire_rdma_fields *fields)
{
	const char *flaw = wire_get_rdma(event->data, event->length, fields);

	if (!flaw && !(kinds & 1U << fields->kind))
		flaw = "a word of another kind than goes with this frame (WIRE-182)";
	if (!flaw)
		return fields;
	vb_inform("rdma_cm", "what a peer said is ignored: %s.", flaw);
	return NULL;
}

static bool cm_told(const struct vb_cm *cm, struct vb_cm_told told)
{
	return cm->tell(cm->owner, &told);
}

/* Each kind once, which is all that a peer of this library says: so what waits for the program has a limit. */
static bool note_told(struct vb_cm *cm, const struct wire_rdma_fields *said)
{
	uint8_t bit = (uint8_t)(1U << said->kind);

	if (cm->kinds & bit)
		return true;
	if (!cm_told(cm, (struct vb_cm_told){ .kind = VB_CM_SAID, .said = said }))
		return false;
	cm->kinds |= bit;
	return true;
}

/* A reply that cannot be read, or a note, is as good as none: the program is told that the peer is gone. */
static bool vb_cm_event(void *owner, const struct cm_event *event)
{
	struct vb_cm *cm = owner;
	struct wire_rdma_fields fields;
	const struct wire_rdma_fields *said;

	switch (event->kind) {
	case CM_SOUGHT:
		return cm_told(cm, (struct vb_cm_told){ .kind = VB_CM_SOUGHT, .request = event->request });
	case CM_REQUEST:
		said = heard(event, IN_CONNECT, &fields);
		return said &&
		       cm_told(cm, (struct vb_cm_told){
					   .kind = VB_CM_ASKED, .said = said, .peer = event->peer, .request = event->request });
	case CM_CONNECTED:
		if (!event->data) /* of the accepting side: the peer says READY when it is */
			return true;
		said = heard(event, IN_ACCEPT, &fields);
		return cm_told(cm, (struct vb_cm_told){ .kind = said ? VB_CM_REPLIED : VB_CM_FAILED, .err = EPROTO, .said = said });
	case CM_REFUSED:
		said = event->length ? heard(event, IN_REJECT, &fields) : NULL;
		return cm_told(cm, (struct vb_cm_told){ .kind = VB_CM_FAILED, .err = event->err, .said = said });
	case CM_NOTE:
		said = heard(event, IN_NOTE, &fields);
		return !said || note_told(cm, said);
	case CM_NOTED:
		return event->request != WIRE_RDMA_LEAVE || cm_told(cm, (struct vb_cm_told){ .kind = VB_CM_HEARD });
	case CM_SHUTDOWN:
		cm->gone = cm_told(cm, (struct vb_cm_told){ .kind = VB_CM_GONE });
		return cm->gone;
	default:
		return true;
	}
}

static const struct cm_ops connection_ops = { .event = vb_cm_event, .notes = true };

/* --- opened and closed --- */

static int pd_take(struct nic *nic) REQUIRES(driver_role)
{
	int err = pd_users ? 0 : pd_open(nic, &shared_pd);

	pd_users += !err;
	return err;
}

static void pd_give(void) REQUIRES(driver_role)
{
	int err = 0;

	if (!--pd_users)
		err = pd_close(shared_pd);
	assert(!err);
	(void)err;
}

static int cm_open_endpoint(struct vb_cm *cm, struct nic *nic, const struct sockaddr_storage *at, bool passive, uint16_t *number)
	REQUIRES(driver_role)
{
	struct ep_attr attr = { .tx_size = passive ? 0 : OPS,
				.rx_size = 1,
				.at = *at,
				.cm = &connection_ops,
				.passive = passive,
				.tag = AV_NONE,
				.owner = cm };
	int err = pd_take(nic);

	if (err)
		return err;
	attr.pd = shared_pd;
	err = ep_open(nic, &attr, &cm->ep);
	if (!err && passive)
		err = ep_serve(cm->ep, number);
	if (err && cm->ep)
		ep_close(cm->ep);
	if (err)
		pd_give();
	return err;
}

static int cm_open(const struct sockaddr_storage *at, bool passive, uint16_t *number, struct vb_cm *cm)
{
	struct nic *nic = vb_nic_get(cm->context, "rdma_cm");
	int err;

	if (!nic)
		return errno;
	err = vb_context_enter(cm->context, "rdma_cm");
	if (err)
		return err;
	err = -cm_open_endpoint(cm, nic, at, passive, number);
	vb_context_leave(cm->context);
	return err;
}

static int cm_new(const struct sockaddr_storage *at, bool passive, uint16_t *number, const struct vb_cm *as, struct vb_cm **out)
{
	struct vb_cm *cm = malloc(sizeof(*cm));
	int err = cm ? 0 : ENOMEM;

	if (!err) {
		*cm = *as;
		err = cm_open(at, passive, number, cm);
	}
	if (err) {
		free(cm);
		return err;
	}
	vb_context_get(cm->context);
	*out = cm;
	return 0;
}

int vb_cm_serve(struct ibv_context *context, const struct sockaddr_storage *at, uint16_t *number, vb_cm_tell *tell, void *owner,
		struct vb_cm **out)
{
	struct sockaddr_storage any_port = *at;
	const struct vb_cm as = { .context = vb_context_of(context), .tell = tell, .owner = owner };

	memset((char *)&any_port + offsetof(struct sockaddr_in, sin_port), 0,
	       sizeof(in_port_t)); /* at one place in both families */
	return cm_new(&any_port, true, number, &as, out);
}

int vb_cm_open(struct ibv_context *context, const struct sockaddr_storage *at, vb_cm_tell *tell, void *owner, struct vb_cm **out,
	       uint16_t *port)
{
	const struct vb_cm as = { .context = vb_context_of(context), .tell = tell, .owner = owner };
	struct sockaddr_storage name;
	int err = cm_new(at, false, NULL, &as, out);

	if (err)
		return err;
	ep_name((*out)->ep, &name);
	*port = address_port(&name);
	return 0;
}

/* False: the process has not that NIC any more, or cannot have the role. */
static bool entered(const struct vb_cm *cm) TRY_ACQUIRE(true, driver_role)
{
	return vb_context_usable(cm->context) && !vb_context_enter(cm->context, "rdma_cm");
}

void vb_cm_serve_hear(struct vb_cm *cm)
{
	if (!entered(cm))
		return;
	ep_serve_hear(cm->ep);
	vb_context_leave(cm->context);
}

void vb_cm_serve_end(struct vb_cm *cm)
{
	if (!entered(cm))
		return;
	ep_serve_end(cm->ep);
	vb_context_leave(cm->context);
}

/* With the role once what is under way has arrived, or the patience has ended. */
static bool drained(const struct vb_cm *cm) TRY_ACQUIRE(true, driver_role) UNCHECKED
{
	static const struct timespec pause = { .tv_nsec = 50000 };
	uint64_t until_ns = monotonic_ns() + TIME_BYE_NS;

	for (;;) {
		if (!entered(cm))
			return false;
		if (ep_quiet(cm->ep) || monotonic_ns() >= until_ns)
			return true;
		nic_work(atomic_load(&cm->context->nic));
		vb_context_leave(cm->context);
		nanosleep(&pause, NULL);
	}
}

void vb_cm_close(struct vb_cm *cm)
{
	if (drained(cm)) {
		ep_close(cm->ep);
		pd_give();
		vb_context_leave(cm->context);
	}
	vb_context_put(cm->context);
	free(cm);
}

/* --- what is said --- */

struct cm_words {
	uint8_t bytes[WIRE_CM_DATA_MAX];
	size_t length;
};

static void words_put(struct cm_words *words, const struct wire_rdma_fields *say)
{
	words->length = wire_put_rdma(words->bytes, say);
}

/* No op is free, no memory, no descriptor. */
static int refuse_means(int err, const char *call)
{
	return vb_refuse(-err, call, "the connection cannot begin: %s. Raise RLIMIT_NOFILE, or widen FI_EMU_PORTS.",
			 strerror(-err));
}

int vb_cm_ask(struct vb_cm *cm, const struct sockaddr_storage *server, const struct wire_rdma_fields *say)
{
	struct cm_words words;
	int err;

	words_put(&words, say);
	if (!entered(cm))
		return vb_inherited("rdma_connect");
	err = ep_ask(cm->ep, server, words.bytes, words.length);
	vb_context_leave(cm->context);
	return err ? refuse_means(err, "rdma_connect") : 0;
}

int vb_cm_accept(struct vb_cm *cm, const struct sockaddr_storage *peer, uint64_t request, const struct wire_rdma_fields *say)
{
	struct cm_words words;
	int err;

	words_put(&words, say);
	if (!entered(cm))
		return vb_inherited("rdma_accept");
	err = ep_accept(cm->ep, peer, request, words.bytes, words.length);
	vb_context_leave(cm->context);
	return err ? refuse_means(err, "rdma_accept") : 0;
}

int vb_cm_reject(struct vb_cm *passive, const struct sockaddr_storage *peer, uint64_t request, const struct wire_rdma_fields *say)
{
	struct cm_words words;
	int err;

	words_put(&words, say);
	if (!entered(passive))
		return vb_inherited("rdma_reject");
	err = ep_reject(passive->ep, peer, request, words.bytes, words.length);
	vb_context_leave(passive->context);
	return err ? refuse_means(err, "rdma_reject") : 0;
}

int vb_cm_say(struct vb_cm *cm, const struct wire_rdma_fields *say)
{
	struct cm_words words;
	int err;

	words_put(&words, say);
	if (!entered(cm))
		return ENOTCONN;
	err = ep_note(cm->ep, say->kind, words.bytes, words.length);
	vb_context_leave(cm->context);
	return -err;
}

bool vb_cm_leave(struct vb_cm *cm)
{
	bool gone;

	if (!entered(cm))
		return false;
	ep_shutdown(cm->ep);
	gone = cm->gone;
	vb_context_leave(cm->context);
	return gone;
}
