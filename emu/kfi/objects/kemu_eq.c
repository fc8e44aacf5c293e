/* SPDX-License-Identifier: BSD-2-Clause */
/* kemu_eq.c - event queues: what libfabric's queue reports, and what kfabric reports besides, in one row. */
#include "emu/kfi/objects/kemu_open.h"

#include <kfi_domain.h>
#include <kfi_errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/kfi/objects/kemu_queue_parts.h"
#include "emu/kfi/objects/kemu_object.h"
#include "emu/kfi/objects/kemu_queues.h"
#include "emu/kfi/provider/kemu_refuse.h"
#include "emu/kfi/provider/kemu_personality.h"

enum { EVENTS_LEAST = 1024 }; /* a smaller size is no limit */

struct kemu_eq_state {
	pthread_mutex_t lock; /* guards all below but what is constant */
	struct kemu_eq *eq;
	enum fi_wait_obj wait_obj; /* of libfabric's queue; constant, as the next two */
	bool writable;
	size_t limit;              /* of kfi_eq_write() */
	struct kemu_source source; /* added where there is a handler */
	bool armed;                /* the handler is to be called; it watches the queue, or is kicked */
	bool woken;                /* an event in libfabric's queue tells of ours */
	struct kemu_event *first, **end;
	size_t count;
	struct kemu_event *shown; /* the error that was read last: it has err_data */
};

static struct kemu_eq *eq_of(struct kfid_eq *kfid)
{
	return container_of(kfid, struct kemu_eq, kfid);
}

struct kemu_eq *kemu_eq_of(struct kfid *fid, const struct kemu_fabric *fabric)
{
	struct kemu_eq *eq;

	if (!fid || fid->fclass != KFI_CLASS_EQ)
		return NULL;
	eq = container_of(fid, struct kemu_eq, kfid.fid);
	return eq->fabric == fabric ? eq : NULL;
}

/* --- the row of events, under the lock --- */

static void append_event(struct kemu_eq_state *state, struct kemu_event *event)
{
	*state->end = event;
	state->end = &event->next;
	state->count++;
}

static struct kemu_event *take_first_event(struct kemu_eq_state *state)
{
	struct kemu_event *event = state->first;

	state->first = event->next;
	if (!state->first)
		state->end = &state->first;
	state->count--;
	return event;
}

/* Takes all that libfabric's queue has. */
static void pull(struct kemu_eq_state *state)
{
	struct kemu_event *event;
	bool drop;

	for (;;) {
		event = kemu_event_take(state->eq->fabric->personality, state->eq->fi, &drop);
		if (event)
			append_event(state, event);
		else if (drop)
			state->woken = false;
		else
			return;
	}
}

static void wake_for_events(struct kemu_eq_state *state)
{
	struct fid *fid = &state->eq->fi->fid;
	int err = fi_trywait(state->eq->fabric->fi, &fid, 1);

	if (!err)
		kemu_softirq_watch(&state->source);
	else if (err == -KFI_EAGAIN)
		kemu_softirq_kick(&state->source);
}

static void arm_events(struct kemu_eq_state *state)
{
	if (!state->eq->kfid.event_handler || state->armed)
		return;
	state->armed = true;
	wake_for_events(state);
}

/* While our row has events, libfabric's queue has one, too: threads and sets that wait look at that queue alone. To be called after
 * each change of the row, as a reader that takes one event of several pulls what the others sleep for. */
static void keep_awake(struct kemu_eq_state *state)
{
	bool wake = true;

	if (state->first && state->wait_obj != FI_WAIT_NONE && !state->woken)
		state->woken = fi_eq_write(state->eq->fi, KEMU_EVENT_WAKE, &wake, sizeof(wake), 0) > 0;
}

/* An event that libfabric's queue does not have. `limit`: -KFI_EAGAIN if the row has so many. */
static int add_own(struct kemu_eq *eq, struct kemu_event *event, size_t limit)
{
	struct kemu_eq_state *state = eq->state;
	bool full;

	if (!event)
		return -KFI_ENOMEM;
	pthread_mutex_lock(&state->lock);
	full = state->count >= limit;
	if (!full) {
		append_event(state, event);
		keep_awake(state);
	}
	pthread_mutex_unlock(&state->lock);
	if (full)
		kemu_event_free(event);
	return full ? -KFI_EAGAIN : 0;
}

int kemu_eq_tell_mr(struct kemu_eq *eq, struct kfid *mr, void *context, int err)
{
	struct kfi_eq_entry entry = { .fid = mr, .context = context };
	struct kfi_eq_err_entry error = { .fid = mr, .context = context, .err = err, .prov_errno = err };

	return add_own(eq, err ? kemu_event_error(&error) : kemu_event_new(KFI_MR_COMPLETE, &entry, sizeof(entry)), SIZE_MAX);
}

void kemu_eq_forget(struct kemu_eq *eq, const struct kfid *fid)
{
	struct kemu_eq_state *state = eq->state;
	struct kemu_event **link;

	pthread_mutex_lock(&state->lock);
	for (link = &state->first; *link;) {
		struct kemu_event *event = *link;

		if (kemu_event_fid(event) != fid) {
			link = &event->next;
			continue;
		}
		*link = event->next;
		state->count--;
		kemu_event_free(event);
	}
	state->end = link;
	pthread_mutex_unlock(&state->lock);
}

