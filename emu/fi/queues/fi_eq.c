/* SPDX-License-Identifier: BSD-2-Clause */
/* fi_eq.c - the event queue object. */
#include "emu/fi/queues/fi_eq.h"

#include <poll.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "emu/fi/domain/fi_domain.h"
#include "emu/fi/personality/fi_settings.h"
#include "emu/fi/provider/fi_refuse.h"
#include "emu/fi/provider/fi_stubs.h"
#include "emu/fi/provider/fi_watched.h"
#include "emu/fi/queues/fi_wait.h"
#include "emu/net/os/nocancel_socket.h"
#include "emu/net/thread/net.h"
#include "emu/net/wait/wait.h"
#include "emu/nic/base/limits.h"
#include "emu/nic/base/mutex.h"
#include "emu/nic/role/driver.h"

struct event {
	struct event *next;
	uint32_t event;
	bool error;            /* data is a struct fi_eq_err_entry, and its err_data behind that */
	const struct fid *fid; /* the object that it is about; NULL: the program wrote the event */
	struct fi_info *info;  /* FI_CONNREQ: the program's when it is read, else freed with the event */
	size_t least;          /* bytes that a reader must have room for; bytes behind them may be cut off */
	size_t size;
	unsigned char data[];
};

struct emu_eq {
	struct fid_eq fid;
	struct emu_fabric *fabric;
	atomic_uint users;
	struct waiter waiter; /* empty but for wait sets and FI_WAIT_MUTEX_COND: our own calls sleep on fd */
	struct wait_member member;
	bool writable;     /* opened with FI_WRITE */
	pid_t owner;       /* a fork's child may only close it: descriptors are the parent's, the lock may be taken */
	int fd;            /* eventfd, readable while there are events; -1 with FI_WAIT_NONE */
	struct wait *wait; /* manual progress: over fd and the device's sockets, which no thread serves; else NULL */
	size_t limit;
	struct mutex lock; /* guards all below */
	struct event *first, **end;
	size_t count;
	bool overrun;                          /* an event was lost: reported once all others are read */
	unsigned char err_data[LIMIT_CM_DATA]; /* of the error read last */
};

static struct emu_eq *emu_eq(struct fid_eq *fid)
{
	return (struct emu_eq *)fid;
}

const struct emu_fabric *emu_eq_fabric(const struct emu_eq *eq)
{
	return eq->fabric;
}

bool emu_eq_mine(const struct emu_eq *eq)
{
	return getpid() == eq->owner;
}

void emu_eq_get(struct emu_eq *eq)
{
	atomic_fetch_add(&eq->users, 1);
}

void emu_eq_put(struct emu_eq *eq)
{
	atomic_fetch_sub(&eq->users, 1);
}

/* Makes the descriptor readable if and only if there are events. */
static void show(struct emu_eq *eq) REQUIRES(eq->lock)
{
	uint64_t one = 1;
	ssize_t done;

	if (eq->fd < 0)
		return;
	/* Each fails only if it is done already: the descriptor does not block and its counter is 0 or 1. */
	if (eq->first || eq->overrun)
		done = eq->count <= 1 ? nocancel_write(eq->fd, &one, sizeof(one)) : 0;
	else
		done = nocancel_read(eq->fd, &one, sizeof(one));
	(void)done;
}

/* An event of `size` bytes and `more` behind them; NULL without memory. */
static struct event *event_new(const struct fid *fid, const void *data, size_t size, const void *more, size_t more_size)
{
	struct event *event = malloc(sizeof(*event) + size + more_size);

	if (!event)
		return NULL;
	*event = (struct event){ .fid = fid, .least = size, .size = size + more_size };
	memcpy(event->data, data, size);
	if (more_size)
		memcpy(event->data + size, more, more_size);
	return event;
}

static void event_free(struct event *event)
{
	if (event)
		fi_freeinfo(event->info);
	free(event);
}

/* Takes the event, which is NULL if there was no memory. */
static int push(struct emu_eq *eq, struct event *new)
{
	if (!emu_eq_mine(eq)) {
		event_free(new);
		return -FI_ENODEV;
	}
	mutex_lock(&eq->lock);
	if (!new || eq->overrun || eq->count >= eq->limit) {
		if (!eq->overrun) {
			EMU_WARN(EQ, "event queue overrun: an event is lost\n");
			check_event_lost(eq->limit);
		}
		eq->overrun = true;
		show(eq);
		mutex_unlock(&eq->lock);
		waiter_wake(&eq->waiter);
		event_free(new);
		return -FI_EOVERRUN;
	}
	*eq->end = new;
	eq->end = &new->next;
	eq->count++;
	show(eq);
	mutex_unlock(&eq->lock);
	waiter_wake(&eq->waiter);
	return 0;
}

static int push_data(struct emu_eq *eq, uint32_t event, const struct fid *fid, const void *data, size_t size)
{
	struct event *new = event_new(fid, data, size, NULL, 0);

	if (new)
		new->event = event;
	return push(eq, new);
}

int emu_eq_push(struct emu_eq *eq, uint32_t event, struct fid *fid, void *context, uint64_t data)
{
	struct fi_eq_entry entry = { .fid = fid, .context = context, .data = data };

	return push_data(eq, event, fid, &entry, sizeof(entry));
}

int emu_eq_push_error(struct emu_eq *eq, struct fid *fid, void *context, uint64_t data, int err)
{
	struct fi_eq_err_entry entry = { .fid = fid, .context = context, .data = data, .err = err, .prov_errno = err };
	struct event *new = event_new(fid, &entry, sizeof(entry), NULL, 0);

	if (new)
		new->error = true;
	return push(eq, new);
}

int emu_eq_push_refused(struct emu_eq *eq, struct fid *fid, int err, const void *data, size_t length)
{
	struct fi_eq_err_entry entry = {
		.fid = fid, .context = fid->context, .err = err, .prov_errno = err, .err_data_size = length
	};
	struct event *new = event_new(fid, &entry, sizeof(entry), data, length);

	if (new)
		new->error = true;
	return push(eq, new);
}

int emu_eq_push_cm(struct emu_eq *eq, uint32_t event, struct fid *fid, struct fi_info *info, const void *data, size_t length)
{
	struct fi_eq_cm_entry entry = { .fid = fid, .info = info };
	struct event *new = event_new(fid, &entry, sizeof(entry), data, length);

	if (new) {
		new->event = event;
		new->info = info;
	} else {
		fi_freeinfo(info);
	}
	return push(eq, new);
}

static void drop_first(struct emu_eq *eq) REQUIRES(eq->lock)
{
	struct event *event = eq->first;

	eq->first = event->next;
	if (!eq->first)
		eq->end = &eq->first;
	eq->count--;
	event_free(event);
	show(eq);
}

void emu_eq_withdraw(struct emu_eq *eq, const struct fid *fid)
{
	struct event *event, **at = &eq->first;

	if (!emu_eq_mine(eq))
		return;
	mutex_lock(&eq->lock);
	while ((event = *at)) {
		if (event->fid != fid) {
			at = &event->next;
			continue;
		}
		*at = event->next;
		eq->count--;
		event_free(event);
	}
	eq->end = at;
	show(eq);
	mutex_unlock(&eq->lock);
}

static ssize_t eq_read_event(struct emu_eq *eq, uint32_t *event, void *buf, size_t len, bool peek)
{
	struct event *first;
	ssize_t got;

	mutex_lock(&eq->lock);
	first = eq->first;
	if (!first) {
		got = eq->overrun ? -FI_EAVAIL : -FI_EAGAIN;
	} else if (first->error) {
		got = -FI_EAVAIL;
	} else if (first->least > len) {
		got = REFUSE(EQ, -FI_ETOOSMALL, "fi_eq_read: len %zu, and the event has %zu B.", len, first->least);
	} else {
		*event = first->event;
		got = (ssize_t)(first->size < len ? first->size : len);
		memcpy(buf, first->data, (size_t)got);
		if (!peek) {
			first->info = NULL;
			drop_first(eq);
		}
	}
	mutex_unlock(&eq->lock);
	return got;
}

static ssize_t eq_op_read(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	ssize_t got;

	if (!event || (len && !buf))
		return REFUSE(EQ, -FI_EINVAL, "fi_eq_read: event or buf is NULL.");
	if (flags & ~FI_PEEK)
		return REFUSE_FLAGS(EQ, "fi_eq_read", flags & ~FI_PEEK);
	if (!emu_eq_mine(eq))
		return refuse_inherited("fi_eq_read");
	got = eq_read_event(eq, event, buf, len, flags & FI_PEEK);
	if (got == -FI_EAGAIN && net_mine()) {
		driver_poll(nic_driver(net_nic()));
		got = eq_read_event(eq, event, buf, len, flags & FI_PEEK);
	}
	return got;
}

/* Sleeps until there may be an event; -errno if interrupted. */
static int sleep_for(struct emu_eq *eq, uint32_t turn, int timeout_ms)
{
	struct pollfd pollfd = { .fd = eq->fd, .events = POLLIN };
	int err;

	if (eq->waiter.obj == FI_WAIT_YIELD) {
		sched_yield();
		return 0;
	}
	if (!eq->wait)
		return poll(&pollfd, 1, timeout_ms) < 0 ? -errno : 0;
	err = wait_sleep(eq->wait, turn, timeout_ms);
	return err < 0 ? err : 0;
}