/* --- the handler --- */

static void run_event_handler(struct kemu_source *source)
{
	struct kemu_eq_state *state = container_of(source, struct kemu_eq_state, source);
	struct kemu_eq *eq = state->eq;
	bool call = false;

	pthread_mutex_lock(&state->lock);
	if (state->armed) {
		pull(state);
		keep_awake(state);
		call = state->first;
		state->armed = !call;
		if (!call)
			wake_for_events(state);
	}
	pthread_mutex_unlock(&state->lock);
	if (!call)
		return;
	emu_kernel_enter_atomic();
	eq->kfid.event_handler(&eq->kfid, eq->kfid.fid.context);
	emu_kernel_leave_atomic();
}

/* --- the calls --- */

static size_t event_bytes(const struct kemu_event *event, size_t len)
{
	return event->length < len ? event->length : len;
}

static ssize_t read_event(struct kemu_eq_state *state, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct kemu_event *first;
	ssize_t bytes;

	pull(state);
	first = state->first;
	if (!first) {
		arm_events(state);
		return -KFI_EAGAIN;
	}
	if (first->error)
		return -KFI_EAVAIL;
	if (len < first->least)
		return KEMU_REFUSE(-KFI_ETOOSMALL, "kfi_eq_read: len is %zu, and the event has %zu bytes.", len, first->least);
	bytes = (ssize_t)event_bytes(first, len);
	*event = first->event;
	memcpy(buf, first->data, (size_t)bytes);
	if (flags & KFI_PEEK)
		return bytes;
	first->info = NULL; /* the reader's now */
	kemu_event_free(take_first_event(state));
	return bytes;
}

static ssize_t kemu_eq_read(struct kfid_eq *kfid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct kemu_eq_state *state = eq_of(kfid)->state;
	ssize_t rc;

	if (!event || !buf)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_eq_read: event or buf is NULL.");
	if (flags & ~(uint64_t)KFI_PEEK)
		return KEMU_REFUSE_FLAGS("kfi_eq_read", flags & ~(uint64_t)KFI_PEEK, "");
	pthread_mutex_lock(&state->lock);
	rc = read_event(state, event, buf, len, flags);
	keep_awake(state);
	pthread_mutex_unlock(&state->lock);
	return rc;
}

static ssize_t kemu_eq_readerr(struct kfid_eq *kfid, struct kfi_eq_err_entry *buf, uint64_t flags)
{
	struct kemu_eq_state *state = eq_of(kfid)->state;
	ssize_t rc = -KFI_EAGAIN;

	if (!buf)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_eq_readerr: buf is NULL.");
	if (flags & ~(uint64_t)KFI_PEEK)
		return KEMU_REFUSE_FLAGS("kfi_eq_readerr", flags & ~(uint64_t)KFI_PEEK, "");
	pthread_mutex_lock(&state->lock);
	pull(state);
	if (state->first && state->first->error) {
		*buf = state->first->err;
		rc = sizeof(*buf);
		if (!(flags & KFI_PEEK)) {
			kemu_event_free(state->shown);
			state->shown = take_first_event(state);
		}
	}
	keep_awake(state);
	pthread_mutex_unlock(&state->lock);
	return rc;
}

static ssize_t kemu_eq_write(struct kfid_eq *kfid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	struct kemu_eq *eq = eq_of(kfid);
	int err;

	if (!eq->fabric->personality->waits)
		return KEMU_REFUSE(-KFI_ENOSYS, "kfi_eq_write: provider %s does not have it.", eq->fabric->personality->prov_name);
	if (!eq->state->writable || !buf || !len)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_eq_write: the queue was opened without KFI_WRITE, buf is NULL, or len 0.");
	if (flags)
		return KEMU_REFUSE_FLAGS("kfi_eq_write", flags, "");
	err = add_own(eq, kemu_event_new(event, buf, len), eq->state->limit);
	return err ? err : (ssize_t)len;
}

/* libfabric's queue is looked at, and read by pull(). */
static ssize_t kemu_eq_sread(struct kfid_eq *kfid, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	uint64_t end = emu_kernel_ns() + (uint64_t)(timeout > 0 ? timeout : 0) * 1000000;
	struct kemu_eq *eq = eq_of(kfid);
	struct fi_eq_err_entry looked; /* larger than the entries that are looked at are at least */
	uint32_t number;
	ssize_t rc;

	EMU_KERNEL_SLEEPS("kfi_eq_sread");
	if (!eq->fabric->personality->waits)
		return KEMU_REFUSE(-KFI_ENOSYS,
				   "kfi_eq_sread: this provider has no reads that sleep. Wait for the handler's call.");
	for (;;) {
		rc = kemu_eq_read(kfid, event, buf, len, flags);
		if (rc != -KFI_EAGAIN)
			return rc;
		rc = fi_eq_sread(eq->fi, &number, &looked, sizeof(looked), kemu_time_left(end, timeout), FI_PEEK);
		if (rc <= 0 && rc != -FI_EAVAIL && rc != -FI_ETOOSMALL)
			return rc;
	}
}

static const char *kemu_eq_strerror(struct kfid_eq *kfid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	return fi_eq_strerror(eq_of(kfid)->fi, prov_errno, err_data, buf, len);
}

static struct kfi_ops_eq eq_ops = {
	.size = sizeof(struct kfi_ops_eq),
	.read = kemu_eq_read,
	.readerr = kemu_eq_readerr,
	.write = kemu_eq_write,
	.sread = kemu_eq_sread,
	.strerror = kemu_eq_strerror,
};

/* --- life --- */

static int begin_event_handler(struct kemu_eq *eq)
{
	int fd, err;

	if (!eq->kfid.event_handler)
		return 0;
	err = fi_control(&eq->fi->fid, FI_GETWAIT, &fd);
	if (!err)
		err = kemu_softirq_add(eq->fabric->softirq, &eq->state->source, fd);
	if (err)
		return err;
	pthread_mutex_lock(&eq->state->lock);
	arm_events(eq->state); /* an empty queue is a drained one */
	pthread_mutex_unlock(&eq->state->lock);
	return 0;
}

static int kemu_eq_close(struct kfid *fid)
{
	struct kemu_eq *eq = container_of(fid, struct kemu_eq, kfid.fid);
	int err;

	EMU_KERNEL_SLEEPS("kfi_close");
	err = KEMU_REFUSE_USED(eq->object.users, "objects to which the event queue is bound");
	if (err)
		return err;
	if (!kemu_softirq_remove(&eq->state->source))
		return KEMU_REFUSE(-KFI_EBUSY, "kfi_close: the caller is the handler of this event queue. Close it elsewhere.");
	pull(eq->state); /* requests of connections end with it */
	err = fi_close(&eq->fi->fid);
	if (err) {
		eq->state->armed = false;
		begin_event_handler(eq);
		return err;
	}
	while (eq->state->first)
		kemu_event_free(take_first_event(eq->state));
	kemu_event_free(eq->state->shown);
	pthread_mutex_destroy(&eq->state->lock);
	free(eq->state);
	kemu_object_end(&eq->object, eq);
	return 0;
}

static struct kfi_ops eq_fid_ops = {
	.size = sizeof(struct kfi_ops),
	.close = kemu_eq_close,
	KEMU_NO_FID_OPS,
};

static int open_eq(struct kemu_eq *eq, const struct kfi_eq_attr *attr)
{
	struct fi_eq_attr fi = { .flags = FI_WRITE };
	struct kemu_eq_state *state = eq->state;
	int err;

	if (attr && attr->flags & ~(uint64_t)(KFI_WRITE | KFI_AFFINITY))
		return KEMU_REFUSE_FLAGS("kfi_eq_open", attr->flags & ~(uint64_t)(KFI_WRITE | KFI_AFFINITY), "");
	err = kemu_wait_attr(eq->fabric, "kfi_eq_open", attr ? attr->wait_obj : KFI_WAIT_NONE, attr ? attr->wait_set : NULL,
			     eq->kfid.event_handler, &eq->object, &state->wait_obj, &fi.wait_set);
	if (err)
		return err;
	state->writable = attr && attr->flags & KFI_WRITE;
	state->limit = attr && attr->size > EVENTS_LEAST ? attr->size : EVENTS_LEAST;
	fi.size = attr ? attr->size : 0;
	fi.wait_obj = state->wait_obj;
	err = fi_eq_open(eq->fabric->fi, &fi, &eq->fi, eq);
	if (err)
		return err;
	err = begin_event_handler(eq);
	if (err)
		fi_close(&eq->fi->fid);
	return err;
}

int kemu_eq_open(struct kfid_fabric *fabric, struct kfi_eq_attr *attr, struct kfid_eq **out, kfi_event_handler event_handler,
		 void *context)
{
	struct kemu_eq *eq;
	int err;

	EMU_KERNEL_SLEEPS("kfi_eq_open");
	if (!out)
		return KEMU_REFUSE(-KFI_EINVAL, "kfi_eq_open: eq is NULL.");
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -KFI_ENOMEM;
	eq->state = calloc(1, sizeof(*eq->state));
	eq->fabric = kemu_fabric(fabric);
	eq->kfid = (struct kfid_eq){ .fid = { .fclass = KFI_CLASS_EQ, .context = context, .ops = &eq_fid_ops },
				     .ops = &eq_ops,
				     .event_handler = event_handler };
	err = eq->state ? 0 : -KFI_ENOMEM;
	if (!err) {
		pthread_mutex_init(&eq->state->lock, NULL);
		eq->state->eq = eq;
		eq->state->end = &eq->state->first;
		eq->state->source.run = run_event_handler;
		err = open_eq(eq, attr);
	}
	if (err)
		free(eq->state);
	err = kemu_object_opened(&eq->object, &eq->fabric->object.users, eq, err);
	if (!err)
		*out = &eq->kfid;
	return err;
}