static ssize_t eq_op_sread(struct fid_eq *fid, uint32_t *event, void *buf, size_t len, int timeout, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	uint64_t deadline = wait_deadline(timeout);
	ssize_t got;

	if (!waiter_blocks(&eq->waiter))
		return REFUSE(EQ, -FI_EINVAL,
			      "fi_eq_sread: the queue was opened with FI_WAIT_NONE or FI_WAIT_SET. Open it "
			      "with FI_WAIT_UNSPEC to wait, or use fi_eq_read.");
	for (;;) {
		uint32_t turn = eq->wait ? wait_turn(eq->wait) : 0;
		int left;

		got = eq_op_read(fid, event, buf, len, flags);
		left = wait_left(deadline);
		if (got != -FI_EAGAIN || !left)
			return got;
		if (sleep_for(eq, turn, left))
			return -FI_EAGAIN; /* a signal: fi_eq(3) */
	}
}

/* err_data goes to the program's buffer, if it has given one; else to ours, until the next error is read. */
static void tell_error(struct emu_eq *eq, const struct event *event, struct fi_eq_err_entry *entry) REQUIRES(eq->lock)
{
	size_t room = entry->err_data_size, size;
	void *into = entry->err_data;

	memcpy(entry, event->data, sizeof(*entry));
	if (!entry->err_data_size)
		return;
	if (!room || !into) {
		room = sizeof(eq->err_data);
		into = eq->err_data;
	}
	size = entry->err_data_size < room ? entry->err_data_size : room;
	memcpy(into, event->data + sizeof(*entry), size);
	entry->err_data = into;
	entry->err_data_size = size;
}

static ssize_t eq_op_readerr(struct fid_eq *fid, struct fi_eq_err_entry *entry, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	ssize_t got = sizeof(*entry);

	if (!entry)
		return REFUSE(EQ, -FI_EINVAL, "fi_eq_readerr: buf is NULL.");
	if (flags & ~FI_PEEK)
		return REFUSE_FLAGS(EQ, "fi_eq_readerr", flags & ~FI_PEEK);
	if (!emu_eq_mine(eq))
		return refuse_inherited("fi_eq_readerr");
	mutex_lock(&eq->lock);
	if (eq->first && eq->first->error) {
		tell_error(eq, eq->first, entry);
		if (!(flags & FI_PEEK))
			drop_first(eq);
	} else if (!eq->first && eq->overrun) {
		*entry = (struct fi_eq_err_entry){ .fid = &eq->fid.fid, .err = FI_EOVERRUN, .prov_errno = FI_EOVERRUN };
	} else {
		got = -FI_EAGAIN;
	}
	mutex_unlock(&eq->lock);
	return got;
}

static ssize_t eq_op_write(struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	struct emu_eq *eq = emu_eq(fid);
	int err;

	if (!eq->writable || !buf || !len || len > EQ_DATA)
		return REFUSE(EQ, -FI_EINVAL,
			      "fi_eq_write: the queue was opened without FI_WRITE, buf is NULL, or len %zu is "
			      "not from 1 to %d.",
			      len, EQ_DATA);
	if (flags)
		return REFUSE_FLAGS(EQ, "fi_eq_write", flags);
	err = push_data(eq, event, NULL, buf, len);
	return err ? err : (ssize_t)len;
}

static const char *eq_op_strerror(struct fid_eq *fid, int prov_errno, const void *err_data, char *buf, size_t len)
{
	const char *text = fi_strerror(prov_errno); /* ours are libfabric's own */

	(void)fid, (void)err_data;
	if (!buf || !len)
		return text;
	snprintf(buf, len, "%s", text);
	return buf;
}

static bool has_events(void *arg)
{
	struct emu_eq *eq = arg;
	bool some;

	mutex_lock(&eq->lock);
	some = eq->first || eq->overrun;
	mutex_unlock(&eq->lock);
	return some;
}

int emu_eq_trywait(struct emu_eq *eq)
{
	if (eq->waiter.obj == FI_WAIT_NONE)
		return REFUSE(EQ, -FI_EINVAL,
			      "fi_trywait: an event queue was opened with FI_WAIT_NONE. Open it with "
			      "FI_WAIT_FD.");
	if (!emu_eq_mine(eq))
		return refuse_inherited("fi_trywait");
	if (eq->wait)
		return wait_try(eq->wait, true, has_events, eq);
	if (net_mine())
		driver_poll(nic_driver(net_nic()));
	return has_events(eq) ? -FI_EAGAIN : 0;
}

static int eq_control(struct fid *fid, int command, void *arg)
{
	struct emu_eq *eq = (struct emu_eq *)fid;

	return waiter_tell(&eq->waiter, eq->wait ? wait_fd(eq->wait) : eq->fd, command, arg);
}

/* Under manual progress work for the device ends the program's sleep. */
static int watch_device(struct emu_eq *eq)
{
	struct settings settings;
	int err = settings_read(&settings);

	if (err || !settings.process.manual || eq->waiter.set || eq->waiter.cond)
		return err;
	err = wait_open(&eq->wait);
	return err ? err : wait_watch(eq->wait, eq->fd);
}

static void close_objects(struct emu_eq *eq)
{
	if (eq->wait)
		wait_close(eq->wait);
	if (eq->fd >= 0)
		close(eq->fd);
	waiter_close(&eq->waiter);
}

static int open_waiter(struct emu_eq *eq, const struct waiter_want *want)
{
	bool more = want->obj == FI_WAIT_SET || want->obj == FI_WAIT_MUTEX_COND;
	int err = more ? waiter_open(&eq->waiter, want) : 0;

	eq->waiter.obj = want->obj;
	eq->fd = -1;
	if (err || want->obj == FI_WAIT_NONE)
		return err;
	eq->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (eq->fd < 0)
		err = -errno;
	if (!err)
		err = watch_device(eq);
	if (!err && eq->waiter.set) {
		eq->member = (struct wait_member){ .ready = has_events, .arg = eq, .fd = eq->fd };
		err = wait_set_add(eq->waiter.set, &eq->member);
	}
	if (err)
		close_objects(eq);
	return err;
}

static void close_waiter(struct emu_eq *eq)
{
	if (eq->waiter.set)
		wait_set_remove(eq->waiter.set, &eq->member);
	close_objects(eq);
}

static int eq_close(struct fid *fid)
{
	struct emu_eq *eq = (struct emu_eq *)fid;
	struct event *event;

	if (atomic_load(&eq->users))
		return REFUSE(EQ, -FI_EBUSY,
			      "fi_close: the event queue is bound to %u open objects (endpoints, domains, "
			      "address vectors). Close them first.",
			      atomic_load(&eq->users));
	while ((event = eq->first)) { /* the descriptor stays as it is: in a fork's child it is the parent's, too */
		eq->first = event->next;
		event_free(event);
	}
	close_waiter(eq);
	atomic_fetch_sub(&eq->fabric->users, 1);
	mutex_destroy(&eq->lock);
	free(eq);
	return 0;
}

static struct fi_ops eq_fid_ops = {
	.size = sizeof(struct fi_ops),
	.close = eq_close,
	.bind = stub_bind,
	.control = eq_control,
	STUB_FID_OPS,
};

static struct fi_ops_eq eq_ops = {
	.size = sizeof(struct fi_ops_eq),
	.read = eq_op_read,
	.readerr = eq_op_readerr,
	.write = eq_op_write,
	.sread = eq_op_sread,
	.strerror = eq_op_strerror,
};

static int eq_check_attr(const struct fi_eq_attr *attr)
{
	if (!attr || attr->size > EQ_EVENTS_MAX)
		return REFUSE(EQ, -FI_EINVAL, "fi_eq_open: attr is NULL, or size is above %d.", EQ_EVENTS_MAX);
	if (attr->flags & ~(FI_WRITE | FI_AFFINITY))
		return REFUSE_FLAGS(EQ, "fi_eq_open", attr->flags & ~(FI_WRITE | FI_AFFINITY));
	return 0;
}

int emu_eq_open(struct fid_fabric *fid, struct fi_eq_attr *attr, struct fid_eq **out, void *context)
{
	struct waiter_want want = { .fabric = emu_fabric(fid), .what = "fi_eq_open" };
	struct emu_eq *eq;
	int err;

	if (!out)
		return REFUSE(EQ, -FI_EINVAL, "fi_eq_open: eq is NULL.");
	err = eq_check_attr(attr);
	if (err)
		return err;
	want.obj = attr->wait_obj;
	want.set = attr->wait_set;
	err = waiter_check(&want);
	if (err)
		return err;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return -FI_ENOMEM;
	mutex_init(&eq->lock);
	err = open_waiter(eq, &want);
	if (err) {
		REFUSE(EQ, err, "fi_eq_open: %s.", fi_strerror(-err));
		free(eq);
		return err;
	}
	eq->owner = getpid();
	eq->fabric = emu_fabric(fid);
	eq->writable = attr->flags & FI_WRITE;
	eq->limit = attr->size > EQ_EVENTS ? attr->size : EQ_EVENTS;
	eq->end = &eq->first;
	eq->fid.fid.fclass = FI_CLASS_EQ;
	eq->fid.fid.context = context;
	eq->fid.fid.ops = &eq_fid_ops;
	eq->fid.ops = &eq_ops;
	atomic_fetch_add(&eq->fabric->users, 1);
	*out = &eq->fid;
	return 0;
}
